/// Reads and writes in one transaction. Ends with its closure.
public final class WriteTransaction: ReadTransaction, JoinableTransaction {
    /// What the transaction is to know of the store, and of those who observe it.
    struct Context {
        /// The tables of ordered links.
        let lists: [String: ListOwner]
        /// What rules do when rows of each table are deleted.
        let effects: [String: [LinkEffect]]
        /// The adopted tables' names.
        let adopted: Set<String>
        /// Whether the file has change records.
        let isLogged: Bool
        let knownLists: KnownLists
        /// The tables that somebody observes.
        let observedTables: Set<String>
        /// Columns by whose values observers choose their rows, by table.
        let filterColumns: [String: [String]]
    }

    let context: Context
    var lists: [String: ListOwner] { context.lists }
    var adopted: Set<String> { context.adopted }
    // One task at a time uses a transaction, and what a change is written with does not come back to it.
    @exclusivity(unchecked) var writeSet: WriteSet
    /// The statements of the last insert and the last edit of a list: most often those of the next, too.
    var lastInsertion: (table: String, columns: [String], statement: Statement, hasLists: Bool)?
    var lastList: (table: String, property: String, isNew: Bool, list: ListTable)?
    /// Rows that the changes under way have inserted, where rows have ordered links: nobody has filled these.
    var newOwners = RowKeys()
    /// The last key that rows of each table were given.
    var newKeys: [String: Int64] = [:]
    /// What the engine says of writes by other connections, once it was asked.
    var dataVersion: StoredValue?
    /// What sessions that have joined do if it is undone.
    private var restores: [() throws -> Void] = []

    init(_ connection: Connection, _ context: Context) {
        self.context = context
        writeSet = WriteSet(observed: context.observedTables)
        super.init(connection)
    }

    public func whenUndone(_ restore: @escaping () throws -> Void) { restores.append(restore) }

    override func wasUndone() throws {
        context.knownLists.forgetAll()
        try undo(to: 0)
    }

    /// Lets the sessions that have joined since go back, the last one first.
    private func undo(to count: Int) throws {
        while restores.count > count { try restores.removeLast()() }
    }

    /// Notes what triggers have done, and writes the change records.
    ///
    /// - Parameter unlogged: the number for a transaction in a file that has no change records.
    /// - Returns: the numbers of its change records; nil if it has written nothing.
    func finishWriteSet(unlogged: () -> ClosedRange<Int64>) throws -> ClosedRange<Int64>? {
        try writeSet.noteTriggers(connection, lists, countingForeignKeys: !adopted.isEmpty)
        guard context.isLogged else { return writeSet.isEmpty ? nil : unlogged() }
        guard let written = try writeSet.write(connection) else { return nil }
        context.knownLists.noteOrderly(written.rowCount)
        return written.records
    }

    override func commit() throws {
        try writeNewKeys()
        do {
            try super.commit()
        } catch let error as StoreError where error.kind == .foreignKey {
            throw try DanglingLink(connection, lists, wasWritten: writeSet.has).located(error)
        }
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
        do {
            guard try table.insert(record, connection, &writeSet) else {
                let change = R.schema.insertion(of: record)
                for change in [change.row] + change.links { try applyNow(change) }
                return
            }
        } catch let error as StoreError { throw error.ofRow(R.schema.name, record.id.storedValues) }
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
        if !context.filterColumns.isEmpty {
            try noteBefore(
                R.schema.name, R.keyColumnNames, patch.key, try table.columns(of: patch, connection))
        }
        do { return try table.apply(patch, connection, &writeSet) } catch let error as StoreError {
            throw error.ofRow(R.schema.name, patch.key)
        }
    }

    /// Deletes the row with this id. False if there is none.
    @discardableResult
    public func delete<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> Bool {
        try check()
        if !context.filterColumns.isEmpty { try noteBefore(R.schema.name, R.keyColumnNames, id.storedValues) }
        return try deleting(from: R.schema.name) { try connection.table(type).delete(id, connection, &writeSet) }
    }

    /// Deletes the row of a record, whatever it holds. False if there is none.
    @discardableResult
    public func delete<R: StoredRecord>(_ record: R) async throws -> Bool { try await delete(R.self, record.id) }

    /// Runs a deletion, and notes what rules of links have done because of it.
    func deleting<T>(from table: String, _ body: () throws -> T) throws -> T {
        guard let effects = context.effects[table] else { return try body() }
        let before = connection.totalChangeCount
        let result = try body()
        if connection.totalChangeCount - before > connection.changeCount {
            for effect in effects { writeSet.note(rowsOf: effect.table, effect.kind, effect.columns) }
        }
        return result
    }

    /// Runs raw SQL: one statement.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse`, and nothing is run, for one that begins or ends
    ///   a transaction.
    public func execute(_ sql: String, _ values: [StoredValue] = []) async throws {
        try check()
        try noting(sql) { try connection.executeRaw(sql, values) }
    }

    override func rawRows(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try noting(sql) { try connection.rowsRaw(sql, values) }
    }

    private func noting<T>(_ sql: String, _ body: () throws -> T) throws -> T {
        let before = connection.totalChangeCount
        let result = try body()
        guard connection.totalChangeCount != before else { return result }
        for write in try connection.writes(of: sql) where !StoreTables.all.contains(write.table) {
            note(rowsOf: write.table, write.kind, write.columns)
        }
        return result
    }

    /// Notes rows whose keys are not known, of a record's table or of an ordered link's.
    func note(rowsOf table: String, _ kind: WriteKind, _ columns: [String]?) {
        if let list = lists[table] {
            writeSet.note(rowsOf: list.table, .update, [list.property])
        } else {
            writeSet.note(rowsOf: table, kind, columns)
        }
    }

    /// Runs `body`; if it throws, what it wrote is undone and the transaction goes on.
    @discardableResult
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        try check()
        try connection.execute("SAVEPOINT graphmapper")
        let noted = writeSet
        let joined = restores.count
        do {
            let result = try await body()
            try connection.execute("RELEASE graphmapper")
            return result
        } catch {
            // Some errors have ended the whole transaction already; theirs is the error to report.
            context.knownLists.forgetAll()
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO graphmapper")
                try connection.execute("RELEASE graphmapper")
            }
            writeSet = noted
            try undo(to: joined)
            throw error
        }
    }
}
