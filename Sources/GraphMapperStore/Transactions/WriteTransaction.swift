/// Reads and writes in one transaction. Ends with its closure.
public final class WriteTransaction: ReadTransaction, JoinableTransaction {
    private var lastInsertion: (table: String, columns: [String], statement: Statement, hasLists: Bool)?
    /// Rows that the changes under way have inserted, where rows have ordered links: nobody has filled these.
    private var newOwners = RowKeys()
    private var lastLink: (table: String, property: String, isNew: Bool, list: LinkTable)?
    private let lists: [String: ListOwner]
    /// What rules do when rows of each table are deleted.
    private let effects: [String: [LinkEffect]]
    /// Whether the file has change records.
    private let isLogged: Bool
    /// Adopted tables, by name.
    let adopted: Set<String>
    // One task at a time uses a transaction, and what a change is written with does not come back to it.
    @exclusivity(unchecked) var log: ChangeLog
    /// Columns that observers have pinned to a value, by table.
    let pins: [String: [String]]
    let hub: Hub
    /// Observers that know what is written.
    let knowing: [Hub.ID]
    /// The last key that rows of each table were given.
    var newKeys: [String: Int64] = [:]
    /// SQLite's data version, once it was asked for.
    private var dataVersion: StoredValue?
    /// What sessions that have joined do if it is undone.
    private var restores: [() throws -> Void] = []

    /// - Parameters:
    ///   - lists: the tables of ordered links.
    ///   - effects: what rules do when rows of each table are deleted.
    ///   - adopted: the adopted tables' names.
    ///   - isLogged: whether the file has change records.
    ///   - hub: those who are told.
    ///   - knowing: observers that know what is written.
    init(
        _ connection: Connection, lists: [String: ListOwner], effects: [String: [LinkEffect]], adopted: Set<String>,
        isLogged: Bool, hub: Hub, knowing: [Hub.ID]
    ) {
        self.lists = lists
        self.effects = effects
        log = ChangeLog(observed: hub.tables)
        pins = hub.pinnedColumns
        self.isLogged = isLogged
        self.adopted = adopted
        self.hub = hub
        self.knowing = knowing
        super.init(connection)
    }

    public func whenUndone(_ restore: @escaping () throws -> Void) { restores.append(restore) }

    override func wasUndone() throws {
        connection.knownLists.forgetAll()
        try undo(to: 0)
    }

    /// Lets the sessions that have joined since go back, the last one first.
    private func undo(to count: Int) throws {
        while restores.count > count { try restores.removeLast()() }
    }

    override func commit() throws {
        try log.noteTriggers(connection, lists, countingForeignKeys: !adopted.isEmpty)
        let records = try isLogged ? log.write(connection) : log.isEmpty ? nil : hub.nextNumber()
        let touches = try records != nil && hub.isNeeded ? Self.touches(log, hub, connection) : nil
        let absorbed = try absorbed(touches ?? [])
        try writeNewKeys()
        do {
            try super.commit()
        } catch let error as StoreError where error.kind == .foreignKey {
            throw try DanglingLink(connection, lists, log).located(error)
        }
        if let records { hub.publish(touches, records: records, absorbed: absorbed) }
    }

    /// Adds a record with its ordered links; throws a ``StoreError`` if its key is there.
    public func insert<R: StoredRecord>(_ record: R) async throws { try insertNow(record, connection.table(R.self)) }

    /// One prepared statement for all.
    public func insert<R: StoredRecord>(contentsOf records: some Sequence<R>) async throws {
        let table = connection.table(R.self)
        for record in records { try insertNow(record, table) }
    }

    func insertNow<R: StoredRecord>(_ record: R, _ table: RecordTable<R>) throws {
        try check()
        guard try table.insert(record, connection, &log) else {
            let change = R.schema.insertion(of: record)
            for change in [change.row] + change.links { try applyNow(change) }
            return
        }
        guard table.hasLists else { return }
        newOwners.insert(record.id.storedValues, R.schema.name)
        defer { newOwners.removeAll() }
        for link in R.schema.insertedLinks(of: record, record.id.storedValues) { try applyNow(link) }
    }

    /// Writes the properties that the patch sets, and reads nothing. False if there is no such row.
    ///
    /// - Throws: ``GraphError`` for a property that has no column; ``StoreError`` for a value that the table forbids.
    @inlinable @inline(__always) @discardableResult
    public func apply<R: StoredRecord>(_ patch: Patch<R>) async throws -> Bool { try applyNow(patch) }

