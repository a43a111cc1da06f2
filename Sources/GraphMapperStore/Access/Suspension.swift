/// Whether a store is suspended. One call at a time changes it.
final class Suspension: Sendable {
    private let turn = AsyncSemaphore()
    private let isSuspended = Locked(false)

    /// Runs `body` if that makes a difference.
    func become(_ wanted: Bool, _ body: () async -> Void) async {
        await turn.enter()
        defer { turn.leave() }
        guard isSuspended.withLock({ $0 }) != wanted else { return }
        await body()
        isSuspended.withLock { $0 = wanted }
    }
}
