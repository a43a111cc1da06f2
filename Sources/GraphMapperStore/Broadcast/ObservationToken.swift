/// Keeps an observation going: it ends when the token is released.
///
/// A view controller keeps it in a property. The observer is not called after the token is gone.
public final class ObservationToken: Sendable {
    private let life: Life
    private let task: Task<Void, Never>
    /// The observer, once it is there.
    let handle: ObserverHandle

    fileprivate init(_ life: Life, _ task: Task<Void, Never>, _ handle: ObserverHandle) {
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
private final class Life: Sendable {
    private let state = Locked<(isOver: Bool, error: (any Error)?)>((false, nil))

    var isOver: Bool { state.withLock { $0.isOver } }
    var error: (any Error)? { state.withLock { $0.error } }
    func end() { state.withLock { $0.isOver = true } }
    func end(_ error: any Error) { state.withLock { $0 = (true, error) } }
}

extension Changes {
    /// Calls `body` with each element on the main actor, for as long as the token is kept.
    ///
    /// - Parameters:
    ///   - onError: called on the main actor with what ends the observation, which is ``ObservationToken/error`` too.
    ///   - body: what to do with an element. Never called after the token is released on the main actor.
    /// - Returns: the token to keep.
    @MainActor
    public func observe(
        onError: (@MainActor (any Error) -> Void)? = nil, _ body: @escaping @MainActor (Element) -> Void
    ) -> ObservationToken {
        let life = Life()
        let handle = ObserverHandle()
        // It is of no transaction that may be open here.
        let task = GraphStore.$held.withValue(nil) {
            Task { @MainActor in
                do {
                    var elements = makeAsyncIterator(handle)
                    while let element = try await elements.next() {
                        defer { handle.gate.leave() }
                        if life.isOver { return }
                        body(element)
                    }
                } catch {
                    if life.isOver { return }
                    life.end(error)
                    onError?(error)
                }
            }
        }
        return ObservationToken(life, task, handle)
    }
}

extension GraphStore {
    /// Calls `body` on the main actor with the records of a query, and then with each of their changes, for as long as the
    /// token is kept. See ``changes(of:observing:linked:)``.
    ///
    /// - Parameters:
    ///   - query: which records, in which order.
    ///   - properties: those whose changes count as modifications; nil for all.
    ///   - linked: which records that they link to count as part of them.
    ///   - onError: called with what ends the observation.
    ///   - body: what to do with a change. Never called after the token is released on the main actor.
    /// - Returns: the token to keep.
    @MainActor
    public func observe<R: StoredRecord>(
        _ query: Query<R>, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none, onError: (@MainActor (any Error) -> Void)? = nil,
        _ body: @escaping @MainActor (CollectionChange<R>) -> Void
    ) -> ObservationToken {
        changes(of: query, observing: properties, linked: linked).observe(onError: onError, body)
    }
}
