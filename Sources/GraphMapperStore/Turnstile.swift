/// Lets one task at a time through, in the order of arrival.
///
/// It is no actor, since a hop to one and back would cost more than most transactions.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []

        mutating func enter() -> Bool {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }

    private let state = Locked(State())

    func enter() async {
        if state.withLock({ $0.enter() }) { return }
        await withCheckedContinuation { continuation in
            let isIn = state.withLock { state in
                if state.enter() { return true }
                state.waiting.append(continuation)
                return false
            }
            if isIn { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty { state.isTaken = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }
}
