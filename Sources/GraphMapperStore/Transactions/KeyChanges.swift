extension WriteTransaction {
    /// Gives a row another key. Foreign keys and lists that point to it follow, whichever table of the file has them.
    ///
    /// - Throws: ``GraphError`` of kind `.conflict` if the row is not there, ``StoreError`` of kind `.duplicateKey` if
    ///   another has the key.
    public func apply(_ change: KeyChange) async throws {
        try check()
        let references = try links(to: change)
        try move(change.table, change.keyColumns, from: change.old, to: change.new)
        guard connection.changeCount > 0 else {
            throw GraphError(
                .conflict, "another writer deleted it; refresh and try again", type: change.table,
                id: change.old.map(\.description).joined(separator: ", "))
        }
        writeSet.note(.delete, change.table, change.old)
        writeSet.note(.insert, change.table, change.new)
        for reference in references {
            try move(reference.table, reference.columns, from: reference.old, to: reference.new)
            if connection.changeCount > 0 { note(rowsOf: reference.table, .update, reference.columns) }
        }
    }

    /// Columns that point to the row, what they have and what they get.
    private struct MovedLink {
        let table: String
        let columns: [String]
        let old: [StoredValue]
        let new: [StoredValue]
    }

    /// The foreign keys that point to columns of the key, alone or among others. Those to other unique columns stay.
    private func links(to change: KeyChange) throws -> [MovedLink] {
        var key = change.keyColumns
        if key == [Dialect.rowNumber], let column = try connection.numberColumn(of: change.table) { key.append(column) }
        let names = key.map(Dialect.folded)
        return try connection.foreignKeys(to: change.table).compactMap { link in
            let indices = link.targetColumns.map { names.firstIndex(of: Dialect.folded($0)) }
            guard indices.contains(where: { $0 != nil }) else { return nil }
            let row = try connection.peekAll(
                "SELECT \(Dialect.list(link.targetColumns)) FROM \(Dialect.quoted(change.table)) "
                    + "WHERE \(Dialect.match(change.keyColumns))", change.old
            ).first
            guard let old = row else { return nil }
            let new = zip(old, indices).map { value, index in
                index.map { change.new[min($0, change.new.count - 1)] } ?? value
            }
            return MovedLink(table: link.table, columns: link.columns, old: old, new: new)
        }
    }

    private func move(_ table: String, _ columns: [String], from old: [StoredValue], to new: [StoredValue]) throws {
        try connection.execute(
            "UPDATE \(Dialect.quoted(table)) SET \(Dialect.assignments(columns)) WHERE \(Dialect.match(columns))",
            new + old)
    }
}
