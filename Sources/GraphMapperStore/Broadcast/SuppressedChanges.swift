/// Reads what a transaction has made of the rows with these keys, for an observer to take in without telling of it.
typealias SuppressedRowsReader = @Sendable (ReadTransaction, [[StoredValue]]) throws -> any Sendable

extension ChangeBroadcaster {
    /// What a transaction has made of the rows of observers that know of it, and are not told.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` if one of them would have to run its query again.
    func suppressedRows(
        _ changes: [RowChange], of observers: [ObserverID], in transaction: WriteTransaction
    ) throws -> [ObserverID: any Sendable] {
        var suppressed: [ObserverID: any Sendable] = [:]
        for id in observers {
            guard let (region, read) = observer(id) else { continue }
            let concerned = changes.filter(region.concerns)
            guard !concerned.isEmpty else { continue }
            let keys = Set(concerned.flatMap { $0.knownKeys ?? [] })
            guard let read, concerned.allSatisfy({ $0.knownKeys != nil }), Set(concerned.map(\.table)).count == 1
            else {
                throw StoreError(
                    .misuse,
                    "an observer cannot be left out of this write, for which it runs its query again; "
                        + "see explainChanges(of:), or let it be told", table: concerned[0].table)
            }
            suppressed[id] = try read(transaction, Array(keys))
        }
        return suppressed
    }
}
