import Foundation
import GraphMapperStore
import Testing

private struct LinkRow: StoredRecord {
    typealias Model = ChainLink
    let id: Int
    let value: Int
    let next: Ref<LinkRow>?
    static let schema = Schema<Self>("link") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), next: row("next", \.next))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ChainLink(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.next, \.next)
        }
    }
}

private final class Bough {
    let id: Int
    var value = 0
    weak var parent: Bough?
    var children: [Bough] = []
    init(id: Int) { self.id = id }
}
private struct BoughRow: StoredRecord {
    typealias Model = Bough
    let id: Int
    let value: Int
    let parent: Ref<BoughRow>?
    static let schema = Schema<Self>("bough") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), parent: row("parent", \.parent))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Bough(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Back(\.parent, \.parent)
            Many(BoughRow.self, by: \.parent, \.children)
        }
    }
}

private final class Bead {
    let id: Int
    var value = 0
    var others: [Bead] = []
    init(id: Int) { self.id = id }
}
private struct BeadRow: StoredRecord {
    typealias Model = Bead
    let id: Int
    let value: Int
    let others: [Ref<BeadRow>]
    static let schema = Schema<Self>("bead") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Bead(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Many(\.others, \.others)
        }
    }
}

/// What the benchmarks `scale.…` do with a million, with ten thousand: here is what they load and which statements they take.
@Suite struct `Graphs of uncommon shapes` {
    private let count = 10_000
    private let log = Statements()

    private func open<R: StoredRecord>(_ rows: [R]) async throws -> GraphStore {
        var options = GraphStore.Options()
        options.prepare = { [log] connection in try connection.onStatement { log.add($0) } }
        let store = try await GraphStore.open(.inMemory, options: options, R.self)
        try await store.write { try await $0.insert(contentsOf: rows) }
        log.clear()
        return store
    }

