/// The statements of one ordered link's table.
final class ListTable {
    let select: String
    /// The last rows, from the end.
    let last: String
    let insert: String
    /// The first row of a list, if it is empty, and its owner there.
    let insertFirst: String
    let delete: String
    let move: String
    private var insertion: Statement?

    init(_ link: ChangeSet.Relink) {
        let name = Dialect.quoted(RecordLayout.listTable(link.table, link.property))
        let isOwner = Dialect.match(link.ownerColumns)
        let all = link.ownerColumns + ["position"] + link.targetColumns
        let columns = Dialect.list(all)
        let marks = Dialect.parameters(all.count)
        select =
            "SELECT position, \(Dialect.list(link.targetColumns)) FROM \(name) WHERE \(isOwner) ORDER BY position"
        last = "\(select) DESC LIMIT ?"
        insert = "INSERT INTO \(name) (\(columns)) VALUES (\(marks))"
        insertFirst =
            "INSERT INTO \(name) (\(columns)) SELECT \(marks) "
            + "WHERE NOT EXISTS (SELECT 1 FROM \(name) WHERE \(isOwner))"
            + (link.isOfNewRow ? "" : " AND EXISTS (\(RowStatements.select(link.table, [], link.keyColumns)))")
        delete = "DELETE FROM \(name) WHERE \(isOwner) AND position = ?"
        move = "UPDATE \(name) SET position = ? WHERE \(isOwner) AND position = ?"
    }

    /// What adds a row.
    func filling(_ connection: Connection) throws -> Statement {
        if let insertion { return insertion }
        let statement = try connection.prepare(insert)
        insertion = statement
        return statement
    }

    /// The fewest statements that make the rows, as they are, into the link's targets.
    func edits(_ link: ChangeSet.Relink, of rows: [ListRow]) -> [RowStatements.Bound] {
        let edits = ListEdit.minimal(
            from: rows.map(\.target), rows.map(\.position), to: link.parted(link.targets), gap: RecordLayout.listSpacing
        )
        return edits.map { bound($0, link) }
    }

    func bound(_ edit: ListEdit, _ link: ChangeSet.Relink) -> RowStatements.Bound {
        switch edit {
        case .delete(let position): (delete, link.key + [.integer(position)])
        case .move(let from, let to): (move, [.integer(to)] + link.key + [.integer(from)])
        case .insert(let position, let target): (insert, link.key + [.integer(position)] + target)
        }
    }
}

/// A row of an ordered link's table.
struct ListRow {
    var position: Int64
    var target: [StoredValue]
}
