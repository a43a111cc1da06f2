import GraphMapperStore
import Testing

@testable import GraphMapper

/// How a new object becomes known to the session.
private enum Introduction: CaseIterable, Sendable {
    case added, addedForUpdate
    /// By a link of a stored owner.
    case inList, inSet, asOne, byItsKey, asOneByItsKey
    /// By a link of an owner that is new itself.
    case throughAdded

    var isAdded: Bool { self == .added || self == .addedForUpdate }
}

/// What leads to the object of an id.
private enum Way: CaseIterable, Sendable {
    case find, findInTransaction
    case map, mapObject, mapNested, mergeRecord, mergePayload, mergeNested
    /// These meet a row of the id, which another writer has stored by now.
    case findStored, first, models, modelsInTransaction, loadFromTransaction, follow
    case linkOfALoad, linkOfALoadInTransaction, loadOfALink, refresh

    static let ofStored: [Way] = [
        .findStored, .first, .models, .modelsInTransaction, .loadFromTransaction, .follow, .linkOfALoad,
        .linkOfALoadInTransaction, .loadOfALink, .refresh,
    ]

    /// Whether it needs the row of an object that is linked by somebody else.
    var isLink: Bool {
        switch self {
        case .linkOfALoad, .linkOfALoadInTransaction, .loadOfALink, .refresh, .mapNested, .mergeNested: true
        default: false
        }
    }
}

private struct Stop: Error {}

@Suite struct `A new object is the one of its id` {
    /// A festival, a session, and choir 1 as the session has it; choir 2 is loaded without its links.
    private struct Scene<K: ChoirKey> {
        let festival: Festival<K>
        let session: GraphSession
        let choir: Choir<K>
        let other: Choir<K>

        init(_ retention: Retention) async throws {
            festival = try await Festival<K>()
            session = festival.session(retention)
            choir = try await festival.choir(1, in: session)
            other = try await festival.choir(2, in: session, loading: .none)
        }
    }

    private func run<K: ChoirKey>(_: K.Type, _ introduction: Introduction, _ way: Way, _ retention: Retention)
        async throws
    {
        let scene = try await Scene<K>(retention)
        let (session, choir) = (scene.session, scene.choir)
        let id = K(ofChoir: 9)
        switch introduction {
        case .byItsKey:
            let singer = Singer(id: id)
            singer.choir = choir
            choir.singers.append(singer)
            try await check(scene, SingerRow<K>.self, singer, way, isNamed: false)
            #expect(choir.singers.last === singer && choir.singers.count == 3)
        case .asOneByItsKey:
            let hall = Hall(id: id)
            choir.hall?.choir = nil
            choir.hall = hall
            hall.choir = choir
            try await check(scene, HallRow<K>.self, hall, way, isNamed: false)
            #expect(choir.hall === hall)
        case .added, .addedForUpdate:
            let song = Song(id: id)
            try session.add(song, ifStored: introduction == .added ? .fail : .update)
            try await check(scene, SongRow<K>.self, song, way)
        case .inList:
            let song = Song(id: id)
            choir.songs.append(song)
            try await check(scene, SongRow<K>.self, song, way)
            #expect(choir.songs.last === song && choir.songs.count == 3)
        case .inSet:
            let song = Song(id: id)
            choir.encores.insert(song)
            try await check(scene, SongRow<K>.self, song, way)
            #expect(choir.encores.contains(song) && choir.encores.count == 2)
        case .asOne:
            let song = Song(id: id)
            choir.opener = song
            try await check(scene, SongRow<K>.self, song, way)
            #expect(choir.opener === song)
        case .throughAdded:
            let (song, new) = (Song(id: id), Choir(id: K(ofChoir: 5)))
            new.songs = [song]
            try session.add(new)
            try await check(scene, SongRow<K>.self, song, way)
            #expect(new.songs.count == 1 && new.songs[0] === song)
        }
    }

