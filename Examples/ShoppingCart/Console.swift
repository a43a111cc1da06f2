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

/// Runs `body` and answers with how long it took, in words.
func timed<T>(_ body: () async throws -> T) async rethrows -> (result: T, time: String) {
    let start = ContinuousClock.now
    let result = try await body()
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
