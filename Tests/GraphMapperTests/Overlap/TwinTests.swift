import GraphMapperStore
import Testing

@testable import GraphMapper

/// A link of the model that is given another instance of an id which the session has.
private enum TwinLink: CaseIterable, Sendable {
    case list, set, one, byItsKey, asOneByItsKey
    /// Back-references.
    case back, backOfOne, backOfNew, backOfAdded

    static let backs: [TwinLink] = [.back, .backOfOne, .backOfNew, .backOfAdded]

    /// Gives choir 1 or one of its own a twin.
    func setTwin<K: ChoirKey>(_ choir: Choir<K>, in session: GraphSession) throws {
        let one = K(ofChoir: 1)
        switch self {
        case .list: choir.songs[0] = Song(id: one)
        case .set: choir.encores = [Song(id: one)]
        case .one: choir.opener = Song(id: one)
        case .byItsKey: choir.singers[0] = Singer(id: one)
        case .asOneByItsKey: choir.hall = Hall(id: one)
        case .back: choir.singers[0].choir = Self.twin(of: choir)
        case .backOfOne: choir.hall?.choir = Self.twin(of: choir)
        case .backOfNew:
            let singer = Singer(id: K(ofChoir: 9))
            singer.choir = Self.twin(of: choir)
            choir.singers.append(singer)
        case .backOfAdded:
            let singer = Singer(id: K(ofChoir: 9))
            singer.choir = Self.twin(of: choir)
            try session.add(singer)
        }
    }

    /// Back-references are weak: somebody keeps what they lead to.
    private static func twin<K: ChoirKey>(of choir: Choir<K>) -> Choir<K> {
        let twin = Choir(id: choir.id)
        kept.withLock { $0.append(twin) }
        return twin
    }
    private static let kept = Locked<[AnyObject]>([])
}

/// How an owner is loaded once more.
private enum Again: CaseIterable, Sendable {
    case find, findInTransaction, first, models, load, map, mapObject, merge, mergePayload
}

@Suite struct `Two instances of one id` {
    private func conflicts<K: ChoirKey>(_: K.Type, _ link: TwinLink, _ retention: Retention) async throws {
        let festival = try await Festival<K>()
        let session = festival.session(retention)
        let choir = try await festival.choir(1, in: session)
        let models: [AnyObject] = choir.songs + choir.singers
        try link.setTwin(choir, in: session)
        let planned = #expect(throws: GraphError.self) { try session.changes() }
        #expect(planned?.kind == .conflict, "\(planned as Any)")
        let error = await #expect(throws: GraphError.self) { try await session.save(onConflict: .mine) }
        #expect(error?.kind == .conflict, "\(error as Any)")
        // Nothing is written.
        let rows = try await festival.store.fetch(Query(SingerRow<K>.self))
        #expect(rows.count == 2 && rows.allSatisfy { $0.choir?.id == K(ofChoir: 1) })
        #expect(models.count == 4)
    }

    @Test(arguments: TwinLink.allCases, [Retention.strong, .weak])
    private func `are a conflict, whatever link leads to the second`(link: TwinLink, retention: Retention) async throws
    {
        try await conflicts(Int.self, link, retention)
    }

    @Test(arguments: TwinLink.allCases)
    private func `are a conflict with keys of two columns`(link: TwinLink) async throws {
        try await conflicts(ChoirPair.self, link, .strong)
    }

    @Test(arguments: TwinLink.backs)
    private func `the first is the new one, the second is its back-reference's`(link: TwinLink) async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = Choir<Int>(id: 7)
        choir.hall = Hall(id: 7)
        choir.singers = [Singer(id: 7)]
        try session.add(choir)
        try link.setTwin(choir, in: session)
        let error = #expect(throws: GraphError.self) { try session.changes() }
        #expect(error?.kind == .conflict, "\(error as Any)")
    }

    @Test func `the conflict names the id, and is gone with the twin`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let twin = Choir<Int>(id: 1)
        choir.singers[0].choir = twin
        let error = #expect(throws: GraphError.self) { try session.changes() }
        #expect("\(error as Any)".contains("choir(1)"), "\(error as Any)")
        choir.singers[0].choir = choir
        #expect(try session.changes().isEmpty)
        #expect(twin.singers.isEmpty)
    }
}

