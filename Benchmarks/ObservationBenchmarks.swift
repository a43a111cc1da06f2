import Foundation
import GraphMapperStore

private struct LineRecord: StoredRecord {
    let id: Int
    let name: String
    let value: Int
    let shelf: Int
    static let schema = Schema<Self>("line") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), value: row("value", \.value), shelf: row("shelf", \.shelf))
    }
    static let indexes: [Index<Self>] = [.on(\.shelf)]
}

private struct OtherRecord: StoredRecord {
    let id: Int
    let name: String
    static let schema = Schema<Self>("other") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
}

/// What an app does without observation: reads everything again, and compares.
private struct Refetched {
    private let store: GraphStore
    private let query: Query<LineRecord>
    private var old: [LineRecord] = []

    init(_ store: GraphStore, _ query: Query<LineRecord>) async throws {
        self.store = store
        self.query = query.sorted(by: \.id)
        old = try await store.fetch(self.query)
    }

    /// How many rows are other than before.
    mutating func changes() async throws -> Int {
        let new = try await store.fetch(query)
        var known: [Int: LineRecord] = [:]
        known.reserveCapacity(old.count)
        for line in old { known[line.id] = line }
        var count = 0
        for line in new {
            guard let before = known[line.id] else {
                count += 1
                continue
            }
            if before.name != line.name || before.value != line.value || before.shelf != line.shelf { count += 1 }
        }
        old = new
        return count
    }
}

private func count(_ change: CollectionChange<LineRecord>?) -> Int {
    guard case .update(_, let deletions, let insertions, let modifications)? = change else { return 0 }
    return deletions.count + insertions.count + modifications.count
}

private func opened(_ count: Int) async throws -> GraphStore {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("observe-\(UUID()).sqlite").path
    let store = try await GraphStore.open(.file(path), LineRecord.self, OtherRecord.self)
    try await store.write { tx in
        for id in 0..<count {
            try await tx.insert(LineRecord(id: id, name: "line \(id * 7919 % count)", value: 0, shelf: id % 1000))
        }
        for id in 0..<1000 { try await tx.insert(OtherRecord(id: id, name: "")) }
    }
    return store
}

/// A store of lines, and writes to it that change something each time.
private final class Bench {
    static let count = 100_000
    let store: GraphStore
    private(set) var round = 0

    init() async throws { store = try await opened(Self.count) }

    /// Sets a value of so many rows; answers with the first one's id.
    func set(_ rows: Int) async throws -> Int {
        round += 1
        let start = round * 37 % 1000
        try await store.write { tx in
            for id in start..<start + rows {
                _ = try await tx.apply(Patch(LineRecord.self, id).set(\.value, round))
            }
        }
        return start
    }

    func rename() async throws {
        round += 1
        try await store.write { tx in
            _ = try await tx.apply(Patch(OtherRecord.self, round % 1000).set(\.name, "\(round)"))
        }
    }
}

/// A commit, and what observers of a sorted result make of it, against reading it again and comparing.
func benchmarkObservation(_ harness: Harness) async throws {
    guard harness.wants("observe.onerow.100k", "observe.unrelated", "observe.bulk.10k", "observe.1000observers") else {
        return
    }
    let (ours, theirs) = (try await Bench(), try await Bench())
    let query = Query(LineRecord.self).sorted(by: \.name)
    do {
        var observed = ours.store.changes(of: query).makeAsyncIterator()
        _ = try await observed.next()
        var refetched = try await Refetched(theirs.store, query)
        try await harness.compare("observe.onerow.100k", n: commits, target: 0.02) {
            try await total {
                _ = try await ours.set(1)
                return count(try await observed.next())
            }
        } baseline: {
            try await total {
                _ = try await theirs.set(1)
                return try await refetched.changes()
            }
        }
        try await harness.compare("observe.unrelated", n: commits, target: 0.02) {
            try await total {
                try await ours.rename()
                return 0
            }
        } baseline: {
            try await total {
                try await theirs.rename()
                return try await refetched.changes()
            }
        }
        try await harness.compare("observe.bulk.10k", n: 10_000) {
            _ = try await ours.set(10_000)
            return count(try await observed.next())
        } baseline: {
            _ = try await theirs.set(10_000)
            return try await refetched.changes()
        }
    }
    try await benchmarkManyObservers(harness, ours, theirs)
}

private let commits = 10

private func total(_ one: () async throws -> Int) async throws -> Int {
    var sum = 0
    for _ in 0..<commits { sum += try await one() }
    return sum
}

private func benchmarkManyObservers(_ harness: Harness, _ ours: Bench, _ theirs: Bench) async throws {
    guard harness.wants("observe.1000observers") else { return }
    let (changes, change) = AsyncStream<Int>.makeStream()
    let store = ours.store
    let tasks = (0..<1000).map { shelf in
        Task {
            let query = Query(LineRecord.self).where { $0.shelf == shelf }.sorted(by: \.name)
            for try await _ in store.changes(of: query) { change.yield(shelf) }
        }
    }
    @Sendable func heard() async -> Int {
        for await shelf in changes { return shelf }
        return -1
    }
    for task in tasks.indices where await heard() < 0 { throw BenchmarkError("observer \(task) has ended") }
    var refetched: [Refetched] = []
    for shelf in 0..<1000 {
        refetched.append(
            try await Refetched(theirs.store, Query(LineRecord.self).where { $0.shelf == shelf }.sorted(by: \.name)))
    }
    try await harness.compare("observe.1000observers", n: commits, target: 0.02) {
        try await total {
            let shelf = try await ours.set(1)
            let first = await heard()
            return first == shelf ? 1 : -1
        }
    } baseline: {
        try await total {
            _ = try await theirs.set(1)
            var count = 0
            for shelf in refetched.indices { count += try await refetched[shelf].changes() }
            return count
        }
    }
    for task in tasks { task.cancel() }
}
