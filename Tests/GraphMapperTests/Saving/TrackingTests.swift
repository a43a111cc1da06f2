import GraphMapperStore
import GraphMapperTesting
import Observation
import Testing

@testable import GraphMapper

/// A tree with links, of models that say when they are edited.
@Observable private final class Twig {
    let id: Int
    var value = ""
    weak var parent: Twig?
    var children: [Twig] = []
    var others: [Twig] = []
    @ObservationIgnored var note = ""
    init(id: Int) { self.id = id }
}
private struct TwigRow: StoredRecord {
    typealias Model = Twig
    let id: Int
    let value: String
    let note: String
    let parent: Ref<TwigRow>?
    let others: [Ref<TwigRow>]
    static let schema = Schema<Self>("twig") { row in
        try Self(
            id: row("id", \.id), value: row("value", \.value), note: row("note", \.note),
            parent: row("parent", \.parent), others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Twig(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Field(\.note, \.note)
            Back(\.parent, \.parent)
            Many(TwigRow.self, by: \.parent, \.children)
            Many(\.others, \.others)
        }
    }
}
/// What a web API says of a twig.
private struct TwigPayload: DTO, Identifiable {
    typealias Model = Twig
    let id: Int
    let value: String
    static let schema = Schema<Self>("twig") { row in try Self(id: row("id", \.id), value: row("value", \.value)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Twig(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
        }
    }
}

extension GraphSession {
    /// How many models it holds because they are edited.
    fileprivate var markedCount: Int {
        for table in core.order { table.startWalk() }
        defer { for table in core.order { table.endWalk() } }
        return core.order.compactMap { ($0 as? EntityTable<TwigRow>)?.edited.count }.reduce(0, +)
    }
}

@Suite struct `Models that say when they are edited` {
    private let faults = Faults()

    private func open(_ parents: [Int?], _ retention: Retention = .strong) async throws -> (GraphStore, GraphSession) {
        var options = GraphStore.Options()
        options.prepare = { [faults] connection in try connection.onStatement { _ in try faults.see() } }
        let store = try await GraphStore.open(.inMemory, options: options, TwigRow.self)
        try await store.write { tx in
            for (id, parent) in parents.enumerated() {
                try await tx.insert(
                    TwigRow(id: id, value: "\(id)", note: "", parent: parent.map { Ref($0) }, others: []))
            }
        }
        return (store, GraphSession(store, [TwigRow.mapping.tracked, TwigPayload.mapping], retention: retention))
    }

    private func all(_ session: GraphSession) async throws -> [Twig] {
        try await session.models(Query(TwigRow.self).sorted(by: \.id))
    }

    @Test func `a save of what is edited finds it, again and again`() async throws {
        let (store, session) = try await open([nil, 0, 0])
        let twigs = try await all(session)
        #expect(try await session.save(only: .edited).isEmpty && session.markedCount == 0)
        for round in 0..<3 {
            twigs[1].value = "edit \(round)"
            twigs[2].others.append(twigs[0])
            #expect(try await session.save(only: .edited).changes.count == 2)
            #expect(try await session.save(only: .edited).isEmpty)
        }
        // An edit that says nothing new is looked at, and not written.
        twigs[0].others = []
        #expect(session.markedCount == 1)
        #expect(try await session.save(only: .edited).isEmpty && session.markedCount == 0)
        // A new one is followed from its first save on.
        let new = Twig(id: 9)
        twigs[0].children.append(new)
        #expect(try await session.save(only: .edited).changes.count == 1)
        new.value = "new"
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(try await store.find(TwigRow.self, 9)?.parent == Ref(0))
        // What is not observed is found by a whole save only.
        twigs[1].note = "unseen"
        #expect(try await session.save(only: .edited).isEmpty)
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `a save that fails, and edits while one waits`() async throws {
        let (store, plain) = try await open([nil, 0])
        _ = plain
        var other: Twig?
        let session = GraphSession(
            Interrupted(store: store) { other?.value = "meanwhile" }, [TwigRow.mapping.tracked])
        let twigs = try await session.load(TwigRow.self) { try await $0.fetch(TwigRow.self, ids: [0, 1]) }
            .sorted { $0.id < $1.id }
        twigs[0].value = "once"
        faults.next = 1
        await #expect(throws: Fault.self) { try await session.save(only: .edited) }
        faults.next = nil
        #expect(try await session.save(only: .edited).changes.count == 1)
        for twig in twigs {
            other = twig
            twigs[0].value += "!"
            #expect(try await session.save(only: .edited).changes.count == 1)
            other = nil
            #expect(try await session.save(only: .edited).changes.count == 1)
        }
        #expect(
            try await store.fetch(Query(TwigRow.self).sorted(by: \.id)).map(\.value) == ["meanwhile!", "meanwhile"])
        #expect(try await session.save().isEmpty)
    }

