import GraphMapperStore
import GraphMapperTesting
import Testing

@Suite struct `Saves of what is edited` {
    @Test func `only what is named is written, the rest later`() async throws {
        let world = try await EditedWorld()
        world.nodes[1].value = "one"
        world.nodes[2].value = "two"
        world.nodes[3].value = "three"
        try world.session.edit(world.nodes[1])
        let new = Node(id: 50)
        world.nodes[3].many = [new]
        try world.session.edit(world.nodes[3])
        try world.session.delete(world.nodes[4])
        let plan = try await world.session.plan(only: .edited)
        let written = try await world.session.save(only: .edited)
        #expect(plan.changes == written && written.changes.count == 5, "\(written)")
        #expect(try await world.session.save(only: .edited).isEmpty)
        #expect(try await world.store.find(NodeRecord.self, 2)?.value == "2")
        #expect(try await world.session.save().changes.count == 1)
        #expect(try await world.session.save().isEmpty)
    }

    @Test func `a mark lasts until a save has succeeded`() async throws {
        let world = try await EditedWorld()
        world.nodes[1].value = "one"
        try world.session.edit(world.nodes[1])
        world.faults.next = 1
        await #expect(throws: Fault.self) { try await world.session.save(only: .edited) }
        #expect(try await world.session.save(only: .edited).changes.count == 1)
        world.nodes[1].value = "again"
        #expect(try await world.session.save(only: .edited).isEmpty)
        #expect(try await world.session.save().changes.count == 1)
    }

    /// Branches move by either side of their link, are added and deleted; whoever was touched is named.
    @Test func `with all edits named it writes what a whole save writes, however a tree is edited`() async throws {
        let step = Gen<Int>.int(in: 0...6).zip(.int(in: 0...9)).zip(.int(in: 0...9))
        let runs = Gen.forest(maxNodes: 8).zip(.array(of: step, count: 1...6)).zip(.bool)
        try await check(runs, count: 200) { input, isOneSided in
            let (shape, steps) = input
            let store = try await openNodes()
            try await StoredGraph(branchRecords(shape)).write(to: store.backing)
            let session = GraphSession(store, BranchRecord.mapping)
            let all = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
            guard !all.isEmpty else { return }
            var parents: [Int: Branch] = [:]
            for branch in all { for child in branch.children { parents[child.id] = branch } }
            var moved: Set<Int> = []
            var deleted: Set<Int> = []
            for (number, ((kind, first), second)) in steps.enumerated() {
                let (one, two) = (all[first % all.count], all[second % all.count])
                guard !deleted.contains(one.id), !deleted.contains(two.id) else { continue }
                switch kind {
                case 0:
                    one.value = "edit \(number)"
                    try session.edit(one)
                case 1:
                    let new = Branch(id: 50 + number, value: "new")
                    two.children.append(new)
                    try session.edit(two)
                case 2, 3:
                    // By the owners' side.
                    guard moved.insert(one.id).inserted else { continue }
                    if let old = parents[one.id] {
                        old.children.removeAll { $0 === one }
                        try session.edit(old)
                    }
                    two.children.append(one)
                    parents[one.id] = two
                    try session.edit(two)
                    if !isOneSided { try session.edit(one) }
                case 4:
                    guard moved.insert(one.id).inserted, let old = parents[one.id] else { continue }
                    old.children.removeAll { $0 === one }
                    parents[one.id] = nil
                    try session.edit(isOneSided ? old : one)
                case 5:
                    // By the back-reference.
                    guard moved.insert(one.id).inserted else { continue }
                    one.parent = two
                    try session.edit(one)
                default:
                    deleted.insert(one.id)
                    for child in one.children where parents[child.id] === one { try session.edit(child) }
                    try session.delete(one)
                }
            }
            let whole: ChangeSet
            do { whole = try session.changes() } catch { return }
            let part = try await session.plan(only: .edited)
            try ensure(
                Set(part.changes.changes) == Set(whole.changes), "\(part.changes)\nnot\n\(whole)")
            try await session.save(only: .edited)
            let left = try session.changes()
            try ensure(left.isEmpty, "left: \(left); wrote \(whole); \(branchRecords(shape)) \(steps)")
            try await session.refresh()
            let again = try session.changes()
            try ensure(again.isEmpty, "after a refresh: \(again)")
        }
    }
}
