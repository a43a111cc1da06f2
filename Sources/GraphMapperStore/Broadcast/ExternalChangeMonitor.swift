/// Finds out whether another connection, of this process or another, has written to the file.
final class ExternalChangeMonitor: Sendable {
    private struct State {
        /// What the connection last said. It changes when another one commits.
        var version: StoredValue?
        var isWatching = false
    }

    private let state: Locked<State>
    private let interval: Duration

    /// - Parameter interval: the time between two looks; from a millisecond to an hour.
    init(_ writer: Connection, every interval: Duration) throws {
        state = Locked(State(version: try writer.dataVersion()))
        self.interval = min(max(interval, .milliseconds(1)), .seconds(3600))
    }

    /// Whether somebody else has written since the last call. Whoever calls it holds the writer.
    func haveWritten(_ writer: Connection) throws -> Bool {
        let now = try writer.dataVersion()
        return state.withLock { state in
            defer { state.version = now }
            return state.version != now
        }
    }

    /// Calls `look` now and then, until it says that nobody is interested any more. One at a time.
    func watch(_ look: @escaping @Sendable () async -> Bool) {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        Task.detached { [weak self, interval] in
            repeat {
                do { try await Task.sleep(for: interval) } catch { break }
            } while await look()
            self?.state.withLock { $0.isWatching = false }
        }
    }
}
