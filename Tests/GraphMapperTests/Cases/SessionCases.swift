import GraphMapperStore
import GraphMapperTesting
import ShopModels
import Testing

@testable import ShoppingCart

@Suite struct `Sessions` {
    /// Ann, her friend bob and two medals.
    func town() async throws -> GraphStore {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(PersonRow(id: 2, name: "bob", boss: nil, friend: nil, secret: 2))
            try await tx.insert(PersonRow(id: 1, name: "ann", boss: nil, friend: Ref(2), secret: 1))
            try await tx.insert(contentsOf: (1...2).map { MedalRow(id: $0, title: "b\($0)", owner: Ref(1)) })
        }
        return store
    }

    @Test func `loading by id, whichever way, is one instance`() async throws {
        let session = townSession(try await town())
        let ann = try #require(try await session.find(PersonRow.self, 1))
        let again = try #require(try await session.find(PersonRow.self, 1))
        let medal = try #require(try await session.find(MedalRow.self, 1))
        #expect(ann === again && medal.owner === ann && ann.medals.contains { $0 === medal })
        #expect(try await session.find(PersonRow.self, 99) == nil)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a child that needs its parent brings it`() async throws {
        let session = townSession(try await town())
        let medal = try #require(try await session.find(MedalRow.self, 2))
        #expect(medal.owner.name == "ann" && medal.owner.medals.count == 2)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a missing parent is named`() throws {
        let session = GraphSession(EggRow.mapping, HenRow.mapping)
        #expect {
            _ = try session.map([EggRow(id: 1, hen: Ref(2))])
        } throws: { ($0 as? GraphError)?.kind == .dangling && "\($0)".contains("hen(2)") }
    }

    @Test func `a cycle of needs names its path`() async throws {
        let tables = Tables()
        try await StoredGraph([EggRow(id: 1, hen: Ref(2))]).adding([HenRow(id: 2, egg: Ref(1))]).write(to: tables)
        let session = GraphSession(tables, [EggRow.mapping, HenRow.mapping])
        await #expect {
            _ = try await session.load(EggRow.self) { try await $0.fetch(EggRow.self, ids: [1]) }
        } throws: {
            ($0 as? GraphError)?.kind == .cycle && "\($0)".contains("egg(1) needs hen(2) needs egg(1)")
        }
        #expect(try session.changes().isEmpty)
    }

    @Test func `an on-demand link that was not filled is never written`() async throws {
        let store = try await town()
        let session = townSession(store)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        #expect(ann.friend == nil)
        ann.name = "anna"
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.friend?.id == 2)
        _ = try await session.models(Query(PersonRow.self).where { $0.id == 1 }, loading: .following([\Person.friend]))
        #expect(ann.friend?.name == "bob" && ann.name == "anna")
        ann.friend = nil
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(PersonRow.self, 1)?.friend == nil)
    }

    @Test func `an on-demand link that the app set and saved can be emptied`() async throws {
        let store = try await town()
        let session = townSession(store)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        ann.friend = ann
        try await session.save()
        ann.friend = nil
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.friend == nil)
    }

    @Test func `an on-demand link does not undo another writer's change`() async throws {
        let store = try await town()
        let session = townSession(store)
        let ann = try #require(
            try await session.models(Query(PersonRow.self), loading: .following([\Person.friend])).first)
        #expect(ann.friend != nil)
        try await store.write { try await $0.execute("UPDATE person SET friend = 1 WHERE id = 1") }
        try await session.refresh()
        #expect(try session.changes().isEmpty)
        #expect(ann.friend == nil || ann.friend === ann)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.friend?.id == 1)
    }

    /// What is kept by an object's place must not pass to the next one that takes the place.
    @Test func `a fresh object does not inherit what was filled for an evicted one`() async throws {
        let store = try await town()
        let session = townSession(store)
        let bob = try #require(
            try await session.models(Query(PersonRow.self).where { $0.id == 2 }, loading: .following([\Person.friend]))
                .first)
        try session.evict(bob)
        let ann = try #require(try await session.models(Query(PersonRow.self).where { $0.id == 1 }).first)
        #expect(ann.friend == nil)
        ann.name = "x"
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.friend?.id == 2)
    }

    @Test func `an unmapped property is kept, and initial in a new row`() async throws {
        let store = try await town()
        let session = townSession(store)
        let bob = try #require(try await session.find(PersonRow.self, 2))
        bob.name = "robert"
        try session.add(Person(id: 3))
        try await session.save()
        #expect(try await store.find(PersonRow.self, 2)?.secret == 2)
        #expect(try await store.find(PersonRow.self, 3)?.secret == 7)
    }

    @Test func `self-references, also to oneself`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let people = (0..<5).map { Person(id: 5 - $0) }
        for (person, boss) in zip(people, people.dropFirst() + [people[4]]) { person.boss = boss }
        try session.add(people[0])
        #expect(try await session.save().changes.count == 5)
        let other = townSession(store)
        let last = try #require(try await other.find(PersonRow.self, 1))
        #expect(last.boss === last)
        for person in try await other.models(Query(PersonRow.self)) { try other.delete(person) }
        #expect(try await other.save().changes.count == 5)
        #expect(try await store.count(Query(PersonRow.self)) == 0)
    }

    @Test func `a cycle of required keys through two tables is written`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let yin = Yin(id: 1)
        let yang = Yang(id: 1)
        yin.yang = yang
        yang.yin = yin
        try session.add(yin)
        #expect(try await session.save().changes.count == 2)
        let other = townSession(store)
        let found = try #require(try await other.find(YangRow.self, 1))
        #expect(found.yin?.yang === found)
        try other.delete(found)
        try other.delete(try #require(found.yin))
        #expect(try await other.save().changes.count == 2)
        #expect(try await store.count(Query(YinRow.self)) == 0)
    }

    @Test func `a set of children: load, move, take another writer's`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...2).map { TeamRow(id: $0, leader: nil) })
            try await tx.insert(contentsOf: (1...40).map { TopicRow(id: $0, weight: $0, team: Ref(1)) })
        }
        let session = townSession(store)
        let teams = try await session.models(Query(TeamRow.self).sorted(by: \.id))
        #expect(teams[0].topics.count == 40 && teams[1].topics.isEmpty)
        #expect(try session.changes().isEmpty)
        try await store.write { try await $0.execute("UPDATE topic SET team = 2 WHERE id > 30") }
        try await session.refresh()
        #expect(teams[0].topics.count == 30 && teams[1].topics.count == 10)
        let moved = try #require(teams[0].topics.first { $0.id == 7 })
        teams[0].topics.remove(moved)
        teams[1].topics.insert(moved)
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(TopicRow.self, 7)?.team.id == 2)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a foreign key kept as an id`() async throws {
        let store = try await town()
        let session = townSession(store)
        let team = Team(id: 1)
        team.leaderID = 1
        try session.add(team)
        try await session.save()
        let other = townSession(store)
        let found = try #require(try await other.find(TeamRow.self, 1))
        #expect(found.leaderID == 1)
        found.leaderID = nil
        #expect(try await other.save().changes.count == 1)
        found.leaderID = 77
        await #expect(throws: StoreError.self) { try await other.save() }
        found.leaderID = 2
        try await other.save()
        #expect(try await store.find(TeamRow.self, 1)?.leader?.id == 2)
    }

    @Test func `a weak owner that was released is not written as NULL`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(PersonRow(id: 1, name: "ann", boss: nil, friend: nil, secret: 0))
            try await tx.insert(MemoRow(id: 1, author: Ref(1), topics: []))
        }
        let session = townSession(store)
        let memo = try #require(try await session.find(MemoRow.self, 1))
        if let author = memo.author { try session.evict(author) }
        #expect(memo.author == nil)
        #expect(try await session.save().isEmpty)
        try await session.refresh()
        #expect(memo.author?.name == "ann")
    }

    @Test func `a back-reference without a forward side can be emptied`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(PersonRow(id: 1, name: "ann", boss: nil, friend: nil, secret: 0))
            try await tx.insert(MemoRow(id: 1, author: Ref(1), topics: []))
        }
        let session = townSession(store)
        let memo = try #require(try await session.find(MemoRow.self, 1))
        memo.author = nil
        try await session.save()
        #expect(try await store.find(MemoRow.self, 1)?.author == nil)
    }

    @Test func `moving a child between parents keeps it`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0], [0]], items: 1)
        let session = shopSession(store)
        let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
        let cart = try #require(users[1].cart)
        try session.delete(try #require(users[0].cart))
        users[0].cart = cart
        users[1].cart = nil
        try await session.save()
        #expect(try await store.find(CartRecord.self, cart.id)?.user.id == users[0].id)
        #expect(try await session.save().isEmpty)
    }

    @Test func `two unique values are swapped`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0], [0]], items: 1)
        let session = shopSession(store)
        let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
        (users[0].cart, users[1].cart) = (users[1].cart, users[0].cart)
        try await session.save()
        let fresh = try await shopSession(store).models(Query(UserRecord.self).sorted(by: \.name))
        #expect(fresh[0].cart?.id == users[0].cart?.id)
    }

    @Test func `refresh where rows have vanished`() async throws {
        let store = try await town()
        let session = townSession(store)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        let medal = ann.medals[0]
        try await store.write { try await $0.execute("DELETE FROM medal WHERE id = \(medal.id)") }
        try await session.refresh()
        #expect(ann.medals.count == 1)
        #expect(try await session.save().isEmpty)
        medal.title = "edited"
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        try session.evict(medal)
        #expect(try await session.save().isEmpty)
    }

    @Test func `edits made while a save waits are left for the next one`() async throws {
        let store = try await town()
        let box = Box<() throws -> Void>({})
        let session = townSession(Interrupted(store: store) { try box.value() })
        let ann = try #require(try await session.find(PersonRow.self, 1))
        ann.name = "first"
        box.value = { ann.name = "second" }
        try await session.save()
        box.value = {}
        #expect(try await store.find(PersonRow.self, 1)?.name == "first")
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(PersonRow.self, 1)?.name == "second")
    }

    @Test func `a look at the changes while a save waits loses none of them`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...2).map { TeamRow(id: $0, leader: nil) })
            try await tx.insert(TopicRow(id: 1, weight: 1, team: Ref(1)))
            try await tx.insert(TopicRow(id: 2, weight: 2, team: Ref(2)))
        }
        let box = Box<() throws -> Void>({})
        let session = townSession(Interrupted(store: store) { try box.value() })
        let teams = try await session.models(Query(TeamRow.self).sorted(by: \.id))
        let topics = try await session.models(Query(TopicRow.self).sorted(by: \.id))
        teams[0].topics = [topics[0], topics[1]]
        teams[1].topics = []
        topics[1].team = teams[0]
        box.value = {
            teams[0].topics = [topics[0]]
            _ = try? session.changes()
        }
        try await session.save()
        box.value = {}
        // Topic 2 has been let go of, and requires a team.
        #expect(throws: GraphError.self) { try session.changes() }
    }

    @Test func `a session that is busy says so`() async throws {
        let store = try await town()
        let box = Box<() throws -> Void>({})
        let session = townSession(Interrupted(store: store) { try box.value() })
        let ann = try #require(try await session.find(PersonRow.self, 1))
        ann.name = "x"
        box.value = {
            #expect(throws: GraphError.self) { try session.map([PersonRow]()) }
            #expect(throws: GraphError.self) { try session.evict(ann) }
        }
        try await session.save()
    }

    @Test func `evicting an added object, and another instance of a known one`() async throws {
        let store = try await town()
        let session = townSession(store)
        let new = Person(id: 9)
        try session.add(new)
        try session.evict(new)
        #expect(try session.changes().isEmpty)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        try session.evict(Person(id: 1))
        #expect(try await session.find(PersonRow.self, 1) === ann)
    }

    @Test func `adding twice is adding once; two new objects under one key are an error`() async throws {
        let store = try await town()
        let session = townSession(store)
        let new = Person(id: 9)
        try session.add(new)
        try session.add(new)
        #expect(try session.changes().changes.count == 1)
        let twin = Person(id: 9)
        let error = #expect(throws: GraphError.self) { try session.add(twin) }
        #expect(error?.kind == .conflict)
        #expect(try await session.save().changes.count == 1)
        #expect(throws: GraphError.self) { try session.add(Person(id: 1 + 8)) }
    }

    @Test func `ids do not change`() async throws {
        let store = try await town()
        let session = townSession(store)
        let medal = try #require(try await session.find(MedalRow.self, 1))
        medal.id = 50
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .misuse)
        medal.id = 1
        #expect(try await session.save().isEmpty)
    }

    @Test func `an object made from elsewhere under a stored key becomes an update`() async throws {
        let store = try await town()
        let session = townSession(store)
        try session.add(Person(id: 1, name: "John"), ifStored: .update)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.name == "John")
    }

    @Test func `an evicted object that is still linked is not inserted`() async throws {
        let store = try await town()
        let session = townSession(store)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        try session.evict(ann.medals[0])
        #expect(try await session.save().isEmpty)
    }

    @Test func `two sessions: the second insert under one key is an update`() async throws {
        let store = try await town()
        let sessions = [townSession(store), townSession(store)]
        try sessions[0].add(Person(id: 9, name: "x"))
        try sessions[1].add(Person(id: 9, name: "y"), ifStored: .update)
        try await sessions[0].save()
        try sessions[1].add(Person(id: 10))
        let changes = try await sessions[1].save()
        #expect(changes.changes.map(\.isInsertion) == [false, true])
        #expect(try await store.find(PersonRow.self, 9)?.name == "y")
        #expect(try await store.find(PersonRow.self, 10) != nil)
        #expect(try await sessions[1].save().isEmpty)
    }
}

final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}
