import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Part: EmbeddedValue, Hashable {
    var x: Int
    var y: Int?
    static let schema = Schema<Self> { row in try Self(x: row("x", \.x), y: row("y", \.y)) }
}
private struct Slot: StoredRecord {
    let id: Int
    let n: Int?
    let name: String?
    let part: Part
    let other: Part?
    static let schema = Schema<Self>("slot") { row in
        try Self(
            id: row("id", \.id), n: row("n", \.n), name: row("name", \.name), part: row("part", \.part),
            other: row("other", \.other))
    }
}

@Suite struct `nil in a list of values` {
    private static let parts = [Part(x: 0, y: nil), Part(x: 0, y: 1), Part(x: 1, y: nil), Part(x: 1, y: 1)]
    private static let slots = (0..<16).map { id in
        Slot(
            id: id, n: id % 4 == 0 ? nil : id % 4, name: id % 3 == 0 ? nil : "\(id % 3)", part: parts[id % 4],
            other: id < 4 ? nil : parts[id / 4])
    }

    private static func open() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, Slot.self)
        try await store.write { try await $0.insert(contentsOf: Self.slots) }
        return store
    }

    private static func same(
        _ store: GraphStore, _ what: String, _ expected: (Slot) -> Bool, _ condition: (Columns<Slot>) -> Condition
    ) async throws {
        for isNot in [false, true] {
            let query = Query(Slot.self).where { isNot ? !condition($0) : condition($0) }.sorted(by: \.id)
            let found = try await store.fetch(query).map(\.id)
            #expect(found == slots.filter { expected($0) != isNot }.map(\.id), "\(isNot ? "not " : "")\(what)")
        }
    }

    @Test func `is found as any other value, by closures`() async throws {
        let store = try await Self.open()
        let lists: [[Int?]] = [[], [nil], [1], [1, nil], [nil, nil, 2, 3], [1, 2, 3]]
        for list in lists {
            try await Self.same(store, "\(list)", { list.contains($0.n) }, { $0.n.isIn(list) })
        }
        let choices: [[Part]] = [[], [Self.parts[0]], [Self.parts[0], Self.parts[3]], Self.parts, [Self.parts[1]]]
        for choice in choices {
            try await Self.same(store, "\(choice)", { choice.contains($0.part) }, { $0.part.isIn(choice) })
            for list in [choice.map { $0 as Part? }, choice + [nil]] {
                try await Self.same(store, "\(list)", { list.contains($0.other) }, { $0.other.isIn(list) })
            }
        }
    }

    @Test func `is found as any other value, by #Predicate`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await Self.open()
        let numbers: [[Int?]] = [[], [nil], [1], [1, nil], [nil, nil, 2, 3]]
        for list in numbers {
            let set = Set(list)
            for predicate in [
                #Predicate<Slot> { list.contains($0.n) }, #Predicate<Slot> { !list.contains($0.n) },
                #Predicate<Slot> { set.contains($0.n) },
            ] {
                let found = try await store.fetch(Query(Slot.self).where(predicate).sorted(by: \.id)).map(\.id)
                #expect(found == (try Self.slots.filter { try predicate.evaluate($0) }.map(\.id)), "\(list)")
            }
        }
        let names: [[String?]] = [[nil], ["1"], ["1", nil]]
        for list in names {
            let predicate = #Predicate<Slot> { list.contains($0.name) }
            let found = try await store.fetch(Query(Slot.self).where(predicate).sorted(by: \.id)).map(\.id)
            #expect(found == (try Self.slots.filter { try predicate.evaluate($0) }.map(\.id)), "\(list)")
        }
    }
}
