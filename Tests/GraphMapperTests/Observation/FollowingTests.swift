import Foundation
import GraphMapperTesting
import Observation
import ShopModels
import Testing

@testable import GraphMapperStore
@testable import ShoppingCart

/// Waits until something holds; other tasks of the main actor run meanwhile.
@MainActor private func eventually(_ condition: () throws -> Bool) async throws {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(600)
    while try !condition() {
        if clock.now > end { throw Violation(description: "it never came to hold") }
        try await Task.sleep(nanoseconds: 200_000)
    }
}

@available(macOS 14, iOS 17, *)
@Observable private final class Leaflet {
    let id: Int
    var text = ""
    var size = 0
    init(id: Int) { self.id = id }
}

@available(macOS 14, iOS 17, *)
private struct LeafletRecord: StoredRecord {
    typealias Model = Leaflet
    let id: Int
    let text: String
    let size: Int
    static let schema = Schema<Self>("memo") { row in
        try Self(id: row("id", \.id), text: row("text", \.text), size: row("size", \.size))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Leaflet(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
            Field(\.size, \.size)
        }
    }
}

@Suite @MainActor struct `Sessions that follow the store` {
    @Test func `models are updated in place, edits are kept`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1], [1]], items: 2)
        let session = shopSession(store)
        let users = try await session.models(Query(UserRecord.self).sorted(by: \.name))
        let following = Task { try await session.follow() }
        let item = try #require(users[0].cart?.items[1])
        #expect(users[1].cart?.items[0] === item)
        item.name = "mine"
        try await store.write { tx in
            _ = try await tx.apply(Patch(ItemRecord.self, item.id).set(\.price, 7).set(\.name, "theirs"))
        }
        try await eventually { item.price == 7 }
        #expect(item.name == "mine")
        // A list, and a foreign key that the other side holds.
        let cart = try #require(users[1].cart)
        let other = try #require(users[0].cart)
        try await store.write { tx in
            var record = try #require(try await tx.find(CartRecord.self, cart.id))
            record = CartRecord(id: record.id, user: record.user, items: record.items + record.items)
            try await tx.upsert(record)
        }
        try await eventually { cart.items.count == 2 }
        #expect(cart.items[1] === item)
        try await store.write { tx in
            _ = try await tx.delete(CartRecord.self, other.id)
        }
        try await eventually { users[0].cart == nil }
        let user = users[0].id
        try await store.write { tx in
            try await tx.insert(CartRecord(id: UUID(), user: Ref(user), items: [Ref(item.id)]))
        }
        try await eventually { users[0].cart != nil }
        #expect(users[0].cart?.items[0] === item && users[0].cart?.owner === users[0])
        // The session's own saves.
        users[1].name = "new"
        try await session.save(onConflict: .mine)
        #expect(try await store.find(UserRecord.self, users[1].id)?.name == "new")
        #expect(item.name == "mine" || item.name == "theirs")
        following.cancel()
        try await following.value
        try await eventually { store.broadcaster.count == 0 }
    }

    @Test func `lists of models`() async throws {
        let store = try await openShop()
        let session = shopSession(store)
        let query = Query(ItemRecord.self).where { $0.price > 1 }.sorted(by: \.name)
        guard #available(macOS 14, iOS 17, *) else { return }
        let results = LiveResults(query, in: session)
        let following = Task { await results.follow() }
        try await eventually { results.isLoaded }
        let ids = (0..<4).map { _ in UUID() }
        try await store.write { tx in
            for (id, name) in zip(ids, ["b", "d", "c", "a"]) {
                try await tx.insert(ItemRecord(id: id, name: name, price: name == "d" ? 1 : 2, picture: nil))
            }
        }
        try await eventually { results.count == 3 }
        #expect(results.map(\.name) == ["a", "b", "c"])
        let first = results[0]
        let told = Locked(0)
        withObservationTracking {
            _ = results.models
        } onChange: {
            told.withLock { $0 += 1 }
        }
        try await store.write { tx in
            _ = try await tx.apply(Patch(ItemRecord.self, ids[3]).set(\.name, "e"))
            _ = try await tx.apply(Patch(ItemRecord.self, ids[1]).set(\.price, 5))
            _ = try await tx.delete(ItemRecord.self, ids[2])
        }
        try await eventually { results.map(\.name) == ["b", "d", "e"] }
        #expect(results[2] === first)
        #expect(told.withLock { $0 } == 1)
        following.cancel()
        await following.value
        #expect(results.error == nil)
    }

    @Test func `law: the list of models is that of the query`() async throws {
        let edits = Gen<[(Int, Int)]>.array(of: Gen<Int>.int(in: 0...5).zip(.int(in: 0...4)), count: 1...6)
        try await check(Gen<[[(Int, Int)]]>.array(of: edits, count: 1...4), count: 40) { rounds in
            let store = try await openShop()
            let session = shopSession(store)
            let ids = (0..<6).map { _ in UUID() }
            let query = Query(ItemRecord.self).where { $0.price > 1 }.sorted(by: \.price)
            let (told, tell) = AsyncStream<[ShopItem]>.makeStream()
            var last: [UUID] = []
            let following = Task {
                try await session.follow(query) { change in
                    last = change.models.map(\.id)
                    tell.yield([])
                }
            }
            for await _ in told { break }
            for round in rounds {
                try await store.write { tx in
                    for (number, price) in round {
                        if price == 0 {
                            _ = try await tx.delete(ItemRecord.self, ids[number])
                        } else {
                            try await tx.upsert(
                                ItemRecord(id: ids[number], name: "\(number)", price: price, picture: nil))
                        }
                    }
                }
                let expected = try await store.fetch(query.sorted(by: \.id)).map(\.id)
                try await eventually { last == expected }
            }
            let expected = try await store.fetch(query.sorted(by: \.id))
            let models = try await session.models(query.sorted(by: \.id))
            try ensure(models.map(\.price) == expected.map(\.price), "models are not up to date")
            following.cancel()
            try await following.value
        }
    }

    @Test func `views of observable models are told by themselves`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await GraphStore.open(.inMemory, LeafletRecord.self)
        try await store.write { try await $0.insert(LeafletRecord(id: 1, text: "old", size: 1)) }
        let session = GraphSession(store, LeafletRecord.mapping)
        let memo = try #require(try await session.first(Query(LeafletRecord.self)))
        let following = Task { try await session.follow() }
        let told = Locked(0)
        withObservationTracking {
            _ = memo.text
        } onChange: {
            told.withLock { $0 += 1 }
        }
        // A view that shows the text alone is not told of this.
        try await store.write { _ = try await $0.apply(Patch(LeafletRecord.self, 1).set(\.size, 2)) }
        try await eventually { memo.size == 2 }
        #expect(told.withLock { $0 } == 0)
        try await store.write { _ = try await $0.apply(Patch(LeafletRecord.self, 1).set(\.text, "new")) }
        try await eventually { memo.text == "new" }
        #expect(told.withLock { $0 } == 1)
        following.cancel()
        try await following.value
    }

    @Test func `a list is told of what its models link to`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0], [1]], items: 2)
        let session = shopSession(store)
        let query = Query(CartRecord.self).sorted(by: \.id)
        var changes: [[Int]] = []
        let following = Task {
            try await session.follow(query, linked: .along { $0.items.price }) { change in
                if case .update(_, _, _, let modifications) = change { changes.append(modifications) }
                if case .initial = change { changes.append([]) }
            }
        }
        try await eventually { changes == [[]] }
        let cart = try #require(try await session.models(query).last)
        let item = cart.items[0].id
        try await store.write { _ = try await $0.apply(Patch(ItemRecord.self, item).set(\.name, "other")) }
        try await store.write { _ = try await $0.apply(Patch(ItemRecord.self, item).set(\.price, 77)) }
        try await eventually { changes.count == 2 }
        #expect(changes == [[], [1]])
        #expect(cart.items[0].price == 77)
        following.cancel()
        try await following.value
    }

    @Test func `nothing imports what shows views`() throws {
        let sources = Compiler.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for module in ["SwiftUI", "UIKit", "AppKit", "Combine"] { #expect(!text.contains("import \(module)")) }
            count += 1
        }
        #expect(count > 100)
    }

    @Test func `a session without a store has nothing to follow`() async throws {
        let session = GraphSession(UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping)
        await #expect(throws: GraphError.self) { try await session.follow() }
    }
}
