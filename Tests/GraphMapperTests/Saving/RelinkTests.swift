import GraphMapper
import GraphMapperStore
import GraphMapperTesting
import Testing

private final class Desk {
    let id: Int
    weak var worker: Worker?
    init(id: Int) { self.id = id }
}

private final class Worker {
    let id: Int
    /// One at most.
    var desk: Desk?
    init(id: Int) { self.id = id }
}

private struct DeskRow: StoredRecord {
    typealias Model = Desk
    let id: Int
    let worker: Ref<WorkerRow>?
    static let schema = Schema<Self>("desk") { row in try Self(id: row("id", \.id), worker: row("worker", \.worker)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Desk(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.worker, \.worker)
        }
    }
}

private struct WorkerRow: StoredRecord {
    typealias Model = Worker
    let id: Int
    static let schema = Schema<Self>("worker") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Worker(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(DeskRow.self, by: \.worker, \.desk)
        }
    }
}

@Suite struct `Two-sided links follow at once` {
    /// One edit of one side. Numbers stand for whichever branch is there.
    enum Edit: Sendable {
        case name(Int, Int?)
        case adopt(Int, Int)
        case letGo(Int, Int)
        case move(Int, Int)
        case add(Int)
        case delete(Int)

        static var any: Gen<Edit> {
            let place = Gen<Int>.int(in: 0...9)
            return .frequency(
                (4, place.zip(.optional(place)).map { .name($0.0, $0.1) }),
                (1, place.zip(place).map { .adopt($0.0, $0.1) }), (2, place.zip(place).map { .letGo($0.0, $0.1) }),
                (3, place.zip(place).map { .move($0.0, $0.1) }), (2, place.map { .add($0) }),
                (1, place.map { .delete($0) }))
        }
    }

    /// A session's branches, with what they say of each other.
    private final class World {
        let session: GraphSession
        var all: [Branch]

        init(_ store: GraphStore) async throws {
            session = GraphSession(store, BranchRecord.mapping)
            all = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
        }

        func run(_ edits: [Edit]) throws {
            for edit in edits {
                switch edit {
                case .name(let child, let parent): self[child].parent = parent.map { self[$0] }
                case .adopt(let parent, let child):
                    if !self[parent].children.contains(where: { $0 === self[child] }) {
                        self[parent].children.append(self[child])
                    }
                case .letGo(let parent, let place):
                    let children = self[parent].children
                    if !children.isEmpty { self[parent].children.remove(at: place % children.count) }
                case .move(let child, let parent):
                    let child = self[child]
                    for owner in all { owner.children.removeAll { $0 === child } }
                    self[parent].children.append(child)
                case .add(let parent):
                    let new = Branch(id: 100 + all.count, value: "new")
                    self[parent].children.append(new)
                    all.append(new)
                case .delete(let place): try session.delete(self[place])
                }
            }
        }

        /// What the session knows, or finds by the links of what it knows. Deleted branches lead nowhere.
        var reachable: [Branch] {
            var found = all.filter { $0.id < 100 && session.state(of: $0) != .deleted }
            var next = 0
            while next < found.count {
                for child in found[next].children
                where session.state(of: child) != .deleted && !found.contains(where: { $0 === child }) {
                    found.append(child)
                }
                next += 1
            }
            return found
        }

        subscript(number: Int) -> Branch { all[number % all.count] }

        var sides: [String] {
            all.map { "\($0.id): \($0.parent?.id ?? -1) \($0.children.map(\.id).sorted())" }
        }
    }

