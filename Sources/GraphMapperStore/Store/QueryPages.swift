/// The pages of a query that were read last, and where all of them start. Belongs to one task, as its collection does.
final class QueryPages<R: StoredRecord, Item> {
    private let store: () throws -> GraphStore
    private let fetch: (ReadTransaction, Query<R>) throws -> [Item]
    private let query: Query<R>
    private let size: Int
    private let kept: Int
    private var starts: [[StoredValue]]?
    /// By their numbers, those used last at the end.
    private var pages: [(number: Int, items: [Item])] = []

    init(
        _ store: @escaping () throws -> GraphStore, _ query: Query<R>, size: Int, kept: Int,
        fetch: @escaping (ReadTransaction, Query<R>) throws -> [Item]
    ) {
        self.store = store
        self.fetch = fetch
        self.query = query
        self.size = size
        self.kept = kept
    }

    /// Asked for once, and again by a collection that starts afresh.
    func count() throws -> Int {
        try checkQuery()
        starts = nil
        pages = []
        return try store().readNow { try $0.count(of: query) }
    }

    func item(at index: Int) throws -> Item {
        guard index >= 0 else { throw GraphError(.misuse, "there is no element \(index)", type: R.schema.name) }
        let items = try page(index / size)
        guard index % size < items.count else {
            throw GraphError(
                .dangling, "the row that was element \(index) is gone, or sorted elsewhere; reload the collection",
                type: R.schema.name)
        }
        return items[index % size]
    }

    private func page(_ number: Int) throws -> [Item] {
        if let index = pages.lastIndex(where: { $0.number == number }) {
            let page = pages[index]
            if index < pages.count - 1 {
                pages.remove(at: index)
                pages.append(page)
            }
            return page.items
        }
        let items = try read(number)
        if pages.count >= kept { pages.removeFirst() }
        pages.append((number, items))
        return items
    }

    private func read(_ number: Int) throws -> [Item] {
        let order = query.tree.totalOrder
        return try store().readNow { transaction in
            let starts = try self.starts ?? findStarts(transaction)
            self.starts = starts
            guard number < starts.count else { return [] }
            var part = query.keeping(Ordering.follows(order, starts[number], orIsThere: true))
            if number + 1 < starts.count {
                part = part.keeping(.not(Ordering.follows(order, starts[number + 1], orIsThere: true)))
            }
            return try fetch(transaction, part.limit(size))
        }
    }

    private func findStarts(_ transaction: ReadTransaction) throws -> [[StoredValue]] {
        try checkQuery()
        let (sql, values) = try query.pageStarts(size: size)
        return try transaction.connection.rows(sql, values)
    }

    private func checkQuery() throws {
        guard !query.tree.isPage else {
            throw GraphError(.misuse, "a query behind a collection has no limit and no offset", type: R.schema.name)
        }
    }
}

extension Query {
    /// What the first record of each page is sorted by.
    fileprivate func pageStarts(size: Int) throws -> (sql: String, values: [StoredValue]) {
        let order = tree.totalOrder
        let names = order.indices.map { Dialect.quoted("key \($0)") }.joined(separator: ", ")
        let (inner, values) = try selecting(order.map(\.expression)).numbered().statement()
        return (
            "WITH numbered(\(names), number) AS (\(inner)) "
                + "SELECT \(names) FROM numbered WHERE (number - 1) % ? = 0 ORDER BY number",
            values + [.integer(Int64(size))]
        )
    }

    /// Rows with their places in the query's order, from 1, after what is selected.
    private func numbered() -> Self {
        selecting(tree.selected + [.rowNumber(tree.totalOrder)])
    }
}
