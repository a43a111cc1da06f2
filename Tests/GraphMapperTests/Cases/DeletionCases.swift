import GraphMapperStore
import ShopModels
import Testing

@testable import ShoppingCart

@Suite struct `Deleting` {
    @Test func `a deleted target leaves the lists of the models, and stays deleted`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1, 0]], items: 2)
        let session = shopSession(store)
        let cart = try #require(try await session.first(Query(CartRecord.self)))
        try session.delete(cart.items[0])
        try await session.save()
        #expect(cart.items.map(\.name) == ["item 1"])
        #expect(try await session.save().isEmpty)
        #expect(try await store.count(Query(ItemRecord.self)) == 1)
    }

    @Test func `links and back-references to a deleted object become nil and are written once`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let ann = Person(id: 1, name: "ann")
        let bob = Person(id: 2, name: "bob", boss: ann)
        let memo = Memo(id: 1)
        memo.author = ann
        try session.add(bob)
        try session.add(memo)
        try await session.save()
        try session.delete(ann)
        try await session.save()
        #expect(bob.boss == nil && memo.author == nil)
        #expect(try await session.save().isEmpty)
        #expect(try await store.find(MemoRow.self, 1)?.author == nil)
        #expect(try await store.count(Query(PersonRow.self)) == 1)
        withExtendedLifetime(ann) {}
    }

    @Test func `deleting an owner and its required children`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let ann = Person(id: 1)
        let medal = Medal(id: 1, owner: ann)
        ann.medals = [medal]
        try session.add(ann)
        try await session.save()
        try session.delete(ann)
        // The medal requires its owner: an error, and nothing is written.
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .unreachable)
        #expect(try await store.count(Query(PersonRow.self)) == 1)
        try session.delete(medal)
        #expect(try await session.save().changes.count == 2)
        #expect(try await store.count(Query(MedalRow.self)) == 0)
    }

    @Test func `a new object that is deleted before its first save is not written`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[]], items: 0)
        let session = shopSession(store)
        let cart = try #require(try await session.first(Query(CartRecord.self)))
        let item = ShopItem(name: "new", price: 1)
        cart.items = [item]
        try session.delete(item)
        #expect(try await session.save().isEmpty)
        #expect(cart.items.isEmpty)
        #expect(try await store.count(Query(ItemRecord.self)) == 0)
        cart.items = [item]
        #expect(try await session.save().changes.count == 2)
    }

    @Test func `another object under a deleted one's key, in one save`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let old = Person(id: 1, name: "old")
        try session.add(old)
        try await session.save()
        try session.delete(old)
        let new = Person(id: 1, name: "new")
        try session.add(new)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.name == "new")
        #expect(try await session.find(PersonRow.self, 1) === new)
        #expect(try await session.save().isEmpty)
        // And in two saves.
        try session.delete(new)
        try await session.save()
        try session.add(old)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.name == "old")
    }

    @Test func `a deletion is taken back by adding the object again`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let ann = Person(id: 1, name: "ann")
        try session.add(ann)
        try await session.save()
        try session.delete(ann)
        try session.add(ann)
        #expect(try await session.save().isEmpty)
        #expect(try await store.count(Query(PersonRow.self)) == 1)
    }

    @Test func `a deletion that failed is tried again`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let ann = Person(id: 1, name: "ann")
        try session.add(ann)
        try await session.save()
        try await store.write { try await $0.execute("INSERT INTO team VALUES (9, 1)") }
        try session.delete(ann)
        // The foreign key is checked at commit.
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .foreignKey)
        #expect(try session.changes().changes.count == 1)
        try await store.write { try await $0.execute("DELETE FROM team") }
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.count(Query(PersonRow.self)) == 0)
    }

    @Test func `the last loaded owner goes and a new one comes in one save`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let old = Team(id: 1)
        try session.add(old)
        try await session.save()
        try session.delete(old)
        let teams = [Team(id: 2), Team(id: 3)]
        let topic = Topic(id: 1)
        teams[0].topics = [topic]
        for team in teams { try session.add(team) }
        try await session.save()
        teams[0].topics = []
        // Its owner has let go of it and requires none: an error, not silence.
        await #expect(throws: GraphError.self) { try await session.save() }
        teams[1].topics = [topic]
        try await session.save()
        #expect(try await store.find(TopicRow.self, 1)?.team.id == 3)
    }
}