@Suite struct `An owner that was evicted and is loaded again` {
    private func load<K: ChoirKey>(_ way: Again, _ festival: Festival<K>, _ session: GraphSession) async throws
        -> Choir<K>
    {
        let one = K(ofChoir: 1)
        let query = Query(ChoirRow<K>.self).where { $0.id == one }
        switch way {
        case .find: return try await festival.choir(1, in: session)
        case .findInTransaction:
            return try #require(
                try await festival.store.read { try session.find(ChoirRow<K>.self, one, from: $0) })
        case .first: return try #require(try await session.first(query))
        case .models: return try await session.models(query)[0]
        case .load:
            return try await session.load(ChoirRow<K>.self) { try await $0.fetch(ChoirRow<K>.self, ids: [one]) }[0]
        case .map: return try session.map([ChoirPayload(id: one)])[0]
        case .mapObject:
            let object = ChoirObject<K>()
            object.id = one
            object.songs = [1, 2].map { SongRow.object(K(ofChoir: $0)) }
            return try session.map([object])[0]
        case .merge:
            return try await session.merge([
                ChoirRow(
                    id: one, songs: [1, 2].map { Ref(K(ofChoir: $0)) }, encores: [Ref(one)], opener: Ref(one))
            ])[0]
        case .mergePayload: return try await session.merge([ChoirPayload(id: one)])[0]
        }
    }

    private func run<K: ChoirKey>(_: K.Type, _ way: Again, _ retention: Retention) async throws {
        let festival = try await Festival<K>()
        let session = festival.session(retention)
        let old = try await festival.choir(1, in: session)
        let (singers, hall) = (old.singers, try #require(old.hall))
        try session.evict(old)
        let new = try await load(way, festival, session)
        #expect(new !== old)
        #expect(singers.count == 2 && singers.allSatisfy { $0.choir === new })
        #expect(hall.choir === new)
        // A payload that has not been compared with the row is written.
        if way != .map, way != .mapObject { #expect(try session.changes().isEmpty) }
        // An edit is one of the new one's.
        new.singers.removeAll { $0 === singers[0] }
        if let singer = new.singers.first { #expect(singer === singers[1]) }
        singers[0].choir = nil
        singers[1].name = "edited"
        try await session.save()
        let rows = try await festival.store.fetch(Query(SingerRow<K>.self))
        #expect(rows.first { $0.id == K(ofChoir: 1) }?.choir == nil)
        #expect(rows.first { $0.id == K(ofChoir: 2) }?.choir?.id == K(ofChoir: 1))
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: Again.allCases, [Retention.strong, .weak])
    private func `is what its children's back-references lead to`(way: Again, retention: Retention) async throws {
        try await run(Int.self, way, retention)
    }

    @Test(arguments: Again.allCases)
    private func `so it is with keys of two columns`(way: Again) async throws {
        try await run(ChoirPair.self, way, .strong)
    }

    @Test func `keeps away from the children that the app has moved meanwhile`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let old = try await festival.choir(1, in: session)
        let other = try await festival.choir(2, in: session)
        let singer = old.singers[0]
        try session.evict(old)
        singer.choir = other
        other.singers.append(singer)
        let new = try await festival.choir(1, in: session)
        #expect(singer.choir === other)
        #expect(new.singers.map(\.id) == [2])
        try await session.save()
        let rows = try await festival.store.fetch(Query(SingerRow<Int>.self).sorted(by: \.id))
        #expect(rows.map { $0.choir?.id } == [2, 1])
    }
}
