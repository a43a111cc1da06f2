/// How the engine will find the rows of a query: for a look while developing. The words are the engine's.
public struct QueryPlan: Sendable, Hashable, CustomStringConvertible {
    /// One step of the plan.
    public struct Step: Sendable, Hashable {
        /// How deep it stands below other steps, from 0.
        public let depth: Int
        /// What the engine says: `SEARCH person USING INDEX person_name (name=?)`.
        public let detail: String
        /// The table that the step reads row by row, without an index that finds or orders them; nil if it does not.
        public let scannedTable: String?
    }

    /// The statement, with `?` for each value.
    public let sql: String
    /// The steps, each before those below it.
    public let steps: [Step]

    /// A sentence for each table that is read wholly.
    public var warnings: [String] {
        steps.compactMap(\.scannedTable).map {
            "every row of \($0) is read; an index on what the query compares or sorts by would help"
        }
    }
    /// Whether the engine sorts the rows once it has found them.
    public var sortsRows: Bool { steps.contains { $0.detail.hasPrefix("USE TEMP B-TREE FOR") } }

    /// The steps, one a line, then the warnings.
    public var description: String {
        (steps.map { String(repeating: "  ", count: $0.depth) + $0.detail } + warnings.map { "warning: \($0)" })
            .joined(separator: "\n")
    }
}

extension ReadTransaction {
    /// How the engine will find the records of a query. Runs nothing.
    public func explain<R: StoredRecord>(_ query: Query<R>) async throws -> QueryPlan {
        try check()
        let (tail, values) = try query.tail()
        let columns = R.schema.columnNames.map(Dialect.quoted).joined(separator: ", ")
        let sql = "SELECT \(columns) FROM \(table(R.self)) \(tail)"
        var depths: [StoredValue: Int] = [:]
        let names = try tableNames(R.self)
        let steps = try connection.peekAll("EXPLAIN QUERY PLAN \(sql)", values).compactMap { row -> QueryPlan.Step? in
            guard row.count == 4, case .text(let detail) = row[3] else { return nil }
            let depth = depths[row[1]].map { $0 + 1 } ?? 0
            depths[row[0]] = depth
            return QueryPlan.Step(depth: depth, detail: detail, scannedTable: Self.scanned(detail, names))
        }
        return QueryPlan(sql: sql, steps: steps)
    }

    private func tableNames<R: StoredRecord>(_ type: R.Type) throws -> Set<String> {
        Set(
            try connection.peekAll("SELECT name FROM sqlite_schema WHERE type = 'table'", []).compactMap {
                if case .text(let name) = $0[0] { name } else { nil }
            })
    }

    /// The table of `SCAN person` or `SCAN $1`; one that is read in the order of an index is not meant.
    private static func scanned(_ detail: String, _ names: Set<String>) -> String? {
        guard detail.hasPrefix("SCAN ") else { return nil }
        let name = String(detail.dropFirst(5))
        return names.contains(name) || name.hasPrefix("$") ? name : nil
    }
}

extension GraphStore {
    /// How the engine will find the records of a query. Runs nothing.
    public func explain<R: StoredRecord>(_ query: Query<R>) async throws -> QueryPlan {
        try await read { try await $0.explain(query) }
    }
}
