/// The statements of changes: what a save runs, and what its plan shows, come from here.
enum RowStatements {
    /// One statement and what is bound to it.
    typealias Bound = (sql: String, values: [StoredValue])

    static func insert(_ table: String, _ columns: [String]) -> String {
        "INSERT INTO \(Dialect.quoted(table)) (\(Dialect.list(columns))) VALUES (\(Dialect.parameters(columns.count)))"
    }

    static func update(_ row: ChangeSet.Update) -> String {
        set(row.table, row.columns + row.unread, row.keyColumns)
            + (row.columns.isEmpty ? "" : " AND \(Dialect.same(row.columns))")
    }

    static func set(_ table: String, _ columns: [String], _ keyColumns: [String]) -> String {
        "UPDATE \(Dialect.quoted(table)) SET \(Dialect.assignments(columns)) WHERE \(Dialect.match(keyColumns))"
    }

    static func delete(from table: String, _ keyColumns: [String]) -> String {
        "DELETE FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(keyColumns))"
    }

    static func delete(_ row: ChangeSet.Deletion) -> String {
        delete(from: row.table, row.keyColumns)
            + (row.columns.isEmpty ? "" : " AND \(Dialect.same(row.columns))")
    }

    /// What a row holds that a change did not find as it expects.
    static func select(_ table: String, _ columns: [String], _ keyColumns: [String]) -> String {
        "SELECT \(columns.isEmpty ? Dialect.always : Dialect.list(columns)) FROM \(Dialect.quoted(table)) "
            + "WHERE \(Dialect.match(keyColumns))"
    }

    /// The targets of one row's ordered link.
    static func selectList(_ table: String, _ owner: [String], _ target: [String]) -> String {
        "SELECT \(Dialect.list(target)) FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(owner)) ORDER BY position"
    }
}

/// The statements of one ordered link's table.
final class LinkTable {
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
        let name = Dialect.quoted(Layout.listTable(link.table, link.property))
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
            from: rows.map(\.target), rows.map(\.position), to: link.parted(link.targets), gap: Layout.gap)
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

extension GraphStore {
    public func statements(for changes: ChangeSet) async throws -> [[String]] {
        try await read { try $0.statements(for: changes) }
    }
}

extension WriteTransaction {
    /// The text of the statements that each change runs.
    public func texts(of changes: ChangeSet) async throws -> [[String]] {
        try check()
        return try statements(for: changes)
    }
}

extension ReadTransaction {
    /// The text of what each change runs.
    fileprivate func statements(for changes: ChangeSet) throws -> [[String]] {
        // A list that is edited in two steps is, for the second, as the first has left it.
        var lists: [ListID: [ListRow]] = [:]
        return try changes.changes.map { change in
            switch change {
            case .insert(let row): return [RowStatements.insert(row.table, row.columns)]
            case .update(let row): return [RowStatements.update(row)]
            case .delete(let row): return [RowStatements.delete(row)]
            case .relink(let link):
                let table = LinkTable(link)
                let count = link.parted(link.targets).count
                if link.base.isEmpty, count > 0 {
                    return [table.insertFirst] + Array(repeating: table.insert, count: count - 1)
                }
                let id = ListID(link)
                let rows = try lists[id] ?? self.rows(table, link)
                lists[id] = zip(link.parted(link.targets), 1...).map { ListRow(position: $1 * Layout.gap, target: $0) }
                return [table.select] + table.edits(link, of: rows).map(\.sql)
            }
        }
    }

    /// The last rows of an ordered link, so many, if they are as the link has read them.
    func lastRows(_ table: LinkTable, _ link: ChangeSet.Relink, _ count: Int) throws -> [ListRow]? {
        let width = link.targetColumns.count
        let rows = try connection.rows(table.last, link.key + [.integer(Int64(count))]).reversed()
        guard rows.flatMap({ $0.dropFirst() }) == Array(link.base.suffix(count * width)) else { return nil }
        var found: [ListRow] = []
        for row in rows {
            guard case .integer(let position) = row[0] else { return nil }
            found.append(ListRow(position: position, target: Array(row.dropFirst())))
        }
        return found
    }

    /// The rows of an ordered link at these places, if the whole is stored as the link has read it; else nil.
    ///
    /// Every row is looked at and none but these is kept. Complexity: O(the list), without an allocation a row.
    func rows(_ table: LinkTable, _ link: ChangeSet.Relink, at places: Range<Int>) throws -> [ListRow]? {
        let width = link.targetColumns.count
        var rows: [ListRow] = []
        var next = 0
        var isSame = true
        try connection.run(table.select, link.key) { row in
            let values = next * width..<(next + 1) * width
            isSame = isSame && values.upperBound <= link.base.count && row.holds(link.base[values], from: 1)
            guard isSame, places.contains(next) else {
                next += 1
                return
            }
            next += 1
            guard case .integer(let position) = row.value(0) else {
                isSame = false
                return
            }
            rows.append(ListRow(position: position, target: Array(link.base[values])))
        }
        return isSame && next * width == link.base.count ? rows : nil
    }

    /// The rows of an ordered link, in order.
    func rows(_ table: LinkTable, _ link: ChangeSet.Relink) throws -> [ListRow] {
        try connection.rows(table.select, link.key).map { row in
            guard case .integer(let position)? = row.first else {
                throw StoreError(
                    .constraint, "a position in the list is \(row[0]), not a whole number; correct it in the file",
                    table: Layout.listTable(link.table, link.property),
                    key: link.key.map(\.description).joined(separator: ", "), column: "position")
            }
            return ListRow(position: position, target: Array(row.dropFirst()))
        }
    }
}

extension Connection {
    /// The columns of each table's unique indexes, its key's not among them, as the file has them. Those on more than
    /// columns are left to the engine.
    func uniqueIndexes(of tables: [String]) throws -> [String: [[String]]] {
        var uniques: [String: [[String]]] = [:]
        for table in tables {
            uniques[table] = try StoredTable.indexes(of: table, self).filter { $0.isUnique && !$0.isKey }
                .compactMap(\.columns)
        }
        return uniques
    }
}
