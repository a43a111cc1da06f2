import GraphMapperStore
import Testing

/// A record whose columns have names that look like SQL.
private struct Lookalike: StoredRecord {
    let id: Int
    let title: String
    let next: Ref<Lookalike>?
    static let schema = Schema<Self>("lookalike") { row in
        try Self(id: row("id", \.id), title: row("COLLATE title", \.title), next: row("JOIN next", \.next))
    }
}

@Suite struct `How changes of a query are found` {
    private func needsQuery(_ query: Query<Lookalike>) async throws -> String? {
        try await GraphStore.open(.inMemory, Lookalike.self).explainChanges(of: query).needsQuery
    }

    @Test func `by rows, whatever the columns are called`() async throws {
        let query = Query(Lookalike.self).where { $0.title != "" && $0.next == nil }.sorted(by: \.title)
        #expect(try await needsQuery(query) == nil)
    }

    @Test func `by the query where it is sorted as a person does`() async throws {
        let query = Query(Lookalike.self).sorted(by: \.title, as: .locale("de_DE"))
        #expect(try await needsQuery(query) == "it has an order of its own")
    }

    @Test func `by the query where it looks at other rows of its table`() async throws {
        let about = "it looks at other rows of the same table"
        let all = Query(Lookalike.self)
        let queries = [
            all.where { $0.next.title == "a" }, all.sorted { $0.next.title }, all.where { $0.next.isIn(all.limit(3)) },
            all.where { $0.many(Lookalike.self, by: \.next).count > 1 },
            all.where { !($0.id == 1 || $0.next.next.title.hasPrefix("a")) },
        ]
        for query in queries { #expect(try await needsQuery(query) == about) }
        #expect(try await needsQuery(all.distinct(by: \.title)) == "it takes one of several rows that are alike")
    }

    @Test func `an equality on one column narrows what is looked at unless other rows count`() async throws {
        let store = try await GraphStore.open(.inMemory, Lookalike.self)
        try await store.write { try await $0.insert(Lookalike(id: 1, title: "a", next: nil)) }
        var one = store.changes(of: Query(Lookalike.self).where { $0.id == 1 }).makeAsyncIterator()
        #expect(try await one.next()?.collection.map(\.id) == [1])
        try await store.write { try await $0.insert(Lookalike(id: 2, title: "b", next: Ref(1))) }
        try await store.write { try await $0.apply(Patch(Lookalike.self, 1).set(\.title, "c")) }
        #expect(try await one.next()?.collection.map(\.title) == ["c"])
        // The second row, whose title changes, decides whether the first is there.
        let led = Query(Lookalike.self).where { $0.id == 2 && $0.next.title == "d" }
        var changes = store.changes(of: led).makeAsyncIterator()
        #expect(try await changes.next()?.collection.isEmpty == true)
        try await store.write { try await $0.apply(Patch(Lookalike.self, 1).set(\.title, "d")) }
        #expect(try await changes.next()?.collection.map(\.id) == [2])
    }
}
