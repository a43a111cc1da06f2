extension WriteTransaction {
    /// Gives a row another key. Foreign keys and lists that point to it follow, whichever table of the file has them.
    ///
    /// - Throws: ``GraphError`` of kind `.conflict` if the row is not there, ``StoreError`` of kind `.duplicateKey` if
    ///   another has the key.
    public func apply(_ change: KeyChange) async throws {
        try check()
        try move(change.table, change.keyColumns, change)
        guard connection.changeCount > 0 else {
            throw GraphError(
                .conflict, "another writer deleted it; refresh and try again", type: change.table,
                id: change.old.map(\.description).joined(separator: ", "))
        }
        log.note(.delete, change.table, change.old)
        log.note(.insert, change.table, change.new)
        for reference in try references(to: change.table) {
            try move(reference.table, reference.columns, change)
            if connection.changeCount > 0 { note(rowsOf: reference.table, .update, reference.columns) }
        }
    }

    private func move(_ table: String, _ columns: [String], _ change: KeyChange) throws {
        try connection.execute(
            "UPDATE \(Dialect.quoted(table)) SET \(Dialect.assignments(columns)) WHERE \(Dialect.match(columns))",
            change.new + change.old)
    }

    /// The foreign keys of all tables that point to one, with their columns in the order of its key.
    private func references(to table: String) throws -> [(table: String, columns: [String])] {
        let rows = try connection.peekAll(
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
}
