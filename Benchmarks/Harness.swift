import Foundation

/// One line of the table.
struct Measurement: Codable {
    var name: String
    var unit: String
    var ours: Double
    var baseline: Double
    var ratio: Double
    var n: Int
    var target: Double?
}

/// Alternates ours and the baseline, after one warm-up of each; answers with the medians.
final class Harness {
    var filter: String?
    /// Whether the filter is a whole name, not a part of names.
    var isExact = false
    /// Whether callgrind counts the rounds.
    var isCounted = false
    var rounds = 7
    /// Runs `ours` or `baseline` in place of both: for profilers.
    var only: String?
    /// An earlier run's measurements: each line says how its ratio changed since.
    var earlier: [Measurement] = []
    private(set) var measurements: [Measurement] = []

    init(filter: String?) { self.filter = filter }

    /// Whether any of these would run.
    func wants(_ names: String...) -> Bool {
        guard let filter else { return true }
        return isExact ? names.contains(filter) : names.contains { $0.contains(filter) }
    }

    /// - Parameters:
    ///   - n: how many items one run works through; times are nanoseconds an item.
    ///   - ours, baseline: each answers with a checksum; both must be the same.
    func compare(
        _ name: String, n: Int, target: Double? = nil, ours: () async throws -> Int, baseline: () async throws -> Int
    ) async throws {
        guard wants(name) else { return }
        var times: (ours: [Double], baseline: [Double]) = ([], [])
        for round in 0...rounds {
            let isCounted = isCounted && round > 0
            let (mine, first) = try await time(only == "baseline" ? baseline : ours, isCounted: isCounted)
            let (theirs, second) = try await time(only == "ours" ? ours : baseline, isCounted: isCounted)
            guard first == second else { throw BenchmarkError("\(name): ours gives \(first), the baseline \(second)") }
            if round > 0 {
                times.ours.append(mine / Double(n))
                times.baseline.append(theirs / Double(n))
            }
        }
        let ratios = zip(times.ours, times.baseline).map { $0 / $1 }
        let line = Measurement(
            name: name, unit: "ns", ours: median(times.ours), baseline: median(times.baseline), ratio: median(ratios),
            n: n, target: target)
        show(line, String(format: "(%.2f–%.2f)", ratios.min() ?? 0, ratios.max() ?? 0))
    }

    /// Notes what was measured elsewhere.
    func note(
        _ name: String, unit: String, ours: Double, baseline: Double, n: Int, target: Double?, remark: String = ""
    ) {
        let line = Measurement(
            name: name, unit: unit, ours: ours, baseline: baseline, ratio: ours / baseline, n: n, target: target)
        show(line, remark)
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(measurements).write(to: URL(fileURLWithPath: path))
    }

    private func show(_ line: Measurement, _ remark: String) {
        measurements.append(line)
        let goal = line.target.map { line.ratio <= $0 ? "≤ \($0) met" : "≤ \($0) MISSED" } ?? ""
        let format = ["ns", "B", "instr"].contains(line.unit) ? "%10.0f" : "%10.2f"
        print(
            line.name.padding(toLength: 24, withPad: " ", startingAt: 0)
                + String(format: format, line.ours) + " " + String(format: format, line.baseline)
                + " \(line.unit)" + String(format: "  %6.2f  ", line.ratio)
                + "\(remark)  n = \(line.n)  \(goal)\(change(line))")
    }

    private func change(_ line: Measurement) -> String {
        guard !earlier.isEmpty else { return "" }
        guard let old = earlier.first(where: { $0.name == line.name }) else { return "  (new)" }
        return String(format: "  was %.2f: %+.1f %%", old.ratio, (line.ratio / old.ratio - 1) * 100)
    }

    private func time(
        _ body: () async throws -> Int, isCounted: Bool
    ) async throws -> (nanoseconds: Double, result: Int) {
        if isCounted { countingStarts() }
        let start = ContinuousClock.now
        let result = try await body()
        if isCounted { countingEnds() }
        let elapsed = ContinuousClock.now - start
        let parts = elapsed.components
        return (Double(parts.seconds) * 1e9 + Double(parts.attoseconds) / 1e9, result)
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
