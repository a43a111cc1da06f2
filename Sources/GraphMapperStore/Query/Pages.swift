/// One page of a query, and where the next one starts.
public struct RecordPage<R: StoredRecord>: Sendable {
    /// The records, in the query's order.
    public let records: [R]
    /// What to give for the next page; nil if this one is the last.
    public let next: PageCursor?
}

/// A position in the order of a query: what the last record before it is sorted by, its key included.
///
/// It is a value that may be kept, and sent with a request. It fits queries of the same order alone.
public struct PageCursor: Sendable, Hashable {
    let values: [StoredValue]
}

extension PageCursor: CustomStringConvertible, LosslessStringConvertible {
    /// The values as SQL has them: `'ann', 7`.
    public var description: String { Literals.text(values) }
    /// A cursor from its description; nil if it is none.
    public init?(_ description: String) {
        guard let values = Literals.values(description) else { return nil }
        self.values = values
    }
}

extension Query {
    /// The records behind the cursor.
    func following(_ cursor: PageCursor?) throws -> Self {
        guard let cursor else { return self }
        let order = tree.totalOrder
        guard cursor.values.count == order.count else {
            throw GraphError(
                .misuse, "the cursor has \(cursor.values.count) values, and the query is sorted by \(order.count)",
                type: R.schema.name)
        }
        return keeping(Ordering.follows(order, cursor.values, orIsThere: false))
    }
}
