internal import CSQLite

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

    /// Whether a table's definition has a CHECK, which SQLite tells in no other way.
    func hasCheck(_ table: String) throws -> Bool { try definitionWords(table).contains("CHECK") }

    private func definitionWords(_ table: String) throws -> Set<String> {
        let rows = try peekAll(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)", [.text(table)])
        guard case .text(let sql)? = rows.first?.first else { return [] }
        return BareWords.words(of: sql)
    }

    /// Whether a table's definition says what the store's never do, and would lose when the table is made anew.
    func hasUnsupportedDefinition(_ table: String) throws -> Bool {
        !(try definitionWords(table)).isDisjoint(with: [
            "AS", "AUTOINCREMENT", "CHECK", "COLLATE", "CONFLICT", "GENERATED", "STRICT", "UNIQUE", "UPDATE",
        ])
    }

    /// A foreign key that points to a table.
    struct IncomingLink {
        let table: String
        var columns: [String]
        /// The columns that it points to, which need not be those of the key.
        var targetColumns: [String]
        fileprivate let id: StoredValue
    }

    /// The foreign keys of all tables that point to one.
    func foreignKeys(to table: String) throws -> [IncomingLink] {
        let rows = try peekAll(
            "SELECT tables.name, keys.id, keys.\"from\", "
                + "coalesce(keys.\"to\", (SELECT name FROM pragma_table_info(?1) WHERE pk = keys.seq + 1)) "
                + "FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys "
                + "WHERE tables.type = 'table' AND lower(keys.\"table\") = lower(?1) "
                + "ORDER BY tables.name, keys.id, keys.seq", [.text(table)])
        var found: [IncomingLink] = []
        for row in rows {
            guard case .text(let name) = row[0], case .text(let column) = row[2], case .text(let target) = row[3]
            else { continue }
            if let last = found.indices.last, found[last].table == name, found[last].id == row[1] {
                found[last].columns.append(column)
                found[last].targetColumns.append(target)
            } else {
                found.append(IncomingLink(table: name, columns: [column], targetColumns: [target], id: row[1]))
            }
        }
        return found
    }

    /// What SQLite calls the number of a row of a table, besides `rowid`; nil for a table without such a column.
    func numberColumn(of table: String) throws -> String? {
        guard let stored = try StoredTable(table, self), !stored.isWithoutRowID, stored.key.count == 1,
            stored.columns.contains(where: { $0.name == stored.key[0] && $0.type == "INTEGER" })
        else { return nil }
        return stored.key[0]
    }

    /// Whether a column of a table is compared by its bytes. Of a view nobody can say; it is not.
    func comparesBytes(_ column: String, of table: String) -> Bool {
        var collation: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(handle, nil, table, column, nil, &collation, nil, nil, nil)
        guard code == SQLITE_OK, let collation else { return false }
        return String(cString: collation) == "BINARY"
    }

    /// Throws if the file's texts are not in UTF-8: in UTF-16 their bytes sort in another order, and conditions on bytes
    /// answer something else.
    func checkEncoding() throws {
        guard case .text(let encoding)? = try peek("PRAGMA encoding"), encoding != "UTF-8" else { return }
        throw StoreError(
            .cannotOpen,
            "the file keeps its texts in \(encoding), which sorts and compares them otherwise than the store does; make a "
                + "copy in UTF-8: with the sqlite3 shell, PRAGMA encoding = 'UTF-8' in a new file and .read a .dump of this one"
        )
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
