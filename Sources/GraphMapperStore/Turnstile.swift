/// Lets one task at a time through, in the order of arrival.
actor Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        if isTaken { await withCheckedContinuation { waiting.append($0) } } else { isTaken = true }
    }

    func leave() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
