extension WriteTransaction {
    /// Sets columns of all records that satisfy every term, in one statement. Every right side sees the row as it was.
    ///
    /// ```swift
    /// try await tx.update(ItemRecord.self, where: { $0.price > 300 }, set: { $0.price.set(to: $0.price - 50) })
    /// ```
    ///
    /// The record's own key cannot be set, nor its lists.
    /// - Returns: how many rows satisfied the terms, those included that had the values already.
    /// - Throws: ``GraphError`` for what is no column of the record, for a column set twice, and for nothing to set;
    ///   ``StoreError`` for a value that the table forbids.
    @discardableResult
    public func update<R: StoredRecord>(
        _ type: R.Type, @ConditionBuilder where terms: (Columns<R>) -> Condition,
        @AssignmentBuilder<R> set: (Columns<R>) -> [Assignment<R>]
    ) async throws -> Int {
        try check()
        let query = Query(type).where(terms)
        let assignments = set(query.columns)
        if let diagnostic = query.diagnostic ?? assignments.lazy.compactMap(\.diagnostic).first { throw diagnostic }
        let columns = assignments.flatMap(\.columns)
        try checkColumns(type, columns)
        let keys = try keysToLog(query)
        let (sql, values) = try Self.statement(query, columns, assignments.flatMap(\.values))
        try connection.execute(sql, values)
        note(R.schema.name, .update, keys, columns)
        return connection.changeCount
    }

    private static func statement<R: StoredRecord>(
        _ query: Query<R>, _ columns: [String], _ values: [SQLExpression]
    ) throws -> (sql: String, values: [StoredValue]) {
        let table = Dialect.quoted(R.schema.name)
        var writer = SQLWriter([query.tree.alias: table])
        if query.tree.filter?.looksElsewhere == true || values.contains(where: \.looksElsewhere) {
            // SQLite looks at rows that it has updated already, unless all is computed before.
            let names = columns.indices.map { "value \($0)" }
            try writer.write(query.selecting(query.tree.key + values).tree, as: "new", R.keyColumnNames + names)
            writer.write("UPDATE \(table) SET ")
            writer.write(
                zip(columns, names).map { "\(Dialect.quoted($0)) = new.\(Dialect.quoted($1))" }.joined(separator: ", "))
            let isSame = R.keyColumnNames.map(Dialect.quoted).map { "\(table).\($0) = new.\($0)" }
            writer.write(" FROM new WHERE \(isSame.joined(separator: " AND "))")
        } else {
            writer.write("UPDATE \(table) SET ")
            for (index, pair) in zip(columns, values).enumerated() {
                writer.write("\(index > 0 ? ", " : "")\(Dialect.quoted(pair.0)) = ")
                try writer.write(pair.1)
            }
            writer.write(" ")
            try writer.writeTail(query.tree)
        }
        return (writer.sql, writer.values)
    }

    private func checkColumns<R: StoredRecord>(_ type: R.Type, _ columns: [String]) throws {
        func misuse(_ text: String, _ column: String?) -> GraphError {
            GraphError(.misuse, text, type: R.schema.name, property: column)
        }
        guard !columns.isEmpty else { throw misuse("nothing is set", nil) }
        if let key = columns.first(where: R.keyColumnNames.contains) {
            throw GraphError.fixedKey(key, of: R.schema.name)
        }
        if let twice = columns.first(where: { name in columns.filter { $0 == name }.count > 1 }) {
            throw misuse("it is set twice", twice)
        }
    }

    /// Deletes all records that satisfy every term, in one statement, with their lists.
    ///
    /// - Returns: how many rows went, those not among them that go because their owner does.
    /// - Throws: ``GraphError`` for what is no column of the record. That a link still points to a deleted row is found
    ///   out at commit.
    @discardableResult
    public func delete<R: StoredRecord>(
        _ type: R.Type, @ConditionBuilder where terms: (Columns<R>) -> Condition
    ) async throws -> Int {
        try check()
        let query = Query(type).where(terms)
        var (tail, values) = try query.tail()
        let keys = try keysToLog(query)
        if query.tree.filter?.looksElsewhere == true {
            // The rows are chosen before the first one goes.
            let (sql, chosen) = try query.selecting(query.tree.key).statement()
            (tail, values) = ("WHERE \(Dialect.row(keyColumns(type))) IN (\(sql))", chosen)
        }
        try deleting(from: R.schema.name) { try connection.execute("DELETE FROM \(table(type)) \(tail)", values) }
        note(R.schema.name, .delete, keys, nil)
        return connection.changeCount
    }

    /// Deletes all records of a type, with their lists.
    ///
    /// - Returns: how many rows went.
    @discardableResult
    public func deleteAll<R: StoredRecord>(_ type: R.Type) async throws -> Int {
        try await delete(type) { _ in Condition.always }
    }

    /// The keys of the rows, if they are few enough to be told apart in the change records, or by those who observe.
    private func keysToLog<R: StoredRecord>(_ query: Query<R>) throws -> [[StoredValue]]? {
        let most = writeSet.keysToTell(of: R.schema.name)
        let (sql, values) = try query.selecting(query.tree.key).limit(most + 1).statement()
        let keys = try connection.peekAll(sql, values)
        return keys.count > most ? nil : keys
    }

    private func note(_ table: String, _ kind: WriteKind, _ keys: [[StoredValue]]?, _ columns: [String]?) {
        guard let keys else { return writeSet.note(rowsOf: table, kind, columns) }
        for key in keys { writeSet.note(kind, table, key, columns) }
    }
}
