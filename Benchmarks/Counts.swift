import Foundation

/// Where callgrind writes what it has counted, and counts anew: before and after each round. Never inlined, so that they
/// are called, and not alike, so that they are not made one.
@inline(never) func countingStarts() { countedRounds += 1 }
@inline(never) func countingEnds() { countedRounds = -countedRounds }
/// Something for the two functions to do. Only the task that measures reaches it.
nonisolated(unsafe) private var countedRounds = 0

/// The paths whose instructions `--counts` counts.
private let countedEntries = [
    "map.nested", "map.writeback.clean", "session.find.loaded", "store.fetch", "store.graph", "store.save",
    "store.find", "store.update1", "store.query.indexed", "writeback.clean", "writeback.batch.insert",
    "writeback.list.append",
]

/// Counts the instructions of each entry's rounds by valgrind's callgrind, which repeats them within a per cent where
/// times swing by tens: this program again as its child, where the harness marks the rounds.
///
/// - Parameters:
///   - harness: what the counts are shown by, and compared with an earlier file.
///   - filter: only entries whose names contain it.
func countInstructions(_ harness: Harness, filter: String?) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in countedEntries where filter.map(name.contains) ?? true {
        let part = folder.appendingPathComponent(name)
        let measurements = try countRounds(of: name, part.path)
        guard let measured = measurements.first, measurements.count == 1 else {
            throw BenchmarkError("\(name): \(measurements.count) entries were measured in place of one")
        }
        // Ours and the baseline take turns; between two rounds is a file of what lies between them.
        let counts = try (1...countedRuns * 2).map { try total(of: "\(part.path).out.\($0 * 2)") / Double(measured.n) }
        let sides = (0..<2).map { side in counts.indices.filter { $0 % 2 == side }.map { counts[$0] }.sorted() }
        let (ours, baseline) = (sides[0][countedRuns / 2], sides[1][countedRuns / 2])
        harness.note(
            name, unit: "instr", ours: ours, baseline: baseline, n: measured.n, target: nil,
            remark: String(format: "±%.1f %%", (sides[0][countedRuns - 1] / sides[0][0] - 1) * 50))
    }
}

private let countedRuns = 3

/// Runs one entry under callgrind, which writes a file a round.
private func countRounds(of name: String, _ path: String) throws -> [Measurement] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
        "valgrind", "--tool=callgrind", "--quiet", "--callgrind-out-file=\(path).out",
        "--dump-before=*countingStarts*", "--dump-before=*countingEnds*", CommandLine.arguments[0],
        "--filter", name, "--exact", "--counted", "--rounds", "\(countedRuns)", "--output", "\(path).json",
    ]
    // Hashes that differ from run to run make the counts differ.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        throw BenchmarkError("\(name) does not run under valgrind, which must be installed (Debian: valgrind)")
    }
    return try JSONDecoder().decode([Measurement].self, from: Data(contentsOf: URL(fileURLWithPath: "\(path).json")))
}

/// The instructions of one of callgrind's files, of all threads.
private func total(of file: String) throws -> Double {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("totals: ") }),
        let count = Double(line.dropFirst("totals: ".count))
    else { throw BenchmarkError("\(file) has no total") }
    return count
}
