extension WriteTransaction {
    /// Looks at what a row that is about to be written holds in columns that observers filter by: so those whom it concerned
    /// until now are told, and no others.
    ///
    /// - Parameter columns: what will be written; nil for the whole row.
    func noteBefore(
        _ table: String, _ keyColumns: @autoclosure () -> [String],
        _ rowKey: @autoclosure () -> [StoredValue], _ columns: @autoclosure () throws -> [String]? = nil
    ) throws {
        guard let filters = context.filterColumns[table], try columns()?.contains(where: filters.contains) ?? true
        else { return }
        let key = rowKey()
        guard writeSet.wantsBefore(table, key) else { return }
        let sql = "SELECT \(Dialect.list(filters)) FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(keyColumns()))"
        guard let row = try connection.peekAll(sql, key).first else { return }
        let values = Dictionary(zip(filters, row.map(\.normalizedKey)), uniquingKeysWith: { $1 })
        writeSet.note(before: values, table, key)
    }

    /// What was written, with the values of columns that observers filter by: one look at the rows for all of them.
    func rowChanges(filteredBy filterColumns: [String: [String]]) throws -> [RowChange] {
        var changes = writeSet.rowChanges
        for (table, columns) in filterColumns {
            let indices = changes.indices.filter { changes[$0].table == table && changes[$0].key != nil }
            guard let first = indices.first, let stored = try StoredTable(table, connection),
                changes[first].key?.count == stored.key.count
            else { continue }
            let match = Dialect.match(stored.key)
            let sql = "SELECT \(Dialect.list(columns)) FROM \(Dialect.quoted(table)) WHERE \(match)"
            for index in indices where changes[index].kind != .delete {
                guard let row = try connection.peekAll(sql, changes[index].key ?? []).first else {
                    // It is gone by now, which is told of by itself.
                    changes[index].values = changes[index].before
                    continue
                }
                for (column, value) in zip(columns, row) { changes[index].values[column] = value.normalizedKey }
            }
        }
        return changes
    }
}
