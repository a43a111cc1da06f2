import Foundation
import GraphMapperStore
import Testing

@testable import GraphMapper

/// A key whose order is another than that of insertion.
private protocol TrackKey: Storable, Hashable, Sendable {
    static func key(_ number: Int) -> Self
    static var albums: Schema<AlbumRow<Self>> { get }
    static var tracks: Schema<TrackRow<Self>> { get }
    static var payloads: Schema<TrackPayload<Self>> { get }
}
private struct Disc: EmbeddedValue, Hashable {
    var disc: Int
    var number: Int
    static let schema = Schema<Self> { row in try Self(disc: row("disc", \.disc), number: row("number", \.number)) }
}
extension Int: TrackKey {
    fileprivate static func key(_ number: Int) -> Int { number }
    fileprivate static let albums = AlbumRow<Int>.made()
    fileprivate static let tracks = TrackRow<Int>.made()
    fileprivate static let payloads = TrackPayload<Int>.made()
}
extension String: TrackKey {
    fileprivate static func key(_ number: Int) -> String { "track \(number)" }
    fileprivate static let albums = AlbumRow<String>.made()
    fileprivate static let tracks = TrackRow<String>.made()
    fileprivate static let payloads = TrackPayload<String>.made()
}
extension Disc: TrackKey {
    fileprivate static func key(_ number: Int) -> Disc { Disc(disc: number / 3, number: number % 3) }
    fileprivate static let albums = AlbumRow<Disc>.made()
    fileprivate static let tracks = TrackRow<Disc>.made()
    fileprivate static let payloads = TrackPayload<Disc>.made()
}

private final class Album<K: TrackKey> {
    let id: Int
    var name = ""
    var tracks: [Track<K>] = []
    init(id: Int) { self.id = id }
}
private final class Track<K: TrackKey> {
    let id: K
    var name = ""
    weak var album: Album<K>?
    init(id: K) { self.id = id }
}
private struct AlbumRow<K: TrackKey>: StoredRecord {
    typealias Model = Album<K>
    let id: Int
    var name = ""
    static var schema: Schema<Self> { K.albums }
    static func made() -> Schema<Self> {
        Schema("album") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Album(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Many(TrackRow<K>.self, by: \.album, \.tracks)
        }
    }
}
private struct TrackRow<K: TrackKey>: StoredRecord {
    typealias Model = Track<K>
    let id: K
    var name = ""
    var album: Ref<AlbumRow<K>>?
    static var schema: Schema<Self> { K.tracks }
    static func made() -> Schema<Self> {
        Schema("track") { row in
            try Self(id: row("id", \.id), name: row("name", \.name), album: row("album", \.album))
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Track(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Back(\.album, \.album)
        }
    }
}
private struct TrackPayload<K: TrackKey>: DTO, Identifiable {
    typealias Model = Track<K>
    let id: K
    var name: Tristate<String> = .unset
    static var schema: Schema<Self> { K.payloads }
    static func made() -> Schema<Self> {
        Schema("track") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Track(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}

private enum KeyType: CaseIterable, Sendable { case number, text, compound }
/// What brings an album's tracks, or reads them once more.
private enum Reading: CaseIterable, Sendable {
    case find, models, tracksFirst, inTransaction, link, refresh, refreshOne, discarding, merge, mergePayload, release
}
/// What another session has done to the tracks.
private enum Writing: CaseIterable, Sendable { case nothing, rename, insert, move, renameAndInsert }

@Suite struct `Children by their foreign key are in the order of their keys` {
    private func opened<K: TrackKey>(_: K.Type) async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, AlbumRow<K>.self, TrackRow<K>.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: [AlbumRow<K>(id: 1), AlbumRow<K>(id: 2)])
            // 5 belongs to the other album.
            for number in [4, 2, 6, 1, 5, 3] {
                try await tx.insert(TrackRow<K>(id: K.key(number), album: Ref(number == 5 ? 2 : 1)))
            }
        }
        return store
    }

    private func session<K: TrackKey>(_: K.Type, _ store: GraphStore, _ retention: Retention = .strong) -> GraphSession
    {
        GraphSession(store, AlbumRow<K>.mapping, TrackRow<K>.mapping, TrackPayload<K>.mapping, retention: retention)
    }

