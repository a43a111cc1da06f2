import GraphMapperStore
import Testing

private struct Cup: StoredRecord {
    let id: Int
    let name: String
    static let schema = Schema<Self>("cup") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
}

@Suite struct `One call is a whole transaction` {
    private func open() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, Cup.self)
        try await store.write { try await $0.insert(contentsOf: [Cup(id: 1, name: "b"), Cup(id: 2, name: "a")]) }
        return store
    }

    /// What a call answers need not be used: these lines compile without a warning.
    @Test func `whatever it answers`() async throws {
        let store = try await open()
        try await store.write { try await $0.upsert(Cup(id: 3, name: "c")) }
        try await store.write { try await $0.apply(Patch(Cup.self, 3).set(\.name, "d")) }
        try await store.write { try await $0.update(Cup.self, where: { $0.id == 3 }, set: { $0.name.set(to: "e") }) }
        try await store.write { try await $0.delete(Cup.self, where: { $0.name == "e" }) }
        try await store.write { tx in
            try await tx.savepoint { try await tx.delete(Cup.self, 1) }
            try await tx.insert(Cup(id: 1, name: "f"))
        }
        try await store.write { try await $0.delete(Cup.self, 2) }
        #expect(try await store.fetch(Query(Cup.self)).map(\.name) == ["f"])
    }

    @Test func `a record is deleted by its id, whatever else it holds`() async throws {
        let store = try await open()
        #expect(try await store.write { try await $0.delete(Cup(id: 1, name: "another")) })
        #expect(try await !store.write { try await $0.delete(Cup(id: 1, name: "b")) })
        #expect(try await store.fetch(Query(Cup.self)).map(\.id) == [2])
    }

    @Test func `the first record of a query is asked for in a transaction as of a store`() async throws {
        let store = try await open()
        let byName = Query(Cup.self).sorted(by: \.name)
        #expect(try await store.read { try await $0.first(byName) }?.id == 2)
        #expect(try await store.first(byName)?.id == 2)
        #expect(try await store.write { try await $0.first(byName.where { $0.id > 2 }) } == nil)
    }
}
