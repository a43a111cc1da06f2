import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// The fewest edits that make one short list of another, found by trying: each takes an element out, puts one in, or
/// moves one.
private final class ListSearch {
    private var distances: [[Int]: [[Int]: Int]] = [:]
    private let longest = 5

    func fewest(from base: [Int], to target: [Int]) -> Int? {
        if let known = distances[base]?[target] { return known }
        var found = [base: 0]
        var layer = [base]
        while found[target] == nil, !layer.isEmpty {
            var next: [[Int]] = []
            for list in layer {
                for edited in edits(list, Set(target)) where found[edited] == nil {
                    found[edited] = (found[list] ?? 0) + 1
                    next.append(edited)
                }
            }
            layer = next
        }
        distances[base, default: [:]][target] = found[target]
        return found[target]
    }

    private func edits(_ list: [Int], _ elements: Set<Int>) -> [[Int]] {
        var all: [[Int]] = []
        for place in list.indices {
            var shorter = list
            let element = shorter.remove(at: place)
            all.append(shorter)
            for other in shorter.startIndex...shorter.endIndex {
                var moved = shorter
                moved.insert(element, at: other)
                all.append(moved)
            }
        }
        guard list.count < longest else { return all }
        for element in elements {
            for place in list.startIndex...list.endIndex {
                var longer = list
                longer.insert(element, at: place)
                all.append(longer)
            }
        }
        return all
    }
}

/// Things, each with a set of tags.
private final class Thing: Hashable {
    let id: Int
    var tags: Set<Thing> = []
    var words: [String: Int] = [:]
    init(id: Int) { self.id = id }
    static func == (left: Thing, right: Thing) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
private struct ThingRow: StoredRecord {
    typealias Model = Thing
    let id: Int
    let tags: Set<Ref<ThingRow>>
    let words: [String: Int]
    static let schema = Schema<Self>("thing") { row in
        try Self(id: row("id", \.id), tags: row("tags", \.tags), words: row("words", \.words))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Thing(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.tags, \.tags)
            Field(\.words, \.words)
        }
    }
}

@Suite struct `A save writes as little as it can` {
    private let log = Statements()

    private func open() async throws -> GraphStore {
        var options = GraphStore.Options()
        options.prepare = { [log] connection in try connection.onStatement { log.add($0) } }
        return try await GraphStore.open(.inMemory, options: options, NodeRecord.self, ThingRow.self)
    }

