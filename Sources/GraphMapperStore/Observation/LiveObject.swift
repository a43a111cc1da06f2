/// One record, kept up to date.
struct LiveObject<R: StoredRecord>: LiveQuery {
    private var live: LiveLinked<R>

    init(_ live: LiveLinked<R>) { self.live = live }

    var region: ObservedRegion { live.region }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws { try live.prepare(tx, lists) }

    mutating func start(_ tx: ReadTransaction) throws -> ObjectChange<R>? {
        _ = try live.start(tx)
        return live.rows.results.first.map { .initial($0) } ?? .deleted
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) throws -> ObjectChange<R>? {
        let old = live.rows.results.first
        guard try live.advance(tx, pending) != nil else { return nil }
        guard let new = live.rows.results.first else { return .deleted }
        guard let old else { return .initial(new) }
        let properties = R.schema.properties.filter {
            !$0.isNested && (!$0.isSame(old, new) || live.changedLinks.contains($0.name))
        }
        return .changed(
            new,
            properties.map { property in
                var change: (old: [StoredValue], new: [StoredValue]) = ([], [])
                property.encode(old, &change.old)
                property.encode(new, &change.new)
                return PropertyChange(property: property.name, old: change.old, new: change.new)
            })
    }
}

extension Query {
    /// The record of that id alone.
    func having(_ id: R.ID) -> Self {
        let terms = zip(tree.key, id.storedValues).map { SQLExpression.binary($0, .isSame, .value($1)) }
        return filtered(by: Condition(SQLExpression.and(terms) ?? .always, nil))
    }
}