    @usableFromInline func applyNow<R: StoredRecord>(_ patch: Patch<R>) throws -> Bool {
        try check()
        let table = connection.table(R.self)
        guard !patch.isEmpty else { return try table.has(patch.key, connection) }
        if !pins.isEmpty {
            try noteBefore(
                R.schema.name, R.keyColumnNames, patch.key, try table.columns(of: patch, connection))
        }
        return try table.apply(patch, connection, &log)
    }

    /// Deletes the row with this id. False if there is none.
    @discardableResult
    public func delete<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> Bool {
        try check()
        if !pins.isEmpty { try noteBefore(R.schema.name, R.keyColumnNames, id.storedValues) }
        return try deleting(from: R.schema.name) { try connection.table(type).delete(id, connection, &log) }
    }

    /// Runs a deletion, and notes what rules of links have done because of it.
    func deleting<T>(from table: String, _ body: () throws -> T) throws -> T {
        guard let effects = effects[table] else { return try body() }
        let before = connection.totalChangeCount
        let result = try body()
        if connection.totalChangeCount - before > connection.changeCount {
            for effect in effects { log.note(rowsOf: effect.table, effect.kind, effect.columns) }
        }
        return result
    }

    /// Runs a statement of one's own.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse`, and nothing is run, for one that begins or ends
    ///   a transaction.
    public func execute(_ sql: String, _ values: [StoredValue] = []) async throws {
        try check()
        try noting(sql) { try connection.executeOwn(sql, values) }
    }

    override func ownRows(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try noting(sql) { try connection.rowsOwn(sql, values) }
    }

    private func noting<T>(_ sql: String, _ body: () throws -> T) throws -> T {
        let before = connection.totalChangeCount
        let result = try body()
        guard connection.totalChangeCount != before else { return result }
        for touched in try connection.touched(by: sql) {
            note(rowsOf: touched.table, touched.kind, touched.columns)
        }
        return result
    }

    /// Notes rows whose keys are not known, of a record's table or of an ordered link's.
    func note(rowsOf table: String, _ kind: ChangeRecord.Kind, _ columns: [String]?) {
        if let list = lists[table] {
            log.note(rowsOf: list.table, .update, [list.property])
        } else {
            log.note(rowsOf: table, kind, columns)
        }
    }