    /// The statements that have written rows.
    private var written: Int {
        log.all.count { sql in
            ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) } && !sql.contains("graphmapper")
        }
    }

    private struct Rows: Equatable {
        var values: [Int: [String]] = [:]
        var lists: [Int: [Int]] = [:]

        init(_ store: GraphStore) async throws {
            for row in try await store.fetch(Query(NodeRecord.self)) {
                values[row.id] = [row.value, "\(row.single?.id ?? -1)"]
                lists[row.id] = row.many.map(\.id)
            }
        }
    }

    /// Objects are edited, linked, added, deleted, and made anew under the same key.
    @Test func `on any small graph as few statements as any way takes`() async throws {
        let step = Gen<Int>.int(in: 0...9).zip(.int(in: 0...3)).zip(.array(of: .int(in: 0...3), count: 0...5))
        let lists = Gen<[[Int]]>.array(of: .array(of: .int(in: 0...3), count: 0...5), count: 4...4)
        let search = ListSearch()
        var most = 0
        try await check(lists.zip(.array(of: step, count: 1...6)), count: times(300, soak: 5000)) { lists, steps in
            let store = try await open()
            try await store.write { tx in
                for (id, list) in lists.enumerated() {
                    try await tx.insert(
                        NodeRecord(id: id, value: "\(id)", single: Ref((id + 1) % 4), many: list.map { Ref($0) }))
                }
            }
            let session = GraphSession(store, NodeRecord.mapping)
            var nodes = Dictionary(
                uniqueKeysWithValues: try await session.models(Query(NodeRecord.self)).map { ($0.id, $0) })
            let before = try await Rows(store)
            func delete(_ node: Node) throws {
                for other in nodes.values {
                    if other.single === node { other.single = nil }
                    other.many.removeAll { $0 === node }
                }
                nodes[node.id] = nil
                try session.delete(node)
            }
            for (number, ((kind, first), many)) in steps.enumerated() {
                let ids = nodes.keys.sorted()
                let targets = many.compactMap { nodes[$0] }
                guard !ids.isEmpty, let one = nodes[ids[first % ids.count]] else { continue }
                switch kind {
                case 0: one.value = "edit \(number)"
                case 1: one.single = targets.first
                case 2...5: one.many = targets
                case 6: one.many.reverse()
                case 7: try delete(one)
                case 8:
                    try delete(one)
                    let new = Node(id: one.id)
                    (new.value, new.many) = ("new", targets.filter { $0 !== one })
                    nodes[new.id] = new
                    try session.add(new)
                default:
                    let new = Node(id: 10 + number)
                    new.many = targets
                    nodes[new.id] = new
                    try session.add(new)
                }
            }
            log.clear()
            try await session.save()
            let count = written
            let after = try await Rows(store)
            var fewest = 0
            for id in Set(before.values.keys).union(after.values.keys) where before.values[id] != after.values[id] {
                fewest += 1
            }
            for (id, list) in after.lists {
                fewest += try #require(search.fewest(from: before.lists[id] ?? [], to: list))
            }
            try ensure(count == fewest, "\(count) statements, not \(fewest):\n\(log.all.joined(separator: "\n"))")
            most = max(most, count)
        }
        #expect(most > 5)
    }

    @Test func `of a set what came and what went, of a dictionary its one column`() async throws {
        let sets = Gen<[Int]>.array(of: .int(in: 0...7), count: 0...8)
        try await check(.array(of: sets, count: 1...4), count: times(60, soak: 1000)) { versions in
            let store = try await open()
            try await store.write { tx in
                for id in 0..<8 { try await tx.insert(ThingRow(id: id, tags: [], words: [:])) }
            }
            let session = GraphSession(store, ThingRow.mapping)
            let things = try await session.models(Query(ThingRow.self).sorted(by: \.id))
            for (number, version) in versions.enumerated() {
                let new = Set(version.map { things[$0] })
                let changed = things[0].tags.symmetricDifference(new).count
                things[0].tags = new
                things[1].words = number % 2 == 0 ? ["a": number] : ["a": number - 1, "b": 7]
                log.clear()
                try await session.save()
                try ensure(written == changed + 1, "\(log.all) for \(changed) tags")
                let again = try await session.save()
                try ensure(again.isEmpty, "\(again)")
            }
            let fresh = GraphSession(store, ThingRow.mapping)
            let loaded = try await fresh.models(Query(ThingRow.self).sorted(by: \.id))
            try ensure(Set(loaded[0].tags.map(\.id)) == Set(things[0].tags.map(\.id)), "the tags")
            try ensure(loaded[1].words == things[1].words, "the words")
            // A set has no order: another writer's is the same.
            try ensure(try await fresh.save().isEmpty, "load, then save")
            loaded[0].tags = Set(loaded[0].tags.reversed())
            try ensure(try await fresh.save().isEmpty, "the same set")
            try fresh.rollback()
            try ensure(Set(loaded[0].tags.map(\.id)) == Set(things[0].tags.map(\.id)), "a roll-back")
        }
    }

    @Test func `sets that two have edited`() async throws {
        let store = try await open()
        try await store.write { tx in
            for id in 0..<6 {
                try await tx.insert(ThingRow(id: id, tags: id == 0 ? [Ref(1), Ref(2)] : [], words: [:]))
            }
        }
        let (mine, theirs) = (GraphSession(store, ThingRow.mapping), GraphSession(store, ThingRow.mapping))
        let things = try await mine.models(Query(ThingRow.self).sorted(by: \.id))
        let others = try await theirs.models(Query(ThingRow.self).sorted(by: \.id))
        others[0].tags = [others[2], others[3]]
        try await theirs.save()
        things[0].tags.insert(things[4])
        try await mine.save()
        #expect(Set(things[0].tags.map(\.id)) == [2, 3, 4])
        #expect(try await store.find(ThingRow.self, 0)?.tags == [Ref(2), Ref(3), Ref(4)])
        // A deleted one leaves it.
        try mine.delete(things[3])
        #expect(try await mine.save().changes.count == 2)
        #expect(Set(things[0].tags.map(\.id)) == [2, 4])
        // A row that was edited elsewhere.
        try await mine.merge([ThingRow(id: 0, tags: [Ref(4), Ref(5)], words: [:])])
        #expect(Set(things[0].tags.map(\.id)) == [4, 5])
        #expect(try await mine.save().changes.count == 1)
        #expect(try await mine.save().isEmpty)
    }
}
