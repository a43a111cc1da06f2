import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// A note whose key the database gives, in a tree of them, and with links to others.
private final class Leaf {
    var id = 0
    var text: String
    weak var parent: Leaf?
    var children: [Leaf] = []
    var next: Leaf?
    var others: [Leaf] = []
    init(_ text: String) { self.text = text }
}
private struct LeafRow: StoredRecord {
    typealias Model = Leaf
    let id: Int
    let text: String
    let parent: Ref<LeafRow>?
    let next: Ref<LeafRow>?
    let others: [Ref<LeafRow>]
    static let schema = Schema<Self>("leaf") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), parent: row("parent", \.parent), next: row("next", \.next),
            others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Leaf($0.text)
        } properties: {
            Field(\.id, \.id).generated
            Field(\.text, \.text)
            Back(\.parent, \.parent)
            Many(LeafRow.self, by: \.parent, \.children)
            One(\.next, \.next)
            Many(\.others, \.others)
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.text)]
}

/// Its id cannot be set.
private final class Stone {
    let id: Int
    init(id: Int) { self.id = id }
}
private struct StoneRow: StoredRecord {
    typealias Model = Stone
    let id: Int
    static let schema = Schema<Self>("stone") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Stone(id: $0.id)
        } properties: {
            Field(\.id, \.id).generated
        }
    }
}

@Suite struct `Keys that the database gives` {
    private let faults = Faults()

    private func open() async throws -> (GraphStore, GraphSession) {
        var options = GraphStore.Options()
        options.prepare = { [faults] connection in try connection.onStatement { _ in try faults.see() } }
        let store = try await GraphStore.open(.inMemory, options: options, LeafRow.self)
        return (store, GraphSession(store, LeafRow.mapping))
    }

    /// A root with two below it, in a circle of links.
    private func tree() -> [Leaf] {
        let leaves = ["a", "b", "c"].map(Leaf.init)
        leaves[0].children = [leaves[1], leaves[2]]
        leaves[1].next = leaves[2]
        leaves[2].next = leaves[1]
        leaves[2].others = [leaves[0], leaves[2], leaves[0]]
        return leaves
    }

    @Test func `are there after the save, and in everything that points to the object`() async throws {
        let (store, session) = try await open()
        let leaves = tree()
        try session.add(leaves[0])
        let planned = try session.changes()
        #expect(planned.changes.count == 4 && leaves.map(\.id) == [0, 0, 0])
        #expect(try await session.plan().changes.changes.count == 4)
        try await session.save()
        #expect(leaves.map(\.id).sorted() == [1, 2, 3])
        let rows = try await store.fetch(Query(LeafRow.self))
        for leaf in leaves {
            let row = try #require(rows.first { $0.text == leaf.text })
            #expect(row.id == leaf.id && row.parent?.id == leaf.parent?.id && row.next?.id == leaf.next?.id)
            #expect(row.others.map(\.id) == leaf.others.map(\.id))
        }
        #expect(leaves[1].parent === leaves[0])
        #expect(try await session.save().isEmpty)
        #expect(try await session.find(LeafRow.self, leaves[1].id) === leaves[1])
        // One more, held by what is stored.
        let new = Leaf("d")
        leaves[1].children.append(new)
        try session.edit(leaves[1])
        try await session.save(only: .edited)
        #expect(new.id == 4 && new.parent === leaves[1])
        leaves[1].text = "edited"
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `a key is never given twice, and is beyond those that the app has given`() async throws {
        let (store, session) = try await open()
        let (own, other) = (Leaf("own"), Leaf("other"))
        own.id = 7
        for leaf in [own, other] { try session.add(leaf) }
        try await session.save()
        #expect(other.id == 8)
        try session.delete(other)
        try await session.save()
        let last = Leaf("last")
        try session.add(last)
        try await session.save()
        #expect(last.id == 9)
        #expect(try await store.fetch(Query(LeafRow.self)).map(\.id).sorted() == [7, 9])
    }

    @Test func `wherever a save fails the ids are as before`() async throws {
        let (store, session) = try await open()
        try session.add(Leaf("first"))
        try await session.save()
        let leaves = tree()
        try session.add(leaves[0])
        let before = try session.changes()
        var failures = 0
        while true {
            faults.next = failures
            do {
                try await session.save()
                break
            } catch is Fault { failures += 1 }
            faults.next = nil
            #expect(leaves.map(\.id) == [0, 0, 0])
            #expect(try session.changes() == before)
        }
        faults.next = nil
        #expect(failures > 5)
        #expect(leaves.map(\.id).sorted() == [2, 3, 4])
        #expect(try await store.count(Query(LeafRow.self)) == 4)
        // A value that is taken: no row, no key.
        let twin = Leaf("a")
        try session.add(twin)
        await #expect(throws: StoreError.self) { try await session.save() }
        #expect(twin.id == 0)
        twin.text = "twin"
        try await session.save()
        #expect(twin.id > 4)
    }

    @Test func `a piece of work that is undone takes them back`() async throws {
        struct Stop: Error {}
        let (store, session) = try await open()
        let leaves = tree()
        try session.add(leaves[0])
        for _ in 0..<2 {
            await #expect(throws: Stop.self) {
                try await session.savepoint {
                    try await session.save()
                    #expect(leaves.allSatisfy { $0.id > 0 })
                    throw Stop()
                }
            }
            #expect(leaves.map(\.id) == [0, 0, 0])
            await #expect(throws: Stop.self) {
                try await store.write { tx in
                    try await session.save(in: tx)
                    throw Stop()
                }
            }
            #expect(leaves.map(\.id) == [0, 0, 0])
        }
        try await session.save()
        #expect(leaves.map(\.id).sorted() == [1, 2, 3])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a mapping or a backing that cannot`() async throws {
        let error = #expect(throws: GraphError.self) { try GraphSession(StoneRow.mapping).validate() }
        #expect(error?.message.contains("make it a var") == true)
        let session = GraphSession(Keyless(), [LeafRow.mapping])
        let leaf = Leaf("a")
        try session.add(leaf)
        let refusal = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(refusal?.message.contains("gives no keys") == true && leaf.id == 0)
    }

    private struct Keyless: GraphBacking, ChangeSink {
        func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {}
        func transaction(_ body: (any ChangeSink) async throws -> Void) async throws { try await body(self) }
        func apply(_ change: ChangeSet.Change) async throws {}
    }
}
