/// How tables and indexes are defined.
extension Dialect {
    static func type(_ storage: StorageClass) -> String {
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

    /// A Swift type that is stored so, for advice.
    static func swiftType(_ column: TableLayout.Column) -> String {
        let type =
            switch column.storage {
            case .integer: "Int"
            case .real: "Double"
            case .text: "String"
            case .blob, .null: "Data"
            }
        return "\(type)\(column.isNullable ? "?" : "").self"
    }

    /// The way back, from a declared type in capitals.
    static func storage(_ type: String) -> StorageClass {
        switch type {
        case "INTEGER": .integer
        case "TEXT": .text
        case "BLOB": .blob
        case "REAL BLOB": .real
        default: .null
        }
    }

    static func type(_ column: TableLayout.Column) -> String {
        type(column.storage) + (column.isNullable ? "" : " NOT NULL")
    }

    /// Says that rows lie in the order of the key, and have no numbers.
    static let clustered = "WITHOUT ROWID"

    static func create(_ table: TableLayout) -> String {
        var lines = table.columns.map { column in
            "\(quoted(column.name)) \(type(column))" + (table.key == [column.name] ? " PRIMARY KEY" : "")
                + (column.preset.map { " DEFAULT (\($0))" } ?? "")
        }
        lines += table.links.map { link in
            "FOREIGN KEY (\(list(link.columns))) REFERENCES \(quoted(link.target))"
                + (link.onDelete == .nothing ? "" : " ON DELETE \(onDelete(link.onDelete))")
                + " DEFERRABLE INITIALLY DEFERRED"
        }
        if table.key.count > 1 { lines.append("PRIMARY KEY (\(list(table.key)))") }
        return "CREATE TABLE \(quoted(table.name)) (\(lines.joined(separator: ", ")))"
            + (table.isClustered ? " \(clustered)" : "")
    }

    /// What a foreign key does, as SQLite tells it, too.
    static func onDelete(_ action: TableLayout.OnDelete) -> String {
        switch action {
        case .nothing: "NO ACTION"
        case .cascade: "CASCADE"
        case .setNull: "SET NULL"
        }
    }

    /// The way back.
    static func onDelete(_ text: String) -> TableLayout.OnDelete {
        switch text {
        case "CASCADE": .cascade
        case "SET NULL": .setNull
        default: .nothing
        }
    }

    static func create(_ index: TableLayout.IndexLayout, on table: String) -> String {
        "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(quoted(index.name)) ON \(quoted(table)) (\(list(index.columns)))"
            + (index.filter.map { " WHERE \($0)" } ?? "")
    }
}