    /// Runs `body`; if it throws, what it wrote is undone and the transaction goes on.
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        try check()
        try connection.execute("SAVEPOINT graphmapper")
        let logged = log
        let joined = restores.count
        do {
            let result = try await body()
            try connection.execute("RELEASE graphmapper")
            return result
        } catch {
            // Some errors have ended the whole transaction already; theirs is the error to report.
            connection.knownLists.forgetAll()
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO graphmapper")
                try connection.execute("RELEASE graphmapper")
            }
            log = logged
            try undo(to: joined)
            throw error
        }
    }

    // MARK: ChangeSink

    public func apply(_ change: ChangeSet.Change) async throws { try applyNow(change) }

    func applyNow(_ change: ChangeSet.Change) throws {
        try check()
        if let found = try mismatch(of: change) { throw GraphError(Conflict.all(of: change, found)) }
    }

    public func apply(_ changes: ArraySlice<ChangeSet.Change>) async throws -> ChangeSet.Mismatch? {
        try check()
        defer { newOwners.removeAll() }
        for place in changes.indices {
            if let found = try mismatch(of: changes[place]) { return ChangeSet.Mismatch(place: place, found: found) }
        }
        return nil
    }

    /// Applies a change, or answers what is stored instead of what it expects.
    private func mismatch(of change: ChangeSet.Change) throws -> ChangeSet.Found? {
        switch change {
        case .insert(let row):
            guard row.isFit else { throw Self.misfit(change) }
            let insertion = try insertion(row.table, row.columns)
            try connection.execute(insertion.statement, row.values)
            connection.noteOrderly()
            if insertion.hasLists { newOwners.insert(row.key, row.table) }
            log.note(.insert, row.table, row.key)
        case .update(let row):
            guard row.isFit else { throw Self.misfit(change) }
            try noteBefore(row.table, row.keyColumns, row.key, row.columns + row.unread)
            try connection.execute(
                RowStatements.update(row), row.values + row.unreadValues + row.key + row.expected)
            if connection.changeCount == 0 { return try found(row.table, row.columns, row.keyColumns, row.key) }
            connection.noteOrderly()
            if !row.isInterim { log.note(.update, row.table, row.key, row.columns + row.unread) }
        case .delete(let row):
            guard row.isFit else { throw Self.misfit(change) }
            try noteBefore(row.table, row.keyColumns, row.key)
            try deleting(from: row.table) {
                try connection.execute(RowStatements.delete(row), row.key + row.expected)
            }
            if connection.changeCount > 0 {
                log.note(.delete, row.table, row.key)
            } else if !row.columns.isEmpty {
                // Without expectations a row that is gone is as good as deleted.
                return try found(row.table, row.columns, row.keyColumns, row.key)
            }
        case .relink(let link):
            guard link.isFit else { throw Self.misfit(change) }
            if let found = try relink(link) { return found }
            log.note(link: link.property, link.table, link.key)
        }
        return nil
    }

    private static func misfit(_ change: ChangeSet.Change) -> GraphError {
        GraphError(.misuse, "the change has not a value for each of its columns: \(change)")
    }

    private func found(
        _ table: String, _ columns: [String], _ keyColumns: [String], _ key: [StoredValue]
    ) throws -> ChangeSet.Found {
        let row = try connection.rows(RowStatements.select(table, columns, keyColumns), key).first
        return row.map { .values($0) } ?? .gone
    }

    /// The statement of an insert, which most often is the one before.
    private func insertion(_ table: String, _ columns: [String]) throws -> (statement: Statement, hasLists: Bool) {
        if let last = lastInsertion, last.table == table, last.columns == columns {
            return (last.statement, last.hasLists)
        }
        let statement = try connection.prepare(RowStatements.insert(table, columns))
        // What an adopted table's lists are made of is not known.
        let hasLists = !adopted.contains(table) && lists.values.contains { $0.table == table }
        lastInsertion = (table, columns, statement, hasLists)
        return (statement, hasLists)
    }

    /// The statements of a link's table, which most often is the one before.
    private func linkTable(_ link: ChangeSet.Relink) -> LinkTable {
        let isNew = link.isOfNewRow
        if let last = lastLink, last.table == link.table, last.property == link.property, last.isNew == isNew {
            return last.list
        }
        let list = LinkTable(link)
        lastLink = (link.table, link.property, isNew, list)
        return list
    }

    /// Edits the rows of an ordered link: as few as the longest common subsequence allows, for a move one.
    private func relink(_ link: ChangeSet.Relink) throws -> ChangeSet.Found? {
        let (list, id) = (linkTable(link), ListID(link))
        let isEmpty = link.base.isEmpty && link.targets.count >= link.targetColumns.count
        let edits = isEmpty ? nil : try edits(list, link, id)
        // If an edit fails, nothing is known of the list.
        connection.knownLists.forget(id)
        if isEmpty {
            if let found = try fill(list, link) { return found }
        } else if let edits {
            for edit in edits { try execute(list.bound(edit, link)) }
        } else {
            let rows = try rows(list, link)
            let found = rows.flatMap(\.target)
            guard found == link.base else {
                if found.isEmpty, try isGone(link) { return .gone }
                return .list(found)
            }
            for edit in list.edits(link, of: rows) { try execute(edit) }
        }
        if link.targets.count >= KnownLists.least {
            connection.knownLists.learn(link.targets, id, at: try moment())
        }
        return nil
    }

    /// Writes the rows of a list that is empty.
    private func fill(_ list: LinkTable, _ link: ChangeSet.Relink) throws -> ChangeSet.Found? {
        let width = link.targetColumns.count
        let count = link.targets.count / width
        if link.isOfNewRow, newOwners.has(link.key, link.table) {
            try fill(list.filling(connection), link, 0..<count)
            connection.noteOrderly(count)
            return nil
        }
        // The first row goes in only if nobody else filled the list: no statement is spent on looking.
        try connection.execute(
            list.insertFirst,
            link.key + [.integer(Layout.gap)] + link.targets[..<width] + link.key
                + (link.isOfNewRow ? [] : link.key))
        if connection.changeCount == 0 {
            return try isGone(link) ? .gone : .list(rows(list, link).flatMap(\.target))
        }
        if count > 1 { try fill(list.filling(connection), link, 1..<count) }
        connection.noteOrderly(count)
        return nil
    }

    /// Adds the rows of an ordered link at these places, which nobody has taken.
    private func fill(_ insert: Statement, _ link: ChangeSet.Relink, _ places: Range<Int>) throws {
        let width = link.targetColumns.count
        let position = link.key.count
        try connection.executeEach(insert, places) { place in
            if place == places.lowerBound { try insert.bind(link.key[...], at: 0) }
            try insert.bind(.integer(Int64(place + 1) * Layout.gap), at: position)
            for part in 0..<width { try insert.bind(link.targets[place * width + part], at: position + 1 + part) }
        }
    }

    private func execute(_ statement: RowStatements.Bound) throws {
        try connection.execute(statement.sql, statement.values)
        connection.noteOrderly()
    }

    private func moment() throws -> KnownLists.Moment {
        if dataVersion == nil { dataVersion = try connection.peek("PRAGMA data_version") }
        return connection.moment(dataVersion)
    }

    /// The edits of a list that is stored as the link has read it; nil if it is not, or if all rows need other positions.
    private func edits(_ list: LinkTable, _ link: ChangeSet.Relink, _ id: ListID) throws -> [ListEdit]? {
        let places = link.differing
        let width = link.targetColumns.count
        let last = link.base.count / width - places.base.lowerBound
        let found: [ListRow]?
        if last <= Self.few, link.base.count >= KnownLists.least,
            connection.knownLists.holds(link.base, id, at: try moment())
        {
            found = try lastRows(list, link, last)
        } else {
            found = try rows(list, link, at: places.base)
        }
        guard let rows = found?.prefix(places.base.count) else { return nil }
        let targets = link.targets[places.targets.lowerBound * width..<places.targets.upperBound * width]
        return ListEdit.edits(
            from: rows.map(\.target), rows.map(\.position), to: link.parted(Array(targets)), gap: Layout.gap)
    }

    /// How many rows from the end are read of a list that is known.
    private static let few = 16

    /// Whether the row that the links are of is gone.
    private func isGone(_ link: ChangeSet.Relink) throws -> Bool {
        guard !link.keyColumns.isEmpty else { return false }
        return try connection.rows(RowStatements.select(link.table, [], link.keyColumns), link.key).isEmpty
    }
}

