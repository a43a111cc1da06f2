/// Read connections, made as needed and kept; tasks that wait for one are served in the order of arrival.
final class ReaderPool: Sendable {
    /// Kept so that it closes last: only a connection that may write folds the log into the file and removes it.
    private let writer: Connection
    private let permits: AsyncSemaphore
    private let connect: @Sendable () throws -> Connection
    private let limit: Int
    private let idle = Locked<[Connection]>([])
    private let isPaused = Locked(false)
    private let isClosed = Locked(false)

    init(beside writer: Connection, limit: Int, connect: @escaping @Sendable () throws -> Connection) {
        self.writer = writer
        // Each is an open file, and a store that is suspended waits for each.
        self.limit = min(max(1, limit), 1_000)
        permits = AsyncSemaphore(limit: self.limit)
        self.connect = connect
    }

    deinit { idle.withLock { $0.removeAll() } }

    /// A connection, as soon as one is free.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; what connecting throws.
    func take() async throws -> Connection {
        try await permits.enterUnlessCancelled()
        return try connection()
    }

    /// A connection without waiting: if all are in use, one more, which is not to be given back.
    ///
    /// - Throws: ``StoreError`` of kind `busy` while nobody is to read.
    func takeNow() throws -> (connection: Connection, isExtra: Bool) {
        if isClosed.withLock({ $0 }) { throw StoreError.closed }
        if isPaused.withLock({ $0 }) {
            throw StoreError(.busy, "the store is suspended; resume it before it is read without waiting")
        }
        return permits.enterNow() ? (try connection(), false) : (try connect(), true)
    }

    func give(_ connection: Connection) {
        idle.withLock { $0.append(connection) }
        permits.leave()
    }

    /// Waits until nobody reads, and lets nobody in.
    func pause() async {
        isPaused.withLock { $0 = true }
        for _ in 0..<limit { await permits.enter() }
    }

    /// Lets those in who wait.
    func resume() {
        isPaused.withLock { $0 = false }
        for _ in 0..<limit { permits.leave() }
    }

    /// Waits until nobody reads, and closes the connections. Who comes later, or waits, is refused.
    func close() async {
        isClosed.withLock { $0 = true }
        await pause()
        let connections = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for connection in connections { connection.close() }
        resume()
    }

    /// For who has a permit.
    private func connection() throws -> Connection {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        do {
            if isClosed.withLock({ $0 }) { throw StoreError.closed }
            return try connect()
        } catch {
            permits.leave()
            throw error
        }
    }
}
