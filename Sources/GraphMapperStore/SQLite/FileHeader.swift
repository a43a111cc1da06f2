/// What the table `graphmapper` says of the file: the format, the schema's version, and a fingerprint of each table's
/// layout as it was when the table was last opened with its record.
struct FileHeader {
    /// The format that this code writes, and the newest that it reads.
    static let format: Int64 = 1
    /// The version of a schema that no migration has touched. A migration's number goes here once there are some.
    static let version: Int64 = 0
    static let table = "graphmapper"
    static let definition = "CREATE TABLE graphmapper (name TEXT PRIMARY KEY, value) WITHOUT ROWID"

    /// Whether the file has the table.
    let isThere: Bool
    private var values: [String: StoredValue] = [:]

    init(_ connection: Connection) throws {
        guard let stored = try StoredTable(Self.table, connection) else {
            isThere = false
            return
        }
        isThere = true
        guard Set(stored.columns.map(\.name)).isSuperset(of: ["name", "value"]) else {
            throw StoreError(
                .schemaMismatch, "the table graphmapper is not the store's own; rename it", table: Self.table)
        }
        for row in try connection.peekAll("SELECT name, value FROM graphmapper", []) {
            if case .text(let name) = row[0] { values[name] = row[1] }
        }
        try check("format", newest: Self.format)
        try check("version", newest: Self.version)
    }

    private func check(_ name: String, newest: Int64) throws {
        switch values[name] {
        case nil: return
        case .integer(let number)? where number <= newest: return
        case .integer(let number)?:
            throw StoreError(
                .newerFile,
                "the file has \(name) \(number), and this program knows \(newest) at most; "
                    + "open it with a newer version of the program", table: Self.table)
        case let other?:
            throw StoreError(
                .schemaMismatch, "the table graphmapper has \(other) for the \(name); restore it from a copy",
                table: Self.table)
        }
    }

    private static func name(_ table: TableLayout) -> String { "fingerprint \(table.name)" }

    /// Whether the layout is the one that the table was last opened with; nil if it never was.
    func knows(_ table: TableLayout) -> Bool? { values[Self.name(table)].map { $0 == .text(table.fingerprint) } }

    /// The statements that make the table say this. What it says of other tables stays.
    func statements(_ tables: [TableLayout]) -> [(sql: String, values: [StoredValue])] {
        var wanted = Dictionary(
            tables.map { (Self.name($0), StoredValue.text($0.fingerprint)) }, uniquingKeysWith: { $1 })
        wanted["format"] = .integer(Self.format)
        wanted["version"] = values["version"] ?? .integer(Self.version)
        let sql = "INSERT INTO graphmapper (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        return (isThere ? [] : [(Self.definition, [])])
            + wanted.filter { values[$0.key] != $0.value }.sorted { $0.key < $1.key }.map {
                (sql, [.text($0.key), $0.value])
            }
    }
}
