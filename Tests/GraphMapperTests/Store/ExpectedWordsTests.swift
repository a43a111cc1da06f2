import Foundation
import GraphMapper
import GraphMapperStore
import Testing

private struct WordRow: StoredRecord, Equatable {
    let id: Int
    var name = ""
    var nick: String?
    var isDone: Bool?
    var age: Int?
    var weight: Double?
    var tags: [Ref<WordRow>] = []
    static let indexes: [Index<Self>] = [.unique(\.name), .unique(\.nick, \.age)]
    static let schema = Schema<Self>("word") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), nick: row("nick", \.nick), isDone: row("done", \.isDone),
            age: row("age", \.age), weight: row("weight", \.weight), tags: row("tags", \.tags))
    }
}

/// What people type on the first day, coming from elsewhere.
@Suite struct `Words that are expected` {
    private let rows = [
        WordRow(id: 1, name: "hoon", nick: "a", isDone: true, age: 4, weight: 1.5, tags: [Ref(2)]),
        WordRow(id: 2, name: "Hoon", nick: nil, isDone: false, age: nil, weight: nil),
        WordRow(id: 3, name: "x", nick: "b", isDone: nil, age: -3, weight: 0),
    ]

    private func opened() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, WordRow.self)
        try await store.write { tx in try await tx.insert(contentsOf: rows) }
        return store
    }

    private func found(@ConditionBuilder _ terms: (Columns<WordRow>) -> Condition) async throws -> [Int] {
        try await opened().fetch(Query(WordRow.self).where(terms).sorted(by: \.id)).map(\.id)
    }

    @Test func `equals has options that may be left out`() async throws {
        #expect(try await found { $0.name.equals("hoon") } == [1])
        #expect(try await found { $0.name.equals("hoon", .caseInsensitive) } == [1, 2])
        #expect(try await found { $0.nick.equals("a") } == [1])
    }

    @Test func `not of an optional truth value is false or NULL`() async throws {
        #expect(try await found { !$0.isDone } == [2, 3])
        #expect(try await found { !$0.isDone && $0.age < 0 } == [3])
        #expect(try await found { $0.isDone } == [1])
    }

    @Test func `optional numbers are calculated with, and NULL gives NULL`() async throws {
        #expect(try await found { $0.age + 1 > 4 } == [1])
        #expect(try await found { $0.age * 2 - 1 < 0 } == [3])
        #expect(try await found { $0.age / 2 == 2 } == [1])
        #expect(try await found { $0.age - $0.age == 0 } == [1, 3])
        #expect(try await found { $0.weight + $0.weight == 3 } == [1])
        #expect(try await found { $0.age + 1 == nil } == [2])
        let store = try await opened()
        try await store.write { tx in
            _ = try await tx.update(WordRow.self, where: { $0.age != nil }, set: { $0.age.set(to: $0.age + 10) })
        }
        #expect(try await store.fetch(Query(WordRow.self).sorted(by: \.id)).map(\.age) == [14, nil, 7])
    }

    @Test func `update writes what differs, and never adds a row`() async throws {
        let store = try await opened()
        var row = rows[0]
        row.nick = nil
        row.tags = []
        let found = try await store.write { tx in
            [try await tx.update(row), try await tx.update(rows[1]), try await tx.update(WordRow(id: 9))]
        }
        #expect(found == [true, true, false])
        #expect(try await store.find(WordRow.self, 1) == row)
        #expect(try await store.count(Query(WordRow.self)) == 3)
        let records = try await store.changeRecords()
        #expect(records.last?.kind == .update && records.last?.table == "word", "\(records)")
    }

    @Test func `is it empty, and all of it away`() async throws {
        let store = try await opened()
        #expect(try await !store.isEmpty(Query(WordRow.self)))
        #expect(try await store.isEmpty(Query(WordRow.self).where { $0.age > 100 }))
        let (before, count, after) = try await store.write { tx in
            let before = try await tx.isEmpty(Query(WordRow.self).limit(1))
            let count = try await tx.deleteAll(WordRow.self)
            return (before, count, try await tx.isEmpty(Query(WordRow.self)))
        }
        #expect(!before && count == 3 && after)
        #expect(try await store.isEmpty(Query(WordRow.self)))
    }

    @Test func `errors say it where people print them`() async throws {
        let store = try await opened()
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(WordRow(id: 4, name: "x")) }
        }
        let taken = try #require(error)
        #expect(taken.localizedDescription == taken.description)
        #expect(taken.recoverySuggestion == "A row with these values exists; update it instead")
        let graph = GraphError(.misuse, "it is so; do that", type: "word", id: "4")
        #expect((graph as any Error).localizedDescription == graph.description)
        #expect(graph.recoverySuggestion == "Do that")
        #expect(GraphError(.misuse, "it is so").recoverySuggestion == nil)
    }

    @Test func `a value that is taken is told with its table, its row and its columns`() async throws {
        let store = try await opened()
        func error(_ body: @escaping @Sendable (WriteTransaction) async throws -> Void) async -> StoreError? {
            await #expect(throws: StoreError.self) { try await store.write { try await body($0) } }
        }
        let writes: [(String, @Sendable (WriteTransaction) async throws -> Void)] = [
            ("4", { try await $0.insert(WordRow(id: 4, name: "x")) }),
            ("4", { _ = try await $0.upsert(WordRow(id: 4, name: "x")) }),
            ("2", { _ = try await $0.upsert(WordRow(id: 2, name: "x")) }),
            ("2", { _ = try await $0.update(WordRow(id: 2, name: "x")) }),
            ("2", { _ = try await $0.apply(Patch(WordRow.self, 2).set(\.name, "x")) }),
        ]
        for (key, write) in writes {
            let error = await error(write)
            #expect(error?.kind == .duplicateKey)
            #expect(error?.table == "word" && error?.key == key && error?.column == "name", "\(error as Any)")
        }
        let pair = await error { try await $0.insert(WordRow(id: 4, name: "n", nick: "a", age: 4)) }
        #expect(pair?.column == "nick, age")
        let key = await error { try await $0.insert(WordRow(id: 1, name: "n")) }
        #expect(key?.column == "id" && key?.key == "1")
    }
}
