import Dispatch

/// Lets so many tasks at a time through, in the order of arrival.
///
/// It is no actor, since a hop to one and back would cost more than most transactions.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [Waiter] = []
        var count: UInt64 = 0

        mutating func enter() -> Bool {
            if free == 0 { return false }
            free -= 1
            return true
        }

        mutating func nextNumber() -> UInt64 {
            count += 1
            return count
        }

        mutating func remove(_ number: UInt64) -> Waiter? {
            waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0) }
        }
    }

    private struct Waiter {
        let number: UInt64
        /// Told whether it is in; if not, it was cancelled.
        let wake: @Sendable (Bool) -> Void
    }

    private let state: Locked<State>

    init(limit: Int = 1) { state = Locked(State(free: max(1, limit))) }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for its turn, however the task ends.
    func enter() async {
        if enterNow() { return }
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                if state.enter() { return true }
                state.waiting.append(Waiter(number: state.nextNumber()) { _ in continuation.resume() })
                return false
            }
            if isIn { continuation.resume() }
        }
        meetLeaver()
    }

    /// Waits for its turn, unless the task is cancelled.
    func enterUnlessCancelled() async throws {
        if enterNow() {
            guard Task.isCancelled else { return }
            leave()
            throw CancellationError()
        }
        let number = state.withLock { $0.nextNumber() }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isIn = state.withLock { state -> Bool? in
                    // Who cancels the task from here on finds the waiter: it needs the lock to look.
                    if Task.isCancelled { return false }
                    if state.enter() { return true }
                    state.waiting.append(Waiter(number: number) { continuation.resume(returning: $0) })
                    return nil
                }
                if let isIn { continuation.resume(returning: isIn) }
            }
        } onCancel: {
            state.withLock { $0.remove(number) }?.wake(false)
        }
        guard isIn else { throw CancellationError() }
        meetLeaver()
        // It was let in before it was cancelled.
        guard Task.isCancelled else { return }
        leave()
        throw CancellationError()
    }

    /// Takes the lock that who made room has held since. What that one has done is seen anyway, but the thread sanitizer does
    /// not know it of a continuation that is resumed before its task has come to wait.
    private func meetLeaver() { state.withLock { _ in } }

    /// Enters if nobody need be waited for.
    func enterNow() -> Bool { state.withLock { $0.enter() } }

    /// Waits with the thread, for at most so long.
    ///
    /// - Returns: whether it is in.
    func enterBlocking(atMost duration: Duration) -> Bool {
        let semaphore = DispatchSemaphore(value: 0)
        let number = state.withLock { state -> UInt64? in
            if state.enter() { return nil }
            let number = state.nextNumber()
            state.waiting.append(Waiter(number: number) { _ in semaphore.signal() })
            return number
        }
        guard let number else { return true }
        let limit = DispatchTime.now() + .milliseconds(Int(Connection.milliseconds(duration)))
        if semaphore.wait(timeout: limit) == .success { return true }
        // Whoever is not among the waiting any more has been let in just now.
        return state.withLock { $0.remove(number) } == nil
    }

    func leave() {
        let next = state.withLock { state -> Waiter? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.wake(true)
    }
}
