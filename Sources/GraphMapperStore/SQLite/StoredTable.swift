/// A table as the file has it.
struct StoredTable {
    struct Column {
        var name: String
        /// The declared type, in capitals.
        var type: String
        var isNullable: Bool
        /// Whether the table computes it.
        var isGenerated = false
        /// What rows have for a default, as the definition says it.
        var preset: String?
    }

    struct Reference {
        var columns: [String]
        var target: String
        /// The columns that it points to; those of the target's key if empty.
        var targetColumns: [String]
        /// What happens when the target goes, as SQLite says it.
        var onDelete: String
        /// The number that `foreign_key_check` gives it.
        var number: Int64
    }

    struct StoredIndex {
        var name: String
        /// Nil if expressions are among them.
        var columns: [String]?
        /// Whether it is of all rows, and each column in its usual order and collation.
        var isPlain: Bool
        var isUnique: Bool
        /// Whether a `CREATE INDEX` made it, not the table's definition.
        var isOwn: Bool
        /// Whether it is that of the primary key.
        var isKey: Bool
        /// Its definition; nil if the table's made it.
        var sql: String?
    }

    /// What it is; the raw values are SQLite's words.
    enum Kind: String {
        case table, view, virtual, shadow
    }

    /// As the file has it; names are found whatever their case.
    let name: String
    let kind: Kind
    let columns: [Column]
    let key: [String]
    /// Whether rows have no number: the table is `WITHOUT ROWID`, or no table but a view.
    let isWithoutRowID: Bool

    /// - Returns: nil if the file has no such table.
    init?(_ name: String, _ connection: Connection) throws {
        // A temporary view, which the app makes on each connection, hides what the file has.
        let found = try connection.peekAll(
            "SELECT name, type, wr FROM pragma_table_list(?) WHERE schema = 'main' OR schema = 'temp' AND type = 'view' "
                + "ORDER BY schema DESC", [.text(name)]
        ).first
        guard let found, case .text(let stored) = found[0], case .text(let word) = found[1],
            let kind = Kind(rawValue: word)
        else { return nil }
        self.name = stored
        self.kind = kind
        isWithoutRowID = kind == .view || found[2] != .integer(0)
        var columns: [Column] = []
        var key: [(rank: Int64, name: String)] = []
        // Generated columns are among them, hidden ones of virtual tables not.
        for row in try connection.peekAll(
            "SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1",
            [.text(name)])
        {
            guard case .text(let name) = row[0], case .text(let type) = row[1], case .integer(let rank) = row[3]
            else { continue }
            columns.append(
                Column(
                    name: name, type: type.uppercased(), isNullable: row[2] == .integer(0),
                    isGenerated: row[4] != .integer(0),
                    preset: { if case .text(let text) = row[5] { text } else { nil } }()))
            if rank > 0 { key.append((rank, name)) }
        }
        self.columns = columns
        self.key = key.sorted { $0.rank < $1.rank }.map(\.name)
    }

    /// The foreign keys, as far as the table's definition says them.
    func references(_ connection: Connection) throws -> [Reference] {
        var found: [Reference] = []
        // A column that is named although it is the target's key is the same as one that is not.
        for row in try connection.peekAll(
            "SELECT id, \"table\", \"from\", on_delete, nullif(\"to\", (SELECT name FROM pragma_table_info(list.\"table\") "
                + "WHERE pk = list.seq + 1)) FROM pragma_foreign_key_list(?) AS list ORDER BY id, seq", [.text(name)])
        {
            guard case .integer(let number) = row[0], case .text(let target) = row[1], case .text(let column) = row[2],
                case .text(let onDelete) = row[3]
            else { continue }
            if found.last?.number != number {
                found.append(
                    Reference(columns: [], target: target, targetColumns: [], onDelete: onDelete, number: number))
            }
            found[found.count - 1].columns.append(column)
            if case .text(let other) = row[4] { found[found.count - 1].targetColumns.append(other) }
        }
        return found
    }

    /// The tables of a table's ordered links: they are called so, and point to it by `owner` columns.
    static func lists(of table: String, _ connection: Connection) throws -> [StoredTable] {
        let start = table + "_"
        let names = try connection.peekAll(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name",
            [.integer(Int64(start.unicodeScalars.count)), .text(start)])
        return try names.compactMap { row in
            guard case .text(let name) = row[0], let stored = try StoredTable(name, connection), stored.isWithoutRowID,
                stored.key.last == "position", stored.key.dropLast().allSatisfy({ $0.hasPrefix("owner") }),
                try stored.references(connection).contains(where: {
                    $0.target == table && $0.onDelete == "CASCADE" && $0.columns[0].hasPrefix("owner")
                })
            else { return nil }
            return stored
        }
    }

    func indexes(_ connection: Connection) throws -> [StoredIndex] { try Self.indexes(of: name, connection) }

    /// The indexes of a table, by name.
    static func indexes(of table: String, _ connection: Connection) throws -> [StoredIndex] {
        var found: [StoredIndex] = []
        for row in try connection.peekAll(
            "SELECT list.name, list.\"unique\", list.origin, info.name, "
                + "info.\"desc\" OR info.coll <> 'BINARY' OR list.partial, "
                + "(SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name) "
                + "FROM pragma_index_list(?) AS list, pragma_index_xinfo(list.name) AS info WHERE info.key "
                + "ORDER BY list.name, info.seqno", [.text(table)])
        {
            guard case .text(let name) = row[0] else { continue }
            if found.last?.name != name {
                found.append(
                    StoredIndex(
                        name: name, columns: [], isPlain: true, isUnique: row[1] != .integer(0),
                        isOwn: row[2] == .text("c"),
                        isKey: row[2] == .text("pk"), sql: { if case .text(let sql) = row[5] { sql } else { nil } }()))
            }
            if row[4] != .integer(0) { found[found.count - 1].isPlain = false }
            if case .text(let column) = row[3] {
                found[found.count - 1].columns?.append(column)
            } else {
                found[found.count - 1].columns = nil
            }
        }
        return found
    }
}
