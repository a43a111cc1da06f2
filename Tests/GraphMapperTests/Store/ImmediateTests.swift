import GraphMapperStore
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
}
