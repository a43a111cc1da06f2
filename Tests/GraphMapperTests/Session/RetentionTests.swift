import Foundation
import GraphMapperStore
import GraphMapperTesting
import ShopModels
import Testing

@testable import GraphMapper
@testable import ShoppingCart

private func weakShop(_ store: GraphStore) -> GraphSession {
    GraphSession(store, UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping, retention: .weak)
}

extension GraphSession {
    /// How many objects it has, and how many slots it keeps for them.
    fileprivate var held: (objects: Int, slots: Int) {
        (core.order.reduce(0) { $0 + $1.idCount }, core.order.reduce(0) { $0 + $1.slotCount })
    }
}

@Suite struct `Sessions that hold weakly` {
    /// SA memusage `test_weakref`: what is dropped clean is gone, what is dropped dirty is not lost.
    @Test func `clean models go, changed ones are written`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(PersonRow(id: 1, name: "ed", boss: nil, friend: nil, secret: 0))
        }
        let session = GraphSession(store, [PersonRow.mapping, MedalRow.mapping], retention: .weak)
        weak var person: Person?
        func load(_ edit: (Person) -> Void) async throws {
            let found = try #require(try await session.find(PersonRow.self, 1))
            person = found
            edit(found)
        }
        try await load { _ in }
        try session.releaseUnused()
        #expect(person == nil && session.held.objects == 0)
        try await load { $0.name = "jack" }
        try session.releaseUnused()
        #expect(person != nil && session.held.objects == 1)
        #expect(try await session.save().changes.count == 1)
        #expect(person == nil && session.held.objects == 0)
        #expect(try await session.save().isEmpty)
        try await load { #expect($0.name == "jack") }
        // Named by `edit`, and changed when the session has not looked.
        try await load { person in
            #expect(throws: Never.self) { try session.edit(person) }
            person.name = "kim"
        }
        try session.releaseUnused()
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(person == nil)
        #expect(try await store.find(PersonRow.self, 1)?.name == "kim")
    }

    @Test func `an owner stays for as long as a model names it weakly`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1], [1]], items: 2)
        let session = weakShop(store)
        let tracker = LifetimeTracker()
        func use() async throws {
            let record = try #require(try await store.first(Query(CartRecord.self)))
            let cart = try #require(try await session.find(CartRecord.self, record.id))
            weak let owner = cart.owner
            owner?.age = 0
            let objects: [AnyObject?] = [cart, owner, cart.items.first]
            for case let object? in objects { tracker.track(object) }
            #expect(owner != nil)
            for _ in 0..<3 {
                #expect(try await session.save().isEmpty)
                #expect(cart.owner === owner && owner?.cart === cart && cart.items.count > 0)
                try session.releaseUnused()
            }
            #expect(try await session.find(UserRecord.self, record.user.id) === owner)
        }
        try await use()
        #expect(tracker.count == 3)
        try session.releaseUnused()
        try tracker.expectReleased()
        #expect(session.held.objects == 0)
        #expect(try await session.save().isEmpty)
    }

    @Test func `an unowned owner stays, too`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            try await tx.insert(PersonRow(id: 1, name: "ed", boss: nil, friend: nil, secret: 0))
            try await tx.insert(MedalRow(id: 1, title: "gold", owner: Ref(1)))
        }
        let session = GraphSession(store, PersonRow.mapping, MedalRow.mapping, retention: .weak)
        func use() async throws {
            let medal = try #require(try await session.find(MedalRow.self, 1))
            try session.releaseUnused()
            #expect(medal.owner.name == "ed" && medal.owner.medals.first === medal)
        }
        try await use()
        try session.releaseUnused()
        #expect(session.held.objects == 0)
    }

    @Test func `what only new, deleted and moved objects lead to stays`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (0..<6).map { BranchRecord(id: $0, value: "", parent: $0 % 3 == 0 ? nil : Ref($0 - 1)) })
        }
        let session = GraphSession(store, BranchRecord.mapping, retention: .weak)
        func edit() async throws {
            let all = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
            // 1 leaves 0 and is in nobody's list; 3 is deleted; a new one holds 5.
            all[0].children = []
            let new = Branch(id: 9, value: "new")
            all[4].children = []
            new.children = [all[5]]
            try session.add(new)
            for branch in [all[4]] { branch.parent = nil }
            all[3].children = []
            try session.delete(all[3])
        }
        try await edit()
        try session.releaseUnused()
        try session.releaseUnused()
        try await session.save()
        #expect(session.held.objects == 0)
        let rows = try await store.fetch(Query(BranchRecord.self).sorted(by: \.id))
        #expect(rows.map(\.id) == [0, 1, 2, 4, 5, 9])
        #expect(rows.map { $0.parent?.id } == [nil, nil, 1, nil, 9, nil])
    }

    @Test func `an orphan that nobody holds is deleted`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            for id in 0..<3 {
                try await tx.insert(NodeRecord(id: id, value: "", single: nil, many: id == 0 ? [Ref(1), Ref(2)] : []))
            }
        }
        let mapping = Mapping<NodeRecord> {
            Node(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.single, \.single)
            Many(\.many, \.many).onDelete(.deleteOrphans)
        }
        let session = GraphSession(store, mapping, retention: .weak)
        let root = try #require(try await session.find(NodeRecord.self, 0))
        #expect(root.many.map(\.id) == [1, 2])
        root.many = Array(root.many.prefix(1))
        for _ in 0..<2 { try session.releaseUnused() }
        try await session.save()
        #expect(try await store.fetch(Query(NodeRecord.self).sorted(by: \.id)).map(\.id) == [0, 1])
    }

    /// The links of nodes are all weak, so that only the session keeps what they lead to.
    @Test func `what a model in use leads to stays, the rest goes and comes again`() async throws {
        let runs = Gen.anyShape(maxNodes: 12).zip(.array(of: .int(in: 0...11), count: 0...3))
        try await check(runs, count: times(150, soak: 3000)) { shape, places in
            let store = try await openNodes()
            try await StoredGraph(nodeRecords(shape)).write(to: store.backing)
            let session = GraphSession(store, NodeRecord.mapping, retention: .weak)
            guard shape.nodes > 0 else { return }
            let kept = Set(places.map { $0 % shape.nodes })
            let reached = shape.reachable(from: kept)
            let tracker = LifetimeTracker()
            func load() async throws -> [Node] {
                let all = try await session.models(Query(NodeRecord.self).sorted(by: \.id))
                for node in all where !reached.contains(node.id) { tracker.track(node) }
                return all.filter { kept.contains($0.id) }
            }
            let mine = try await load()
            try session.releaseUnused()
            try tracker.expectReleased()
            try ensure(session.held.objects == reached.count, "\(session.held) of \(reached)")
            for node in mine {
                try ensure(node.single?.id == shape.single[node.id], "the link of \(node.id)")
                try ensure(node.many.map(\.id) == shape.many[node.id], "the links of \(node.id)")
            }
            try ensure(try await session.save().isEmpty, "nothing was edited")
            let again = try await session.models(Query(NodeRecord.self).sorted(by: \.id))
            for node in mine { try ensure(again[node.id] === node, "another instance of \(node.id)") }
            for node in again {
                try ensure(node.value == "v\(node.id)", "the value of \(node.id)")
                try ensure(node.many.map(\.id) == shape.many[node.id], "the links of \(node.id) after it came again")
            }
        }
    }

    @Test func `of strong links all but circles go, as in Swift`() async throws {
        try await check(Gen.anyShape(maxNodes: 10).zip(.bool), count: times(150, soak: 2000)) { shape, holdsOne in
            let circles = (0..<shape.nodes).filter { shape.reachable(from: shape.targets(of: $0)).contains($0) }
            let store = try await openNodes()
            try await StoredGraph(strongRecords(shape)).write(to: store.backing)
            let forest = GraphSession(store, StrongRecord.mapping, retention: .weak)
            let tracker = LifetimeTracker()
            let reached = shape.reachable(from: circles + (holdsOne && shape.nodes > 0 ? [0] : []))
            func load() async throws -> StrongNode? {
                let all = try await forest.models(Query(StrongRecord.self).sorted(by: \.id))
                for node in all where !reached.contains(node.id) { tracker.track(node) }
                return holdsOne ? all.first : nil
            }
            let mine = try await load()
            try forest.releaseUnused()
            try tracker.expectReleased()
            try ensure(forest.held.objects == reached.count, "\(forest.held)")
            if let mine { try ensure(mine.many.map(\.id) == shape.many[0], "its links") }
            // Swift does not release circles.
            try forest.dismantle()
        }
    }

    @Test func `a screen that opens and closes ten thousand times`() async throws {
        let store = try await openShop()
        let users = try await seed(store, carts: [[0, 1, 1], [1, 2]], items: 3).map(\.id)
        let session = weakShop(store)
        let kept = try #require(try await session.find(UserRecord.self, users[0]))
        var most = 0
        for round in 0..<times(10_000, soak: 20_000) {
            guard let user = try await session.find(UserRecord.self, users[1]) else { break }
            #expect(user.cart?.owner === user && user.cart?.items.first === kept.cart?.items[1])
            if round % 100 == 0 {
                user.age = round + 1
                #expect(try await session.save().changes.count == 1)
            }
            most = max(most, session.held.slots)
        }
        try session.releaseUnused()
        #expect(session.held.objects == 4 && most < 200, "\(session.held), \(most)")
        #expect(kept.cart?.owner === kept && kept.cart?.items.count == 3)
        #expect(try await store.find(UserRecord.self, users[1])?.age ?? 0 > 1)
    }

    /// What is numbered anew must not be mixed up.
    @Test func `everything else works after models have gone`() async throws {
        let store = try await openShop()
        let ids = try await seed(store, carts: (0..<200).map { [$0 % 7, ($0 + 1) % 7] }, items: 7).map(\.id)
        let session = weakShop(store)
        func user(_ place: Int) async throws -> User? { try await session.find(UserRecord.self, ids[place]) }
        _ = try await session.models(Query(UserRecord.self))
        let mine = [try #require(try await user(3)), try #require(try await user(150))]
        try session.releaseUnused()
        #expect(session.held.slots < 200)
        let (cart, item) = (try #require(mine[0].cart), try #require(mine[0].cart?.items.first))
        // A roll-back, a refresh, and what another writer has changed.
        mine[1].name = "edited"
        cart.items.append(item)
        try session.rollback()
        #expect(mine[1].name == "user 150" && cart.items.count == 2)
        mine[1].name = "edited"
        try await store.write { tx in
            _ = try await tx.apply(Patch(ItemRecord.self, item.id).set(\.price, 1))
            _ = try await tx.apply(Patch(UserRecord.self, mine[1].id).set(\.name, "theirs"))
        }
        try await session.refresh()
        #expect(item.price == 1 && mine[1].name == "edited")
        // A piece of work that fails after it let go of models.
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await session.savepoint {
                mine[0].cart = nil
                cart.owner = mine[1]
                mine[1].cart = cart
                for place in 20..<120 { _ = try await user(place) }
                try session.releaseUnused()
                throw Stop()
            }
        }
        #expect(mine[0].cart === cart && cart.owner === mine[0] && mine[1].name == "edited")
        #expect(mine[1].cart !== cart)
        // Both have changed the name: reading that again has settled nothing.
        await #expect { try await session.save() } throws: { ($0 as? GraphError)?.kind == .conflict }
        #expect(try await session.save(onConflict: .mine).changes.count == 1)
        // A move by one side, seen by the other.
        let other = try #require(mine[1].cart)
        mine[1].cart = nil
        try session.delete(other)
        cart.owner = mine[1]
        try await session.save()
        #expect(mine[0].cart == nil && mine[1].cart === cart)
        #expect(try await store.find(CartRecord.self, cart.id)?.user.id == mine[1].id)
        #expect(session.state(of: other) == nil && session.state(of: cart) == .clean)
        #expect(try await session.save().isEmpty)
    }

    @Test func `what a payload has brought and nobody has saved stays`() async throws {
        let store = try await openPurchases()
        let session = GraphSession(store, payloadMappings() + rowMappings(), retention: .weak)
        func bring() throws {
            try session.map([
                try payload(PurchasePayload.self, #"{"id": 5, "note": "new", "goods": [{"id": 8, "price": "3"}]}"#)
            ])
        }
        try bring()
        try session.releaseUnused()
        #expect(session.held.objects > 0)
        #expect(try await session.save().changes.count == 3)
        #expect(session.held.objects == 0)
        #expect(try await store.find(PurchaseRow.self, 5)?.goods == [Ref(8)])
        // And once more, merged.
        func merge() async throws {
            try await session.merge([try payload(PurchasePayload.self, #"{"id": 5, "note": "old"}"#)])
        }
        try await merge()
        try session.releaseUnused()
        #expect(try await session.save().changes.count == 1)
        #expect(session.held.objects == 0)
        try await merge()
        #expect(try await session.save().isEmpty)
        #expect(session.held.objects == 0)
    }

    /// The models of lines are known by their places, and, once they are saved, by their rows: twice in one session.
    @Test func `what came without ids goes, too, once it is saved`() async throws {
        let store = try await GraphStore.open(.inMemory, ReceiptRow.self, LineRow.self, GoodRow.self)
        let mappings: [any AnyMapping] = [
            ReceiptPayload.mapping, LinePayload.mapping, AddressPayload.mapping, GoodPayload.mapping,
            ReceiptRow.mapping,
            LineRow.mapping, GoodRow.mapping,
        ]
        let session = GraphSession(store, mappings, retention: .weak)
        func bring(_ quantities: [Int]) async throws {
            let good = GoodPayload(id: 1, name: .value("g"), price: .value("5"))
            let lines = quantities.map { LinePayload(quantity: $0, good: good, notes: []) }
            try await session.merge([ReceiptPayload(id: 1, address: nil, lines: .value(lines))])
        }
        try await bring([1, 2])
        try session.releaseUnused()
        #expect(try await session.save().changes.count == 5)
        #expect(session.held.objects == 0)
        let rows = try await store.fetch(Query(LineRow.self).sorted(by: \.quantity))
        for _ in 0..<50 {
            try await bring([1, 2])
            #expect(try await session.save().isEmpty)
        }
        try await bring([1, 3])
        let receipt = try #require(try await session.find(ReceiptRow.self, 1))
        #expect(try await session.save().changes.count == 1)
        #expect(receipt.lines.map(\.id) == rows.map(\.id) && receipt.lines[1].quantity == 3)
        // The receipt, the good and the lines, each once by payload and once by record.
        #expect(session.held.objects == 8 && session.held.slots < 150, "\(session.held)")
        #expect(try await store.fetch(Query(LineRow.self)).count == 2)
    }

    @Test func `a long chain is let go of on a small stack`() async throws {
        try await Depth.onSmallStack {
            let count = 100_000
            let session = GraphSession(ChainRecord.mapping, retention: .weak)
            weak var last: ChainLink?
            func map() throws {
                let records = (0..<count).map {
                    ChainRecord(id: $0, value: $0, next: $0 + 1 < count ? Ref($0 + 1) : nil)
                }
                last = try session.map(records).last
            }
            try map()
            try session.releaseUnused()
            #expect(last == nil && session.held.objects == 0)
        }
    }

    @Test func `a session that holds strongly lets go when it is asked to`() async throws {
        let store = try await openShop()
        let ids = try await seed(store, carts: [[0]], items: 1).map(\.id)
        let session = shopSession(store)
        func load() async throws { _ = try await session.find(UserRecord.self, ids[0]) }
        try await load()
        try await session.save()
        #expect(session.held.objects == 3)
        try session.releaseUnused()
        #expect(session.held.objects == 0)
    }

    /// EF `Entry_for_untracked_entity_does_not_keep_the_entity_alive`: evicted, then let go of.
    @Test func `an evicted object is gone while the session lives`() async throws {
        let store = try await openShop()
        let ids = try await seed(store, carts: [[0]], items: 1).map(\.id)
        let session = shopSession(store)
        weak var cart: ShoppingCart?
        func evict() async throws {
            let user = try #require(try await session.find(UserRecord.self, ids[0]))
            cart = user.cart
            if let cart { try session.evict(cart) }
            try session.evict(user)
        }
        try await evict()
        #expect(cart == nil)
        #expect(session.held.objects == 1)
    }
}
