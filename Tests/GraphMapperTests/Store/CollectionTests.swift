import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite(.perEngine) struct `Collections over queries` {
    @Test func `elements are those of the query, whatever the order and the pages`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(.int(in: 0...27)), count: 100) { (league: League, choice: Int) in
            try await `Queries are filters`.fill(store, league)
            let query = `Pages by key`.orders[choice / 2](Query(PlayerRow.self)).where { $0.age >= -1 }
            let whole = try await store.fetch(query.limit(1000)).map(\.id)
            let list = store.toMany(query, pageSize: choice % 2 * 2 + 1, cachedPages: 2, as: \.id) { _, _ in -1 }
            try ensure(Array(list) == whole && list.reversed() == whole.reversed(), "\(Array(list)), \(whole)")
            for index in whole.indices { try ensure(list[whole.count - 1 - index] == whole[whole.count - 1 - index]) }
        }
    }

    @Test func `a count reads no rows, an element at most one page`() async throws {
        let statements = Locked<[String]>([])
        var options = GraphStore.Options()
        options.prepare = {
            try $0.onStatement { sql in
                if sql.hasPrefix("SELECT") || sql.hasPrefix("WITH") { statements.withLock { $0.append(sql) } }
            }
        }
        let store = try await Engine.open(options: options, SquadRow.self, PlayerRow.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: (0..<10_000).map { SquadRow(id: $0, name: "\($0 % 100)", city: nil) })
        }
        func taken() -> Int {
            statements.withLock { all in
                defer { all = [] }
                return all.count
            }
        }
        let list = store.toMany(Query(SquadRow.self).sorted(by: \.name), as: \.self) { _, _ in
            SquadRow(id: -1, name: "", city: nil)
        }
        _ = taken()
        #expect(list.count == 10_000 && taken() == 1)
        #expect(list[0].id == 0 && taken() == 2)
        #expect(list[9_999].id == 9_999 && taken() == 1)
        #expect(list[9_990].id == 9_099 && taken() == 0)
        #expect(list.count == 10_000 && taken() == 0)
    }

    @Test func `what changes underneath stays in its page`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: (0..<20).map { SquadRow(id: $0 * 10, name: "\($0)", city: nil) })
        }
        let list = store.toMany(Query(SquadRow.self), pageSize: 5, cachedPages: 1, as: \.id) { _, error in
            (error as? GraphError)?.kind == .dangling ? -1 : -2
        }
        #expect(Array(list) == (0..<20).map { $0 * 10 })
        try await store.write { tx in
            try await tx.delete(SquadRow.self) { $0.id.isIn([50, 70]) }
            try await tx.insert(SquadRow(id: 101, name: "new", city: nil))
        }
        #expect(list.count == 20)
        #expect(
            Array(list) == [0, 10, 20, 30, 40, 60, 80, 90, -1, -1, 100, 101, 110, 120, 130, 150, 160, 170, 180, 190])
        #expect(throws: GraphError.self) { try list.element(at: 8) }
        #expect(Array(list.reloaded()).count == 19)
    }

    private final class Squad {
        static let made = Locked(0)
        let id: Int
        var name: String
        init(id: Int, name: String) {
            (self.id, self.name) = (id, name)
            Self.made.withLock { $0 += 1 }
        }
    }
    private struct SquadOfModels: StoredRecord {
        typealias Model = Squad
        let id: Int
        let name: String
        static let schema = Schema<Self>("squad_of_models") { row in
            try Self(id: row("id", \.id), name: row("name", \.name))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Squad(id: $0.id, name: $0.name)
            } properties: {
                Field(\.id, \.id)
                Field(\.name, \.name)
            }
        }
    }

    @Test func `models of a query, one instance each, loaded a page at a time`() async throws {
        let store = try await Engine.open(SquadOfModels.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: (0..<100).map { SquadOfModels(id: $0, name: "\($0 % 7)") })
        }
        let session = GraphSession(store, SquadOfModels.mapping)
        let query = Query(SquadOfModels.self).sorted(by: \.name)
        let gone = Squad(id: -1, name: "gone")
        let before = Squad.made.withLock { $0 }
        func made() -> Int { Squad.made.withLock { $0 } - before }
        let list = session.toMany(query, pageSize: 10, cachedPages: 2, as: { $0 }, otherwise: { _, _ in gone })
        #expect(list.count == 100 && made() == 0)
        let first = list[0]
        #expect(first.id == 0 && list[9].id == 63 && made() == 10)
        let whole = try await session.models(query)
        #expect(Array(list).elementsEqual(whole) { $0 === $1 } && made() == 100)
        first.name = "edited"
        #expect(list[0] === first && list.reloaded()[0].name == "edited")
        #expect(try session.changes().changes.count == 1)
        try await store.write { _ = try await $0.delete(SquadOfModels.self, 7) }
        #expect(list.reloaded().count == 99)
    }

    @Test func `what cannot be read now is answered by what stands in`() async throws {
        let store = try await Engine.open(SquadOfModels.self)
        try await store.write { try await $0.insert(SquadOfModels(id: 1, name: "a")) }
        let session = GraphSession(SquadOfModels.mapping)
        let list = session.toMany(Query(SquadOfModels.self), as: \.name) { _, error in "\(error)" }
        #expect(throws: GraphError.self) { try list.tryCount }
        #expect(list.isEmpty && list[0].contains("a session over a GraphStore"))
        let limited = GraphSession(store, SquadOfModels.mapping).toMany(
            Query(SquadOfModels.self).limit(3), as: \.name, otherwise: { _, _ in "" })
        #expect(throws: GraphError.self) { try limited.tryCount }
    }
}
