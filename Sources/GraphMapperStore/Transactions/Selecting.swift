extension ReadTransaction {
    /// Columns of the records of a query, or of its groups, in its order: `select(people) { ($0.name, $0.age) }`,
    /// `select(people.grouped { $0.city }) { ($0.city, $0.count(), $0.age.average()) }`.
    ///
    /// - Parameters:
    ///   - distinct: whether rows that are the same are one.
    ///   - columns: what to read. What is computed through an optional link is NULL where there is none: then an
    ///     expression of a type that is not optional is an error.
    /// - Throws: ``GraphError`` for a property that has no column, and for a value that does not fit its type.
    /// - Complexity: that of the query.
    public func select<R: StoredRecord, each V: Storable>(
        _ query: Query<R>, distinct: Bool = false, _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) async throws -> [(repeat each V)] {
        try selected(query, distinct: distinct, columns)
    }

    /// One column of the first record of a query, nil if there is none; an aggregate of all its records, those within its
    /// limit: `value(people) { $0.age.max() }`.
    public func value<R: StoredRecord, V: Storable>(
        _ query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) async throws -> V? {
        try selected(query, distinct: false, isFirst: true) { column($0) }.first
    }

    /// - Parameter isFirst: whether one row will do.
    func selected<R: StoredRecord, each V: Storable>(
        _ query: Query<R>, distinct: Bool, isFirst: Bool = false,
        _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) throws -> [(repeat each V)] {
        try check()
        let columns = columns(query.columns)
        var expressions: [SQLExpression] = []
        var diagnostic: GraphError?
        for column in repeat each columns {
            expressions += column.parts
            diagnostic = diagnostic ?? column.diagnostic
        }
        var chosen = expressions.contains(where: \.isAggregate) ? query.chosenFirst() : query
        chosen = chosen.selecting(expressions, diagnostic)
        if isFirst { chosen = chosen.limit(1) }
        if distinct { chosen = chosen.unique() }
        let (sql, values) = try chosen.statement()
        return try connection.withStatement(sql, values, isCached: true) { statement in
            let cursor = statement.cursor(nil)
            var rows: [(repeat each V)] = []
            while try statement.step() {
                var position = RowPosition()
                rows.append((repeat try cursor.read((each V).self, at: &position)))
            }
            return rows
        }
    }

    /// How the engine will find the records of a query. Runs nothing.
    public func explain<R: StoredRecord>(_ query: Query<R>) async throws -> QueryPlan {
        try check()
        let (tail, values) = try query.tail()
        let columns = R.schema.columnNames.map(Dialect.quoted).joined(separator: ", ")
        let sql = "SELECT \(columns) FROM \(table(R.self)) \(tail)"
        return QueryPlan(sql: sql, try StatementPlan(sql, values, connection))
    }
}
