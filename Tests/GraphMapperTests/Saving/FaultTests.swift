import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

struct Fault: Error {}

/// Makes a store's statements fail, one at a time. One task at a time uses it.
final class Faults: @unchecked Sendable {
    /// How many statements from now one fails.
    var next: Int?
    private(set) var seen = 0

    func see() throws {
        seen += 1
        guard let left = next else { return }
        next = left > 0 ? left - 1 : nil
        if left == 0 { throw Fault() }
    }
}

/// A session over nodes, shelves with unique numbers and counted notes, and edits of all kinds.
struct EditedWorld {
    let faults = Faults()
    let store: GraphStore
    let session: GraphSession
    private(set) var nodes: [Node] = []
    private(set) var shelves: [Shelf] = []
    private(set) var notes: [Memory] = []
    let ids = (0..<3).map { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") ?? UUID() }

    init() async throws {
        var options = GraphStore.Options()
        options.prepare = { [faults] connection in try connection.onStatement { _ in try faults.see() } }
        store = try await GraphStore.open(
            .inMemory, options: options, NodeRecord.self, ShelfRow.self, CountedRow.self)
        try await store.write { [ids] tx in
            for id in 0..<5 {
                let many = id == 0 ? [1, 2, 3, 2] : []
                try await tx.insert(
                    NodeRecord(id: id, value: "\(id)", single: id > 0 ? Ref(id - 1) : nil, many: many.map { Ref($0) }))
                try await tx.insert(ShelfRow(id: id, number: id, books: [], next: nil))
            }
            for id in ids { try await tx.insert(CountedRow(id: id, text: "", count: 0, version: 1, parts: [])) }
        }
        session = GraphSession(store, [NodeRecord.mapping, ShelfRow.mapping, CountedRow.mapping])
        nodes = try await session.models(Query(NodeRecord.self).sorted(by: \.id))
        shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        notes = try await session.models(Query(CountedRow.self)).sorted { $0.id.uuidString < $1.id.uuidString }
    }

    /// What there is: the rows, the models, what a save would do.
    struct State: Equatable {
        var rows: [String] = []
        var models: [String] = []
        var changes = ""
        var states: [GraphSession.ObjectState?] = []
    }

    func state() async throws -> State {
        var state = State()
        try await store.read { tx in
            for table in ["node", "node_many", "shelf", "shelf_books", "counted", "counted_parts"] {
                state.rows += try await tx.dump(table)
            }
        }
        state.models = models()
        state.changes = try session.changes().description
        state.states = (nodes as [AnyObject] + shelves + notes).map(session.state)
        return state
    }

    func models() -> [String] {
        nodes.map { "\($0.value) \($0.single?.id ?? -1) \($0.many.map(\.id))" }
            + shelves.map { "\($0.number) \($0.books.map(\.id)) \($0.next?.id ?? -1)" }
            + notes.map { "\($0.text) \($0.count) \($0.parts.map(\.id))" }
    }

    mutating func edit(_ kind: Int, _ one: Int, _ two: Int, _ number: Int) throws {
        let node = nodes[one % nodes.count]
        let other = nodes[two % nodes.count]
        switch kind {
        case 0: node.value = "edit \(number)"
        case 1: node.single = other
        case 2: node.many.append(other)
        case 3: node.many = node.many.reversed()
        case 4:
            let (left, right) = (shelves[one % shelves.count], shelves[two % shelves.count])
            (left.number, right.number) = (right.number, left.number)
        case 5: try session.delete(node)
        case 6:
            let new = Node(id: 100 + number)
            new.many = [node]
            nodes.append(new)
            try session.add(new)
        case 7: notes[one % notes.count].text += "x"
        case 8: notes[one % notes.count].parts.append(notes[two % notes.count])
        default:
            let new = Shelf(id: 100 + number, number: 100 + number)
            shelves.append(new)
            try session.add(new)
        }
    }

    static var edits: Gen<[((Int, Int), Int)]> {
        .array(of: Gen<Int>.int(in: 0...9).zip(.int(in: 0...9)).zip(.int(in: 0...9)), count: 1...8)
    }
}

extension ReadTransaction {
    func dump(_ table: String) async throws -> [String] {
        try connection.rows("SELECT * FROM \(table) ORDER BY 1, 2").map { row in
            "\(table): \(row.map(\.description).joined(separator: " | "))"
        }
    }
}

@Suite struct `A save that fails` {
    /// Whichever statement it is, the commit included: everything is as before, and the same save then succeeds.
    @Test func `leaves no trace, wherever it fails`() async throws {
        try await check(EditedWorld.edits, count: times(40, soak: 1000)) { edits in
            var world = try await EditedWorld()
            for (number, edit) in edits.enumerated() { try world.edit(edit.0.0, edit.0.1, edit.1, number) }
            let before = try await world.state()
            guard before.changes != "no changes" else { return }
            var faults = 0
            while true {
                world.faults.next = faults
                do {
                    let written = try await world.session.save()
                    world.faults.next = nil
                    try ensure(written.description == before.changes, "\(written), not \(before.changes)")
                    break
                } catch is Fault {
                    faults += 1
                }
                let after = try await world.state()
                try ensure(after == before, "after a fault at statement \(faults - 1): \(after), not \(before)")
            }
            // BEGIN, one statement at least, and COMMIT.
            try ensure(faults >= 3, "only \(faults) statements")
            let after = try world.session.changes()
            try ensure(after.isEmpty, "\(after)")
            let fresh = GraphSession(world.store, [NodeRecord.mapping, ShelfRow.mapping, CountedRow.mapping])
            let nodes = try await fresh.models(Query(NodeRecord.self).sorted(by: \.id))
            let mine = world.nodes.filter { world.session.state(of: $0) != nil }
            func text(_ node: Node) -> String {
                "\(node.id) \(node.value) \(node.single?.id ?? -1) \(node.many.map(\.id))"
            }
            try ensure(nodes.map(text) == mine.map(text), "\(nodes.map(text)), not \(mine.map(text))")
        }
    }

