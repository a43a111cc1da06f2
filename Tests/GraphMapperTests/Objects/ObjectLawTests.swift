import GraphMapper
import GraphMapperTesting
import Testing

@Suite struct `Laws of class DTOs` {
    @Test func `any shape`() async throws {
        try await checkLaws(of: [NodeObject.mapping], roots: Gen.anyShape().map(nodeObjects), count: 200)
    }

    @Test func `any shape, with lists that are no arrays`() async throws {
        try await checkLaws(of: [LiveNode.mapping], roots: Gen.anyShape().map(liveNodes), count: 100)
    }

    /// Copies of some objects, each a graph of its own, which agree or differ.
    static let copies = Gen.anyShape().zip(.int(in: 0...2)).map { shape, change in
        let copies = nodeObjects(shape)
        for node in copies where node.id % 3 == change { node.value = "v\(change)" }
        return nodeObjects(shape) + copies
    }

    @Test func `copies merge or conflict whatever the order`() async throws {
        try await checkLaws(of: [NodeObject.mapping], roots: Self.copies, count: 200)
    }

    @Test func `a mapping that loses is found, also in objects that only links lead to`() async {
        func broken(_ text: String) -> Mapping<NodeObject> {
            Mapping {
                Node(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.value, \.value, using: Conversion(decode: { $0 }, encode: { $0 == "v1" ? text : $0 }))
                One(\.single, \.single)
                Many(\.many, \.many)
            }
        }
        let roots = Gen.always(GraphShape(nodes: 2, single: [1, nil], many: [[], []])).map { [nodeObjects($0)[0]] }
        let error = await #expect(throws: PropertyFailure.self) {
            try await checkLaws(of: [broken("lost")], roots: roots, laws: [.roundTrip])
        }
        #expect(error.map { "\($0.underlying)".contains("node(0).single.value: \"v1\" became \"lost\"") } == true)
        await #expect(throws: Never.self) {
            try await checkLaws(of: [broken("v1")], roots: roots, laws: [.roundTrip])
        }
    }

    @Test func `back-references of trees`() async throws {
        try await checkLaws(of: [BranchObject.mapping], roots: Gen.forest().map(branchObjects), count: 100)
    }
}

/// The database belongs to the main thread.
@MainActor @Suite struct `Laws of class DTOs over a database` {
    @Test func `any shape`() async throws {
        try await checkLaws(of: [LiveNode.mapping], rows: Gen.anyShape().map { StoredGraph(liveNodes($0)) }, count: 100)
        {
            ObjectBacking(LiveDatabase(store: LiveStore()), LiveNode.self)
        }
    }

    @Test(arguments: 1...6) func cycles(_ count: Int) async throws {
        try await checkLaws(of: [LiveNode.mapping], rows: Gen.cycle(count).map { StoredGraph(liveNodes($0)) }, count: 4)
        {
            ObjectBacking(LiveDatabase(store: LiveStore()), LiveNode.self)
        }
    }

    @Test func `random edits are saved, and a fresh session loads what the models say`() async throws {
        let edits = Gen<Int>.int(in: 0...3).zip(.int(in: 0...7)).zip(.int(in: 0...7))
        try await check(Gen.anyShape().zip(.array(of: edits, count: 1...12)), count: 100) { shape, edits in
            guard shape.nodes > 0 else { return }
            let store = LiveStore()
            let backing = ObjectBacking(LiveDatabase(store: store), LiveNode.self)
            try await StoredGraph(liveNodes(shape)).write(to: backing)
            let session = GraphSession(backing, [LiveNode.mapping])
            let ids = Array(0..<shape.nodes)
            var nodes = try await session.load(LiveNode.self) { try await $0.fetch(LiveNode.self, ids: ids) }
            for ((kind, from), to) in edits {
                let node = nodes[from % nodes.count]
                let target = nodes[to % nodes.count]
                switch kind {
                case 0: node.value = "edit \(to)"
                case 1: node.single = node.single == nil ? target : nil
                case 2: node.many = [target] + node.many.dropLast()
                default:
                    let new = Node(id: nodes.count)
                    new.many = [node, new]
                    nodes.append(new)
                    try session.add(new)
                }
            }
            try await session.save()
            #expect(try session.changes().isEmpty && store.violations.isEmpty)
            let fresh = GraphSession(backing, [LiveNode.mapping])
            let all = Array(0..<nodes.count)
            let again = try await fresh.load(LiveNode.self) { try await $0.fetch(LiveNode.self, ids: all) }
            try #require(again.count == nodes.count)
            for (old, new) in zip(nodes, again) {
                #expect(old.value == new.value && old.single?.id == new.single?.id)
                #expect(old.many.map(\.id) == new.many.map(\.id))
            }
        }
    }
}
