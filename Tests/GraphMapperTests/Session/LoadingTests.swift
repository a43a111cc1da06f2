import Foundation
import GraphMapperStore
import ShopModels
import Testing

@testable import ShoppingCart

@Suite struct `How far a load goes` {
    /// Two users with a cart of three items each, one of which both have.
    private func opened() async throws -> (store: GraphStore, session: GraphSession, query: Query<UserRecord>) {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0, 1, 2], [2, 3, 4]], items: 5)
        return (store, shopSession(store), Query(UserRecord.self).sorted(by: \.name))
    }

    @Test func `no link is followed, and nothing is written for it`() async throws {
        let (store, session, query) = try await opened()
        let user = try #require(try await session.first(query, loading: .none))
        #expect(user.cart == nil)
        #expect(try session.changes().isEmpty)
        user.name = "other"
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.count(Query(CartRecord.self).where { $0.user == Ref(user.id) }) == 1)
        // The same load with its links fills them.
        #expect(try await session.first(query.where { $0.name == "other" }) === user)
        #expect(user.cart?.items.count == 3 && user.cart?.owner === user)
    }

    @Test func `a list and a reference that were not followed are kept`() async throws {
        let (store, session, _) = try await opened()
        let cart = try #require(try await session.first(Query(CartRecord.self), loading: .none))
        #expect(cart.items.isEmpty && cart.owner == nil)
        #expect(try session.changes().isEmpty)
        try await session.save()
        let row = try #require(try await store.find(CartRecord.self, cart.id))
        #expect(row.items.count == 3)
        cart.items = []
        #expect(try session.changes().isEmpty)
    }

    @Test(arguments: 0...4) func `so many links away`(depth: Int) async throws {
        let (_, session, query) = try await opened()
        let users = try await session.models(query, loading: .depth(depth))
        #expect(users.allSatisfy { ($0.cart != nil) == (depth >= 1) })
        // A back-reference to what the load has anyway is set.
        #expect(users.allSatisfy { user in user.cart.map { $0.owner === user } ?? true })
        #expect(users.compactMap(\.cart).allSatisfy { $0.items.count == (depth >= 2 ? 3 : 0) })
        #expect(try session.changes().isEmpty)
    }

    @Test func `only the links that are named`() async throws {
        let (_, session, query) = try await opened()
        let users = try await session.models(query, loading: .only([\User.cart]))
        #expect(users.allSatisfy { $0.cart?.items.isEmpty == true && $0.cart?.owner === $0 })
        #expect(try session.changes().isEmpty)
        _ = try await session.models(query, loading: .only([\User.cart, \ShoppingCart.items]))
        #expect(users.allSatisfy { $0.cart?.items.count == 3 })
        #expect(users[0].cart?.items[2] === users[1].cart?.items[0])
        // A link that is filled stays so.
        _ = try await session.models(query, loading: .none)
        #expect(users.allSatisfy { $0.cart?.items.count == 3 })
        users[0].cart?.items = []
        #expect(try session.changes().changes.count == 1)
    }

    /// A filled link that another writer changed, and that the load does not follow, is unknown again.
    @Test func `another writer's change of a link that is not followed is kept`() async throws {
        let (store, session, query) = try await opened()
        let users = try await session.models(query)
        let cart = try #require(users[0].cart)
        let other = shopSession(store)
        try await other.first(query)?.cart?.items.removeAll()
        try await other.save()
        _ = try await session.models(query, loading: .depth(1))
        #expect(try session.changes().isEmpty)
        try await session.save()
        #expect(try await store.find(CartRecord.self, cart.id)?.items == [])
    }

    @Test(arguments: [0, 1, 2, 3, 100]) func `queries are at most types times depth`(depth: Int) async throws {
        let (store, _, query) = try await opened()
        let before = try await store.read { $0.statementCount }
        _ = try await shopSession(store).models(query, loading: .depth(depth))
        let spent = try await store.read { $0.statementCount } - before
        // Besides, BEGIN and COMMIT of the load and of the two readings.
        #expect(spent <= 4 + 3 * (min(depth, 3) + 1), "\(spent)")
    }

    @Test func `links that an initializer needs are followed in any case`() async throws {
        let store = try await GraphStore.open(.inMemory, NeedyRow.self, NeedyRow.Boss.self)
        try await store.write { transaction async throws in
            try await transaction.insert(NeedyRow.Boss(id: 1))
            try await transaction.insert(NeedyRow(id: 2, boss: Ref(1)))
        }
        let session = GraphSession(store, NeedyRow.mapping, NeedyRow.Boss.mapping)
        let needy = try #require(try await session.find(NeedyRow.self, 2, loading: .none))
        #expect(needy.boss.id == 1)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a load that is too large names the link to mark`() async throws {
        let (_, session, query) = try await opened()
        session.loadLimit = 3
        let error = await #expect(throws: GraphError.self) { _ = try await session.models(query) }
        #expect(error?.kind == .tooLarge && error?.message.contains("\\ShoppingCart.items") == true, "\(error as Any)")
        #expect(try await session.models(query, loading: .depth(1)).count == 2)
        // What it starts from counts as well.
        session.loadLimit = 1
        let roots = await #expect(throws: GraphError.self) { _ = try await session.models(query, loading: .none) }
        #expect(roots?.kind == .tooLarge && roots?.message.contains("2 objects") == true, "\(roots as Any)")
    }
}

final class NeedyBoss {
    let id: Int
    init(id: Int) { self.id = id }
}
final class Needy {
    let id: Int
    let boss: NeedyBoss
    init(id: Int, boss: NeedyBoss) {
        self.id = id
        self.boss = boss
    }
}
struct NeedyRow: StoredRecord {
    typealias Model = Needy
    let id: Int
    let boss: Ref<Boss>
    static let schema = Schema<Self>("needy") { row in try Self(id: row("id", \.id), boss: row("boss", \.boss)) }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.boss) { record, boss in
            Needy(id: record.id, boss: boss)
        } properties: {
            Field(\.id, \.id)
            One(\.boss, \.boss)
        }
    }

    struct Boss: StoredRecord {
        typealias Model = NeedyBoss
        let id: Int
        static let schema = Schema<Self>("boss") { row in try Self(id: row("id", \.id)) }
        static var mapping: Mapping<Self> {
            Mapping {
                NeedyBoss(id: $0.id)
            } properties: {
                Field(\.id, \.id)
            }
        }
    }
}