    /// Whatever was loaded before, in whichever order, the list is in the order of keys afterwards.
    private func run<K: TrackKey>(_: K.Type, _ reading: Reading, _ writing: Writing) async throws {
        let store = try await opened(K.self)
        let session = session(K.self, store, reading == .release ? .weak : .strong)
        let isFresh = [.find, .models, .tracksFirst, .inTransaction, .link].contains(reading)
        let query = Query(AlbumRow<K>.self).where { $0.id == 1 }
        var known: Album<K>?
        if !isFresh {
            known = try await session.first(query)
            #expect(known?.tracks.map(\.id) == [1, 2, 3, 4, 6].map(K.key))
        }
        try await store.write { tx in
            switch writing {
            case .nothing: break
            case .rename: _ = try await tx.apply(Patch(TrackRow<K>.self, K.key(4)).set(\.name, "renamed"))
            case .insert: try await tx.insert(TrackRow<K>(id: K.key(0), album: Ref(1)))
            case .move: _ = try await tx.apply(Patch(TrackRow<K>.self, K.key(5)).set(\.album, Ref(1)))
            case .renameAndInsert:
                try await tx.insert(TrackRow<K>(id: K.key(0), album: Ref(1)))
                for number in [6, 3] {
                    _ = try await tx.apply(Patch(TrackRow<K>.self, K.key(number)).set(\.name, "renamed"))
                }
            }
        }
        let album: Album<K>
        switch reading {
        case .find: album = try #require(try await session.find(AlbumRow<K>.self, 1))
        case .models: album = try await session.models(query)[0]
        case .tracksFirst:
            _ = try await session.models(Query(TrackRow<K>.self).sorted(by: \.name, descending: true), loading: .none)
            album = try await session.models(query)[0]
        case .inTransaction: album = try await store.read { try session.models(query, in: $0)[0] }
        case .link:
            album = try #require(try await session.first(query, loading: .none))
            try await session.load(album, \.tracks)
        case .refresh, .refreshOne, .discarding, .merge, .mergePayload, .release:
            album = try #require(known)
            switch reading {
            case .refresh: try await session.refresh()
            case .refreshOne:
                try await session.refresh(album)
            case .discarding: try await session.refresh(.discardingChanges)
            case .merge: try await session.merge([AlbumRow<K>(id: 1)])
            case .mergePayload:
                try await session.merge([TrackPayload<K>(id: K.key(6), name: .value("theirs"))], onConflict: .theirs)
                try await session.refresh()
            default:
                try session.releaseUnused()
                _ = try await session.models(query)
            }
        }
        let expected: [Int] =
            switch writing {
            case .nothing, .rename: [1, 2, 3, 4, 6]
            case .insert, .renameAndInsert: [0, 1, 2, 3, 4, 6]
            case .move: [1, 2, 3, 4, 5, 6]
            }
        #expect(album.tracks.map(\.id) == expected.map(K.key))
        if reading != .mergePayload { #expect(try session.changes().isEmpty) }
    }

    @Test(arguments: Reading.allCases, Writing.allCases)
    private func `whatever reads them, and whatever another has written`(reading: Reading, writing: Writing)
        async throws
    {
        for key in KeyType.allCases {
            switch key {
            case .number: try await run(Int.self, reading, writing)
            case .text: try await run(String.self, reading, writing)
            case .compound: try await run(Disc.self, reading, writing)
            }
        }
    }

    private struct Stop: Error {}

    @Test @MainActor func `a list that is followed keeps the order`() async throws {
        let store = try await opened(Int.self)
        let session = session(Int.self, store)
        var isFirst = true
        do {
            try await session.follow(Query(AlbumRow<Int>.self).where { $0.id == 1 }) { change in
                let album = change.models[0]
                if isFirst {
                    isFirst = false
                    #expect(album.tracks.map(\.id) == [1, 2, 3, 4, 6])
                    try await store.write { tx in
                        _ = try await tx.apply(Patch(TrackRow<Int>.self, 4).set(\.name, "renamed"))
                        try await tx.insert(TrackRow<Int>(id: 0, album: Ref(1)))
                        _ = try await tx.apply(Patch(AlbumRow<Int>.self, 1).set(\.name, "renamed"))
                    }
                } else {
                    #expect(album.tracks.map(\.id) == [0, 1, 2, 3, 4, 6])
                    throw Stop()
                }
            }
        } catch is Stop {}
    }

    @Test(arguments: [Retention.strong, .weak])
    func `what the app puts in stays where it put it until the next load`(retention: Retention) async throws {
        let store = try await opened(Int.self)
        let session = session(Int.self, store, retention)
        let album = try #require(try await session.find(AlbumRow<Int>.self, 1))
        let new = Track<Int>(id: 9)
        new.album = album
        album.tracks.insert(new, at: 0)
        #expect(try session.changes().changes.count == 1)
        try await session.save()
        #expect(album.tracks.map(\.id) == [9, 1, 2, 3, 4, 6])
        #expect(try await session.save().isEmpty)
        try await session.refresh()
        #expect(album.tracks.map(\.id) == [1, 2, 3, 4, 6, 9])
        #expect(try session.changes().isEmpty)
    }

    @Test func `a list that the app has put into another order is no edit`() async throws {
        let store = try await opened(Int.self)
        let session = session(Int.self, store)
        let album = try #require(try await session.find(AlbumRow<Int>.self, 1))
        album.tracks.reverse()
        #expect(try session.changes().isEmpty)
        try await session.refresh()
        #expect(album.tracks.map(\.id) == [1, 2, 3, 4, 6])
    }
}
