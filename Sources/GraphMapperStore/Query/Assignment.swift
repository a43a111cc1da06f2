/// One column set to a value, or to what is computed of the row as it was.
public struct Assignment<R: StoredRecord>: Sendable {
    fileprivate let columns: [String]
    fileprivate let values: [Formula]
    fileprivate let mistake: GraphError?
}

extension ColumnExpression where V: Storable {
    /// Sets the column to a value: `$0.age.set(to: 18)`, `$0.name.set(to: nil)`.
    public func set<R: StoredRecord>(to value: V) -> Assignment<R> {
        assignment(value.storedValues.map { .value($0) }, nil)
    }

    /// Sets the column to what is computed of the row as it was: `$0.age.set(to: $0.age + 1)`.
    ///
    /// A whole number that the column's type has not is an error when the update runs.
    public func set<R: StoredRecord>(to value: Self) -> Assignment<R> {
        guard let range = V.wholeNumbers, let number = value.parts.first, !number.isStored else {
            return assignment(value.parts, value.mistake)
        }
        let ends = [range.lowerBound, range.upperBound].map { Formula.value(.integer($0)) }
        return assignment([.call(.whole, [number] + ends)], value.mistake)
    }

    /// Where an optional value is nil, none of its parts can be set: half a value is none.
    private func assignment<R: StoredRecord>(_ values: [Formula], _ other: GraphError?) -> Assignment<R> {
        let values = whole.map { whole in values.map { .call(.whereTrue, [.not(.areNull(whole)), $0]) } } ?? values
        var columns: [String] = []
        for part in parts {
            guard case .column(_, let name) = part else {
                let wrong = GraphError(
                    .misuse,
                    "only a column of the record itself can be set, not one behind a link, nor what is computed",
                    type: R.schema.name)
                return Assignment(columns: [], values: [], mistake: mistake ?? wrong)
            }
            columns.append(name)
        }
        return Assignment(columns: columns, values: values, mistake: mistake ?? other)
    }
}

extension Formula {
    /// Whether it is what a column holds.
    fileprivate var isStored: Bool { if case .column = self { true } else { false } }
}

extension Storable {
    /// The whole numbers that the type has, if it can be calculated with.
    fileprivate static var wholeNumbers: ClosedRange<Int64>? {
        if let optional = self as? any OptionalColumn.Type { return optional.wrapped.wholeNumbers }
        func range<N: FixedWidthInteger>(_: N.Type) -> ClosedRange<Int64>? {
            guard let least = Int64(exactly: N.min), let most = Int64(exactly: N.max) else { return nil }
            return least...most
        }
        return (self as? any FixedWidthInteger.Type).flatMap { range($0) }
    }
}

private protocol OptionalColumn { static var wrapped: any Storable.Type { get } }
extension Optional: OptionalColumn where Wrapped: Storable {
    static var wrapped: any Storable.Type { Wrapped.self }
}

/// Lists assignments, one a line.
@resultBuilder public enum AssignmentBuilder<R: StoredRecord> {
    /// One assignment.
    public static func buildExpression(_ assignment: Assignment<R>) -> [Assignment<R>] { [assignment] }
    /// All assignments.
    public static func buildBlock(_ assignments: [Assignment<R>]...) -> [Assignment<R>] { assignments.flatMap { $0 } }
    /// Those under an `if`.
    public static func buildOptional(_ assignments: [Assignment<R>]?) -> [Assignment<R>] { assignments ?? [] }
    /// Those of an `if`.
    public static func buildEither(first: [Assignment<R>]) -> [Assignment<R>] { first }
    /// Those of an `else`.
    public static func buildEither(second: [Assignment<R>]) -> [Assignment<R>] { second }
}

extension GraphError {
    /// What is written to the columns of a row does not reach its key.
    static func fixedKey(_ column: String, of table: String) -> GraphError {
        GraphError(
            .misuse,
            "the key of a record stays; delete the row and insert another, or apply a KeyChange, which all links to the row "
                + "follow", type: table, property: column)
    }
}

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
        if let mistake = query.mistake ?? assignments.lazy.compactMap(\.mistake).first { throw mistake }
        let columns = assignments.flatMap(\.columns)
        try checkColumns(type, columns)
        let keys = try keysToLog(query)
        let (sql, values) = try Self.statement(query, columns, assignments.flatMap(\.values))
        try connection.execute(sql, values)
        note(R.schema.name, .update, keys, columns)
        return connection.changeCount
    }

    private static func statement<R: StoredRecord>(
        _ query: Query<R>, _ columns: [String], _ values: [Formula]
    ) throws -> (sql: String, values: [StoredValue]) {
        let table = Dialect.quoted(R.schema.name)
        var writer = FormulaWriter([query.rows.scope: table])
        if query.rows.filter?.looksElsewhere == true || values.contains(where: \.looksElsewhere) {
            // SQLite looks at rows that it has updated already, unless all is computed before.
            let names = columns.indices.map { "value \($0)" }
            try writer.write(query.selecting(query.rows.key + values).rows, as: "new", R.keyColumnNames + names)
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
            try writer.writeTail(query.rows)
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
        if query.rows.filter?.looksElsewhere == true {
            // The rows are chosen before the first one goes.
            let (sql, chosen) = try query.selecting(query.rows.key).statement()
            (tail, values) = ("WHERE \(Dialect.row(keyColumns(type))) IN (\(sql))", chosen)
        }
        try deleting(from: R.schema.name) { try connection.execute("DELETE FROM \(table(type)) \(tail)", values) }
        note(R.schema.name, .delete, keys, nil)
        return connection.changeCount
    }

    /// The keys of the rows, if they are few enough to be told apart in the change records, or by those who observe.
    private func keysToLog<R: StoredRecord>(_ query: Query<R>) throws -> [[StoredValue]]? {
        let most = log.keysToTell(of: R.schema.name)
        let (sql, values) = try query.selecting(query.rows.key).limit(most + 1).statement()
        let keys = try connection.peekAll(sql, values)
        return keys.count > most ? nil : keys
    }

    private func note(_ table: String, _ kind: ChangeRecord.Kind, _ keys: [[StoredValue]]?, _ columns: [String]?) {
        guard let keys else { return log.note(rowsOf: table, kind, columns) }
        for key in keys { log.note(kind, table, key, columns) }
    }
}
