extension ReadTransaction {
    /// The text of what each change runs.
    func statements(for changes: ChangeSet) throws -> [[String]] {
        // A list that is edited in two steps is, for the second, as the first has left it.
        var lists: [ListID: [ListRow]] = [:]
        return try changes.changes.map { change in
            switch change {
            case .insert(let row): return [RowStatements.insert(row.table, row.columns)]
            case .update(let row): return [RowStatements.update(row)]
            case .delete(let row): return [RowStatements.delete(row)]
            case .relink(let link):
                let table = ListTable(link)
                let count = link.parted(link.targets).count
                if link.base.isEmpty, count > 0 {
                    return [table.insertFirst] + Array(repeating: table.insert, count: count - 1)
                }
                let id = ListID(link)
                let rows = try lists[id] ?? self.rows(table, link)
                lists[id] = zip(link.parted(link.targets), 1...).map {
                    ListRow(position: $1 * RecordLayout.listSpacing, target: $0)
                }
                return [table.select] + table.edits(link, of: rows).map(\.sql)
            }
        }
    }
}

extension WriteTransaction {
    /// The text of the statements that each change runs.
    public func texts(of changes: ChangeSet) async throws -> [[String]] {
        try check()
        return try statements(for: changes)
    }
}
