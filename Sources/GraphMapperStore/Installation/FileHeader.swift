/// What the table `graphmapper` says of the file: the format, the schema's version, and a fingerprint of each table's
/// layout as it was when the table was last opened with its record.
struct FileHeader {
    /// The format that this code writes, and the newest that it reads.
    static let format: Int64 = 1
    static let table = StoreTables.header
    static let definition =
        "CREATE TABLE graphmapper (name TEXT PRIMARY KEY, value) \(Dialect.clustered)"

    /// Whether the file has the table.
    let isThere: Bool
    private var values: [String: StoredValue] = [:]

    /// How many migration steps the file has taken.
    var version: Int {
        if case .integer(let number)? = values["version"] { Int(number) } else { 0 }
    }

    /// The name of a step that it has taken, as far as the file says.
    func step(_ number: Int) -> String? {
        if case .text(let name)? = values["step \(number + 1)"] { name } else { nil }
    }

    /// - Parameter newest: how many migration steps the program knows.
    init(_ connection: Connection, newest: Int) throws {
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
        try check("version", newest: Int64(newest))
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

    /// Makes the table say that the file has taken these steps.
    static func write(_ connection: Connection, version: Int, steps: [String]) throws {
        if try StoredTable(table, connection) == nil { try connection.execute(definition) }
        for (name, value) in entries(version: version, steps: steps) {
            try connection.executeUncounted(set, [.text(name), value])
        }
    }

    private static func entries(version: Int, steps: [String]) -> [(String, StoredValue)] {
        [("format", .integer(format)), ("version", .integer(Int64(version)))]
            + steps.prefix(version).enumerated().map { ("step \($0.offset + 1)", .text($0.element)) }
    }

    /// Where the last key stands that a table's rows were given.
    static func lastKey(_ table: String) -> String { "last key \(table)" }

    static let set =
        "INSERT INTO graphmapper (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"

    /// The statements that make the table say this. What it says of other tables stays.
    ///
    /// - Parameter steps: the steps of the program, which a new file has taken.
    func statements(_ tables: [TableLayout], steps: [String]) -> [(sql: String, values: [StoredValue])] {
        var wanted = Dictionary(
            tables.map { (Self.name($0), StoredValue.text($0.fingerprint)) }, uniquingKeysWith: { $1 })
        for (name, value) in Self.entries(version: isThere ? version : steps.count, steps: steps) {
            wanted[name] = value
        }
        return (isThere ? [] : [(Self.definition, [])])
            + wanted.filter { values[$0.key] != $0.value }.sorted { $0.key < $1.key }.map {
                (Self.set, [.text($0.key), $0.value])
            }
    }
}

extension TableLayout {
    /// FNV-1a of the definitions: changes when the layout does.
    var fingerprint: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let texts = [Dialect.create(self)] + indexes.map { Dialect.create($0, on: name) }.sorted()
        for byte in texts.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
