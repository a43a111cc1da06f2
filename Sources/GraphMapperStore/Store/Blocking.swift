import Dispatch

/// Forms that wait with the thread, for scripts and tests, and for what cannot be asynchronous.
extension GraphStore {
    /// ``open(_:options:_:)`` without `await`.
    public static func openBlocking(
        _ location: Location, options: Options = Options(), _ records: any StoredRecord.Type...
    ) throws -> GraphStore {
        try waiting { try await make(location, options, records) }
    }

    /// ``write(_:)`` for a thread that is no task's: a script's, or a queue's.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside of a task, whose thread must not wait; what `body` throws.
    @discardableResult
    public func writeBlocking<T: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) async throws -> T
    ) throws -> T { try Self.waiting { try await self.write(body) } }

    /// ``read(_:)`` for a thread that is no task's.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside of a task, whose thread must not wait; what `body` throws.
    public func readBlocking<T: Sendable>(
        _ body: @escaping @Sendable (ReadTransaction) async throws -> T
    ) throws -> T { try Self.waiting { try await self.read(body) } }

    private static func waiting<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
        guard withUnsafeCurrentTask(body: { $0 == nil }) else {
            throw StoreError(.misuse, "a task must not wait with its thread; use read and write with await")
        }
        let result = Locked<Result<T, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else {
            throw StoreError(.misuse, "the transaction ended without a result")
        }
        return try result.get()
    }

    /// Runs `body` on one snapshot without suspending. A store in memory, which has one connection, waits for its writer
    /// as long as for another process's.
    func readNow<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
        guard let readers else { return try readInMemory(body) }
        let (connection, isExtra) = try readers.takeNow()
        defer { if !isExtra { readers.give(connection) } }
        return try transaction(ReadTransaction(connection), body)
    }

    private func readInMemory<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
        guard Self.openTransaction?.holds(self) != true else {
            throw StoreError(.misuse, "a transaction of this store is open in this task; read with it")
        }
        guard writing.enterBlocking(atMost: options.busyTimeout) else {
            throw StoreError(.busy, "a transaction of the store in memory is open for too long; try again")
        }
        defer { writing.leave() }
        try checkOpen()
        return try transaction(ReadTransaction(writer), body)
    }

    private func transaction<T>(_ transaction: ReadTransaction, _ body: (ReadTransaction) throws -> T) throws -> T {
        defer { transaction.isOpen = false }
        try transaction.connection.execute(Dialect.beginReading)
        do {
            let result = try body(transaction)
            try transaction.commit()
            return result
        } catch {
            if transaction.connection.isInTransaction { try transaction.connection.execute("ROLLBACK") }
            throw error
        }
    }
}
