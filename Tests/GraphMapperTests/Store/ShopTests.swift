import Foundation
import GraphMapperStore
import GraphMapperTesting
import ShopModels
import Testing

@testable import ShoppingCart

@Suite struct `The shop` {
    @Test func `one instance for a shared item; one update; then nothing`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1], [0]], items: 2)
        let session = shopSession(store)
        let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
        let first = try #require(users[0].cart)
        let second = try #require(users[1].cart)
        #expect(first.items[0] === second.items[0])
        first.items[0].price = 300
        #expect(second.items[0].price == 300)
        let changes = try await session.save().changes
        guard case .update(let update)? = changes.first, changes.count == 1 else {
            Issue.record("expected one update, not \(changes)")
            return
        }
        #expect(update.columns == ["price"])
        #expect(try await session.save().isEmpty)
        let stored = try await store.find(ItemRecord.self, first.items[0].id)
        #expect(stored?.price == 300)
    }

    @Test func `the cycle is closed from either end, and released`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0]], items: 1)
        weak var user: User?
        weak var cart: ShoppingCart?
        do {
            let session = shopSession(store)
            cart = try await session.first(Query(CartRecord.self))
            user = cart?.owner
            #expect(user != nil && user?.cart === cart)
            let again = try await session.first(Query(UserRecord.self))
            #expect(again === user)
        }
        #expect(user == nil && cart == nil)
    }

    @Test func `a new item in a hundred carts is one insert`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: Array(repeating: [], count: 100), items: 0)
        let session = shopSession(store)
        let item = ShopItem(name: "new", price: 1)
        for user in try await session.models(Query(UserRecord.self)) { user.cart?.items.append(item) }
        let changes = try await session.save().changes
        #expect(changes.count { if case .insert = $0 { true } else { false } } == 1)
        #expect(changes.count { if case .relink = $0 { true } else { false } } == 100)
        #expect(try await session.save().isEmpty)
        #expect(try await shopSession(store).models(Query(CartRecord.self)).allSatisfy { $0.items.count == 1 })
    }

    @Test func `patch keeps, a whole record with nil clears`() async throws {
        let store = try await openShop()
        let id = UUID()
        let hoon = UserRecord(id: id, name: "hoon", age: 20, homepage: "h")
        try await store.write { tx in
            let outcome = try await tx.upsert(hoon)
            #expect(outcome == .inserted)
            let patched = try await tx.apply(Patch(UserRecord.self, id).set(\.name, "kim"))
            #expect(patched)
        }
        #expect(try await store.find(UserRecord.self, id)?.homepage == "h")
        try await store.write { tx in
            let older = UserRecord(id: id, name: "kim", age: 25, homepage: "h")
            var outcome = try await tx.upsert(older)
            #expect(outcome == .updated(["age"]))
            outcome = try await tx.upsert(older)
            #expect(outcome == .unchanged)
            outcome = try await tx.upsert(UserRecord(id: id, name: "kim", age: 25, homepage: nil))
            #expect(outcome == .updated(["homepage"]))
        }
        let stored = try await store.find(UserRecord.self, id)
        #expect(stored?.homepage == nil && stored?.name == "kim")
    }

    @Test func `a malformed picture is an error with its path; the store stands`() async throws {
        let store = try await openShop()
        let id = UUID()
        try await store.write { try await $0.insert(ItemRecord(id: id, name: "x", price: 1, picture: "")) }
        let session = shopSession(store)
        await #expect { _ = try await session.models(Query(ItemRecord.self)) } throws: {
            let error = $0 as? GraphError
            return error?.kind == .conversion && error?.property == "picture" && "\($0)".contains("item(\(id)).picture")
        }
        #expect(try await store.find(ItemRecord.self, id)?.price == 1)
    }

    @Test func `a volatile property costs nothing and survives a refresh`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0]], items: 1)
        let session = shopSession(store)
        let item = try #require(try await session.first(Query(ItemRecord.self)))
        item.isSelected = true
        #expect(try await session.save().isEmpty)
        try await session.refresh()
        #expect(item.isSelected)
    }

    @Test func `another writer's change of the same property is a conflict, of another one is not`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0]], items: 1)
        let mine = shopSession(store)
        let theirs = shopSession(store)
        let item = try #require(try await mine.first(Query(ItemRecord.self)))
        let other = try #require(try await theirs.first(Query(ItemRecord.self)))
        other.name = "theirs"
        try await theirs.save()
        item.price = 7
        try await mine.save()
        item.name = "mine"
        await #expect { try await mine.save() } throws: { "\($0)".contains("item 0") && "\($0)".contains("theirs") }
        #expect(try mine.changes().changes.count == 1)
        try await mine.refresh()
        #expect(item.name == "mine")
        // Reading again is not having seen.
        await #expect { try await mine.save() } throws: { "\($0)".contains("item 0") && "\($0)".contains("theirs") }
        try await mine.save(onConflict: .mine)
        #expect(try await store.find(ItemRecord.self, item.id)?.name == "mine")
    }

    @Test func `a failed save leaves everything as it was and can be tried again`() async throws {
        let store = try await openShop()
        let users = try await seed(store, carts: [[0], [0]], items: 1)
        let session = shopSession(store)
        let user = try #require(try await session.find(UserRecord.self, users[0].id))
        let extra = ShoppingCart(id: UUID())
        extra.owner = user
        user.name = "changed"
        // A second cart for a user whose unique index allows one.
        try session.add(extra)
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .duplicateKey)
        #expect(try await store.find(UserRecord.self, user.id)?.name == "user 0")
        try session.delete(extra)
        let changes = try await session.save()
        #expect(changes.changes.count == 1)
        #expect(try await store.find(UserRecord.self, user.id)?.name == "changed")
    }

    @Test func `deletes go children first, and lists drop their targets`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1, 0]], items: 2)
        let session = shopSession(store)
        let user = try #require(try await session.first(Query(UserRecord.self)))
        let cart = try #require(user.cart)
        let item = cart.items[0]
        try session.delete(item)
        try await session.save()
        #expect(try await shopSession(store).first(Query(CartRecord.self))?.items.count == 1)
        try session.delete(cart)
        try session.delete(user)
        try await session.save()
        #expect(try await store.count(Query(UserRecord.self)) == 0)
        #expect(try await store.count(Query(CartRecord.self)) == 0)
    }

    @Test func `any graph: save, load and save again writes nothing`() async throws {
        let carts = Gen.array(of: Gen.array(of: Gen.int(in: 0...5), count: 0...8), count: 0...6)
        try await check(carts, count: 40) { carts in
            let store = try await openShop()
            _ = try await seed(store, carts: carts, items: 6)
            let session = shopSession(store)
            let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
            try ensure(users.map { $0.cart?.items.map(\.name) ?? [] } == carts.map { $0.map { "item \($0)" } }, "lists")
            let changes = try session.changes()
            try ensure(changes.isEmpty, "\(changes)")
            let all = users.flatMap { $0.cart?.items ?? [] }
            try ensure(
                Set(all.map(ObjectIdentifier.init)).count == Set(carts.joined()).count, "as many instances as ids")
        }
    }

    @Test func `any edit of a list is stored, with the fewest rows`() async throws {
        let list = Gen.array(of: Gen.int(in: 0...5), count: 0...9)
        try await check(Gen.array(of: list, count: 1...6), count: 40) { versions in
            let store = try await openShop()
            _ = try await seed(store, carts: [[]], items: 6)
            let session = shopSession(store)
            let items = try await session.models(Query(ItemRecord.self).sorted(by: \.name))
            let cart = try #require(try await session.first(Query(CartRecord.self)))
            for version in versions {
                cart.items = version.map { items[$0] }
                try await session.save()
                let fresh = try await shopSession(store).first(Query(CartRecord.self))
                try ensure(fresh?.items.map(\.id) == cart.items.map(\.id), "\(version)")
            }
        }
    }
}
