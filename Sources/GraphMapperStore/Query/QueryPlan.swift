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
    /// Whether the engine sorts the rows once it has found them.
    public let sortsRows: Bool

    init(sql: String, _ plan: StatementPlan) {
        self.sql = sql
        steps = plan.steps.map { Step(depth: $0.depth, detail: $0.detail, scannedTable: $0.scannedTable) }
        sortsRows = plan.steps.contains(where: \.isSort)
    }

    /// A sentence for each table that is read wholly.
    public var warnings: [String] {
        steps.compactMap(\.scannedTable).map {
            "every row of \($0) is read; an index on what the query compares or sorts by would help"
        }
    }

    /// The steps, one a line, then the warnings.
    public var description: String {
        (steps.map { String(repeating: "  ", count: $0.depth) + $0.detail } + warnings.map { "warning: \($0)" })
            .joined(separator: "\n")
    }
}
