import GraphMapper
import GraphMapperStore
import Testing

/// What the conflict of a new object with a stored row says, and how an upsert is asked for.
@Suite @MainActor struct `Rows that exist` {
    @Test(arguments: [false, true]) func `are a conflict of a kind of its own`(isPair: Bool) async throws {
        if isPair { try await exists(OverlapPair.self) } else { try await exists(Int.self) }
    }

    private func exists<K: OverlapKey>(_: K.Type) async throws {
        let theatre = try await Theatre<K>()
        let session = theatre.session()
        try session.add(Stage(id: K(number: 1)))
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.conflicts.isEmpty == false)
        #expect(error?.conflicts.allSatisfy { $0.kind == .exists && $0.type == "stage" } == true)
        let conflict = try #require(error?.conflicts.first { $0.theirs.contains(.text("base")) })
        #expect(conflict.base == [] && conflict.mine.contains(.text("")))
        #expect(try await theatre.row(1).name == "base")
    }

    @Test func `a policy is asked about them`() async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let prop = Prop(id: 5)
        prop.name = "new"
        try session.add(prop)
        var kinds: [Conflict.Kind] = []
        try await session.save(
            onConflict: .merge {
                kinds.append($0.kind)
                return .theirs
            })
        #expect(kinds == [.exists] && prop.name == "")
        #expect(try await theatre.store.find(PropRow<Int>.self, 5)?.name == "")
    }

    @Test(arguments: [false, true]) func `are updated where that is asked for`(isStored: Bool) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let number = isStored ? 1 : 7
        let stage = Stage(id: number)
        stage.name = "new"
        try session.add(stage, ifStored: .update)
        try await session.save()
        #expect(try await theatre.row(number).name == "new")
        // What it has not seen of the links is kept.
        #expect(try await theatre.props(number) == (isStored ? [0, 1] : []))
        #expect(try await theatre.dancers(number) == (isStored ? [0, 1] : []))
        #expect(session.state(of: stage) == .clean)
        #expect(try await session.save().isEmpty)
    }

    @Test func `an upsert keeps lazy values that were not read and columns that are not mapped`() async throws {
        let store = try await GraphStore.open(.inMemory, PosterRow.self)
        try await store.write { try await $0.insert(PosterRow(id: 1, title: "base", text: Lazy("long"), secret: 3)) }
        let first = GraphSession(store, PosterRow.mapping)
        let poster = try #require(try await first.find(PosterRow.self, 1))
        try first.evict(poster)
        for session in [first, GraphSession(store, PosterRow.mapping)] {
            poster.title += "!"
            try session.add(poster, ifStored: .update)
            try await session.save()
            let row = try #require(try await store.find(PosterRow.self, 1))
            #expect(row.title == poster.title && row.secret == 3)
            #expect(try await store.lazyValues(PosterRow.self, \.text, ids: [1]) == [1: "long"])
            try session.evict(poster)
        }
    }

    /// The update of a row that another writer has changed since it was looked up is the app's, asked for.
    @Test func `an upsert of a deleted object's key is an insertion`() async throws {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        try side.session.delete(side.stage)
        let new = Stage(id: 1)
        new.name = "new"
        try side.session.add(new, ifStored: .update)
        try await side.session.save()
        #expect(try await theatre.row(1).name == "new")
        #expect(try await theatre.props().isEmpty)
        #expect(try await theatre.dancers().isEmpty)
    }
}
