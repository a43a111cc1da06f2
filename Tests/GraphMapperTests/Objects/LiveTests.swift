import Foundation
import GraphMapper
import Testing

/// The database and its objects stay on the main thread, as an app's would.
@MainActor @Suite struct `Objects of a third-party database` {
    private func expectNoViolation(_ store: LiveStore) { #expect(store.violations.isEmpty, "\(store.violations)") }

    @Test func `a cyclic graph of accessors is one instance an object, from either end`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        let cart = try #require(user.cart)
        #expect(cart.owner === user)
        #expect(cart.items.map(\.id) == [1, 2, 1] && cart.items[0] === cart.items[2])
        let other = try #require(try await session.find(LiveCart.self, 20))
        #expect(other.owner?.cart === other)
        #expect(other.items[0] === cart.items[0])
        #expect(try session.changes().isEmpty)
        expectNoViolation(store)
    }

    @Test func `each getter of a mapped property is called once, of an unmapped one never`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        try await session.load(LiveUser.self) { try await $0.fetch(LiveUser.self, ids: [1, 2]) }
        let reads = store.reads.filter { !$0.key.hasSuffix(".id") }
        #expect(Set(reads.values) == [1], "\(reads)")
        #expect(
            reads.count == 18,
            "users: name, homepage, cart, friends; carts: user, items; items: name, price")
        // Which object an accessor is, only its id says.
        #expect(store.reads["item(1).id"] == 3)
        #expect(store.reads.keys.allSatisfy { !$0.hasSuffix("secret") })

        store.forgetCounts()
        _ = try session.changes()
        try await session.save()
        #expect(store.reads.isEmpty && store.sets.isEmpty, "\(store.reads)")
    }

    @Test func `a load lets go of the database's objects`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let before = store.living
        let users = try await session.load(LiveUser.self) { try await $0.fetch(LiveUser.self, ids: [1, 2]) }
        #expect(users.count == 2 && store.living == before)

        store.setsUntilFailure = 0
        users[0].name = "hoon"
        await #expect(throws: LiveStore.Failure.self) { try await session.save() }
        #expect(store.living == before)
        store.setsUntilFailure = .max
        try store.write { store.object(ofType: LiveUser.self, forPrimaryKey: 2)?.homepage = "" }
        await #expect(throws: GraphError.self) {
            _ = try await session.load(LiveUser.self) { try await $0.fetch(LiveUser.self, ids: [2]) }
        }
        #expect(store.living == before, "a load that fails does too")
    }

    @Test func `a save sets what changed, on the object that its id finds`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        user.cart?.items[0].price = 250
        user.homepage = nil
        store.forgetCounts()
        let changes = try await session.save()
        #expect(
            changes.description == """
                update user 1: homepage "https://example.org/1" → NULL
                update item 1: price 100 → 250
                """)
        #expect(store.sets == ["user(1).homepage", "item(1).price"])
        #expect(store.lookUps == 2)
        #expect(store.stored("item", 1)?["price"] as? Int == 250)
        #expect(store.stored("user", 1)?["secret"] as? String == "secret 1")
        #expect(try await session.save().isEmpty)
        expectNoViolation(store)
    }

    @Test func `new objects are made blank, then linked, cycles included`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = LUser(id: 7, name: "hoon")
        let cart = LCart(id: 70)
        user.cart = cart
        cart.owner = user
        cart.items = [LItem(id: 8, name: "tea", price: 3), try #require(try await session.find(LiveItem.self, 1))]
        user.friends = [user, try #require(try await session.find(LiveUser.self, 2))]
        try session.add(user)
        try await session.save()
        #expect(store.stored("user", 7)?["cart"] as? Int == 70)
        #expect(store.stored("cart", 70)?["user"] as? Int == 7)
        #expect(store.stored("cart", 70)?["items"] as? [AnyHashable] == [8, 1])
        #expect(store.stored("user", 7)?["friends"] as? [AnyHashable] == [7, 2])
        #expect(store.stored("user", 7)?["secret"] == nil)
        #expect(try await session.save().isEmpty)
        let fresh = liveSession(store)
        let again = try #require(try await fresh.find(LiveUser.self, 7, loading: .following([\LUser.friends])))
        #expect(again.friends.map(\.id) == [7, 2] && again.friends[0] === again)
        #expect(again.cart?.owner === again)
        again.friends = []
        expectNoViolation(store)
    }

    @Test func `lists are edited where they differ, deletions come last`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let cart = try #require(try await session.find(LiveCart.self, 10))
        let item = try #require(cart.items.first { $0.id == 2 })
        try session.delete(item)
        cart.items.removeAll { $0 === item }
        cart.items.append(LItem(id: 9, name: "new", price: 9))
        store.forgetCounts()
        try await session.save()
        #expect(store.stored("cart", 10)?["items"] as? [AnyHashable] == [1, 1, 9])
        #expect(store.stored("item", 2) == nil)
        #expect(store.sets.filter { $0.hasPrefix("cart") } == ["cart(10).items"])
        expectNoViolation(store)
    }

    @Test func `an on-demand link reads ids, and its objects when it is asked for`() async throws {
        let store = try liveShop()
        try store.write {
            let user = try #require(store.object(ofType: LiveUser.self, forPrimaryKey: 1))
            let friend = try #require(store.object(ofType: LiveUser.self, forPrimaryKey: 2))
            user.friends.append(friend)
        }
        store.forgetCounts()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        #expect(store.reads["user(2).id"] == 1 && store.reads["user(2).name"] == nil)
        #expect(user.friends.isEmpty)
        #expect(try session.changes().isEmpty)
        try await session.load(user, \.friends)
        #expect(user.friends.map(\.name) == ["user 2"])
        #expect(try session.changes().isEmpty)
    }

    @Test func `another writer's edit of the same property is a conflict, of another one is not`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        user.name = "mine"
        try store.write { store.object(ofType: LiveUser.self, forPrimaryKey: 1)?.homepage = "https://example.org/new" }
        try await session.save()
        #expect(store.stored("user", 1)?["homepage"] as? String == "https://example.org/new")

        user.name = "again"
        try store.write { store.object(ofType: LiveUser.self, forPrimaryKey: 1)?.name = "theirs" }
        await #expect {
            try await session.save()
        } throws: {
            let text = "\($0)"
            return text.contains("user(1).name") && text.contains("theirs") && text.contains("mine")
        }
        #expect(store.stored("user", 1)?["name"] as? String == "theirs")
        try await session.refresh(.merging { _ in .mine })
        try await session.save()
        #expect(store.stored("user", 1)?["name"] as? String == "again")
        expectNoViolation(store)
    }

    @Test func `a save that fails leaves the database and the session as before`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        user.name = "hoon"
        user.cart?.items.append(LItem(id: 9, name: "new", price: 9))
        let planned = try session.changes()
        store.setsUntilFailure = 1
        await #expect(throws: LiveStore.Failure(text: "the disk is full")) { try await session.save() }
        #expect(store.stored("user", 1)?["name"] as? String == "user 1" && store.stored("item", 9) == nil)
        store.setsUntilFailure = .max
        #expect(try await session.save() == planned)
        #expect(store.stored("item", 9)?["price"] as? Int == 9)
    }

    @Test func `whether an object is new is found out by its id`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        try session.add(LItem(id: 1, name: "item 1", price: 111), ifStored: .update)
        try await session.save()
        #expect(store.count("item") == 3 && store.stored("item", 1)?["price"] as? Int == 111)
        #expect(store.sets == ["item(1).price"])
        #expect(store.living == 0)
    }

    @Test func `a failing conversion names its place and changes nothing`() async throws {
        let store = try liveShop()
        try store.write { store.object(ofType: LiveUser.self, forPrimaryKey: 2)?.homepage = "" }
        let session = liveSession(store)
        await #expect {
            _ = try await session.load(LiveUser.self) { try await $0.fetch(LiveUser.self, ids: [1, 2]) }
        } throws: {
            "\($0)".contains("user(2).homepage")
        }
    }

    @Test func `volatile properties live only in the model`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let item = try #require(try await session.find(LiveItem.self, 1))
        item.isSelected = true
        #expect(try await session.save().isEmpty)
        try await session.refresh()
        #expect(item.isSelected)
    }

    @Test func `an object that another writer has deleted is gone after a refresh`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let cart = try #require(try await session.find(LiveCart.self, 10))
        let item = cart.items[1]
        try store.write { store.delete(try #require(store.object(ofType: LiveItem.self, forPrimaryKey: 2))) }
        try await session.refresh()
        #expect(session.state(of: item) == .deleted)
        #expect(cart.items.map(\.id) == [1, 1])
        #expect(try session.changes().isEmpty)
    }

    @Test func `a refresh asks about values that both have changed, and a rollback undoes the app's`() async throws {
        let store = try liveShop()
        let session = liveSession(store)
        let user = try #require(try await session.find(LiveUser.self, 1))
        let items = user.cart?.items ?? []
        user.name = "mine"
        try store.write { store.object(ofType: LiveUser.self, forPrimaryKey: 1)?.name = "theirs" }
        var asked: [String] = []
        try await session.refresh(
            .merging { conflict in
                asked.append("\(conflict.property): \(conflict.base) \(conflict.mine) \(conflict.theirs)")
                return .theirs
            })
        #expect(asked == ["name: [\"user 1\"] [\"mine\"] [\"theirs\"]"])
        #expect(user.name == "theirs")

        user.cart?.items.removeFirst()
        user.name = "mine again"
        try session.rollback()
        #expect(user.name == "theirs" && user.cart?.items.map(\.id) == items.map(\.id))
        #expect(try session.changes().isEmpty)
    }

    @Test func `a payload and a live object of one id are one model`() async throws {
        struct Payload: DTO, Identifiable {
            typealias Model = LItem
            let id: Int
            let name: String
            let price: Int
            static let schema = Schema<Self>("payload") { row in
                try Self(id: row("id", \.id), name: row("name", \.name), price: row("price", \.price))
            }
            static var mapping: Mapping<Self> {
                Mapping {
                    LItem(id: $0.id, name: $0.name, price: $0.price)
                } properties: {
                    Field(\.id, \.id)
                    Field(\.name, \.name)
                    Field(\.price, \.price)
                }
            }
        }
        let store = try liveShop()
        let backing = ObjectBacking(LiveDatabase(store: store), LiveItem.self)
        let session = GraphSession(backing, [LiveItem.mapping, Payload.mapping])
        let item = try #require(try await session.find(LiveItem.self, 1))
        let mapped = try session.map([Payload(id: 1, name: "item 1", price: 120)])
        #expect(mapped[0] === item && item.price == 120)
        #expect(try await session.save().description == "update item 1: price 100 → 120")
        #expect(store.stored("item", 1)?["price"] as? Int == 120)
    }

    @Test func `the stand-in notices what it must`() async throws {
        let store = try liveShop()
        let user = try #require(store.object(ofType: LiveUser.self, forPrimaryKey: 1))
        #expect(store.object(ofType: LiveUser.self, forPrimaryKey: 1) !== user)
        #expect(user.cart !== user.cart)
        user.name = "outside"
        #expect(store.violations == ["user(1).name was set outside a write transaction"])
        #expect(user.name == "user 1")
        struct Passed: @unchecked Sendable { let user: LiveUser }
        let passed = Passed(user: user)
        // The misuse that the test is about: awaited, so that nothing runs beside it.
        await Task.detached { _ = passed.user.name }.value
        #expect(store.violations.last == "user(1).name was touched on another thread")
        #expect(throws: LiveStore.Failure.self) { try store.write { try store.write {} } }
    }
}
