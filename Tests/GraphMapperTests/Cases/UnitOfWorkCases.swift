import GraphMapperStore
import ShopModels
import Testing

@testable import ShoppingCart

@Suite struct `Units of work` {
    private func person(_ id: Int, _ name: String, boss: Int? = nil) -> PersonRow {
        PersonRow(id: id, name: name, boss: boss.map { Ref($0) }, friend: nil, secret: 0)
    }

    private func opened(_ people: PersonRow...) async throws -> (store: GraphStore, session: GraphSession) {
        let store = try await openTown()
        try await store.write { try await $0.insert(contentsOf: people) }
        return (store, townSession(store))
    }

    /// How many statements `body` costs, besides those of its transaction.
    private func statements(_ store: GraphStore, _ body: () async throws -> Void) async throws -> Int {
        let before = try await store.write { $0.statementCount }
        try await body()
        let after = try await store.write { $0.statementCount }
        // The COMMIT of the first look, BEGIN and COMMIT of what is counted, the BEGIN of the second look.
        return after - before - 4
    }

    @Test func `an evicted instance does not come back beside the one that took its place`() async throws {
        let (store, session) = try await opened(person(1, "ann"))
        let first = try #require(try await session.find(PersonRow.self, 1))
        try session.evict(first)
        let second = try #require(try await session.find(PersonRow.self, 1))
        #expect(first !== second)
        let error = #expect(throws: GraphError.self) { try session.add(first) }
        #expect(error?.kind == .conflict)
        try session.evict(second)
        first.name = "John"
        try session.add(first)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.name == "John")
        #expect(try await session.find(PersonRow.self, 1) === first)
    }

    @Test func `an evicted object is let go of while the session lives`() async throws {
        let (_, session) = try await opened(person(1, "ann"))
        weak var released: Person?
        do {
            let ann = try #require(try await session.find(PersonRow.self, 1))
            released = ann
            try session.evict(ann)
        }
        #expect(released == nil)
        #expect(try session.changes().isEmpty)
    }

    @Test func `two new rows with one unique value: the error names the column, and nothing is written`() async throws {
        let (store, session) = try await opened()
        let team = Team(id: 1)
        for id in [77, 78] {
            let topic = Topic(id: id)
            topic.weight = 66
            team.topics.insert(topic)
        }
        try session.add(team)
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .duplicateKey && error?.message.contains("topic.weight") == true, "\(error as Any)")
        #expect(try await store.count(Query(TeamRow.self)) == 0)
    }

    @Test func `a bare reference does not overwrite a loaded object`() async throws {
        let (store, session) = try await opened(person(1, "John"), person(2, "bob", boss: 1))
        let john = try #require(try await session.find(PersonRow.self, 1))
        john.name = "Johnny"
        let bob = try #require(try await session.find(PersonRow.self, 2))
        #expect(bob.boss === john && john.name == "Johnny")
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(PersonRow.self, 1)?.name == "Johnny")
    }

    @Test func `three new objects with ids of their own are three rows`() async throws {
        let store = try await openShop()
        let session = shopSession(store)
        for name in ["a", "b", "c"] { try session.add(ShopItem(name: name, price: 1)) }
        try await session.save()
        #expect(try await store.fetch(Query(ItemRecord.self).sorted(by: \.name)).map(\.name) == ["a", "b", "c"])
    }

    @Test(arguments: [UpsertPolicy.modified, .all])
    func `nil overwrites, values and links`(policy: UpsertPolicy) async throws {
        let (store, _) = try await opened(person(1, "ann"), person(2, "bob", boss: 1))
        let session = townSession(store)
        let bob = try #require(try await session.find(PersonRow.self, 2))
        let outcome = try await store.write { [row = person(2, "bob")] in try await $0.upsert(row, policy: policy) }
        let names = policy == .all ? ["name", "boss", "friend", "secret"] : ["boss"]
        #expect(outcome == .updated(names))
        #expect(try await store.find(PersonRow.self, 2)?.boss == nil)
        try await session.refresh()
        #expect(bob.boss == nil)
        #expect(try session.changes().isEmpty)
    }

    @Test func `of a new graph that is partly stored, only what is new is written`() async throws {
        let (_, session) = try await opened(person(1, "root"))
        let root = Person(id: 1, name: "root")
        root.boss = Person(id: 2, name: "new")
        try session.add(root, ifStored: .update)
        let written = try await session.save().changes
        // The root is updated to point to the new one; its name is not written.
        #expect(written.map(\.isInsertion) == [false, true], "\(written)")
        #expect(try await session.save().isEmpty)
        let (_, other) = try await opened(person(1, "root"))
        try other.add(Person(id: 1, name: "root"))
        #expect(try await other.save().isEmpty)
    }

    @Test func `a foreign key is set to NULL by one statement`() async throws {
        let (store, _) = try await opened(person(1, "ann"), person(2, "bob", boss: 1))
        let patch = try await statements(store) {
            _ = try await store.write { try await $0.apply(Patch(PersonRow.self, 2).set(\.boss, nil)) }
        }
        #expect(patch == 1)
        _ = try await store.write { try await $0.upsert(person(2, "bob", boss: 1)) }
        let session = townSession(store)
        // What it points to is not loaded.
        let bob = try #require(try await session.find(PersonRow.self, 2, loading: .none))
        #expect(bob.boss == nil)
        try session.clear(bob, \.boss)
        #expect(try await statements(store) { try await session.save() } == 1)
        #expect(try await store.find(PersonRow.self, 2)?.boss == nil)
    }

    @Test func `a row with several links to new rows, in a circle, is written once`() async throws {
        let (store, session) = try await opened()
        let people = (1...3).map { Person(id: $0) }
        people[0].boss = people[1]
        people[0].friend = people[2]
        people[1].boss = people[2]
        people[2].boss = people[0]
        try session.add(people[0])
        #expect(try await statements(store) { try await session.save() } == 3)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a child that is moved outlives its old parent`() async throws {
        let (store, session) = try await opened()
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...2).map { TeamRow(id: $0, leader: nil) })
            try await tx.insert(TopicRow(id: 1, weight: 1, team: Ref(1)))
        }
        let teams = try await session.models(Query(TeamRow.self).sorted(by: \.id))
        let topic = try #require(teams[0].topics.first)
        teams[0].topics = []
        teams[1].topics = [topic]
        try session.delete(teams[0])
        try await session.save()
        #expect(topic.team === teams[1])
        #expect(try await store.find(TopicRow.self, 1)?.team == Ref(2))
        #expect(try await store.count(Query(TeamRow.self)) == 1)
    }

    @Test func `deleting the origin of links clears the way back`() async throws {
        let (store, session) = try await opened()
        let memo = Memo(id: 1)
        let ann = Person(id: 1, name: "ann")
        let bob = Person(id: 2, name: "bob", boss: ann)
        memo.author = bob
        try session.add(ann)
        try session.add(bob)
        try session.add(memo)
        try await session.save()
        try session.delete(bob)
        try await session.save()
        #expect(memo.author == nil && ann.name == "ann")
        #expect(try await store.find(MemoRow.self, 1)?.author == nil)
        #expect(try await store.find(PersonRow.self, 1) != nil)
    }

    @Test func `every object of a query is visited while each stops matching`() async throws {
        let store = try await openTown()
        try await store.write { try await $0.insert(contentsOf: (1...40).map { person($0, "old") }) }
        let session = townSession(store)
        let old = Query(PersonRow.self).where { $0.name == "old" }
        var visited = 0
        for found in try await session.models(old) {
            found.name = "new"
            try await session.save()
            visited += 1
        }
        #expect(visited == 40)
        #expect(try await store.count(old) == 0)
    }

    @Test func `sets of models are sets of stored objects`() async throws {
        let (store, session) = try await opened()
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...2).map { TeamRow(id: $0, leader: nil) })
            try await tx.insert(contentsOf: (1...4).map { TopicRow(id: $0, weight: $0, team: Ref($0 == 4 ? 2 : 1)) })
        }
        let teams = try await session.models(Query(TeamRow.self).sorted(by: \.id))
        let light = Set(try await session.models(Query(TopicRow.self).where { $0.weight < 3 }))
        #expect(light.isSubset(of: teams[0].topics) && light.isDisjoint(with: teams[1].topics))
        #expect(teams[0].topics.intersection(light) == light)
        #expect(teams[0].topics.subtracting(light).map(\.id) == [3])
        teams[1].topics.formUnion(light)
        teams[0].topics.subtract(light)
        #expect(try await session.save().changes.count == 2)
        #expect(try await store.count(Query(TopicRow.self).where { $0.team == Ref(2) }) == 3)
    }
}
