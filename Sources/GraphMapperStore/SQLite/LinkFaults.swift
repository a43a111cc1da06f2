/// The links to nothing of a file, counted by their foreign keys.
///
/// Tables that the store knows nothing of may have such, and foreign keys that cannot even be checked: what was so before
/// is none of its business.
struct LinkFaults {
    struct ForeignKey: Hashable {
        let table: String
        let target: String
        /// The number that SQLite gives the foreign key.
        let number: Int64
    }

    private(set) var counts: [ForeignKey: Int64] = [:]
    /// Tables with foreign keys that SQLite cannot check, and what it says of them.
    private var unchecked: [String: StoreError] = [:]

    /// - Complexity: O(rows with links).
    init(_ connection: Connection) throws {
        for row in try connection.peekAll("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", []) {
            guard case .text(let table) = row[0] else { continue }
            do {
                for row in try Self.rows(connection, table) {
                    guard case .text(let target) = row[0], case .integer(let key) = row[1],
                        case .integer(let count) = row[2]
                    else { continue }
                    counts[ForeignKey(table: table, target: target, number: key)] = count
                }
            } catch let error as StoreError where error.kind == .database {
                unchecked[table] = error
            }
        }
    }

    private static func rows(_ connection: Connection, _ table: String) throws -> [[StoredValue]] {
        try connection.peekAll(
            "SELECT parent, fkid, count(*) FROM pragma_foreign_key_check(?) GROUP BY 1, 2", [.text(table)])
    }

    /// Throws for what is wrong and was not before.
    func check(since before: LinkFaults) throws {
        let more = counts.filter { $0.value > before.counts[$0.key] ?? 0 }
        if let (foreignKey, count) = more.min(by: { $0.key.table < $1.key.table }) {
            throw StoreError(
                .foreignKey,
                "\(count) links point to nothing, one of \(foreignKey.table) to \(foreignKey.target); clear or repair them in the "
                    + "step", table: foreignKey.table)
        }
        if let (table, error) = unchecked.first(where: { before.unchecked[$0.key] == nil }) {
            throw StoreError(
                .foreignKey, "the links of \(table) cannot be checked: \(error.message)", code: error.code, table: table
            )
        }
    }
}
