import Foundation

/// How a record type lies in the file.
///
/// A table a record, keyed by the record's id; foreign keys by id, checked at commit; a table
/// `<record>_<property>` for each ordered link, clustered on (owner, position) with gaps between positions.
struct Layout {
    let table: String
    let columns: [(name: String, column: Column)]
    let statements: [String]
    let lists: [String]

    /// The distance between the positions of neighbours in a new list.
    static let gap: Int64 = 1 << 20

    static func quoted(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
        return "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
    }
    /// One column, or several as a row value.
    static func row(_ columns: [String]) -> String {
        columns.count == 1 ? columns[0] : "(\(columns.joined(separator: ", ")))"
    }
    /// `?` for each of so many columns, as a row value if there are several.
    static func marks(_ width: Int) -> String {
        width == 1 ? "?" : "(" + String(repeating: "?, ", count: max(0, width - 1)) + "?)"
    }
    /// The right side of an IN that chooses among so many values of so many columns.
    static func choice(_ count: Int, width: Int) -> String {
        let marks = String(repeating: marks(width) + ",", count: max(0, count - 1)) + marks(width)
        guard count > 0 else {
            return width == 1 ? "()" : "(SELECT \(String(repeating: "0, ", count: width - 1))0 LIMIT 0)"
        }
        return width == 1 ? "(\(marks))" : "(VALUES \(marks))"
    }
    /// What to order by for types whose text does not sort as they do; nil for others.
    static func number(_ sql: String, of type: Any.Type) -> String? {
        type == Decimal.self || type == Decimal?.self ? "CAST(nullif(\(sql), 'NaN') AS REAL)" : nil
    }
    static func listTable(_ table: String, _ property: String) -> String { quoted("\(table)_\(property)") }

    init<R: StoredRecord>(_ type: R.Type) {
        let schema = R.schema
        table = schema.name
        var columns: [(String, Column)] = []
        var lines: [String] = []
        var constraints: [String] = []
        var more: [String] = []
        var lists: [String] = []
        let unique = Set(R.indexes.filter { $0.isUnique && $0.paths.count == 1 }.map { $0.paths[0] as AnyKeyPath })
        for property in schema.properties where !property.isNested {
            if let link = property.link, link.isList {
                lists.append(property.name)
                more += Self.list(schema, property, link)
                continue
            }
            for (name, column) in zip(property.columnNames, property.columns) {
                columns.append((name, column))
                lines.append(
                    "\(Self.quoted(name)) \(Self.type(column.storage))\(column.isNullable ? "" : " NOT NULL")"
                        + (property.isKey && property.columns.count == 1 ? " PRIMARY KEY" : ""))
            }
            let list = property.columnNames.map(Self.quoted).joined(separator: ", ")
            if property.isKey && property.columns.count > 1 { constraints.append("PRIMARY KEY (\(list))") }
            if let link = property.link {
                constraints.append(
                    "FOREIGN KEY (\(list)) REFERENCES \(Self.quoted(link.table())) DEFERRABLE INITIALLY DEFERRED")
                if !unique.contains(property.path) {
                    more.append(
                        "CREATE INDEX IF NOT EXISTS \(Self.quoted("\(schema.name)_\(property.name)_link")) "
                            + "ON \(Self.quoted(schema.name)) (\(list))")
                }
            }
        }
        for index in R.indexes {
            let names = index.paths.flatMap { schema.columnNames(at: $0) ?? [] }
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

    private static func list<R>(_ schema: Schema<R>, _ property: Property<R>, _ link: LinkTarget) -> [String] {
        let name = listTable(schema.name, property.name)
        let columns = schema.linkColumns(of: property)
        var lines: [String] = []
        var constraints: [String] = []
        func side(_ names: [String], _ key: [Column], _ table: String, _ rule: String) {
            let types = zip(names, key).map { "\(quoted($0)) \(type($1.storage)) NOT NULL" }
            let reference = "REFERENCES \(quoted(table))\(rule) DEFERRABLE INITIALLY DEFERRED"
            if names.count == 1 {
                lines.append("\(types.joined()) \(reference)")
            } else {
                lines += types
                constraints.append("FOREIGN KEY (\(names.map(quoted).joined(separator: ", "))) \(reference)")
            }
        }
        side(columns.owner, schema.key?.columns ?? [Column(.blob)], schema.name, " ON DELETE CASCADE")
        lines.append("position INTEGER NOT NULL")
        side(columns.target, link.keyColumns, link.table(), "")
        let key = (columns.owner.map(quoted) + ["position"]).joined(separator: ", ")
        let body = (lines + constraints + ["PRIMARY KEY (\(key))"]).joined(separator: ", ")
        return [
            "CREATE TABLE IF NOT EXISTS \(name) (\(body)) WITHOUT ROWID",
            "CREATE INDEX IF NOT EXISTS \(quoted("\(schema.name)_\(property.name)_target")) "
                + "ON \(name) (\(columns.target.map(quoted).joined(separator: ", ")))",
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
