/// Read connections, made as needed and kept; tasks that wait for one are served in the order of arrival.
final class ReaderPool: Sendable {
    /// Kept so that it closes last: only a connection that may write folds the log into the file and removes it.
    private let writer: Connection
    private let places: Turnstile
    private let connect: @Sendable () throws -> Connection
    private let idle = Locked<[Connection]>([])

    init(beside writer: Connection, limit: Int, connect: @escaping @Sendable () throws -> Connection) {
        self.writer = writer
        places = Turnstile(limit: limit)
        self.connect = connect
    }

    deinit { idle.withLock { $0.removeAll() } }

    /// A connection, as soon as one is free.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; what connecting throws.
    func take() async throws -> Connection {
        try await places.enterUnlessCancelled()
        return try connection()
    }

    /// A connection without waiting: if all are in use, one more, which is not to be given back.
    func takeNow() throws -> (connection: Connection, isExtra: Bool) {
        places.enterNow() ? (try connection(), false) : (try connect(), true)
    }

    func give(_ connection: Connection) {
        idle.withLock { $0.append(connection) }
        places.leave()
    }

    /// For who has a place.
    private func connection() throws -> Connection {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        do { return try connect() } catch {
            places.leave()
            throw error
        }
    }
}
