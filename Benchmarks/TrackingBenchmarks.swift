import Foundation
import GraphMapperStore
import Observation

/// The same as a ``Tick``, which says when it is edited.
@available(macOS 14, iOS 17, *)
@Observable final class WatchedTick {
    let id: Int
    var value: Int
    var name: String
    var others: [WatchedTick] = []
    init(id: Int, value: Int, name: String) { (self.id, self.value, self.name) = (id, value, name) }
}

@available(macOS 14, iOS 17, *)
struct WatchedTickRecord: StoredRecord {
    typealias Model = WatchedTick
    let id: Int
    let value: Int
    let name: String
    let others: [Ref<WatchedTickRecord>]
    static let schema = Schema<Self>("tick") { row in
        try Self(
            id: row("id", \.id), value: row("value", \.value), name: row("name", \.name),
            others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            WatchedTick(id: $0.id, value: $0.value, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Field(\.name, \.name)
            Many(\.others, \.others)
        }
    }
}

/// What models that say when they are edited cost when they are made, and what a save of ten of them costs then.
@available(macOS 14, iOS 17, *)
func benchmarkTracking(_ harness: Harness) async throws {
    guard harness.wants("tracking.load", "tracking.dirty10of100k") else { return }
    let records = (0..<100_000).map { WatchedTickRecord(id: $0, value: $0, name: "tick \($0)", others: []) }
    func map(_ mapping: Mapping<WatchedTickRecord>) throws -> Int {
        try GraphSession(mapping).map(records).count
    }
    try await harness.compare("tracking.load", n: records.count) {
        try map(WatchedTickRecord.mapping.tracked)
    } baseline: {
        try map(WatchedTickRecord.mapping)
    }

    let store = try await GraphStore.open(.inMemory, WatchedTickRecord.self)
    try await store.write { tx in try await tx.insert(contentsOf: records) }
    let before = residentBytes()
    let (many, few) = (
        GraphSession(store, WatchedTickRecord.mapping.tracked), GraphSession(store, WatchedTickRecord.mapping.tracked)
    )
    let all = try await many.models(Query(WatchedTickRecord.self).sorted(by: \.id))
    // Only in a process that has done nothing else: what others have freed is used again.
    if harness.filter?.hasPrefix("tracking") == true, let before, let after = residentBytes() {
        let plain = GraphSession(store, WatchedTickRecord.mapping)
        let others = try await plain.models(Query(WatchedTickRecord.self))
        let end = residentBytes() ?? after
        print("tracking: \((after - before - (end - after)) / others.count) more bytes an object")
    }
    let ten = try await few.models(Query(WatchedTickRecord.self).where { $0.id < 10 })
    let rounds = 100
    func save(_ models: some Sequence<WatchedTick>, _ session: GraphSession) async throws -> Int {
        var changes = 0
        for _ in 0..<rounds {
            for model in models { model.value += 1 }
            changes += try await session.save(only: .edited).changes.count
        }
        return changes
    }
    try await harness.compare("tracking.dirty10of100k", n: rounds * 10, target: 2) {
        try await save(all[50_000..<50_010], many)
    } baseline: {
        try await save(ten, few)
    }
}

/// How much memory the process has; nil where that is not known.
private func residentBytes() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 }
}
