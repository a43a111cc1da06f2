extension GraphStore {
    /// Whatever can be read in one transaction, and then each value that differs from the one before.
    ///
    /// It is read again when something that it has read may have been written; the store notes which tables and columns
    /// that is. For what is computed of several queries.
    ///
    /// - Parameter read: reads the value. Called again after commits; should depend on nothing but the store.
    /// - Returns: the values. Iterating throws what `read` throws.
    public func values<T: Sendable & Equatable>(
        _ read: @escaping @Sendable (ReadTransaction) async throws -> T
    ) -> Changes<T> {
        Changes(self, LiveValue(isSame: ==, read))
    }

    /// An aggregate of a query, and then each value that differs from the one before:
    /// `store.values(of: people) { $0.age.max() }`.
    ///
    /// - Parameter column: what to compute of all records, or one column of the first.
    /// - Returns: the values; nil if there is no record of which to compute it. Iterating throws ``GraphError`` for a
    ///   property that has no column and for a value that does not fit its type, and ``StoreError`` if reading fails.
    /// - Complexity: that of computing it, for each commit that may change the value.
    public func values<R: StoredRecord, V: Storable>(
        of query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) -> Changes<V?> {
        Changes(self, LiveValue(of: query, column(query.columns)))
    }

    /// How many records a query has, and then each count that differs from the one before.
    ///
    /// - Complexity: that of counting, for each commit that may change the count.
    public func counts<R: StoredRecord>(of query: Query<R>) -> Changes<Int> {
        Changes(
            self, LiveValue(isSame: ==, narrowed: { try $0.narrow(query, besides: "") }) { try $0.count(of: query) })
    }

    /// How changes of an aggregate are found.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    public func explainChanges<R: StoredRecord, V: Storable>(
        of query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) async throws -> ObservationPlan {
        let column = column(query.columns)
        return try await read { tx in
            var live = LiveValue(of: query, column)
            try await live.prepare(tx, lists)
            return ObservationPlan(live.interest, needsQuery: "it is computed of all rows")
        }
    }
}

/// A value, read again when what it depends on is written.
struct LiveValue<T: Sendable>: Live {
    private let isSame: @Sendable (T, T) -> Bool
    private let narrow: @Sendable (inout Interest) throws -> Void
    private let read: @Sendable (ReadTransaction) async throws -> T
    private var lists: [String: ListOwner] = [:]
    private var old: T?
    private(set) var interest = Interest()

    /// - Parameter narrowed: leaves out rows that do not matter.
    init(
        isSame: @escaping @Sendable (T, T) -> Bool,
        narrowed: @escaping @Sendable (inout Interest) throws -> Void = { _ in },
        _ read: @escaping @Sendable (ReadTransaction) async throws -> T
    ) {
        self.isSame = isSame
        narrow = narrowed
        self.read = read
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws {
        self.lists = lists
        _ = try await current(tx)
        try narrow(&interest)
    }

    mutating func start(_ tx: ReadTransaction) async throws -> T? {
        let value = try await current(tx)
        old = value
        return value
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) async throws -> T? {
        let value = try await current(tx)
        if let old, isSame(old, value) { return nil }
        old = value
        return value
    }

    private mutating func current(_ tx: ReadTransaction) async throws -> T {
        tx.connection.startNotingStatements()
        let value: T
        do { value = try await read(tx) } catch {
            _ = tx.connection.endNotingStatements()
            throw error
        }
        for sql in tx.connection.endNotingStatements() {
            for (table, columns) in try tx.connection.reads(of: sql) {
                if let list = lists[table] {
                    interest.add(list.table, [list.property])
                } else {
                    interest.add(table, columns)
                }
            }
        }
        return value
    }
}

extension LiveValue {
    /// A column of a query's first record, or an aggregate of all.
    fileprivate init<R: StoredRecord, V: Storable>(of query: Query<R>, _ column: ColumnExpression<V>) where T == V? {
        self.init(
            isSame: { left, right in
                if let left, let right { V.isSame(left, right) } else { (left == nil) == (right == nil) }
            },
            narrowed: { interest in
                let own = Dialect.quoted(R.schema.name)
                let text = try FormulaWriter.text(.row(column.parts), query.rows.scope, own)
                try interest.narrow(query, besides: text.sql)
            },
            { try $0.selected(query, distinct: false, isFirst: true) { _ in column }.first })
    }
}
