import GraphMapperStore
import ShopModels
import Testing

@testable import ShoppingCart

/// Loads inside a transaction, which await nothing.
@Suite struct `Loads inside a transaction` {
    @Test func `they see what the transaction has written, and are the session's instances`() async throws {
        let store = try await openShop()
        let seeded = try await seed(store, carts: [[0, 1], [1]], items: 2)
        let session = shopSession(store)
        try await store.write { tx in
            let item = try #require(seeded[0].cart?.items[1])
            _ = try await tx.apply(Patch(ItemRecord.self, item.id).set(\.price, 7))
            // No `await` from here on: the whole graph, in one closure that does not suspend.
            let users = try session.models(Query(UserRecord.self), in: tx)
            #expect(users.count == 2)
            let shared = users.flatMap { $0.cart?.items ?? [] }.filter { $0.price == 7 }
            #expect(shared.count == 2 && shared[0] === shared[1])
            let first = try #require(try session.find(UserRecord.self, users[0].id, from: tx))
            #expect(first === users[0])
            #expect(try session.first(Query(UserRecord.self).where { $0.name == "nobody" }, in: tx) == nil)
        }
        #expect(try session.changes().isEmpty)
        let cart = try #require(seeded[1].cart)
        let again = try await store.read { tx in try session.find(CartRecord.self, cart.id, from: tx)?.id }
        #expect(again == cart.id)
    }

    @Test func `they cost one query a type and level`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1, 2], [2], []], items: 3)
        let count = try await store.read { tx in
            let before = tx.statementCount
            _ = try shopSession(store).models(Query(UserRecord.self), in: tx)
            return tx.statementCount - before
        }
        #expect(count == 4)
    }

    struct Stop: Error {}

    @Test func `a save is part of the transaction, and undone with it`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0], [0]], items: 1)
        let session = shopSession(store)
        let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
        users[0].name = "edited before"
        await #expect(throws: Stop.self) {
            try await store.write { tx in
                users[1].name = "renamed"
                users[0].cart?.items = []
                let added = User(name: "new")
                try session.add(added)
                #expect(try await session.save(in: tx).changes.count == 4)
                #expect(try session.changes().isEmpty)
                #expect(try await tx.count(Query(UserRecord.self).where { $0.name == "renamed" }) == 1)
                throw Stop()
            }
        }
        #expect(try await store.count(Query(UserRecord.self).where { $0.name == "renamed" }) == 0)
        // As before the save: all of it is there to be saved again.
        #expect(users[0].name == "edited before" && users[1].name == "renamed")
        #expect(try session.changes().changes.count == 4)
        _ = try await store.write { try await session.save(in: $0) }
        #expect(try session.changes().isEmpty)
        #expect(try await store.count(Query(UserRecord.self)) == 3)
        #expect(
            try await shopSession(store).models(Query(UserRecord.self)).count { $0.cart?.items.isEmpty == true } == 1)
    }

    @Test func `a savepoint of the transaction undoes the saves in it alone`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0]], items: 1)
        let session = shopSession(store)
        let user = try #require(try await session.first(Query(UserRecord.self)))
        try await store.write { tx in
            user.name = "kept"
            try await session.save(in: tx)
            await #expect(throws: Stop.self) {
                try await tx.savepoint {
                    user.cart?.items = []
                    try await session.save(in: tx)
                    throw Stop()
                }
            }
            #expect(try session.changes().changes.count == 1)
        }
        #expect(try await store.fetch(Query(UserRecord.self)).map(\.name) == ["kept"])
        #expect(try await store.fetch(Query(CartRecord.self))[0].items.count == 1)
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `loads of a session that has joined read from the transaction`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0]], items: 1)
        let session = shopSession(store)
        try await store.write { tx in
            try await session.join(tx) {
                let user = try #require(try await session.first(Query(UserRecord.self)))
                user.name = "a"
                try await session.save()
                #expect(try await session.models(Query(UserRecord.self).where { $0.name == "a" }).count == 1)
            }
        }
        #expect(try await store.count(Query(UserRecord.self).where { $0.name == "a" }) == 1)
    }
}
