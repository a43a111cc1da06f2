/// How SQLite will run a statement (https://sqlite.org/eqp.html).
struct StatementPlan {
    struct Step {
        /// How deep it stands below other steps, from 0.
        let depth: Int
        /// SQLite's words.
        let detail: String
        /// The table that the step reads row by row, without an index that finds or orders them; nil if it does not.
        let scannedTable: String?
        /// Whether it sorts rows.
        var isSort: Bool { detail.hasPrefix("USE TEMP B-TREE FOR") }
    }

    let steps: [Step]

    init(_ sql: String, _ values: [StoredValue], _ connection: Connection) throws {
        var depths: [StoredValue: Int] = [:]
        let names = Set(try connection.tableNames())
        steps = try connection.peekAll("EXPLAIN QUERY PLAN \(sql)", values).compactMap { row -> Step? in
            guard row.count == 4, case .text(let detail) = row[3] else { return nil }
            let depth = depths[row[1]].map { $0 + 1 } ?? 0
            depths[row[0]] = depth
            return Step(depth: depth, detail: detail, scannedTable: Self.scanned(detail, names))
        }
    }

    /// The table of `SCAN person` or `SCAN $1`; one that is read in the order of an index is not meant.
    private static func scanned(_ detail: String, _ names: Set<String>) -> String? {
        guard detail.hasPrefix("SCAN ") else { return nil }
        let name = String(detail.dropFirst(5))
        return names.contains(name) || name.hasPrefix("$") ? name : nil
    }
}
