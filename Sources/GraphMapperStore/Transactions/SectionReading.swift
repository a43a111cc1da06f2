extension ReadTransaction {
    /// The records of a query, those within its limit, in sections in the order of their keys:
    /// `sections(people) { $0.name.prefix(1) }`.
    ///
    /// - Parameters:
    ///   - descending: whether the section of the greatest key comes first.
    ///   - key: what the records of a section have in common.
    /// - Complexity: that of the query; the sections are computed in a statement of their own.
    public func sections<R: StoredRecord, Key: Storable>(
        _ query: Query<R>, descending: Bool = false, by key: (Columns<R>) -> ColumnExpression<Key>
    ) async throws -> [RecordSection<Key, R>] {
        let (ordered, _) = query.sortedFirst(descending: descending, telling: key)
        let keys = try selected(ordered, distinct: false) { key($0) }
        let records = try fetchNow(ordered)
        guard keys.count == records.count else {
            throw StoreError(.misuse, "a query that is read in sections has no groups")
        }
        var sections: [RecordSection<Key, R>] = []
        var start = 0
        func differ(_ left: Key, _ right: Key) -> Bool {
            left.storedValues.map(\.normalizedKey) != right.storedValues.map(\.normalizedKey)
        }
        for end in 1..<(records.count + 1) where end == records.count || differ(keys[end], keys[start]) {
            sections.append(RecordSection(key: keys[start], records: Array(records[start..<end])))
            start = end
        }
        return sections
    }
}
