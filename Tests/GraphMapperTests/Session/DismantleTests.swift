import GraphMapper
import GraphMapperStore
import GraphMapperTesting
import Testing

private final class Gone {
    private struct Reference { weak var object: AnyObject? }
    private var references: [Reference] = []
    func watch(_ objects: [AnyObject]) { references = objects.map { Reference(object: $0) } }
    var count: Int { references.count { $0.object == nil } }
}

@Suite struct `Taking a graph apart` {
    @Test func `a strong chain of a million is released on a small stack`() async throws {
        try await Depth.onSmallStack {
            let count = 1_000_000
            let session = GraphSession(ChainRecord.mapping)
            // From the end to the start, which is the wrong order for an array to let go of them.
            let records = (0..<count).reversed().map {
                ChainRecord(id: $0, value: $0, next: $0 + 1 < count ? Ref($0 + 1) : nil)
            }
            weak let last = try session.map(records)[0]
            #expect(last != nil)
            try session.dismantle()
            #expect(last == nil)
            #expect(try session.changes().isEmpty)
        }
    }

    @Test func `new objects that only links lead to are released, too`() async throws {
        try await Depth.onSmallStack {
            let session = GraphSession(ChainRecord.mapping)
            weak var last: ChainLink?
            func build() throws {
                let root = try session.map([ChainRecord(id: 0, value: 0, next: nil)])[0]
                var link = root
                for id in 1...200_000 {
                    let next = ChainLink(id: id)
                    link.next = next
                    link = next
                }
                last = link
            }
            try build()
            #expect(last != nil)
            try session.dismantle()
            #expect(last == nil)
        }
    }

    @Test func `of any graph nothing is left, circles and all, and the session starts anew`() throws {
        try check(Gen.anyShape()) { shape in
            let session = GraphSession(StrongRecord.mapping)
            let records = strongRecords(shape)
            let gone = Gone()
            gone.watch(try session.map(records))
            try ensure(gone.count == 0 || shape.nodes == 0, "the session holds its models")
            try session.dismantle()
            try ensure(gone.count == shape.nodes, "\(gone.count) of \(shape.nodes) are released")
            let again = try session.map(records)
            try ensure(try session.changes().isEmpty, "what came again is not clean")
            try ensure(again.map(\.id) == records.map(\.id), "what came again")
            try session.dismantle()
        }
    }

    @Test func `what the app holds stays, without its links`() throws {
        let session = GraphSession(ChainRecord.mapping)
        let models = try session.map([
            ChainRecord(id: 1, value: 5, next: Ref(2)), ChainRecord(id: 2, value: 6, next: nil),
        ])
        try session.delete(models[1])
        try session.dismantle()
        #expect(models[0].next == nil)
        #expect(models.map(\.value) == [5, 6])
        #expect(session.state(of: models[0]) == nil)
        #expect(try session.changes().isEmpty)
    }

    @Test func `both sides of a two-sided link`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (1...3).map {
                    BranchRecord(id: $0, value: "", parent: $0 == 1 ? nil : Ref($0 - 1))
                })
        }
        let session = GraphSession(store, BranchRecord.mapping)
        let gone = Gone()
        gone.watch(try await session.models(Query(BranchRecord.self)))
        try session.dismantle()
        #expect(gone.count == 3)
        let again = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
        #expect(again[0].children.first === again[1] && again[2].parent === again[1])
        #expect(try await session.save().isEmpty)
        try session.dismantle()
    }

    @Test func `an unowned owner that is gone is not asked for`() throws {
        let session = GraphSession(PersonRow.mapping, MedalRow.mapping)
        var people = try session.map([PersonRow(id: 1, name: "", boss: nil, friend: nil, secret: 0)])
        let medals = try session.map([MedalRow(id: 2, title: "", owner: Ref(1))])
        weak let owner = people[0]
        try session.evict(people[0])
        people = []
        #expect(owner == nil && medals.count == 1)
        try session.dismantle()
        #expect(session.state(of: medals[0]) == nil)
    }

    @Test func `a piece of work that fails after it puts everything back`() async throws {
        let session = GraphSession(ChainRecord.mapping)
        let models = try session.map([
            ChainRecord(id: 1, value: 5, next: Ref(2)), ChainRecord(id: 2, value: 6, next: nil),
        ])
        models[1].value = 7
        let before = try session.changes()
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await session.savepoint {
                try session.dismantle()
                throw Stop()
            }
        }
        #expect(models[0].next === models[1] && models[1].value == 7)
        #expect(try session.changes() == before)
    }
}
