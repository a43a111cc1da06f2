import CSQLite
import Foundation
import GraphMapperStore

/// Ten times the objects: the time may be eleven times as long, the memory ten and a half times as much.
///
/// Every run is a process of its own, so that its peak of memory is its own.
func benchmarkScale(_ harness: Harness, largest: Int) async throws {
    try await benchmarkSessions(harness, largest)
    try await benchmarkShapes(harness, size: largest)
}

private func benchmarkSessions(_ harness: Harness, _ largest: Int) async throws {
    let names = ["scale.session", "scale.pages"]
    guard names.contains(where: { harness.wants($0, "\($0).memory") }) else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var size = max(10_000, largest / 10)
    let sizes = [size, size * 10]
    for count in sizes { try await fill(folder, count) }
    for name in names {
        var runs: [Int: Run] = [:]
        for count in sizes {
            let all = try (0..<3).map { _ in try spawn(name, path(folder, count), count) }
            runs[count] = medians(all)
        }
        guard let small = runs[size], let large = runs[size * 10] else { continue }
        harness.note(
            name, unit: "s", ours: large.seconds, baseline: small.seconds, n: size * 10, target: 11,
            remark: String(format: "%.0f ns an object", large.seconds / Double(size * 10) * 1e9))
        // Pages take what one takes, and the database's cache of 64 MiB.
        let most = name == "scale.pages" ? 3 : 10.5
        harness.note(
            "\(name).memory", unit: "MB", ours: large.bytes / 1e6, baseline: small.bytes / 1e6, n: size * 10,
            target: most)
    }
    // How the same grows by hand: caches of a processor hold the smaller graph, and not the larger one.
    let byHand = try sizes.map { count in
        medians(try (0..<3).map { _ in try spawn("scale.byhand", path(folder, count), count) })
    }
    harness.note(
        "scale.byhand", unit: "s", ours: byHand[1].seconds, baseline: byHand[0].seconds, n: size * 10, target: nil,
        remark: "loaded by hand: the floor of scale.session")
    size *= 10
    let ours = try spawn("scale.session", path(folder, size), size)
    harness.note(
        "scale.object", unit: "B", ours: ours.bytes / Double(size), baseline: byHand[1].bytes / Double(size), n: size,
        target: nil, remark: "peak memory an object, beside objects, a dictionary and the rows that were read")
}

/// One measured process.
struct Run {
    var seconds: Double
    /// The peak of its memory.
    var bytes: Double
}

func medians(_ runs: [Run]) -> Run {
    func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    return Run(seconds: median(runs.map(\.seconds)), bytes: median(runs.map(\.bytes)))
}

private func path(_ folder: URL, _ count: Int) -> String { folder.appendingPathComponent("\(count).sqlite").path }

/// A file of ticks, each linked to two others; made as a stream.
private func fill(_ folder: URL, _ count: Int) async throws {
    let store = try await GraphStore.open(.file(path(folder, count)), TickRecord.self)
    for start in stride(from: 0, to: count, by: 100_000) {
        try await store.write { tx in
            let ids = start..<min(start + 100_000, count)
            try await tx.insert(
                contentsOf: ids.map { id in
                    let others = id < 2 ? [] : [Ref<TickRecord>(id / 2), Ref<TickRecord>(id * 7 % id)]
                    return TickRecord(id: id, value: id, name: "tick \(id)", others: others)
                })
        }
    }
}

func spawn(_ name: String, _ path: String, _ size: Int) throws -> Run {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = ["--child", name, "--path", path, "--size", "\(size)"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let words = output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard process.terminationStatus == 0, words.count == 2 else { throw BenchmarkError("\(name): \(output)") }
    return Run(seconds: words[0], bytes: words[1])
}

/// What a spawned process does: prints its time in seconds and its peak of memory in bytes.
func runChild(_ name: String, _ path: String, _ size: Int) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    switch name {
    case "scale.session": try await editAndSave(path)
    case "scale.pages": try await walkPages(path)
    case "scale.byhand": try loadByHand(path)
    default: guard try await runShape(name, path, size) else { throw BenchmarkError("no such child: \(name)") }
    }
    let elapsed = (clock.now - start).components
    print(Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18, peakMemory())
}

/// Loads everything, edits ten, saves with a look at everything, and saves again.
private func editAndSave(_ path: String) async throws {
    let store = try await GraphStore.open(.file(path), TickRecord.self)
    let session = GraphSession(store, TickRecord.mapping)
    let models = try await session.models(Query(TickRecord.self))
    for index in stride(from: 0, to: models.count, by: max(1, models.count / 10)).prefix(10) {
        models[index].value += 1
    }
    guard try await session.save().changes.count == min(10, models.count), try await session.save().isEmpty else {
        throw BenchmarkError("the save wrote something else than the edits")
    }
}

/// Maps everything, a page at a time, each in a session of its own.
private func walkPages(_ path: String) async throws {
    let store = try await GraphStore.open(.file(path), TickRecord.self)
    var next = 0
    while true {
        let session = GraphSession(store, TickRecord.mapping)
        let page = Query(TickRecord.self).where { $0.id >= next }.sorted(by: \.id).limit(10_000)
        let models = try await session.models(page, loading: .none)
        guard let last = models.last else { return }
        next = last.id + 1
    }
}

/// The same objects, a dictionary to find them, and the rows to compare them with.
private func loadByHand(_ path: String) throws {
    _ = try loadTicksByHand(Database(path))
}

func loadTicksByHand(_ database: Database) throws -> (ticks: [Int: Tick], rows: [TickRecord]) {
    var ticks: [Int: Tick] = [:]
    var rows: [TickRecord] = []
    var statement = try database.prepare("SELECT count(*) FROM tick")
    guard sqlite3_step(statement) == SQLITE_ROW else { throw BenchmarkError("no rows") }
    ticks.reserveCapacity(Int(sqlite3_column_int64(statement, 0)))
    rows.reserveCapacity(ticks.capacity)
    sqlite3_finalize(statement)
    var lists: [Int: [Ref<TickRecord>]] = [:]
    statement = try database.prepare("SELECT owner, target FROM tick_others ORDER BY owner, position")
    while sqlite3_step(statement) == SQLITE_ROW {
        lists[Int(sqlite3_column_int64(statement, 0)), default: []].append(
            Ref(Int(sqlite3_column_int64(statement, 1))))
    }
    sqlite3_finalize(statement)
    statement = try database.prepare("SELECT id, value, name FROM tick")
    while sqlite3_step(statement) == SQLITE_ROW {
        let id = Int(sqlite3_column_int64(statement, 0))
        let row = TickRecord(
            id: id, value: Int(sqlite3_column_int64(statement, 1)),
            name: String(cString: sqlite3_column_text(statement, 2)), others: lists[id] ?? [])
        rows.append(row)
        ticks[id] = Tick(id: row.id, value: row.value, name: row.name)
    }
    sqlite3_finalize(statement)
    lists = [:]
    for row in rows { ticks[row.id]?.others = row.others.compactMap { ticks[$0.id] } }
    guard rows.count == ticks.count else { throw BenchmarkError("rows are missing") }
    return (ticks, rows)
}

/// The most memory that the process has had, in bytes.
private func peakMemory() -> Double {
    #if os(Linux)
        // A process that was spawned counts its parent's memory in what getrusage says.
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return line.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }.first.map { $0 * 1024 } ?? 0
    #else
        var usage = rusage()
        getrusage(RUSAGE_SELF, &usage)
        return Double(usage.ru_maxrss)
    #endif
}
