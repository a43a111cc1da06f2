extension GraphStore {
    /// A query as a lazy collection: what a list on screen shows, without copying the records.
    ///
    /// `count` counts the rows, and reads none. The first element that is asked for makes a list of where each page
    /// starts, one statement that hands over a row a page; from then on each element costs at most one page, the last as
    /// much as the first, and none if its page is among those kept.
    ///
    /// **Consistency.** A page shows the rows between its start and that of the next as they are when it is read, each
    /// page in a snapshot of its own. So a row that is updated is seen as it is now when its page is read again; one that
    /// goes, or is sorted elsewhere, lets those behind it in its page move up by one, and the last place of the page is
    /// empty; one that is inserted pushes the last one of its page out of view. Other pages stay as they were. `count`
    /// stays as it was. `reloaded()` starts afresh, for all copies of the collection.
    ///
    /// Reading waits with the thread: for a file, only as long as SQLite takes.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset.
    ///   - pageSize: how many records a page has.
    ///   - cachedPages: how many pages are kept, those used last.
    ///   - transform: what an element is made of its record, each time it is asked for.
    ///   - otherwise: what the subscript answers where reading failed, or the row is gone, by position and error.
    public func toMany<R: StoredRecord, Element>(
        _ query: Query<R>, pageSize: Int = 64, cachedPages: Int = 8, as transform: @escaping (R) -> Element,
        otherwise: @escaping (Int, any Error) -> Element
    ) -> ToMany<Element> {
        let pages = QueryPages(self, query, size: max(1, pageSize), kept: max(1, cachedPages))
        return ToMany(
            count: { try pages.count() }, at: { transform(try pages.record(at: $0)) }, otherwise: otherwise)
    }
}

/// The pages of a query that were read last, and where all of them start. Belongs to one task, as its collection does.
private final class QueryPages<R: StoredRecord> {
    private let store: GraphStore
    private let query: Query<R>
    private let size: Int
    private let kept: Int
    private var starts: [[StoredValue]]?
    /// By their numbers, those used last at the end.
    private var pages: [(number: Int, records: [R])] = []

    init(_ store: GraphStore, _ query: Query<R>, size: Int, kept: Int) {
        self.store = store
        self.query = query
        self.size = size
        self.kept = kept
    }

    /// Asked for once, and again by a collection that starts afresh.
    func count() throws -> Int {
        try checkQuery()
        starts = nil
        pages = []
        return try store.readNow { try $0.count(of: query) }
    }

    func record(at index: Int) throws -> R {
        guard index >= 0 else { throw GraphError(.misuse, "there is no element \(index)", type: R.schema.name) }
        let records = try page(index / size)
        guard index % size < records.count else {
            throw GraphError(
                .dangling, "the row that was element \(index) is gone, or sorted elsewhere; reload the collection",
                type: R.schema.name)
        }
        return records[index % size]
    }

    private func page(_ number: Int) throws -> [R] {
        if let place = pages.lastIndex(where: { $0.number == number }) {
            let page = pages[place]
            if place < pages.count - 1 {
                pages.remove(at: place)
                pages.append(page)
            }
            return page.records
        }
        let records = try read(number)
        if pages.count >= kept { pages.removeFirst() }
        pages.append((number, records))
        return records
    }

    private func read(_ number: Int) throws -> [R] {
        let order = query.rows.totalOrder
        return try store.readNow { transaction in
            let starts = try self.starts ?? findStarts(transaction)
            self.starts = starts
            guard number < starts.count else { return [] }
            var part = query.filtered(by: Condition(Rows.follows(order, starts[number], orIsThere: true), nil))
            if number + 1 < starts.count {
                part = part.filtered(
                    by: Condition(.not(Rows.follows(order, starts[number + 1], orIsThere: true)), nil))
            }
            return try transaction.fetchNow(part.limit(size))
        }
    }

    private func findStarts(_ transaction: ReadTransaction) throws -> [[StoredValue]] {
        try checkQuery()
        let (sql, values) = try query.pageStarts(size: size)
        return try transaction.connection.rows(sql, values)
    }

    private func checkQuery() throws {
        guard !query.rows.isPage else {
            throw GraphError(.misuse, "a query behind a collection has no limit and no offset", type: R.schema.name)
        }
    }
}

extension Query {
    /// What the first record of each page is sorted by.
    fileprivate func pageStarts(size: Int) throws -> (sql: String, values: [StoredValue]) {
        let order = rows.totalOrder
        let names = order.indices.map { Dialect.quoted("key \($0)") }.joined(separator: ", ")
        let (inner, values) = try selecting(order.map(\.formula)).numbered().statement()
        return (
            "WITH numbered(\(names), number) AS (\(inner)) "
                + "SELECT \(names) FROM numbered WHERE (number - 1) % ? = 0 ORDER BY number",
            values + [.integer(Int64(size))]
        )
    }

    /// Rows with their places in the query's order, from 1, after what is selected.
    private func numbered() -> Self {
        selecting(rows.selected + [.place(rows.totalOrder)])
    }
}
