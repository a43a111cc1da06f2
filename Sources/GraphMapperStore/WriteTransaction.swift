/// Reads and writes in one transaction. Ends with its closure.
public final class WriteTransaction: ReadTransaction, ChangeSink {
    private var lastInsertion: (table: String, columns: [String], sql: String)?
    private var lastLink: (table: String, property: String, list: LinkTable)?
    private let lists: [String: ListOwner]
    var log = ChangeLog()
    /// The last key that rows of each table were given.
    var newKeys: [String: Int64] = [:]

    /// - Parameter lists: the tables of ordered links.
    init(_ connection: Connection, lists: [String: ListOwner]) {
        self.lists = lists
        super.init(connection)
    }

    override func commit() throws {
        try log.write(connection)
        try writeNewKeys()
        do {
            try super.commit()
        } catch let error as StoreError where error.kind == .foreignKey {
            throw try DanglingLink(connection, lists, log).located(error)
        }
    }

    /// Adds a record with its ordered links; throws a ``StoreError`` if its key is there.
    public func insert<R: StoredRecord>(_ record: R) async throws {
        let change = R.schema.insertion(of: record)
        try await apply(change.row)
        for link in change.links { try await apply(link) }
    }

    /// One prepared statement for all.
    public func insert<R: StoredRecord>(contentsOf records: some Sequence<R>) async throws {
        for record in records { try await insert(record) }
    }

    /// Writes the properties that the patch sets, and reads nothing. False if there is no such row.
    @discardableResult
    public func apply<R: StoredRecord>(_ patch: Patch<R>) async throws -> Bool {
        try check()
        if let mistake = patch.mistake { throw mistake }
        guard !patch.columns.isEmpty else { return try await find(R.self, patch.id) != nil }
        let list = Dialect.assignments(patch.columns)
        let key = patch.id.storedValues
        try connection.execute("UPDATE \(table(R.self)) SET \(list) WHERE \(isKey(R.self))", patch.values + key)
        guard connection.changeCount > 0 else { return false }
        log.note(.update, R.schema.name, key, patch.columns)
        return true
    }

    /// Deletes the row with this id. False if there is none.
    @discardableResult
    public func delete<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> Bool {
        try check()
        let key = id.storedValues
        try connection.execute("DELETE FROM \(table(type)) WHERE \(isKey(type))", key)
        guard connection.changeCount > 0 else { return false }
        log.note(.delete, R.schema.name, key)
        return true
    }

    private func isKey<R: StoredRecord>(_ type: R.Type) -> String { Dialect.match(R.schema.key?.columnNames ?? ["id"]) }

    /// Runs a statement of one's own.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse`, and nothing is run, for one that begins or ends
    ///   a transaction.
    public func execute(_ sql: String, _ values: [StoredValue] = []) async throws {
        try check()
        let before = connection.totalChangeCount
        try connection.executeOwn(sql, values)
        guard connection.totalChangeCount != before else { return }
        for touched in try connection.touched(by: sql) {
            if let list = lists[touched.table] {
                log.note(rowsOf: list.table, .update, [list.property])
            } else {
                log.note(rowsOf: touched.table, touched.kind, touched.columns)
            }
        }
    }