    @Test func `what the session sets is no edit`() async throws {
        let (store, session) = try await open([nil, 0, 0])
        let twigs = try await all(session)
        try await store.write { tx in
            _ = try await tx.apply(Patch(TwigRow.self, 1).set(\.value, "theirs"))
        }
        try await session.refresh()
        #expect(twigs[1].value == "theirs" && session.markedCount == 0)
        twigs[1].value = "mine"
        try session.rollback()
        #expect(try await session.save(only: .edited).isEmpty && session.markedCount == 0)
        twigs[2].parent = twigs[1]
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(twigs[1].children.count == 1 && session.markedCount == 0)
        try session.releaseUnused()
        #expect(session.markedCount == 0)
        // And is followed on.
        twigs[1].value = "again"
        twigs[2].value = "again"
        #expect(try await session.save(only: .edited).changes.count == 2)
        // What a payload says is one.
        try session.map([TwigPayload(id: 0, value: "payload")])
        #expect(try await session.save(only: .edited).changes.count == 1)
        // So is a row that was edited elsewhere.
        try await session.merge([TwigRow(id: 0, value: "row", note: "", parent: nil, others: [])])
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(try await session.save().isEmpty)
    }

    @Test func `another instance under a deleted one's key is written`() async throws {
        let (store, session) = try await open([nil])
        let old = try await all(session)[0]
        try session.delete(old)
        let new = Twig(id: 0)
        new.value = "new"
        try session.add(new)
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(try await store.find(TwigRow.self, 0)?.value == "new")
    }

    @Test func `a session that holds weakly keeps what was edited, and forgets the rest`() async throws {
        let (store, session) = try await open([nil, 0, 0, nil], .weak)
        let root = try await all(session)[0]
        for round in 0..<200 {
            let other = try await session.find(TwigRow.self, 3)
            if round % 20 == 0 { other?.value = "\(round)" }
            if round % 50 == 0 { root.children[0].value = "\(round)" }
            if round % 3 == 0 { try await session.save(only: .edited) }
        }
        try await session.save(only: .edited)
        #expect(session.markedCount == 0)
        #expect(try await store.find(TwigRow.self, 3)?.value == "180")
        #expect(try await store.find(TwigRow.self, 1)?.value == "150")
        #expect(session.core.order[0].slotCount < 100 && session.core.order[0].idCount == 3)
        #expect(try await session.save().isEmpty)
    }

    /// Twigs move by either side, are added and deleted, rolled back and refreshed; nobody names them.
    @Test func `it writes what a whole save writes, however a tree is edited`() async throws {
        let step = Gen<Int>.int(in: 0...8).zip(.int(in: 0...9)).zip(.int(in: 0...9))
        let runs = Gen<[Int?]>.array(of: .optional(.int(in: 0...9)), count: 1...8)
            .zip(.array(of: step, count: 1...8)).zip(.element(of: [Retention.strong, .weak]))
        try await check(runs, count: times(150, soak: 3000)) { input, retention in
            let (links, steps) = input
            let parents = links.enumerated().map { id, parent in parent.flatMap { id > 0 ? $0 % id : nil } }
            let (_, session) = try await open(parents, retention)
            var twigs = try await all(session)
            for (number, ((kind, first), second)) in steps.enumerated() {
                let (one, two) = (twigs[first % twigs.count], twigs[second % twigs.count])
                switch kind {
                case 0: one.value = "edit \(number)"
                case 1:
                    let new = Twig(id: 50 + number)
                    one.children.append(new)
                    twigs.append(new)
                case 2 where one !== two && one.parent !== two && two.parent !== one: one.parent = two
                case 3:
                    guard let child = one.children.first else { continue }
                    one.children.removeFirst()
                    if child !== two { two.children.append(child) }
                case 4: one.others = [two, one]
                case 5: one.others = []
                case 6: try session.rollback()
                case 7: try await session.refresh()
                default:
                    // Both sides may say different things.
                    do { try await session.save(only: .edited) } catch let error as GraphError {
                        try ensure([.conflict, .unreachable].contains(error.kind), "\(error)")
                        try session.rollback()
                    }
                }
                twigs = twigs.filter { session.state(of: $0) != nil || $0.id >= 50 }
            }
            let whole: ChangeSet
            do { whole = try session.changes() } catch let error as GraphError {
                try ensure([.conflict, .unreachable].contains(error.kind), "\(error)")
                return
            }
            let written = try await session.save(only: .edited)
            try ensure(Set(written.changes) == Set(whole.changes), "\(written), not \(whole)")
            let left = try await session.save()
            try ensure(left.isEmpty, "left for a whole save: \(left)")
        }
    }
}
