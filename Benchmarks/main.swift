import Foundation
import GraphMapperStore

// `Benchmarks [--filter NAME] [--rounds N] [--only ours|baseline] [--output FILE] [--compare OLD.json] [--largest N]`,
// or `Benchmarks --counts [--filter NAME] [--output FILE] [--compare OLD.json]`,
// or `Benchmarks --debian PACKAGES [--plots FOLDER]`,
// or `Benchmarks --compile-time [--records N]`,
// or `Benchmarks --layouts SCALE,… [--filter LAYOUT;…]`, 1 being some 10 MB.
func option(_ name: String) -> String? {
    CommandLine.arguments.firstIndex(of: name).flatMap { index in
        index + 1 < CommandLine.arguments.count ? CommandLine.arguments[index + 1] : nil
    }
}

if let child = option("--child") {
    try await runChild(child, option("--path") ?? "", option("--size").flatMap(Int.init) ?? 0)
    exit(0)
}

if let file = option("--debian") {
    try await runDebian(file, plots: option("--plots"))
    exit(0)
}

if CommandLine.arguments.contains("--compile-time") {
    try measureCompileTime(option("--records").flatMap(Int.init) ?? 100)
    exit(0)
}

if let scales = option("--layouts") {
    try studyLayouts(
        scales.split(separator: ",").compactMap { Int($0) },
        only: option("--filter")?.split(separator: ";").map(String.init))
    exit(0)
}

func makeHarness() throws -> Harness {
    let harness = Harness(filter: option("--filter"))
    harness.isExact = CommandLine.arguments.contains("--exact")
    harness.isCounted = CommandLine.arguments.contains("--counted")
    if let rounds = option("--rounds").flatMap(Int.init) { harness.rounds = max(1, rounds) }
    if let path = option("--compare") {
        harness.earlier = try JSONDecoder().decode(
            [Measurement].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
    harness.only = option("--only")
    print("name                           ours   baseline   ratio  (spread)")
    return harness
}

func runAll() async throws {
    let (harness, workload) = (try makeHarness(), Workload())
    try await benchmarkMapping(harness, workload)
    try await benchmarkObjects(harness, workload)
    try await benchmarkObjectDepth(harness)
    try await benchmarkJSON(harness)
    try await benchmarkDepth(harness)
    try await benchmarkStore(harness, workload)
    try await benchmarkRecords(harness, workload)
    try await benchmarkQueries(harness)
    try await benchmarkObservation(harness)
    try await benchmarkWriteback(harness)
    try await benchmarkScale(harness, largest: option("--largest").flatMap(Int.init) ?? 1_000_000)
    if #available(macOS 14, iOS 17, *) { try await benchmarkTracking(harness) }
    try harness.write(to: option("--output") ?? "bench.json")
}

if CommandLine.arguments.contains("--counts") {
    let harness = try makeHarness()
    try countInstructions(harness, filter: option("--filter"))
    try harness.write(to: option("--output") ?? "counts.json")
    exit(0)
}

if CommandLine.arguments.contains("--counted") {
    // Where the main thread waits as Dispatch lets it wait, valgrind 3.19 crashes: it is kept busy here instead.
    Task.detached {
        do { try await runAll() } catch {
            print(error)
            exit(1)
        }
        exit(0)
    }
    while true { sleep(60) }
}

try await runAll()