/// Keys of rows of some tables. Most often they are asked for in the order in which they came.
private struct RowKeys {
    private struct Table {
        let name: String
        var keys: [RowKey] = []
        /// The one that was asked for last.
        var next = 0
        /// All of them, once another order was seen.
        var all: Set<RowKey>?

        mutating func has(_ key: RowKey) -> Bool {
            if let all { return all.contains(key) }
            while next < keys.count {
                if keys[next] == key { return true }
                next += 1
            }
            let all = Set(keys)
            self.all = all
            return all.contains(key)
        }
    }

    private var tables: [Table] = []

    mutating func insert(_ key: [StoredValue], _ table: String) {
        let place = place(table) ?? tables.count
        if place == tables.count { tables.append(Table(name: table)) }
        let key = RowKey(key[...])
        tables[place].keys.append(key)
        tables[place].all?.insert(key)
    }

    mutating func has(_ key: [StoredValue], _ table: String) -> Bool {
        guard let place = place(table) else { return false }
        return tables[place].has(RowKey(key[...]))
    }

    mutating func removeAll() { tables.removeAll() }

    private func place(_ table: String) -> Int? {
        for place in tables.indices where tables[place].name == table { return place }
        return nil
    }
}

// Change sets are made by anybody: values that do not run in step with their columns are refused.

extension ChangeSet.Insertion {
    fileprivate var isFit: Bool { !columns.isEmpty && columns.count == values.count }
}

extension ChangeSet.Update {
    fileprivate var isFit: Bool {
        !(columns.isEmpty && unread.isEmpty) && columns.count == values.count && columns.count == expected.count
            && unread.count == unreadValues.count && !key.isEmpty && keyColumns.count == key.count
    }
}

extension ChangeSet.Relink {
    fileprivate var isFit: Bool {
        let width = targetColumns.count
        return width > 0 && base.count.isMultiple(of: width) && targets.count.isMultiple(of: width) && !key.isEmpty
            && ownerColumns.count == key.count
    }

    /// Whether the row that the links are of was added just before, so that it need not be looked for.
    var isOfNewRow: Bool { keyColumns.isEmpty }
}

extension ChangeSet.Deletion {
    fileprivate var isFit: Bool { !key.isEmpty && keyColumns.count == key.count && columns.count == expected.count }
}
