import GraphMapperStore
import Testing

/// Properties that the model's initializer sets, and nobody afterwards.
@Suite struct `Properties that cannot be set` {
    final class Sign {
        let id: Int
        let text: String
        var note: String
        var shout: String { note + "!" }
        init(id: Int, text: String, note: String) { (self.id, self.text, self.note) = (id, text, note) }
    }
    struct SignRow: StoredRecord, Equatable {
        typealias Model = Sign
        let id: Int
        var text: String
        var note: String
        var shout: String
        static let schema = Schema<Self>("sign") { row in
            try Self(
                id: row("id", \.id), text: row("text", \.text), note: row("note", \.note), shout: row("shout", \.shout))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Sign(id: $0.id, text: $0.text, note: $0.note)
            } properties: {
                Field(\.id, \.id)
                Field(\.text, \.text)
                Field(\.note, \.note)
                Field(\.shout, \.shout)
            }
        }
    }

    @Test func `another writer's change of a let is an error of the load, and is not undone by the next save`()
        async throws
    {
        let store = try await GraphStore.open(.inMemory, SignRow.self)
        try await store.write { try await $0.insert(SignRow(id: 1, text: "a", note: "n", shout: "n!")) }
        let session = GraphSession(store, SignRow.mapping)
        let sign = try #require(try await session.find(SignRow.self, 1))
        try await store.write { try await $0.upsert(SignRow(id: 1, text: "b", note: "m", shout: "m!")) }
        for _ in 0..<2 {
            await #expect {
                try await session.refresh()
            } throws: {
                ($0 as? GraphError)?.property == "text" && "\($0)".contains("evict")
            }
            #expect(sign.text == "a" && sign.note == "n")
            #expect(try session.changes().isEmpty)
        }
        try session.evict(sign)
        let again = try #require(try await session.find(SignRow.self, 1))
        #expect(again.text == "b" && again.note == "m")
        // What follows from others is written with them.
        again.note = "o"
        try await session.save()
        #expect(try await store.fetch(Query(SignRow.self)) == [SignRow(id: 1, text: "b", note: "o", shout: "o!")])
    }

    private struct TextID: DTO, Identifiable {
        typealias Model = Sign
        let id: String
        static let schema = Schema<Self>("sign") { row in try Self(id: row("id", \.id)) }
        static var mapping: Mapping<Self> {
            Mapping { _ in
                Sign(id: 0, text: "", note: "")
            } properties: {
                Field(\.id, \.id, using: Conversion(decode: { Int($0) ?? 0 }, encode: { "\($0)" }))
            }
        }
    }

    @Test func `an id of another type than the model's is said`() throws {
        #expect { try GraphSession(nil, [TextID.mapping]).validate() } throws: {
            "\($0)".contains("give the DTO an id of the model's type")
        }
    }
}
