import Dispatch

/// Lets one task at a time through, in the order of arrival.
///
/// It is no actor, since a hop to one and back would cost more than most transactions.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Waiter] = []
        var count: UInt64 = 0

        mutating func enter() -> Bool {
            if isTaken { return false }
            isTaken = true
            return true
        }

        mutating func wait(_ wake: @escaping @Sendable () -> Void) -> UInt64 {
            count += 1
            waiting.append(Waiter(number: count, wake: wake))
            return count
        }
    }

    private struct Waiter {
        let number: UInt64
        let wake: @Sendable () -> Void
    }

    private let state = Locked(State())

    func enter() async {
        if state.withLock({ $0.enter() }) { return }
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                if state.enter() { return true }
                _ = state.wait { continuation.resume() }
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    /// Waits with the thread, for at most so many seconds.
    ///
    /// - Returns: whether it is in.
    func enterBlocking(seconds: Double) -> Bool {
        let semaphore = DispatchSemaphore(value: 0)
        let number = state.withLock { state -> UInt64? in
            state.enter() ? nil : state.wait { semaphore.signal() }
        }
        guard let number else { return true }
        let limit = DispatchTime.now() + .milliseconds(Int(Connection.milliseconds(seconds)))
        if semaphore.wait(timeout: limit) == .success { return true }
        // Whoever is not among the waiting any more has been let in just now.
        return state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else { return true }
            state.waiting.remove(at: place)
            return false
        }
    }

    func leave() {
        let next = state.withLock { state -> Waiter? in
            if state.waiting.isEmpty { state.isTaken = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.wake()
    }
}
