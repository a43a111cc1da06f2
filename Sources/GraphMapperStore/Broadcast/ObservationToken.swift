/// Keeps an observation going: it ends when the token is released.
///
/// A view controller keeps it in a property. The observer is not called after the token is gone.
public final class ObservationToken: Sendable {
    private let life: Life
    private let task: Task<Void, Never>
    /// The observer, once it is there.
    let handle: ObserverHandle

    init(_ life: Life, _ task: Task<Void, Never>, _ handle: ObserverHandle) {
        self.life = life
        self.task = task
        self.handle = handle
    }

    deinit { cancel() }

    /// Ends the observation. The observer is not called again.
    public func cancel() {
        life.end()
        task.cancel()
    }

    /// What has ended the observation, if it was an error.
    public var error: (any Error)? { life.error }
}

/// Whether an observer may still be called.
final class Life: Sendable {
    private let state = Locked<(isOver: Bool, error: (any Error)?)>((false, nil))

    var isOver: Bool { state.withLock { $0.isOver } }
    var error: (any Error)? { state.withLock { $0.error } }
    func end() { state.withLock { $0.isOver = true } }
    func end(_ error: any Error) { state.withLock { $0 = (true, error) } }
}

extension ObservationToken {
    /// Runs `body` while no event of these observers is under way.
    static func between<T>(
        _ tokens: [ObservationToken], _ body: ([ObserverID]) async throws -> T
    ) async throws -> T {
        var handles: [ObserverHandle] = []
        for token in tokens where !handles.contains(where: { $0 === token.handle }) { handles.append(token.handle) }
        // Everybody enters in one order.
        handles.sort { ObjectIdentifier($0) < ObjectIdentifier($1) }
        for handle in handles { await handle.gate.enter() }
        defer { for handle in handles { handle.gate.leave() } }
        return try await body(handles.compactMap { handle in handle.id.withLock { $0 } })
    }
}

/// Tells observers apart.
struct ObserverID: Hashable, Sendable {
    let number: Int
}

/// What others know of an observer that is called.
final class ObserverHandle: Sendable {
    /// Itself, once it is there.
    let id = Locked<ObserverID?>(nil)
    /// Held while an event is made and delivered, and while something is written that the observer knows of: so it has
    /// every event from before the write before that, and every other one after it.
    let gate = AsyncSemaphore()
}
