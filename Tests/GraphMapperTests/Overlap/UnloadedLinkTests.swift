import GraphMapper
import GraphMapperStore
import Testing

/// Why a link of a stage is not loaded.
private enum Unloaded: CaseIterable, Sendable {
    case none, depth, only, query, behindAnother, payload, weak

    /// Stage 1 of a new session, with the link not loaded.
    @MainActor func stage<K: OverlapKey>(_ theatre: Theatre<K>) async throws -> (GraphSession, Stage<K>) {
        let key = K(number: 1)
        let session = theatre.session(self == .weak ? .weak : .strong)
        switch self {
        case .none, .weak:
            return (session, try #require(try await session.find(StageRow<K>.self, key, loading: .none)))
        case .depth: return (session, try #require(try await session.find(StageRow<K>.self, key, loading: .depth(0))))
        case .only: return (session, try #require(try await session.find(StageRow<K>.self, key, loading: .only([]))))
        case .query:
            let stages = try await session.models(Query(StageRow<K>.self), loading: .none)
            return (session, try #require(stages.first { $0.id == key }))
        case .behindAnother:
            // The stage comes by a back-reference, and its own links are further away than the load goes.
            let dancer = try #require(
                try await session.find(DancerRow<K>.self, K(number: 0), loading: .only([\Dancer<K>.stage])))
            return (session, try #require(dancer.stage))
        case .payload:
            let session = GraphSession(
                theatre.store,
                [
                    StagePayload<K>.mapping, StageRow<K>.mapping, PropRow<K>.mapping, DancerRow<K>.mapping,
                    SignRow<K>.mapping,
                ])
            return (session, try session.map([StagePayload(id: key, note: .value("payload"))])[0])
        }
    }
}

/// What a web API says of a stage: nothing of its links.
private struct StagePayload<K: OverlapKey>: DTO, Identifiable {
    typealias Model = Stage<K>
    let id: K
    var note: Tristate<String> = .unset
    static var schema: Schema<Self> {
        Schema("stage") { row in try Self(id: row("id", \.id), note: row("note", \.note)) }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Stage(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.note, \.note)
        }
    }
}

/// Links that something can be added to without taking the place of what is there, or whose other side decides.
private let addable: [StageLink] = [.props, .spares, .dancers, .sign]

@Suite @MainActor struct `Links that are not loaded` {
    private func refuses<K: OverlapKey>(
        _ link: StageLink, _ unloaded: Unloaded, only scope: SaveScope = .all, _: K.Type
    ) async throws {
        let theatre = try await Theatre<K>()
        let before = try await theatre.stored
        let (session, stage) = try await unloaded.stage(theatre)
        // A dancer that leads to the stage may be among its dancers.
        #expect(link.numbers(stage) == [] || link.numbers(stage) == [0] && unloaded == .behindAnother)
        #expect(try !session.isLoaded(stage, link.path(K.self)))
        link.put(9, into: stage)
        if scope == .edited { try session.edit(stage) }
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { try await session.save(only: scope) }
            #expect(error?.kind == .misuse && error?.type == "stage", "\(error as Any)")
            #expect(error?.message.contains("load") == true, "\(error as Any)")
            #expect(try await theatre.stored == before)
        }
        // Once it is loaded, what is stored comes first, then what the app has put there.
        try await session.load(stage, link.path(K.self))
        let stored: [Int] = link == .props || link == .dancers ? [0, 1] : [0]
        if link == .sign {
            #expect(link.numbers(stage) == [9])
        } else {
            #expect(link.numbers(stage) == stored + [9])
        }
        try await session.save(only: scope)
        #expect(try await link.stored(theatre) == (link == .sign ? [9] : stored + [9]))
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: addable, Unloaded.allCases)
    private func `adding to one is refused until it is loaded`(link: StageLink, unloaded: Unloaded) async throws {
        try await refuses(link, unloaded, Int.self)
    }

    @Test(arguments: addable, [Unloaded.none, .payload])
    private func `the same for keys of two columns`(link: StageLink, unloaded: Unloaded) async throws {
        try await refuses(link, unloaded, OverlapPair.self)
    }

    @Test(arguments: addable, [Unloaded.none, .weak])
    private func `the same for a save of what is edited`(link: StageLink, unloaded: Unloaded) async throws {
        try await refuses(link, unloaded, only: .edited, Int.self)
    }

    @Test(arguments: addable) func `a plan is refused, too`(link: StageLink) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        link.put(9, into: stage)
        let error = #expect(throws: GraphError.self) { try session.changes() }
        #expect(error?.kind == .misuse)
        await #expect(throws: GraphError.self) { try await session.plan() }
    }

    /// That nothing is stored in it is not known, either.
    @Test(arguments: addable) func `nor is anything added to an empty one`(link: StageLink) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 3, loading: .none))
        link.put(9, into: stage)
        await #expect(throws: GraphError.self) { try await session.save() }
        try await session.load(stage, link.path(Int.self))
        #expect(link.numbers(stage) == [9])
        try await session.save()
        #expect(try await link.stored(theatre, 3) == [9])
    }

    /// What another writer has put there is not known to the session, which therefore does not know the link any more.
    @Test func `adding to one that has become unknown is refused`() async throws {
        let theatre = try await Theatre<Int>()
        let (one, two) = (try await theatre.side(), try await theatre.side())
        two.stage.props.append(two.props[3])
        try await two.session.save()
        _ = try await one.session.models(Query(StageRow<Int>.self), loading: .none)
        one.stage.props.append(one.props[2])
        await #expect(throws: GraphError.self) { try await one.session.save() }
        #expect(try await theatre.props() == [0, 1, 3])
        try await one.session.load(one.stage, \.props)
        #expect(Set(one.stage.props.map(\.id)) == [0, 1, 2, 3])
        try await one.session.save()
        #expect(try await Set(theatre.props()) == [0, 1, 2, 3])
    }

    @Test(arguments: StageLink.allCases) func `a new object's links are known`(link: StageLink) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = Stage(id: 7)
        link.put(9, into: stage)
        try session.add(stage)
        try await session.save()
        #expect(try await link.stored(theatre, 7) == [9])
    }

    @Test(arguments: StageLink.allCases) func `one that is cleared on purpose takes what is added`(link: StageLink)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        if StageLink.byOthersKey.contains(link) {
            // Whom it would let go of is not known.
            let error = #expect(throws: GraphError.self) { try session.clear(stage, link.path(Int.self)) }
            #expect(error?.kind == .misuse)
            try await session.load(stage, link.path(Int.self))
        }
        try session.clear(stage, link.path(Int.self))
        link.put(9, into: stage)
        try await session.save()
        #expect(try await link.stored(theatre) == [9])
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: StageLink.allCases) func `one that is left alone is kept`(link: StageLink) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        stage.name = "mine"
        #expect(try await session.save().changes.count == 1)
        #expect(try await link.stored(theatre) == (link == .props || link == .dancers ? [0, 1] : [0]))
    }

    // MARK: Loading them later

    @Test(arguments: StageLink.many, [false, true])
    func `a later load brings what is stored, then what the app has put there`(link: StageLink, isStored: Bool)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        if isStored {
            // Objects that are stored themselves.
            let prop = try #require(try await session.find(PropRow<Int>.self, 5))
            let dancer = try #require(try await session.find(DancerRow<Int>.self, 5))
            switch link {
            case .props: stage.props = [prop]
            case .spares: stage.spares = [prop]
            default:
                dancer.stage = stage
                stage.dancers = [dancer]
            }
        } else {
            link.put(9, into: stage)
        }
        let mine = isStored ? 5 : 9
        try await session.load(stage, link.path(Int.self))
        #expect(try session.isLoaded(stage, link.path(Int.self)))
        let expected = link == .spares ? [0, mine] : [0, 1, mine]
        #expect(link.numbers(stage) == expected)
        try await session.save()
        #expect(try await link.stored(theatre) == expected)
        #expect(try await session.save().isEmpty)
        #expect(link.numbers(stage) == expected)
    }

    @Test(arguments: [StageLink.lead, .sign], [1, 9])
    func `a later load of a link to one keeps what the app has put there`(link: StageLink, number: Int) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        if number == 9 {
            link.put(9, into: stage)
        } else if link == .lead {
            stage.lead = try await session.find(PropRow<Int>.self, 1)
        } else {
            stage.sign = try await session.find(SignRow<Int>.self, 1)
            stage.sign?.stage = stage
        }
        try await session.load(stage, link.path(Int.self))
        #expect(link.numbers(stage) == [number])
        try await session.save()
        // The old one is let go of, and there are not two.
        #expect(try await link.stored(theatre) == [number])
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: StageLink.allCases) func `what a later load brings is no edit`(link: StageLink) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let stage = try #require(try await session.find(StageRow<Int>.self, 1, loading: .none))
        try await session.load(stage, link.path(Int.self))
        #expect(link.numbers(stage) == (link == .props || link == .dancers ? [0, 1] : [0]))
        #expect(try session.changes().isEmpty)
        // Loaded once more, it is the same.
        try await session.load(stage, link.path(Int.self))
        #expect(link.numbers(stage) == (link == .props || link == .dancers ? [0, 1] : [0]))
    }

    @Test(arguments: StageLink.many) func `a later load of one that was loaded keeps the app's edit`(link: StageLink)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        link.put(9, into: side.stage)
        try await side.session.load(side.stage, link.path(Int.self))
        #expect(link.numbers(side.stage).last == 9)
        try await side.session.save()
        #expect(try await link.stored(theatre) == (link == .spares ? [0, 9] : [0, 1, 9]))
    }

    // MARK: Stages over stored rows

    /// A row that turns out to be there has links that the app has never seen.
    @Test(arguments: addable) func `adding to one of a new object over a stored row loses nothing`(link: StageLink)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let before = try await theatre.stored
        let session = theatre.session()
        let stage = Stage(id: 1)
        (stage.name, stage.note) = ("base", "base")
        try session.add(stage)
        link.put(9, into: stage)
        await #expect(throws: GraphError.self) { try await session.save() }
        #expect(try await theatre.stored == before)
    }
}
