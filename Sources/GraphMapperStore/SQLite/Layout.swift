import Foundation

/// How a record type lies in the file.
///
/// A table a record, keyed by the record's id; foreign keys by id, checked at commit; a table
/// `<record>_<property>` for each ordered link, clustered on (owner, position) with gaps between positions.
struct Layout {
    let table: String
    let key: String
    let columns: [(name: String, column: Column)]
    let statements: [String]
    let lists: [String]

    /// The distance between the positions of neighbours in a new list.
    static let gap: Int64 = 1 << 20

    static func quoted(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
        return "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
    }
    static func listTable(_ table: String, _ property: String) -> String { quoted("\(table)_\(property)") }

    init<R: StoredRecord>(_ type: R.Type) {
        let schema = R.schema
        table = schema.name
        key = schema.key?.name ?? "id"
        var columns: [(String, Column)] = []
        var lines: [String] = []
        var constraints: [String] = []
        var more: [String] = []
        var lists: [String] = []
        let unique = Set(R.indexes.filter { $0.isUnique && $0.paths.count == 1 }.map { $0.paths[0] as AnyKeyPath })
        for property in schema.properties where !property.isNested {
            if let link = property.link, link.isList {
                lists.append(property.name)
                more += Self.list(schema.name, schema.key?.columns.first ?? Column(.blob), key, property.name, link)
                continue
            }
            for (name, column) in zip(property.columnNames, property.columns) {
                columns.append((name, column))
                lines.append(
                    "\(Self.quoted(name)) \(Self.type(column.storage))\(column.isNullable ? "" : " NOT NULL")"
                        + (property.isKey ? " PRIMARY KEY" : ""))
            }
            if let link = property.link {
                let name = Self.quoted(property.name)
                constraints.append(
                    "FOREIGN KEY (\(name)) REFERENCES \(Self.quoted(link.table())) DEFERRABLE INITIALLY DEFERRED")
                if !unique.contains(property.path) {
                    more.append(
                        "CREATE INDEX IF NOT EXISTS \(Self.quoted("\(schema.name)_\(property.name)_link")) "
                            + "ON \(Self.quoted(schema.name)) (\(name))")
                }
            }
        }
        for index in R.indexes {
            let names = index.paths.flatMap { schema.property(at: $0)?.columnNames ?? [] }
            let list = names.map(Self.quoted).joined(separator: ", ")
            more.append(
                "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS "
                    + "\(Self.quoted("\(schema.name)_\(names.joined(separator: "_"))")) "
                    + "ON \(Self.quoted(schema.name)) (\(list))")
        }
        self.columns = columns
        self.lists = lists
        let body = (lines + constraints).joined(separator: ", ")
        statements = ["CREATE TABLE IF NOT EXISTS \(Self.quoted(schema.name)) (\(body))"] + more
    }

    private static func list(
        _ owner: String, _ ownerColumn: Column, _ key: String, _ property: String, _ link: LinkTarget
    ) -> [String] {
        let name = listTable(owner, property)
        let target = link.keyColumns.first ?? Column(.blob)
        return [
            """
            CREATE TABLE IF NOT EXISTS \(name) (owner \(type(ownerColumn.storage)) NOT NULL \
            REFERENCES \(quoted(owner)) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            position INTEGER NOT NULL, target \(type(target.storage)) NOT NULL \
            REFERENCES \(quoted(link.table())) DEFERRABLE INITIALLY DEFERRED, \
            PRIMARY KEY (owner, position)) WITHOUT ROWID
            """,
            "CREATE INDEX IF NOT EXISTS \(quoted("\(owner)_\(property)_target")) ON \(name) (target)",
        ]
    }

    private static func type(_ storage: StorageClass) -> String {
        switch storage {
        case .integer: "INTEGER"
        // A type name with BLOB in it has no affinity (https://sqlite.org/datatype3.html, 3.1): a REAL column would lose
        // the sign of -0.0.
        case .real: "REAL BLOB"
        case .text: "TEXT"
        case .blob: "BLOB"
        case .null: "ANY"
        }
    }

    /// Makes what is missing; answers what differs, in sentences.
    func install(_ connection: Connection) throws -> [String] {
        let found = try differences(connection)
        guard found.isEmpty else { return found }
        for statement in statements { try connection.execute(statement) }
        return []
    }

    /// How the file's table differs from the record; nothing if the file has no such table.
    func differences(_ connection: Connection) throws -> [String] {
        var found: [String: String] = [:]
        for row in try connection.rows("SELECT name, type, \"notnull\" FROM pragma_table_info(?)", [.text(table)]) {
            guard case .text(let name) = row[0], case .text(let type) = row[1] else { continue }
            found[name] = type.uppercased() + (row[2] == .integer(0) ? "" : " NOT NULL")
        }
        guard !found.isEmpty else { return [] }
        var differences: [String] = []
        for (name, column) in columns {
            let wanted = Self.type(column.storage) + (column.isNullable ? "" : " NOT NULL")
            guard let type = found.removeValue(forKey: name) else {
                differences.append("\(table).\(name) is not in the file")
                continue
            }
            if type != wanted { differences.append("\(table).\(name) is \(type) in the file, \(wanted) in the record") }
        }
        return differences + found.keys.sorted().map { "\(table).\($0) is not in the record" }
    }

    /// FNV-1a of the statements: changes when the layout does.
    static func fingerprint(_ layouts: [Layout]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in layouts.flatMap(\.statements).sorted().joined(separator: "\n").utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
