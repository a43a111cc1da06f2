/// What happens to something in a store, as it happens: iterate it with `for try await`.
///
/// Each iteration is an observation of its own, which begins with its first step and ends with the loop, with the task, or
/// with an error, which the loop throws. The first element is the state at the beginning. After that each element comes
/// after a commit, never inside a transaction, in the order of commits. What is committed while the loop is busy is put
/// together, so a slow loop holds up no writer, and takes no more memory than the state itself. What cancels out is not
/// told of. A loop inside a transaction throws a ``StoreError`` of kind `.misuse`, as reading there does.
public struct Changes<Element: Sendable>: AsyncSequence, Sendable {
    private let start: @Sendable (ObserverHandle?) -> @Sendable () async throws -> Element?

    init<L: LiveQuery>(_ store: GraphStore, _ live: L) where L.Event == Element { self.init(store, live) { $0 } }

    init<L: LiveQuery>(_ store: GraphStore, _ live: L, _ element: @escaping @Sendable (L.Event) -> Element) {
        start = { handle in
            let feed = Subscription(store, live, handle: handle)
            return { try await feed.next().map(element) }
        }
    }

    /// Begins an observation.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(step: start(nil)) }

    /// The same for an observation that others know.
    func makeAsyncIterator(_ handle: ObserverHandle) -> AsyncIterator { AsyncIterator(step: start(handle)) }

    /// One observation.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let step: @Sendable () async throws -> Element?

        /// Waits for the next element; nil once the task is cancelled, and after an error.
        public mutating func next() async throws -> Element? { try await step() }
    }
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
        let task = GraphStore.$openTransaction.withValue(nil) {
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
