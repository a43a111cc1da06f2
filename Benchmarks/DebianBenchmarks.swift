import Foundation
import GraphMapperStore
import PackageGraph

/// Debian's packages and what they depend on, from a file as the archive lists them: stored, loaded, loaded from one
/// root, changed and saved. Prints a table, and draws how the times grow.
///
/// - Parameters:
///   - file: a list of packages in Debian's format.
///   - plots: the folder for the drawings.
func runDebian(_ file: String, plots: String?) async throws {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let start = ContinuousClock.now
    let all = packages(in: text)
    print("read \(all.count) packages in \(milliseconds(since: start)) ms")
    var stages: [String: [(x: Double, y: Double)]] = [:]
    var names: [String] = []
    for share in [8, 4, 2, 1] {
        let some = part(of: all, all.count / share)
        let result = try await measure(some)
        print("\n\(some.count) packages, \(result.edges) edges")
        print("stage                    ms   statements")
        for stage in result.stages {
            print(
                stage.name.padding(toLength: 20, withPad: " ", startingAt: 0)
                    + String(format: "%8.0f %8d", stage.milliseconds, stage.statements))
            if stages[stage.name] == nil { names.append(stage.name) }
            stages[stage.name, default: []].append((Double(some.count), stage.milliseconds))
        }
        release(some)
    }
    release(all)
    guard let plots else { return }
    let plot = Plot(
        title: "Debian's packages", x: "packages", y: "milliseconds",
        series: names.map { Plot.Series(name: $0, points: [(0, 0)] + (stages[$0] ?? [])) })
    try FileManager.default.createDirectory(atPath: plots, withIntermediateDirectories: true)
    try plot.svg.write(toFile: "\(plots)/debian.svg", atomically: true, encoding: .utf8)
}

/// Copies of the first packages, with what they link to among them.
private func part(of all: [Package], _ count: Int) -> [Package] {
    let copies = all.prefix(count).map { package in
        let copy = Package(id: package.id)
        (copy.version, copy.summary) = (package.version, package.summary)
        return copy
    }
    let known = Dictionary(uniqueKeysWithValues: copies.map { ($0.id, $0) })
    for (copy, package) in zip(copies, all) {
        copy.providers = package.providers.compactMap { known[$0.id] }
        copy.dependencies = package.dependencies.map { dependency in
            let new = Dependency(id: dependency.id)
            new.clause = dependency.clause
            new.alternatives = dependency.alternatives.compactMap { known[$0.id] }
            return new
        }
    }
    return copies
}

private struct Stage {
    var name: String
    var milliseconds: Double
    var statements: Int
}

private func milliseconds(since start: ContinuousClock.Instant) -> Double {
    let parts = (ContinuousClock.now - start).components
    return (Double(parts.seconds) * 1e3 + Double(parts.attoseconds) / 1e15).rounded()
}

/// Counts the statements that a store has run since somebody asked.
private final class StatementCount: @unchecked Sendable {
    // Sendable because the lock guards the only property.
    private let lock = NSLock()
    private var count = 0

    /// Has every connection of a store that is opened with these options count here.
    var options: GraphStore.Options {
        var options = GraphStore.Options()
        options.prepare = { connection in try connection.onStatement { _ in self.add() } }
        return options
    }

    private func add() { lock.withLock { count += 1 } }
    func take() -> Int {
        lock.withLock {
            defer { count = 0 }
            return count
        }
    }
}

private func measure(_ packages: [Package]) async throws -> (edges: Int, stages: [Stage]) {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sqlite").path
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    let count = StatementCount()
    let store = try await GraphStore.open(
        .file(path), options: count.options, PackageRecord.self, DependencyRecord.self)
    func session() -> GraphSession { GraphSession(store, PackageRecord.mapping, DependencyRecord.mapping) }
    var stages: [Stage] = []
    func stage(_ name: String, _ body: () async throws -> Void) async throws {
        _ = count.take()
        let start = ContinuousClock.now
        try await body()
        stages.append(Stage(name: name, milliseconds: milliseconds(since: start), statements: count.take()))
    }
    let first = session()
    try await stage("save new") {
        for package in packages { try first.add(package) }
        try await first.save()
    }
    try await stage("save, no edits") {
        guard try await first.save().isEmpty else { throw BenchmarkError("a clean save wrote something") }
    }
    try await stage("save, 1000 edits") {
        for package in packages.prefix(1000) { package.summary += "!" }
        try await first.save()
    }
    let second = session()
    var loaded: [Package] = []
    try await stage("load all") { loaded = try await second.models(Query(PackageRecord.self)) }
    guard loaded.count == packages.count else { throw BenchmarkError("\(loaded.count) packages were loaded") }
    // What a desktop needs is thousands of packages, in cycles among them.
    let third = session()
    let deepest = packages.max { $0.dependencies.count < $1.dependencies.count }
    try await stage("load from a root") {
        if let deepest { _ = try await third.find(PackageRecord.self, deepest.id) }
    }
    let edges = packages.reduce(0) { sum, package in
        package.dependencies.reduce(sum + package.dependencies.count + package.providers.count) {
            $0 + $1.alternatives.count
        }
    }
    try second.dismantle()
    try third.dismantle()
    return (edges, stages)
}
