import Testing

@testable import GraphMapperStore

private struct Spot: EmbeddedValue {
    var latitude: Double
    var note: String?
    static let schema = Schema<Self> { row in
        try Self(latitude: row("latitude", \.latitude), note: row("note", \.note))
    }
}

private struct Visit: StoredRecord {
    let id: Int
    var spot: Spot?
    static let schema = Schema<Self>("visit") { row in try Self(id: row("id", \.id), spot: row("spot", \.spot)) }
}

private struct PairKey: EmbeddedValue, Hashable {
    var left: Int
    var right: Int
    static let schema = Schema<Self> { row in try Self(left: row("left", \.left), right: row("right", \.right)) }
}

private struct Pair: StoredRecord {
    let id: PairKey
    var text: String
    var size: Int { text.count }
    static let schema = Schema<Self>("pair") { row in try Self(id: row("", \.id), text: row("text", \.text)) }
}

@Suite(.perEngine) struct `Parts of optional embedded values` {
    private func opened() async throws -> GraphStore {
        let store = try await Engine.open(Visit.self)
        try await store.write { tx in
            try await tx.insert(Visit(id: 1, spot: Spot(latitude: 2, note: "b")))
            try await tx.insert(Visit(id: 2, spot: nil))
            try await tx.insert(Visit(id: 3, spot: Spot(latitude: 1, note: "a")))
        }
        return store
    }

    @Test func `a closure names them`() async throws {
        let store = try await opened()
        #expect(try await store.fetch(Query(Visit.self).sorted { $0.spot.note }).map(\.id) == [2, 3, 1])
        #expect(try await store.fetch(Query(Visit.self).where { $0.spot.latitude > 1 }).map(\.id) == [1])
    }

    @Test func `a key path through them is an error that says so, and nothing is written`() async throws {
        let store = try await opened()
        func expectAdvice(_ body: () async throws -> Void) async {
            let error = await #expect(throws: GraphError.self) { try await body() }
            #expect(error?.kind == .misuse)
            for part in ["{ $0.spot.part }", "a patch sets spot as a whole"] {
                #expect(error?.message.contains(part) == true, "\(String(describing: error))")
            }
        }
        await expectAdvice { _ = try await store.fetch(Query(Visit.self).sorted(by: \.spot?.note)) }
        await expectAdvice {
            _ = try await store.write { try await $0.apply(Patch(Visit.self, 1).set(\.spot?.note, "c")) }
        }
        await expectAdvice {
            _ = try await store.write { try await $0.apply(Patch(Visit.self, 1).set(\.spot!.note, "c")) }
        }
        #expect(try await store.find(Visit.self, 1)?.spot?.note == "b")
        try await store.write { tx in
            _ = try await tx.apply(Patch(Visit.self, 2).set(\.spot, Spot(latitude: 3, note: "c")))
        }
        #expect(try await store.find(Visit.self, 2)?.spot == Spot(latitude: 3, note: "c"))
    }

    @Test func `an update sets one where there is a value`() async throws {
        let store = try await opened()
        try await store.write { tx in
            let count = try await tx.update(Visit.self, where: { _ in Condition.always }) {
                $0.spot.latitude.set(to: $0.spot.latitude + 1)
                $0.spot.note.set(to: "c")
            }
            #expect(count == 3)
        }
        let spots = try await store.fetch(Query(Visit.self).sorted(by: \.id)).map(\.spot)
        #expect(spots == [Spot(latitude: 3, note: "c"), nil, Spot(latitude: 2, note: "c")])
    }

    @Test func `a key without a name is listed by its columns`() async throws {
        let store = try await Engine.open(Pair.self)
        let error = await #expect(throws: GraphError.self) {
            try await store.fetch(Query(Pair.self).sorted(by: \.size))
        }
        #expect(error?.message.contains("the columns left, right, text") == true)
    }
}

private struct PlacedRow: StoredRecord {
    let id: Int
    var spot: Spot?
    static let schema = Schema<Self>("placed") { row in try Self(id: row("id", \.id), spot: row("spot", \.spot)) }
    static let indexes: [Index<Self>] = [
        .on { $0.spot.latitude }, .unique { ($0.spot.note, $0.id) },
        .on { $0.spot.note }.where { $0.spot.latitude > 1 },
    ]
}
private struct ComputedPlace: StoredRecord {
    let id: Int
    static let schema = Schema<Self>("computed") { row in try Self(id: row("id", \.id)) }
    static let indexes: [Index<Self>] = [.on { $0.id + 1 }]
}

@Suite struct `Indexes by a closure` {
    @Test func `parts of optional embedded values have them`() async throws {
        let store = try await GraphStore.open(.inMemory, PlacedRow.self)
        let indexes = try StoredTable.indexes(of: "placed", store.writer)
        #expect(indexes.map(\.columns) == [["spot_latitude"], ["spot_note", "id"], ["spot_note"]])
        #expect(indexes.map(\.isUnique) == [false, true, false] && indexes.map(\.isPlain) == [true, true, false])
        let plan = try await store.explain(Query(PlacedRow.self).where { $0.spot.latitude == 2 })
        #expect("\(plan)".contains("placed_spot_latitude"), "\(plan)")
    }

    @Test func `what is no column is a mistake`() async throws {
        let error = await #expect(throws: GraphError.self) {
            _ = try await GraphStore.open(.inMemory, ComputedPlace.self)
        }
        #expect(error?.message.contains("an index is on columns alone") == true, "\(String(describing: error))")
    }
}
