import CSQLite
import Foundation
import GraphMapperStore

/// Something with a value, and a list of others.
final class Tick {
    let id: Int
    var value: Int
    var name: String
    var others: [Tick] = []
    init(id: Int, value: Int, name: String) { (self.id, self.value, self.name) = (id, value, name) }
}

struct TickRecord: StoredRecord {
    typealias Model = Tick
    let id: Int
    let value: Int
    let name: String
    let others: [Ref<TickRecord>]
    static let schema = Schema<Self>("tick") { row in
        try Self(
            id: row("id", \.id), value: row("value", \.value), name: row("name", \.name),
            others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Tick(id: $0.id, value: $0.value, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Field(\.name, \.name)
            Many(\.others, \.others)
        }
    }
}

func benchmarkWriteback(_ harness: Harness) async throws {
    guard
        harness.wants(
            "writeback.clean", "writeback.dirty10of1M", "writeback.list.append", "writeback.batch.insert",
            "retention.held", "retention.released")
    else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await benchmarkClean(harness)
    try await benchmarkEditedOnly(harness, folder)
    try await benchmarkAppend(harness, folder)
    try await benchmarkInsert(harness, folder)
    try await benchmarkRetention(harness)
}

/// The search for models that nobody else holds, where the app holds all of them; by hand, one look at each. And where it
/// holds none, which includes that they are mapped; by hand, the mapping alone.
private func benchmarkRetention(_ harness: Harness) async throws {
    guard harness.wants("retention.held", "retention.released") else { return }
    let records = (0..<100_000).map { TickRecord(id: $0, value: $0, name: "tick \($0)", others: []) }
    let session = GraphSession(TickRecord.mapping)
    let models = try session.map(records)
    try await harness.compare("retention.held", n: records.count) {
        try session.releaseUnused()
        return models.count
    } baseline: {
        models.reduce(0) { $0 + ($1.value < 0 ? 0 : 1) }
    }
    func map() throws -> GraphSession {
        let session = GraphSession(TickRecord.mapping)
        try session.map(records)
        return session
    }
    try await harness.compare("retention.released", n: records.count) {
        let session = try map()
        try session.releaseUnused()
        return try session.changes().changes.count
    } baseline: {
        try map().changes().changes.count
    }
}

private func openTicks(_ folder: URL, _ name: String, _ count: Int) async throws -> (GraphStore, Database) {
    let path = folder.appendingPathComponent("\(name).sqlite").path
    let store = try await GraphStore.open(.file(path), TickRecord.self)
    try await store.write { tx in
        for id in 0..<count { try await tx.insert(TickRecord(id: id, value: id, name: "tick \(id)", others: [])) }
    }
    return (store, try Database(path))
}

/// A save after no edit; by hand, the same fields compared with the records that were kept.
private func benchmarkClean(_ harness: Harness) async throws {
    guard harness.wants("writeback.clean") else { return }
    let records = (0..<200_000).map { TickRecord(id: $0, value: $0, name: "tick \($0)", others: []) }
    let session = GraphSession(TickRecord.mapping)
    let models = try session.map(records)
    try await harness.compare("writeback.clean", n: records.count, target: 5) {
        try await session.save().changes.count
    } baseline: {
        var changes = 0
        for (record, model) in zip(records, models)
        where record.id != model.id || record.value != model.value || record.name != model.name
            || record.others.map(\.id) != model.others.map(\.id)
        { changes += 1 }
        return changes
    }
}

/// Ten edits saved among a million objects; beside it, the same with a session that holds these ten.
private func benchmarkEditedOnly(_ harness: Harness, _ folder: URL) async throws {
    guard harness.wants("writeback.dirty10of1M") else { return }
    let (store, _) = try await openTicks(folder, "many", 1_000_000)
    let (many, few) = (GraphSession(store, TickRecord.mapping), GraphSession(store, TickRecord.mapping))
    let all = try await many.models(Query(TickRecord.self).sorted(by: \.id))
    let ten = try await few.models(Query(TickRecord.self).where { $0.id < 10 })
    let rounds = 100
    func save(_ models: some Sequence<Tick>, _ session: GraphSession) async throws -> Int {
        var changes = 0
        for _ in 0..<rounds {
            for model in models {
                model.value += 1
                try session.edit(model)
            }
            changes += try await session.save(only: .edited).changes.count
        }
        return changes
    }
    try await harness.compare("writeback.dirty10of1M", n: rounds * 10, target: 2) {
        try await save(all[500_000..<500_010], many)
    } baseline: {
        try await save(ten, few)
    }
}

/// One more link at the end of a list of a thousand.
private func benchmarkAppend(_ harness: Harness, _ folder: URL) async throws {
    guard harness.wants("writeback.list.append") else { return }
    let rounds = 100
    let (store, database) = try await openTicks(folder, "lists", 2001)
    let session = GraphSession(store, TickRecord.mapping)
    let ticks = try await session.models(Query(TickRecord.self).sorted(by: \.id))
    for index in 0..<2 { ticks[index].others = Array(ticks[2..<1002]) }
    try await session.save()
    let last = try database.prepare("SELECT max(position) FROM tick_others WHERE owner = 1")
    let insert = try database.prepare("INSERT INTO tick_others (owner, position, target) VALUES (1, ?, ?)")
    defer { for statement in [last, insert] { sqlite3_finalize(statement) } }
    try await harness.compare("writeback.list.append", n: rounds) {
        for round in 0..<rounds {
            ticks[0].others.append(ticks[1002 + round])
            try session.edit(ticks[0])
            try await session.save(only: .edited)
        }
        return rounds
    } baseline: {
        for round in 0..<rounds {
            try database.execute("BEGIN IMMEDIATE")
            guard sqlite3_step(last) == SQLITE_ROW else { throw BenchmarkError("no list") }
            let position = sqlite3_column_int64(last, 0)
            sqlite3_reset(last)
            sqlite3_bind_int64(insert, 1, position + (1 << 20))
            sqlite3_bind_int64(insert, 2, Int64(1002 + round))
            try database.run(insert)
            try database.execute("COMMIT")
        }
        return rounds
    }
}

/// Ten thousand new objects.
private func benchmarkInsert(_ harness: Harness, _ folder: URL) async throws {
    guard harness.wants("writeback.batch.insert") else { return }
    let count = 10_000
    let (store, database) = try await openTicks(folder, "inserts", 0)
    let insert = try database.prepare("INSERT INTO tick (id, value, name) VALUES (?, ?, ?)")
    defer { sqlite3_finalize(insert) }
    var next = 0
    func fresh() -> [Tick] {
        defer { next += count }
        return (next..<next + count).map { Tick(id: $0, value: $0, name: "tick \($0)") }
    }
    try await harness.compare("writeback.batch.insert", n: count, target: 1.2) {
        let session = GraphSession(store, TickRecord.mapping)
        for tick in fresh() { try session.add(tick) }
        return try await session.save().changes.count
    } baseline: {
        let ticks = fresh()
        try database.execute("BEGIN IMMEDIATE")
        for tick in ticks {
            sqlite3_bind_int64(insert, 1, Int64(tick.id))
            sqlite3_bind_int64(insert, 2, Int64(tick.value))
            _ = tick.name.withCString {
                sqlite3_bind_text(insert, 3, $0, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
            try database.run(insert)
        }
        try database.execute("COMMIT")
        return ticks.count
    }
}