    @Test func `as a save would, which writes the same then`() async throws {
        let shapes = Gen.forest(maxNodes: 8).zip(.array(of: Edit.any, count: 0...5))
        try await check(shapes, count: 200) { shape, edits in
            guard shape.nodes > 0 else { return }
            let store = try await openNodes()
            try await StoredGraph(branchRecords(shape)).write(to: store.backing)
            let world = try await World(store)
            defer { try? world.session.dismantle() }
            try world.run(edits)
            let edited = world.sides
            let before = Result { try world.session.changes() }
            do {
                try world.session.relink()
            } catch {
                try ensure(world.sides == edited, "after an error the models are \(world.sides), not \(edited)")
                guard case .failure(let refused) = before else { throw error }
                try ensure("\(error)" == "\(refused)", "relink says \(error), a save \(refused)")
                return
            }
            let changes = try world.session.changes()
            let expected = try before.get()
            try ensure(changes == expected, "before it was \(expected), after it \(changes)")
            let alive = world.reachable
            for branch in alive {
                for child in branch.children where world.session.state(of: child) != .deleted {
                    try ensure(child.parent === branch, "\(child.id) is in \(branch.id), and names another")
                }
                guard let parent = branch.parent, world.session.state(of: parent) != .deleted else { continue }
                try ensure(parent.children.contains { $0 === branch }, "\(branch.id) is not in \(parent.id)")
            }
            let sides = world.sides
            try world.session.relink()
            try ensure(world.sides == sides, "the second time it did \(world.sides), not \(sides)")
            try await world.session.save()
            try ensure(try await world.session.save().isEmpty, "a second save writes something")
        }
    }

    @Test func `a link to one lets go of what another object takes`() throws {
        let session = GraphSession(WorkerRow.mapping, DeskRow.mapping)
        let worker = try session.map([WorkerRow(id: 7)])[0]
        let desks = try session.map([DeskRow(id: 1, worker: nil), DeskRow(id: 2, worker: nil)])
        worker.desk = desks[0]
        try session.relink()
        #expect(desks[0].worker === worker)
        try session.relink()
        #expect(desks[0].worker === worker && worker.desk === desks[0])
        // Both are edits: who is to have the place is not known.
        desks[1].worker = worker
        let error = #expect(throws: GraphError.self) { try session.relink() }
        #expect(error?.kind == .conflict)
        for name in ["desk(1)", "desk(2)", "worker(7)"] { #expect("\(error as Any)".contains(name)) }
        #expect(worker.desk === desks[0])
    }

    @Test func `a stored object gives up its place`() async throws {
        let store = try await GraphStore.open(.inMemory, WorkerRow.self, DeskRow.self)
        try await store.write { tx in
            try await tx.insert(WorkerRow(id: 7))
            try await tx.insert(contentsOf: [DeskRow(id: 1, worker: Ref(7)), DeskRow(id: 2, worker: nil)])
        }
        let session = GraphSession(store, WorkerRow.mapping, DeskRow.mapping)
        let worker = try await session.models(Query(WorkerRow.self))[0]
        let desks = try await session.models(Query(DeskRow.self).sorted(by: \.id))
        desks[1].worker = worker
        try session.relink()
        #expect(worker.desk === desks[1] && desks[0].worker == nil)
        try await session.save()
        #expect(try await store.find(DeskRow.self, 1)?.worker == nil)
        #expect(try await store.find(DeskRow.self, 2)?.worker?.id == 7)
    }

    @Test func `sides that contradict each other are an error that names both, and nothing follows`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (1...4).map { BranchRecord(id: $0, value: "", parent: $0 == 4 ? Ref(1) : nil) })
        }
        let world = try await World(store)
        let (one, two, three, child) = (world.all[0], world.all[1], world.all[2], world.all[3])
        one.children = []
        two.children = [child]
        child.parent = three
        let error = #expect(throws: GraphError.self) { try world.session.relink() }
        #expect(error?.kind == .conflict && error?.id == "4" && error?.property == "parent")
        #expect("\(error as Any)".contains("branch(2)") && "\(error as Any)".contains("branch(3)"))
        #expect(child.parent === three && three.children.isEmpty && one.children.isEmpty)
        child.parent = two
        try world.session.relink()
        #expect(two.children.first === child)
    }
}
