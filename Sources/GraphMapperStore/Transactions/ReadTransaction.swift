/// Reads from one snapshot. Ends with its closure.
public class ReadTransaction: ImmediateSource {
    let connection: Connection
    var isOpen = true
    /// The task that has begun it; nil if none has.
    private let task = currentTask()

    init(_ connection: Connection) { self.connection = connection }

    /// How many statements have run on this transaction's connection.
    public var statementCount: Int { connection.statementCount }

    func commit() throws { try connection.execute("COMMIT") }

    /// Called when what it did is undone.
    func wasUndone() throws {}

    func check() throws {
        guard isOpen else { throw StoreError(.misuse, "the transaction has ended; start another") }
        // Swift 6 does not compile what gets here. Two threads must not use a connection at once.
        guard currentTask() == task else {
            throw StoreError(
                .misuse, "the transaction belongs to the task that has begun it; start another in this one")
        }
        // Some errors end it at once. What ran after them would be written by itself.
        guard connection.isInTransaction else {
            throw StoreError(.misuse, "an earlier error has undone the transaction; let that error through")
        }
    }

    /// The records of a query, in its order.
    public func fetch<R: StoredRecord>(_ query: Query<R>) async throws -> [R] { try fetchNow(query) }

    /// The records of a query, in its order. Nothing is awaited.
    public func fetchNow<R: StoredRecord>(_ query: Query<R>) throws -> [R] {
        let (tail, values) = try query.tail()
        return try select(R.self, tail, values)
    }

    /// The first record of a query; nil if it has none.
    public func first<R: StoredRecord>(_ query: Query<R>) async throws -> R? { try fetchNow(query.limit(1)).first }

    /// How many records the query has. Complexity: that of the query; the rows are counted.
    public func count<R: StoredRecord>(_ query: Query<R>) async throws -> Int { try count(of: query) }

    /// Whether the query has no records. Looks for the first alone.
    public func isEmpty<R: StoredRecord>(_ query: Query<R>) async throws -> Bool {
        try check()
        let (tail, values) = try query.limit(1).tail()
        return try connection.rows("SELECT 1 FROM \(table(R.self)) \(tail)", values).isEmpty
    }

    func count<R: StoredRecord>(of query: Query<R>) throws -> Int {
        try check()
        let (tail, values) = try query.tail()
        let rows = try connection.rows("SELECT count(*) FROM (SELECT 1 FROM \(table(R.self)) \(tail))", values)
        guard case .integer(let count)? = rows.first?.first else { return 0 }
        return Int(count)
    }

    /// The record with that id; nil if there is none.
    @inlinable @inline(__always)
    public final func find<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> R? {
        // An asynchronous call that is inlined costs nothing.
        try findNow(type, id)
    }

    @usableFromInline final func findNow<R: StoredRecord>(_ type: R.Type, _ id: R.ID) throws -> R? {
        try check()
        do { return try connection.table(type).find(id, connection) } catch let error as GraphError {
            throw R.schema.located(error, inRow: id.storedValues)
        }
    }

    /// The rows of raw SQL, one statement, each as its values: for what a ``Query`` cannot ask.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse`, and nothing is run, for one that begins or ends
    ///   a transaction, and for one that writes where the transaction only reads.
    public func rows(_ sql: String, _ values: [StoredValue] = []) async throws -> [[StoredValue]] {
        try check()
        return try rawRows(sql, values)
    }

    func rawRows(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try connection.rowsRead(sql, values)
    }
}

/// The address of the running task, which tells tasks apart for as long as they run; nil outside of tasks. It is compared
/// at every call on a transaction, and never followed.
private func currentTask() -> UnsafeRawPointer? {
    withUnsafeCurrentTask { task in
        // A task's handle is its address and nothing else. Unwrapped it would be counted once more.
        guard MemoryLayout<UnsafeCurrentTask?>.size == MemoryLayout<UnsafeRawPointer?>.size else { return nil }
        return unsafeBitCast(task, to: UnsafeRawPointer?.self)
    }
}
