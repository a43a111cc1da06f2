import Foundation

/// Prints the title of a scene.
func title(_ text: String) { show("\n── \(text)", indent: "") }

/// Prints, and does not wait for a buffer to fill.
func show(_ text: String, indent: String = "  ") {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        print(line.isEmpty ? "" : indent + line)
    }
    fflush(nil)
}

/// What a long piece of work is at.
final class Status: @unchecked Sendable {
    // Sendable because the lock guards the one variable.
    private let lock = NSLock()
    private var current: String

    init(_ text: String) { current = text }

    var text: String {
        get { lock.withLock { current } }
        set { lock.withLock { current = newValue } }
    }
}

/// Runs `body` and answers with how long it took, in words. Work that takes longer than a second says each second what
/// it is at.
func timed<T>(_ doing: String, _ body: (Status) async throws -> T) async rethrows -> (result: T, time: String) {
    let status = Status(doing)
    let notice = Task.detached {
        while true {
            try await Task.sleep(for: .seconds(1))
            show("\(status.text)…")
        }
    }
    defer { notice.cancel() }
    let start = ContinuousClock.now
    let result = try await body(status)
    return (result, words(ContinuousClock.now - start))
}

private func words(_ time: Duration) -> String {
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    return seconds < 1 ? String(format: "%.1f ms", seconds * 1000) : String(format: "%.1f s", seconds)
}

/// `1 change`, `2 changes`.
func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
}
