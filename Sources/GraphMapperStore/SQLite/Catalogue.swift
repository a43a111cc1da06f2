/// What a file says of itself besides its tables' columns and keys, which ``StoredTable`` has.
extension Connection {
    /// The names of all tables.
    func tableNames() throws -> [String] {
        try peekAll("SELECT name FROM sqlite_schema WHERE type = 'table'", []).compactMap {
            if case .text(let name) = $0[0] { name } else { nil }
        }
    }

    /// The names of all tables, indexes, views and triggers, in small letters.
    func foldedNames() throws -> [StoredValue] {
        try peekAll("SELECT lower(name) FROM sqlite_schema", []).map { $0[0] }
    }

    /// The definitions of a table's triggers, in the order in which they were made.
    func triggerDefinitions(of table: String) throws -> [String] {
        let rows = try peekAll(
            "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = lower(?) ORDER BY rowid",
            [.text(table)])
        return rows.compactMap { row in if case .text(let sql) = row[0] { sql } else { nil } }
    }

    /// Whether a table's definition says what the store's never do, and would lose when the table is made anew.
    func hasUnsupportedDefinition(_ table: String) throws -> Bool {
        let rows = try peekAll(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)", [.text(table)])
        guard case .text(let sql)? = rows.first?.first else { return false }
        return !BareWords.words(of: sql).isDisjoint(with: [
            "AS", "AUTOINCREMENT", "CHECK", "COLLATE", "CONFLICT", "GENERATED", "STRICT", "UNIQUE", "UPDATE",
        ])
    }

    /// The foreign keys of all tables that point to one, with their columns in the order of its key.
    func foreignKeys(to table: String) throws -> [(table: String, columns: [String])] {
        let rows = try peekAll(
            "SELECT tables.name, keys.id, keys.\"from\" FROM sqlite_schema AS tables, "
                + "pragma_foreign_key_list(tables.name) AS keys WHERE tables.type = 'table' AND keys.\"table\" = ? "
                + "ORDER BY tables.name, keys.id, keys.seq", [.text(table)])
        var found: [(table: String, id: StoredValue, columns: [String])] = []
        for row in rows {
            guard case .text(let name) = row[0], case .text(let column) = row[2] else { continue }
            if let last = found.indices.last, found[last].table == name, found[last].id == row[1] {
                found[last].columns.append(column)
            } else {
                found.append((name, row[1], [column]))
            }
        }
        return found.map { ($0.table, $0.columns) }
    }

    /// The columns of each table's unique indexes, its key's not among them, as the file has them. Those on more than
    /// columns are left out.
    func uniqueIndexes(of tables: [String]) throws -> [String: [[String]]] {
        var uniques: [String: [[String]]] = [:]
        for table in tables {
            uniques[table] = try StoredTable.indexes(of: table, self).filter { $0.isUnique && !$0.isKey }
                .compactMap(\.columns)
        }
        return uniques
    }

    /// What SQLite keeps for a table that was declared with AUTOINCREMENT; 0 for one that was not.
    func lastOfSequence(_ table: String) throws -> Int64 {
        guard try StoredTable("sqlite_sequence", self) != nil else { return 0 }
        let rows = try peekAll("SELECT seq FROM sqlite_sequence WHERE name = ?", [.text(table)])
        if case .integer(let last)? = rows.first?.first { return last }
        return 0
    }

    /// Whether SQLite reads a value in a definition as what it is: a NUL ends a statement, the sign of −0.0 is lost, and of
    /// some numbers the last bit, for which it is asked.
    func readsExactly(_ value: StoredValue) throws -> Bool {
        switch value {
        case .text(let text) where text.utf8.contains(0): return false
        case .real(let number) where number == 0 && number.sign == .minus: return false
        default: break
        }
        return try peek("SELECT \(Literals.text([value]))") == value
    }
}
