/// What a read transaction does, in one of its own.
extension GraphStore {
    /// The records of a query, in its order, in a read transaction of their own.
    public func fetch<R: StoredRecord>(_ query: Query<R>) async throws -> [R] {
        try await read { try await $0.fetch(query) }
    }
    /// The first record of a query, in a read transaction of its own.
    public func first<R: StoredRecord>(_ query: Query<R>) async throws -> R? {
        try await read { try await $0.first(query) }
    }
    /// The record with that id, nil if there is none, in a read transaction of its own.
    public func find<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> R? {
        try await read { try await $0.find(type, id) }
    }
    /// How many records the query has, in a read transaction of its own. Complexity: that of the query; the rows are
    /// counted.
    public func count<R: StoredRecord>(_ query: Query<R>) async throws -> Int {
        try await read { try await $0.count(query) }
    }

    /// Whether the query has no records, in a read transaction of its own. Looks for the first alone.
    public func isEmpty<R: StoredRecord>(_ query: Query<R>) async throws -> Bool {
        try await read { try await $0.isEmpty(query) }
    }

    /// The index of a record among those of a query, from 0, in a read transaction of its own. See
    /// ``ReadTransaction/index(of:in:)``.
    public func index<R: StoredRecord>(of id: R.ID, in query: Query<R>) async throws -> Int? {
        try await read { try await $0.index(of: id, in: query) }
    }

    /// At most so many records of a query, after a cursor, in a read transaction of their own. See
    /// ``ReadTransaction/page(_:after:size:)``.
    public func page<R: StoredRecord>(
        _ query: Query<R>, after cursor: PageCursor? = nil, size: Int
    ) async throws -> RecordPage<R> {
        try await read { try await $0.page(query, after: cursor, size: size) }
    }

    /// The records of a query in sections, in a read transaction of their own. See
    /// ``ReadTransaction/sections(_:descending:by:)``.
    public func sections<R: StoredRecord, Key: Storable>(
        _ query: Query<R>, descending: Bool = false, by key: (Columns<R>) -> ColumnExpression<Key>
    ) async throws -> [RecordSection<Key, R>] {
        try await read { try await $0.sections(query, descending: descending, by: key) }
    }

    /// Columns of the records of a query, or of its groups, in a read transaction of their own. See
    /// ``ReadTransaction/select(_:distinct:_:)``.
    public func select<R: StoredRecord, each V: Storable>(
        _ query: Query<R>, distinct: Bool = false, _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) async throws -> [(repeat each V)] {
        try await read { try $0.selected(query, distinct: distinct, columns) }
    }

    /// One column of the first record of a query, or an aggregate of all, in a read transaction of its own.
    public func value<R: StoredRecord, V: Storable>(
        _ query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) async throws -> V? {
        try await read { try await $0.value(query, column) }
    }

    /// The values of a ``Lazy`` property of many records, in a read transaction of their own.
    public func lazyValues<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, ids: some Sequence<R.ID>
    ) async throws -> [R.ID: V] {
        try await read { try await $0.lazyValues(type, path, ids: ids) }
    }

    /// The records of a query in which a text is found, the best first, in a read transaction of their own. See
    /// ``ReadTransaction/search(_:for:limit:marks:)``.
    public func search<R: StoredRecord>(
        _ query: Query<R>, for text: SearchText, limit: Int = 100, marks: (String, String) = ("«", "»")
    ) async throws -> [SearchHit<R>] {
        try await read { try await $0.search(query, for: text, limit: limit, marks: marks) }
    }

    /// How the engine will find the records of a query. Runs nothing.
    public func explain<R: StoredRecord>(_ query: Query<R>) async throws -> QueryPlan {
        try await read { try await $0.explain(query) }
    }

    /// What was written after the change record of that number, in a read transaction of its own. See
    /// ``ReadTransaction/changeRecords(after:)``.
    public func changeRecords(after sequence: Int64 = 0) async throws -> [ChangeRecord] {
        try await read { try await $0.changeRecords(after: sequence) }
    }
}