    /// Without a roll-back of its own the session must not forget what the rows were.
    @Test func `keeps versions and merges as they were`() async throws {
        let world = try await EditedWorld()
        world.notes[0].text = "mine"
        try await world.store.write { [ids = world.ids] tx in
            try await tx.execute("UPDATE counted SET count = 9, version = 7 WHERE id = ?", [ids[0].stored])
        }
        let before = try await world.state()
        var faults = 0
        while true {
            world.faults.next = faults
            do {
                try await world.session.save(onConflict: .mine)
                break
            } catch is Fault { faults += 1 }
            world.faults.next = nil
            #expect(try await world.state() == before)
        }
        world.faults.next = nil
        #expect(faults > 4)
        #expect(world.notes[0].count == 9 && world.notes[0].text == "mine")
        #expect(try await world.store.find(CountedRow.self, world.ids[0])?.version == 8)
        #expect(try await world.session.save().isEmpty)
    }
}

@Suite struct `Savepoints of a session` {
    private struct Stop: Error {}

    @Test func `what is undone is undone everywhere`() async throws {
        let world = try await EditedWorld()
        let (session, nodes) = (world.session, world.nodes)
        let new = Node(id: 50)
        nodes[1].value = "before"
        nodes[0].many = [nodes[3], nodes[1]]
        try session.add(new)
        await #expect(throws: Stop.self) {
            try await session.savepoint {
                nodes[1].value = "inside"
                nodes[2].value = "inside"
                new.value = "inside"
                nodes[0].many = []
                try session.delete(nodes[4])
                try session.add(Node(id: 51))
                try await session.save()
                nodes[3].value = "later"
                #expect(try await session.models(Query(NodeRecord.self)).count == 6)
                throw Stop()
            }
        }
        #expect(nodes.map(\.value) == ["0", "before", "2", "3", "4"] && new.value == "")
        #expect(nodes[0].many.map(\.id) == [3, 1] && session.state(of: nodes[4]) == .clean)
        #expect(try await world.store.count(Query(NodeRecord.self)) == 5)
        #expect(try await session.save().changes.count == 3)
        #expect(try await world.store.find(NodeRecord.self, 0)?.many.map(\.id) == [3, 1])
        #expect(try await world.store.count(Query(NodeRecord.self)) == 6)
        #expect(try await session.save().isEmpty)
    }

    @Test func `one within another`() async throws {
        let world = try await EditedWorld()
        let (session, nodes) = (world.session, world.nodes)
        let value = try await session.savepoint {
            nodes[0].value = "outer"
            try await session.save()
            do {
                try await session.savepoint {
                    nodes[0].value = "inner"
                    nodes[1].value = "inner"
                    try await session.save()
                    throw Stop()
                }
            } catch is Stop {}
            #expect(nodes[0].value == "outer" && nodes[1].value == "1")
            try await session.savepoint {
                nodes[2].value = "kept"
                try await session.save()
            }
            return 7
        }
        #expect(value == 7)
        let rows = try await world.store.fetch(Query(NodeRecord.self).sorted(by: \.id)).map(\.value)
        #expect(rows == ["outer", "1", "kept", "3", "4"])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a link to an object that is deleted, neither saved, is as before`() async throws {
        let world = try await EditedWorld()
        let (session, nodes) = (world.session, world.nodes)
        nodes[0].single = nodes[4]
        try session.delete(nodes[4])
        await #expect(throws: Stop.self) { try await session.savepoint { throw Stop() } }
        #expect(nodes[0].single === nodes[4] && session.state(of: nodes[4]) == .deleted)
        try await session.save()
        #expect(nodes[0].single == nil)
    }

    @Test func `without a database it undoes the models`() async throws {
        let session = GraphSession(NodeRecord.mapping)
        let nodes = try session.map([NodeRecord(id: 1, value: "a", single: nil, many: [])])
        await #expect(throws: Stop.self) {
            try await session.savepoint {
                nodes[0].value = "b"
                throw Stop()
            }
        }
        #expect(nodes[0].value == "a")
    }

    @Test func `any edits, saved or not, before and inside`() async throws {
        let saves = Gen<[Bool]>.array(of: .bool, count: 8...8)
        try await check(EditedWorld.edits.zip(EditedWorld.edits).zip(saves), count: times(60, soak: 1000)) {
            edits, saves in
            var world = try await EditedWorld()
            for (number, edit) in edits.0.enumerated() { try world.edit(edit.0.0, edit.0.1, edit.1, number) }
            let before = try await world.state()
            do {
                var inner = world
                try await world.session.savepoint {
                    for (number, edit) in edits.1.enumerated() {
                        try inner.edit(edit.0.0, edit.0.1, edit.1, 20 + number)
                        if saves[number] { try await inner.session.save() }
                    }
                    throw Stop()
                }
            } catch is Stop {}
            let after = try await world.state()
            try ensure(after == before, "\(after)\nnot\n\(before)")
            try await world.session.save()
            let left = try world.session.changes()
            try ensure(left.isEmpty, "\(left)")
        }
    }
}