    /// The statements since the last time, but for those that begin, end and note.
    private func statements() -> [String] {
        defer { log.clear() }
        return log.all.filter { sql in
            ["SELECT", "INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) } && !sql.contains("graphmapper")
        }
    }

    private func written() -> [String] { statements().filter { !$0.hasPrefix("SELECT") } }

    @Test func `a chain from its first link takes a statement a link, by a query one`() async throws {
        let store = try await open(
            (0..<count).map { LinkRow(id: $0, value: $0, next: $0 + 1 < count ? Ref($0 + 1) : nil) })
        let session = GraphSession(store, LinkRow.mapping)
        let first = try #require(try await session.find(LinkRow.self, 0))
        #expect(statements().count == count)
        var last = first
        var length = 1
        while let next = last.next {
            #expect(next.id == last.id + 1 && next.value == next.id)
            last = next
            length += 1
        }
        #expect(length == count)
        last.value = -1
        try await session.save()
        #expect(statements().count == 1)
        try session.dismantle()

        let few = GraphSession(store, LinkRow.mapping)
        let start = try await few.find(LinkRow.self, 0, loading: .depth(10))
        #expect(statements().count == 11 && start?.value == 0)

        let whole = GraphSession(store, LinkRow.mapping)
        let links = try await whole.models(Query(LinkRow.self).sorted(by: \.id))
        #expect(statements().count == 1 && links.count == count)
        #expect(zip(links, links.dropFirst()).allSatisfy { $0.next === $1 } && links[count - 1].value == -1)
        try whole.dismantle()
    }

    @Test func `one object with all the others for children, by their foreign key`() async throws {
        let store = try await open(
            [BoughRow(id: 0, value: 0, parent: nil)] + (1...count).map { BoughRow(id: $0, value: $0, parent: Ref(0)) })
        let session = GraphSession(store, BoughRow.mapping)
        let root = try #require(try await session.find(BoughRow.self, 0))
        // The root, its children, and theirs.
        #expect(statements().count == 3)
        #expect(Set(root.children.map(\.id)) == Set(1...count))
        #expect(root.children.allSatisfy { $0.parent === root && $0.value == $0.id && $0.children.isEmpty })
        root.children[count / 2].value = -1
        try await session.save()
        #expect(written().count == 1)
        let leaving = root.children.removeLast()
        try await session.save()
        #expect(written().count == 1 && leaving.parent == nil)
        #expect(try await store.find(BoughRow.self, leaving.id)?.parent == nil)
        root.children.append(leaving)
        try await session.save()
        #expect(written().count == 1 && leaving.parent === root)
        #expect(try await session.save().isEmpty)
    }

    @Test func `one object with a list of all the others`() async throws {
        let store = try await open(
            (1...count).map { BeadRow(id: $0, value: $0, others: []) }
                + [BeadRow(id: 0, value: 0, others: (1...count).map { Ref($0) })])
        let session = GraphSession(store, BeadRow.mapping)
        let root = try #require(try await session.find(BeadRow.self, 0))
        // For each of two levels the lists, and the rows.
        #expect(statements().count == 4)
        #expect(root.others.map(\.id) == Array(1...count))
        let edits: [(inout [Bead]) -> Void] = [
            { $0[5000].value = -1 }, { $0.append($0.remove(at: 77)) }, { $0.swapAt(3, 9998) }, { $0.removeFirst() },
            { $0.insert($0[10], at: 5000) }, { $0[6000] = $0[1] },
        ]
        for (edit, most) in zip(edits, [1, 1, 2, 1, 1, 2]) {
            edit(&root.others)
            try await session.save()
            let statements = written()
            #expect(statements.count == most, "\(statements)")
        }
        let stored = try await store.find(BeadRow.self, 0)
        #expect(stored?.others.map(\.id) == root.others.map(\.id))
        #expect(try await session.save().isEmpty)
    }

    @Test func `a hundred objects, each linked to all`() async throws {
        let side = 100
        let store = try await open(
            (0..<side).map { id in BeadRow(id: id, value: id, others: (0..<side).map { Ref(($0 + id) % side) }) })
        let session = GraphSession(store, BeadRow.mapping)
        let root = try #require(try await session.find(BeadRow.self, 0))
        #expect(statements().count == 4)
        let all = root.others
        #expect(all.map(\.id) == Array(0..<side) && all[0] === root)
        for (id, bead) in all.enumerated() {
            #expect(bead.others.indices.allSatisfy { bead.others[$0] === all[($0 + id) % side] })
        }
        all[50].value = -1
        try await session.save()
        #expect(written().count == 1)
        for bead in all { bead.others.removeLast() }
        try await session.save()
        #expect(written().count == side)
        #expect(try await session.save().isEmpty)
        try session.dismantle()
    }

    @Test func `a list that has one object ten thousand times`() async throws {
        let rows = (0..<count).map { _ in Ref<BeadRow>(1) }
        let store = try await open(
            [BeadRow(id: 1, value: 1, others: []), BeadRow(id: 2, value: 2, others: [])]
                + [BeadRow(id: 0, value: 0, others: rows)])
        let session = GraphSession(store, BeadRow.mapping)
        let root = try #require(try await session.find(BeadRow.self, 0))
        #expect(statements().count == 4)
        let one = root.others[0]
        #expect(root.others.count == count && root.others.allSatisfy { $0 === one })
        one.value = -1
        try await session.save()
        #expect(written().count == 1)
        let two = try #require(try await session.find(BeadRow.self, 2))
        let edits: [(inout [Bead]) -> Void] = [
            { $0.remove(at: 5000) }, { $0.append(one) }, { $0.insert(two, at: 1234) },
            { $0.insert($0.remove(at: 1234), at: 4321) }, { $0[7777] = two },
        ]
        for (edit, most) in zip(edits, [1, 1, 1, 1, 2]) {
            edit(&root.others)
            try await session.save()
            let statements = written()
            #expect(statements.count == most, "\(statements)")
        }
        let stored = try await store.find(BeadRow.self, 0)
        #expect(stored?.others.map(\.id) == root.others.map(\.id))
    }
}
