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
        let pages = QueryPages(
            { self }, query, size: max(1, pageSize), kept: max(1, cachedPages), fetch: { try $0.fetchNow($1) })
        return ToMany(
            count: { try pages.count() }, at: { transform(try pages.item(at: $0)) }, otherwise: otherwise)
    }
}

extension GraphSession {
    /// The models of a query as a lazy collection. See ``GraphStore/toMany(_:pageSize:cachedPages:as:otherwise:)`` for what
    /// is read when, and what is seen when rows change.
    ///
    /// A page is loaded as ``models(_:loading:in:)`` loads: with what it links to, one instance for each object. The session
    /// holds the models as it holds all that it loads.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset.
    ///   - loading: how far links are followed.
    ///   - pageSize: how many models a page has.
    ///   - cachedPages: how many pages are kept, those used last.
    ///   - transform: what an element is made of its model, each time it is asked for.
    ///   - otherwise: what the subscript answers where reading failed, the row is gone, or a load or save of the session is
    ///     under way, by position and error.
    public func toMany<R: StoredRecord, Element>(
        _ query: Query<R>, loading: Loading = .all, pageSize: Int = 64, cachedPages: Int = 8,
        as transform: @escaping (R.Model) -> Element, otherwise: @escaping (Int, any Error) -> Element
    ) -> ToMany<Element> where R.Model: AnyObject {
        let pages = QueryPages(
            { try self.store() }, query, size: max(1, pageSize), kept: max(1, cachedPages),
            fetch: { try self.models($1, loading: loading, in: $0) })
        return ToMany(
            count: { try pages.count() }, at: { transform(try pages.item(at: $0)) }, otherwise: otherwise)
    }

    private func store() throws -> GraphStore {
        guard let store = backing as? GraphStore else {
            throw GraphError(.misuse, "queries need a session over a GraphStore, outside its savepoints")
        }
        return store
    }
}

/// The pages of a query that were read last, and where all of them start. Belongs to one task, as its collection does.
private final class QueryPages<R: StoredRecord, Item> {
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
        if let place = pages.lastIndex(where: { $0.number == number }) {
            let page = pages[place]
            if place < pages.count - 1 {
                pages.remove(at: place)
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
        let order = query.rows.totalOrder
        return try store().readNow { transaction in
            let starts = try self.starts ?? findStarts(transaction)
            self.starts = starts
            guard number < starts.count else { return [] }
            var part = query.keeping(Rows.follows(order, starts[number], orIsThere: true))
            if number + 1 < starts.count {
                part = part.keeping(.not(Rows.follows(order, starts[number + 1], orIsThere: true)))
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
