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
        writeSet.note(.delete, change.table, change.old)
        writeSet.note(.insert, change.table, change.new)
        for reference in try connection.foreignKeys(to: change.table) {
            try move(reference.table, reference.columns, change)
            if connection.changeCount > 0 { note(rowsOf: reference.table, .update, reference.columns) }
        }
    }

    private func move(_ table: String, _ columns: [String], _ change: KeyChange) throws {
        try connection.execute(
            "UPDATE \(Dialect.quoted(table)) SET \(Dialect.assignments(columns)) WHERE \(Dialect.match(columns))",
            change.new + change.old)
    }

}
