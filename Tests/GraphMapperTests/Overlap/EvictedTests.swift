import GraphMapper
import GraphMapperStore
import Testing

/// How a session comes to forget models.
private enum Forgetting: CaseIterable, Sendable { case evict, release, deletion }

/// What a session remembers of an object is not what it remembers of another that is made where that one was.
@Suite @MainActor struct `Objects at the addresses of others` {
    private static let count = 60

    /// A stage with as many dancers as are made and forgotten, and as many that belong to nobody.
    private func opened() async throws -> (Theatre<Int>, GraphSession, Stage<Int>) {
        let theatre = try await Theatre<Int>()
        try await theatre.store.write { tx in
            for number in 0..<Self.count {
                try await tx.insert(DancerRow(id: 100 + number, stage: Ref(3)))
                try await tx.insert(DancerRow<Int>(id: 200 + number))
            }
        }
        let session = theatre.session()
        return (theatre, session, try #require(try await session.find(StageRow<Int>.self, 3)))
    }

    private func forget(_ how: Forgetting, _ session: GraphSession, _ stage: Stage<Int>) async throws {
        switch how {
        case .evict:
            for dancer in stage.dancers { try session.evict(dancer) }
            stage.dancers = []
        case .release:
            // They are given away, and then nobody holds them.
            for dancer in stage.dancers { dancer.stage = nil }
            stage.dancers = []
            try await session.save()
            try session.releaseUnused()
        case .deletion:
            for dancer in stage.dancers { try session.delete(dancer) }
            try await session.save()
        }
    }

    @Test(arguments: Forgetting.allCases, [false, true])
    private func `a loaded child is moved to the owner of the one before`(how: Forgetting, isBothSides: Bool)
        async throws
    {
        let (theatre, session, stage) = try await opened()
        try await forget(how, session, stage)
        let before = how == .evict ? Set(100..<100 + Self.count) : []
        var others: [Dancer<Int>] = []
        for number in 0..<Self.count {
            others.append(try #require(try await session.find(DancerRow<Int>.self, 200 + number)))
        }
        for dancer in others {
            if isBothSides { dancer.stage = stage }
            stage.dancers.append(dancer)
        }
        try await session.save()
        #expect(try await Set(theatre.dancers(3)).isSuperset(of: 200..<200 + Self.count))
        #expect(try await Set(theatre.dancers(3)).subtracting(200..<200 + Self.count).isSubset(of: before))
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: Forgetting.allCases) private func `a new child belongs to the owner of the one before`(
        how: Forgetting
    ) async throws {
        let (theatre, session, stage) = try await opened()
        try await forget(how, session, stage)
        var others: [Dancer<Int>] = []
        for number in 0..<Self.count {
            let dancer = Dancer(id: 300 + number)
            others.append(dancer)
            try session.add(dancer)
        }
        try await session.save()
        for dancer in others { stage.dancers.append(dancer) }
        try await session.save()
        #expect(try await Set(theatre.dancers(3)).isSuperset(of: 300..<300 + Self.count))
        #expect(try await session.save().isEmpty)
    }

    @Test func `owners, too`() async throws {
        let theatre = try await Theatre<Int>()
        try await theatre.store.write { tx in
            for number in 0..<Self.count {
                try await tx.insert(StageRow<Int>(id: 100 + number))
                try await tx.insert(DancerRow(id: 100 + number, stage: Ref(100 + number)))
                try await tx.insert(StageRow<Int>(id: 200 + number))
            }
        }
        let session = theatre.session()
        var dancers: [Dancer<Int>] = []
        for number in 0..<Self.count {
            dancers.append(try #require(try await session.find(DancerRow<Int>.self, 100 + number)))
        }
        for dancer in dancers {
            try dancer.stage.map(session.evict)
            dancer.stage = nil
        }
        var owners: [Stage<Int>] = []
        for number in 0..<Self.count {
            owners.append(try #require(try await session.find(StageRow<Int>.self, 200 + number)))
        }
        for (owner, dancer) in zip(owners, dancers) {
            dancer.stage = owner
            owner.dancers = [dancer]
        }
        try await session.save()
        let rows = try await theatre.store.fetch(Query(DancerRow<Int>.self).where { $0.id >= 100 })
        #expect(rows.allSatisfy { $0.stage?.id == $0.id + 100 })
        #expect(try await session.save().isEmpty)
    }
}

/// A value that was not read is not NULL, whoever has the model.
@Suite @MainActor struct `Lazy values of models that are added again` {
    private func opened() async throws -> (GraphStore, GraphSession, Poster) {
        let store = try await GraphStore.open(.inMemory, PosterRow.self)
        try await store.write { try await $0.insert(PosterRow(id: 1, title: "base", text: Lazy("long"), secret: 3)) }
        let session = GraphSession(store, PosterRow.mapping)
        return (store, session, try #require(try await session.find(PosterRow.self, 1)))
    }
    private func text(_ store: GraphStore) async throws -> String? {
        try await store.lazyValues(PosterRow.self, \.text, ids: [1])[1] ?? nil
    }

    @Test(arguments: [false, true], [false, true])
    func `an unread one is kept when the model is evicted and added again`(isOther: Bool, isEdited: Bool) async throws {
        let (store, session, poster) = try await opened()
        try session.evict(poster)
        let second = isOther ? GraphSession(store, PosterRow.mapping) : session
        if isEdited { poster.title = "mine" }
        try second.add(poster)
        try await second.save(onConflict: .mine)
        let row = try #require(try await store.find(PosterRow.self, 1))
        #expect(row.title == (isEdited ? "mine" : "base"))
        #expect(try await text(store) == "long")
        #expect(row.secret == 3)
        #expect(try await second.save().isEmpty)
        try await second.load(poster, \PosterRow.text)
        #expect(poster.text == "long")
    }

    @Test(arguments: [false, true]) func `one that was set is written`(isOther: Bool) async throws {
        let (store, session, poster) = try await opened()
        try session.evict(poster)
        let second = isOther ? GraphSession(store, PosterRow.mapping) : session
        poster.text = "mine"
        try second.add(poster)
        try await second.save(onConflict: .mine)
        #expect(try await text(store) == "mine")
    }

    @Test func `an unread one is kept by a savepoint, a rollback and a deletion that is taken back`() async throws {
        let (store, session, poster) = try await opened()
        await #expect(throws: Undone.self) {
            try await session.savepoint {
                try session.delete(poster)
                try await session.save()
                throw Undone()
            }
        }
        try session.delete(poster)
        try session.add(poster)
        poster.title = "mine"
        try await session.save()
        #expect(try await text(store) == "long")
        poster.title = "other"
        try session.rollback()
        try await session.save()
        #expect(try await text(store) == "long")
    }

    @Test func `an unread one is kept by a deletion that is taken back while it is saved`() async throws {
        let store = try await GraphStore.open(.inMemory, PosterRow.self)
        try await store.write { try await $0.insert(PosterRow(id: 1, title: "base", text: Lazy("long"))) }
        let waiting = WaitingStore(store)
        let session = GraphSession(waiting, [PosterRow.mapping])
        let poster = try #require(try await session.find(PosterRow.self, 1))
        poster.title = "mine"
        try await waiting.whileWaiting(.writer) {
            try await session.save()
        } edits: {
            try session.delete(poster)
            try session.add(poster)
        }
        try await session.save()
        #expect(try await store.find(PosterRow.self, 1)?.title == "mine")
        #expect(try await text(store) == "long")
    }
}
