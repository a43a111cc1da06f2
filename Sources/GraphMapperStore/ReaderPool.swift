/// Read connections, made as needed and kept; tasks that wait for one are served in the order of arrival.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Connection] = []
        var open = 0
        var waiting: [CheckedContinuation<Claim, Never>] = []

        mutating func claim(limit: Int) -> Claim? {
            if let connection = idle.popLast() { return .connection(connection) }
            guard open < limit else { return nil }
            open += 1
            return .place
        }
    }

    /// What a task may use: a connection, or the place for a new one.
    private enum Claim {
        case connection(Connection)
        case place
    }

    /// Kept so that it closes last: only a connection that may write folds the log into the file and removes it.
    private let writer: Connection
    private let limit: Int
    private let connect: @Sendable () throws -> Connection
    private let state = Locked(State())

    init(beside writer: Connection, limit: Int, connect: @escaping @Sendable () throws -> Connection) {
        self.writer = writer
        self.limit = max(1, limit)
        self.connect = connect
    }

    deinit { state.withLock { $0.idle.removeAll() } }

    func take() async throws -> Connection {
        switch await claim() {
        case .connection(let connection): return connection
        case .place:
            do { return try connect() } catch {
                give(nil)
                throw error
            }
        }
    }

    /// A connection without waiting: if all are in use, one more, which is not to be given back.
    func takeNow() throws -> (connection: Connection, isExtra: Bool) {
        switch state.withLock({ $0.claim(limit: limit) }) {
        case .connection(let connection): return (connection, false)
        case .place:
            do { return (try connect(), false) } catch {
                give(nil)
                throw error
            }
        case nil: return (try connect(), true)
        }
    }

    /// Gives back a connection, or the place for one that could not be made.
    func give(_ connection: Connection?) {
        let next = state.withLock { state -> CheckedContinuation<Claim, Never>? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            if let connection { state.idle.append(connection) } else { state.open -= 1 }
            return nil
        }
        next?.resume(returning: connection.map { .connection($0) } ?? .place)
    }

    private func claim() async -> Claim {
        if let claim = state.withLock({ $0.claim(limit: limit) }) { return claim }
        return await withCheckedContinuation { continuation in
            let claim = state.withLock { state in
                let claim = state.claim(limit: limit)
                if claim == nil { state.waiting.append(continuation) }
                return claim
            }
            if let claim { continuation.resume(returning: claim) }
        }
    }
}