    /// Goes the way to the object's id, and saves.
    private func check<K: ChoirKey, R: ChoirRecord>(
        _ scene: Scene<K>, _ type: R.Type, _ model: R.Model, _ way: Way, isNamed: Bool = true
    ) async throws where R.ID == K {
        let (store, session, id) = (scene.festival.store, scene.session, K(ofChoir: 9))
        let query = R.query(id)
        if Way.ofStored.contains(way) {
            try await store.write { tx in
                try await tx.insert(R.record(id))
                if R.self == SongRow<K>.self, way.isLink {
                    try await tx.upsert(
                        ChoirRow<K>(
                            id: K(ofChoir: 2), songs: [Ref(id)], encores: [Ref(id)], opener: Ref(id)))
                }
            }
        }
        var found: AnyObject?
        switch way {
        case .find, .findStored: found = try await session.find(R.self, id)
        case .findInTransaction: found = try await store.read { try session.find(R.self, id, from: $0) }
        case .map: found = try session.map([R.payload(id)])[0]
        case .mapObject: found = try session.map([R.object(id)])[0]
        case .mergeRecord: found = try await session.merge([R.record(id)])[0]
        case .mergePayload: found = try await session.merge([R.payload(id)])[0]
        case .first: found = try await session.first(query)
        case .models: found = try await session.models(query)[0]
        case .modelsInTransaction: found = try await store.read { try session.models(query, in: $0)[0] }
        case .loadFromTransaction:
            found = try await store.read { try session.load([R.record(id)], from: $0)[0] }
        case .follow:
            do {
                try await session.follow(query) { change in
                    found = change.models.first
                    throw Stop()
                }
            } catch is Stop {}
        case .mapNested, .mergeNested, .linkOfALoad, .linkOfALoadInTransaction, .loadOfALink, .refresh:
            // Links lead to songs.
            guard R.self == SongRow<K>.self else { return }
            let two = K(ofChoir: 2)
            switch way {
            case .mapNested, .mergeNested:
                let payload = ChoirPayload(
                    id: K(ofChoir: 6), songs: .value([SongPayload(id: id)]), opener: .value(SongPayload(id: id)))
                let choir =
                    way == .mapNested ? try session.map([payload])[0] : try await session.merge([payload])[0]
                #expect(choir.songs.count == 1 && choir.songs[0] === model && choir.opener === model)
                return try await saved(session, store, R.self)
            case .linkOfALoad:
                _ = try await session.load(ChoirRow<K>.self) { try await $0.fetch(ChoirRow<K>.self, ids: [two]) }
            case .linkOfALoadInTransaction:
                try await store.read { tx in
                    _ = try session.load([#require(try tx.fetchNow(ChoirRow<K>.self, ids: [two]).first)], from: tx)
                }
            case .refresh:
                _ = try await session.load(ChoirRow<K>.self) { try await $0.fetch(ChoirRow<K>.self, ids: [two]) }
                try await session.refresh(scene.other)
            default:
                let paths: [PartialKeyPath<Choir<K>>] = [\.songs, \.encores, \.opener]
                for path in paths { try await session.load(scene.other, path) }
            }
            #expect(scene.other.songs.count == 1 && scene.other.songs.first === model)
            #expect(scene.other.encores.count == 1 && scene.other.encores.first === model)
            found = scene.other.opener
        }
        #expect(found === model, "another instance, or none")
        try await saved(session, store, R.self)
    }

    /// The save writes the object once, whichever row was there.
    private func saved<R: ChoirRecord>(_ session: GraphSession, _ store: GraphStore, _: R.Type) async throws
    where R.ID: ChoirKey {
        _ = try session.changes()
        try await session.save(onConflict: .mine)
        #expect(try await store.find(R.self, R.ID(ofChoir: 9)) != nil)
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: Introduction.allCases, Way.allCases)
    private func `every way to its id leads to it`(introduction: Introduction, way: Way) async throws {
        // A row that another writer has stored under the id of an object that only links lead to becomes a second instance,
        // which the next save reports: to look through all links at each load would cost more than loads do.
        guard introduction.isAdded || !Way.ofStored.contains(way) else { return }
        try await run(Int.self, introduction, way, .strong)
    }

    @Test(arguments: Introduction.allCases, Way.allCases)
    private func `so it is with weak retention and keys of two columns`(introduction: Introduction, way: Way)
        async throws
    {
        guard introduction.isAdded || !Way.ofStored.contains(way) else { return }
        try await run(ChoirPair.self, introduction, way, .weak)
    }

    @Test(arguments: [false, true])
    func `what the app has put into it is kept by an echo that says nothing else`(isMerge: Bool) async throws {
        let scene = try await Scene<Int>(.strong)
        let song = Song(id: 9)
        song.name = "mine"
        scene.choir.songs.append(song)
        let echo = ChoirPayload(id: 1, songs: .value([1, 2, 9].map { SongPayload(id: $0) }))
        if isMerge { try await scene.session.merge([echo]) } else { try scene.session.map([echo]) }
        #expect(scene.choir.songs.map(\.id) == [1, 2, 9] && scene.choir.songs.last === song)
        #expect(song.name == "mine")
        try await scene.session.save()
        #expect(try await scene.festival.store.find(SongRow<Int>.self, 9)?.name == "mine")
    }

    @Test(arguments: [false, true]) func `an echo that names it is no conflict`(isMerge: Bool) async throws {
        let scene = try await Scene<Int>(.strong)
        let song = Song(id: 9)
        song.name = "mine"
        try scene.session.add(song)
        let echo = SongPayload(id: 9, name: .value("mine"))
        if isMerge { try await scene.session.merge([echo]) } else { try scene.session.map([echo]) }
        #expect(song.name == "mine")
        try await scene.session.save()
        #expect(try await scene.festival.store.find(SongRow<Int>.self, 9)?.name == "mine")
        #expect(try await scene.session.save().isEmpty)
    }

    @Test(arguments: Retention.both) func `a second one of its id is refused when it is added`(retention: Retention)
        async throws
    {
        let scene = try await Scene<Int>(retention)
        let song = Song(id: 9)
        try scene.session.add(song)
        let error = #expect(throws: GraphError.self) { try scene.session.add(Song(id: 9)) }
        #expect(error?.kind == .conflict)
        let stored = #expect(throws: GraphError.self) { try scene.session.add(Song(id: 1)) }
        #expect(stored?.kind == .conflict)
        try await scene.session.save()
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === song)
    }

    @Test(arguments: Retention.both) func `one that is taken back is no longer there`(retention: Retention) async throws
    {
        let scene = try await Scene<Int>(retention)
        let (session, song) = (scene.session, Song(id: 9))
        try session.add(song)
        try session.delete(song)
        #expect(try await session.find(SongRow<Int>.self, 9) == nil)
        try session.add(song)
        try session.rollback()
        #expect(try await session.find(SongRow<Int>.self, 9) == nil)
        try session.add(song)
        try session.evict(song)
        #expect(try await session.find(SongRow<Int>.self, 9) == nil)
        // Another may have its id then.
        let other = Song(id: 9)
        try session.add(other)
        #expect(try await session.find(SongRow<Int>.self, 9) === other)
        #expect(try session.changes().changes.count == 1)
    }

    @Test func `one that no link leads to any more is no longer there`() async throws {
        let scene = try await Scene<Int>(.strong)
        scene.choir.songs.append(Song(id: 9))
        _ = try scene.session.changes()
        scene.choir.songs.removeLast()
        let other = Song(id: 9)
        try scene.session.add(other)
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === other)
        try await scene.session.save()
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === other)
    }

    @Test func `an added one that failed to be saved is still there`() async throws {
        let scene = try await Scene<Int>(.strong)
        let song = Song(id: 9)
        song.name = "mine"
        try scene.session.add(song)
        try await scene.festival.store.write { try await $0.insert(SongRow<Int>(id: 9, name: "theirs")) }
        let error = await #expect(throws: GraphError.self) { try await scene.session.save() }
        #expect(error?.kind == .conflict)
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === song)
        #expect(try await scene.session.first(SongRow<Int>.query(9)) === song)
        #expect(song.name == "mine")
    }

    @Test func `an added one is found under its new key`() async throws {
        let scene = try await Scene<Int>(.strong)
        let choir = Choir<Int>(id: 9)
        choir.songs = [Song(id: 9)]
        try scene.session.add(choir)
        #expect(try await scene.session.find(ChoirRow<Int>.self, 9) === choir)
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === choir.songs[0])
        // It stays what it is when it is saved.
        try await scene.session.save()
        #expect(try await scene.session.find(ChoirRow<Int>.self, 9) === choir)
        #expect(try await scene.session.find(SongRow<Int>.self, 9) === choir.songs[0])
    }
}

extension Retention {
    fileprivate static let both: [Retention] = [.strong, .weak]
}