    /// Runs `body`; if it throws, what it wrote is undone and the transaction goes on.
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        try check()
        try connection.execute("SAVEPOINT graphmapper")
        let logged = log
        do {
            let result = try await body()
            try connection.execute("RELEASE graphmapper")
            return result
        } catch {
            // Some errors have ended the whole transaction already; theirs is the error to report.
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO graphmapper")
                try connection.execute("RELEASE graphmapper")
            }
            log = logged
            throw error
        }
    }

    // MARK: ChangeSink

    public func apply(_ change: ChangeSet.Change) async throws {
        try check()
        try checkShape(change)
        switch change {
        case .insert(let row):
            try connection.execute(insertion(row.table, row.columns), row.values)
            log.note(.insert, row.table, row.key)
        case .update(let row): try update(row)
        case .relink(let link):
            try relink(link)
            log.note(link: link.property, link.table, link.key)
        case .delete(let row):
            try connection.execute(
                "DELETE FROM \(Dialect.quoted(row.table)) WHERE \(Dialect.match(row.keyColumns))", row.key)
            if connection.changeCount > 0 { log.note(.delete, row.table, row.key) }
        }
    }

    /// Change sets are made by anybody: values that do not run in step with their columns are refused.
    func checkShape(_ change: ChangeSet.Change) throws {
        let isFit: Bool
        switch change {
        case .insert(let row): isFit = !row.columns.isEmpty && row.columns.count == row.values.count
        case .update(let row):
            isFit =
                !row.columns.isEmpty && row.columns.count == row.values.count && row.columns.count == row.expected.count
                && !row.key.isEmpty && row.keyColumns.count == row.key.count
        case .relink(let link):
            let width = link.targetColumns.count
            isFit =
                width > 0 && link.base.count.isMultiple(of: width) && link.targets.count.isMultiple(of: width)
                && !link.key.isEmpty && link.ownerColumns.count == link.key.count
        case .delete(let row): isFit = !row.key.isEmpty && row.keyColumns.count == row.key.count
        }
        guard isFit else {
            throw GraphError(.misuse, "the change has not a value for each of its columns: \(change)")
        }
    }

    /// The text of an insert, which most often is the one before.
    private func insertion(_ table: String, _ columns: [String]) -> String {
        if let last = lastInsertion, last.table == table, last.columns == columns { return last.sql }
        let sql =
            "INSERT INTO \(Dialect.quoted(table)) (\(Dialect.list(columns))) "
            + "VALUES (\(Dialect.parameters(columns.count)))"
        lastInsertion = (table, columns, sql)
        return sql
    }

    /// The statements of a link's table, which most often is the one before.
    private func linkTable(_ link: ChangeSet.Relink) -> LinkTable {
        if let last = lastLink, last.table == link.table, last.property == link.property { return last.list }
        let list = LinkTable(link)
        lastLink = (link.table, link.property, list)
        return list
    }

    /// Whether the row was there as expected; if so, it is updated.
    func isApplied(_ row: ChangeSet.Update) throws -> Bool {
        try connection.execute(
            "UPDATE \(Dialect.quoted(row.table)) SET \(Dialect.assignments(row.columns)) "
                + "WHERE \(Dialect.match(row.keyColumns)) AND \(Dialect.same(row.columns))",
            row.values + row.key + row.expected)
        return connection.changeCount > 0
    }

    func update(_ row: ChangeSet.Update) throws {
        if try isApplied(row) { return log.note(.update, row.table, row.key, row.columns) }
        let name = Dialect.quoted(row.table)
        let match = Dialect.match(row.keyColumns)
        let columns = Dialect.list(row.columns)
        let found = try connection.rows("SELECT \(columns) FROM \(name) WHERE \(match)", row.key).first
        let key = row.key.map(\.description).joined(separator: ", ")
        guard let found else {
            throw GraphError(
                .conflict, "another writer deleted it; refresh and save again", type: row.table, id: key)
        }
        for (index, theirs) in found.enumerated() where theirs != row.expected[index] {
            throw GraphError(
                .conflict,
                "another writer changed it: \(row.expected[index]) became \(theirs), this session has "
                    + "\(row.values[index]); refresh and save again",
                type: row.table, id: key, property: row.columns[index])
        }
    }

    /// Edits the rows of an ordered link: as few as the longest common subsequence allows, for a move one.
    private func relink(_ link: ChangeSet.Relink) throws {
        let list = linkTable(link)
        let width = link.targetColumns.count
        if link.base.isEmpty, link.targets.count >= width {
            // The first row goes in only if nobody else filled the list: no statement is spent on looking.
            try connection.execute(
                list.insertFirst, link.key + [.integer(Layout.gap)] + link.targets[..<width] + link.key)
            if connection.changeCount == 0 { try expect(rows(list, link.key).flatMap { $0.dropFirst() }, link) }
            try connection.executeEach(
                list.insert,
                stride(from: width, to: link.targets.count, by: width).lazy.map { start in
                    link.key + [.integer(Int64(start / width + 1) * Layout.gap)] + link.targets[start..<start + width]
                })
            return
        }
        let rows = try rows(list, link.key)
        try expect(rows.flatMap { $0.dropFirst() }, link)
        let positions: [Int64] = try rows.map { row in
            guard case .integer(let position) = row[0] else {
                throw StoreError(
                    .constraint, "a position in the list is \(row[0]), not a whole number; correct it in the file",
                    table: Layout.listTable(link.table, link.property),
                    key: link.key.map(\.description).joined(separator: ", "), column: "position")
            }
            return position
        }
        func parted(_ keys: [StoredValue]) -> [[StoredValue]] {
            stride(from: 0, to: keys.count, by: width).map { Array(keys[$0..<min($0 + width, keys.count)]) }
        }
        for edit in ListEdit.minimal(
            from: parted(link.base), positions, to: parted(link.targets), gap: Layout.gap)
        {
            switch edit {
            case .delete(let position): try connection.execute(list.delete, link.key + [.integer(position)])
            case .move(let from, let to):
                try connection.execute(list.move, [.integer(to)] + link.key + [.integer(from)])
            case .insert(let position, let target):
                try connection.execute(list.insert, link.key + [.integer(position)] + target)
            }
        }
    }

    private func rows(_ list: LinkTable, _ owner: [StoredValue]) throws -> [[StoredValue]] {
        try connection.rows(list.select, owner)
    }

    private func expect(_ found: [StoredValue], _ link: ChangeSet.Relink) throws {
        guard found == link.base else {
            let width = link.targetColumns.count
            throw GraphError(
                .conflict,
                "another writer changed the list from \(link.base.count / width) to \(found.count / width) links; "
                    + "refresh and save again", type: link.table,
                id: link.key.map(\.description).joined(separator: ", "), property: link.property)
        }
    }
}

/// The statements of one ordered link's table.
private struct LinkTable {
    let select: String
    let insert: String
    let insertFirst: String
    let delete: String
    let move: String

    init(_ link: ChangeSet.Relink) {
        let name = Dialect.quoted(Layout.listTable(link.table, link.property))
        let isOwner = Dialect.match(link.ownerColumns)
        let all = link.ownerColumns + ["position"] + link.targetColumns
        let columns = Dialect.list(all)
        let marks = Dialect.parameters(all.count)
        select =
            "SELECT position, \(Dialect.list(link.targetColumns)) FROM \(name) WHERE \(isOwner) ORDER BY position"
        insert = "INSERT INTO \(name) (\(columns)) VALUES (\(marks))"
        insertFirst =
            "INSERT INTO \(name) (\(columns)) SELECT \(marks) "
            + "WHERE NOT EXISTS (SELECT 1 FROM \(name) WHERE \(isOwner))"
        delete = "DELETE FROM \(name) WHERE \(isOwner) AND position = ?"
        move = "UPDATE \(name) SET position = ? WHERE \(isOwner) AND position = ?"
    }
}
