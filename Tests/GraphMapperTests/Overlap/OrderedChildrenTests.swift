import GraphMapperStore
import GraphMapperTesting
import Testing

@testable import GraphMapper

private final class Playlist {
    let id: Int
    var tracks: [PlaylistTrack] = []
    init(id: Int) { self.id = id }
}
private final class PlaylistTrack {
    let id: Int
    var title = ""
    var position = 0
    weak var playlist: Playlist?
    init(id: Int) { self.id = id }
}
private struct PlaylistRow: StoredRecord {
    typealias Model = Playlist
    let id: Int
    static let schema = Schema<Self>("playlist") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Playlist(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(TrackRow.self, by: \.playlist, \.tracks).ordered(by: \.position)
        }
    }
}
private struct TrackRow: StoredRecord, Equatable {
    typealias Model = PlaylistTrack
    let id: Int
    var title = ""
    var position: Int16?
    var playlist: Ref<PlaylistRow>?
    static let schema = Schema<Self>("track") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), position: row("position", \.position),
            playlist: row("playlist", \.playlist))
    }
    /// The model need not have the position.
    static var mapping: Mapping<Self> {
        Mapping {
            PlaylistTrack(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Unmapped(\.position, initial: nil)
            Back(\.playlist, \.playlist)
        }
    }
}

/// The same where the model has the position.
private struct NumberedListRow: StoredRecord {
    typealias Model = Playlist
    let id: Int
    static let schema = Schema<Self>("playlist") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Playlist(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(NumberedRow.self, by: \.playlist, \.tracks).ordered(by: \.position)
        }
    }
}
private struct NumberedRow: StoredRecord, Equatable {
    typealias Model = PlaylistTrack
    let id: Int
    var position = 0
    var playlist: Ref<NumberedListRow>?
    static let schema = Schema<Self>("track") { row in
        try Self(id: row("id", \.id), position: row("position", \.position), playlist: row("playlist", \.playlist))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            PlaylistTrack(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.position, \.position)
            Back(\.playlist, \.playlist)
        }
    }
}

@Suite struct `Children in the order of a column that saves write` {
    private func opened(_ positions: [Int16?]) async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, PlaylistRow.self, TrackRow.self)
        try await store.write { tx in
            try await tx.insert(PlaylistRow(id: 1))
            try await tx.insert(PlaylistRow(id: 2))
            for (index, position) in positions.enumerated() {
                try await tx.insert(TrackRow(id: index + 1, position: position, playlist: Ref(1)))
            }
        }
        return store
    }

    private func session(_ store: GraphStore) -> GraphSession {
        GraphSession(store, PlaylistRow.mapping, TrackRow.mapping)
    }

    private func stored(_ store: GraphStore, _ list: Int = 1) async throws -> [Int] {
        let rows = try await store.fetch(Query(TrackRow.self)).filter { $0.playlist?.id == list }
        return rows.sorted { ($0.position.map(Int.init) ?? .min, $0.id) < ($1.position.map(Int.init) ?? .min, $1.id) }
            .map(\.id)
    }

    private func loaded(_ store: GraphStore, _ list: Int = 1) async throws -> [Int] {
        try await session(store).find(PlaylistRow.self, list)?.tracks.map(\.id) ?? []
    }

    /// The positions that were written.
    private func written(_ changes: ChangeSet) -> [ChangeSet.Update] {
        changes.changes.compactMap {
            if case .update(let row) = $0, row.columns.contains("position") { row } else { nil }
        }
    }

    @Test func `a list that nobody has touched costs nothing, whatever its positions`() async throws {
        for positions: [Int16?] in [[], [nil, nil], [0, 0, 0], [5, 5, 9], [nil, 3, 3], [-4, -4, 32_767]] {
            let store = try await opened(positions)
            let session = session(store)
            let list = try #require(try await session.find(PlaylistRow.self, 1))
            #expect(list.tracks.map(\.id) == Array(1..<positions.count + 1))
            #expect(try session.changes().isEmpty)
            #expect(try await session.save().isEmpty)
        }
    }

    @Test func `moving one object writes its position alone`() async throws {
        let store = try await opened([10, 20, 30, 40])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.insert(list.tracks.remove(at: 3), at: 1)
        #expect(written(try session.changes()).count == 1)
        #expect(written(try await session.save()).map(\.key) == [[.integer(4)]])
        #expect(try await session.save().isEmpty)
        #expect(list.tracks.map(\.id) == [1, 4, 2, 3])
        #expect(try await stored(store) == [1, 4, 2, 3])
        #expect(try await loaded(store) == [1, 4, 2, 3])
    }

    @Test func `another edit of the object is written with it`() async throws {
        let store = try await opened([0, 1])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.reverse()
        list.tracks[0].title = "first"
        list.tracks[1].title = "last"
        #expect(try await session.save().changes.count == 2)
        let rows = try await store.fetch(Query(TrackRow.self))
        #expect(rows.sorted { $0.position ?? 0 < $1.position ?? 0 }.map(\.title) == ["first", "last"])
    }

    @Test func `a model that has the position takes it`() async throws {
        let store = try await GraphStore.open(.inMemory, NumberedListRow.self, NumberedRow.self)
        let session = GraphSession(store, NumberedListRow.mapping, NumberedRow.mapping)
        let list = Playlist(id: 1)
        list.tracks = (1...3).map { PlaylistTrack(id: $0) }
        try session.add(list)
        try await session.save()
        #expect(list.tracks.map(\.position) == [0, 1, 2])
        list.tracks.swapAt(0, 2)
        list.tracks.append(PlaylistTrack(id: 4))
        // The array decides.
        list.tracks[1].position = 77
        try await session.save()
        #expect(zip(list.tracks, list.tracks.dropFirst()).allSatisfy { $0.position < $1.position })
        #expect(try await session.save().isEmpty)
        let other = GraphSession(store, NumberedListRow.mapping, NumberedRow.mapping)
        let found = try #require(try await other.find(NumberedListRow.self, 1))
        #expect(found.tracks.map(\.id) == [3, 2, 1, 4])
        #expect(found.tracks.map(\.position) == list.tracks.map(\.position))
    }

    @Test func `a save of what is edited writes them too`() async throws {
        let store = try await opened([1, 2, 3])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.reverse()
        list.tracks.append(PlaylistTrack(id: 9))
        try session.edit(list)
        #expect(written(try await session.save(only: .edited)).count == 2)
        #expect(try await loaded(store) == [3, 2, 1, 9])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a load, a refresh and a merge keep the app's order, and its base`() async throws {
        let store = try await opened([1, 2, 3])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.reverse()
        _ = try await session.models(Query(PlaylistRow.self))
        #expect(list.tracks.map(\.id) == [3, 2, 1])
        try await session.refresh()
        #expect(list.tracks.map(\.id) == [3, 2, 1])
        try await session.merge([PlaylistRow(id: 1)])
        #expect(list.tracks.map(\.id) == [3, 2, 1])
        // What another writer adds comes in.
        try await store.write { try await $0.insert(TrackRow(id: 4, position: 9, playlist: Ref(1))) }
        try await session.refresh()
        #expect(list.tracks.map(\.id) == [3, 2, 1, 4])
        try await session.save()
        #expect(try await loaded(store) == [3, 2, 1, 4])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a roll-back restores the order`() async throws {
        let store = try await opened([3, 2, 1])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        #expect(list.tracks.map(\.id) == [3, 2, 1])
        list.tracks.sort { $0.id < $1.id }
        try session.rollback()
        #expect(list.tracks.map(\.id) == [3, 2, 1])
        #expect(try session.changes().isEmpty)
    }

    @Test func `what both have moved is a conflict`() async throws {
        let store = try await opened([1, 2, 3])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.insert(list.tracks.remove(at: 2), at: 0)
        try await store.write { _ = try await $0.apply(Patch(TrackRow.self, 3).set(\.position, 2)) }
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.conflicts.map(\.property) == ["position"])
        #expect(list.tracks.map(\.id) == [3, 1, 2])
        try await session.save(onConflict: .mine)
        #expect(try await loaded(store) == [3, 1, 2])
    }

    @Test func `an object that its back-reference moves lies where its row says`() async throws {
        let store = try await opened([10, 20])
        try await store.write { try await $0.insert(TrackRow(id: 9, position: 15, playlist: Ref(2))) }
        let session = session(store)
        let first = try #require(try await session.find(PlaylistRow.self, 1))
        let second = try #require(try await session.find(PlaylistRow.self, 2))
        second.tracks[0].playlist = first
        try await session.save()
        #expect(first.tracks.map(\.id) == [1, 9, 2])
        #expect(second.tracks.isEmpty)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a position that does not fit is said`() async throws {
        let store = try await opened([32_767])
        let session = session(store)
        let list = try #require(try await session.find(PlaylistRow.self, 1))
        list.tracks.append(PlaylistTrack(id: 2))
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.property == "position")
        #expect(error?.path == "track(2).position")
    }

    @Test func `a second order beside the positions is refused at start-up`() async throws {
        let store = try await opened([])
        let mapping = Mapping<PlaylistRow> {
            Playlist(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(TrackRow.self, by: \.playlist, \.tracks).sorted(by: \.title).ordered(by: \.position)
        }
        let error = #expect(throws: GraphError.self) {
            try GraphSession(store, mapping, TrackRow.mapping).validate()
        }
        #expect(error?.message.contains("positions order it alone") == true)
    }

    @Test func `law: what is stored is the array, by the fewest writes`() async throws {
        let move = Gen<Int>.int(in: 0...3).zip(.int(in: 0...9)).zip(.int(in: 0...9)).map { input in
            ListMove(kind: input.0.0, from: input.0.1, to: input.1)
        }
        let inputs = Gen.array(of: .int(in: -3...3), count: 0...6)
            .zip(.array(of: .array(of: move, count: 0...4), count: 1...4))
        try await check(inputs, count: times(100, soak: 5000)) { [self] positions, rounds in
            let store = try await opened(positions.map { Int16($0) })
            let session = session(store)
            let lists = [
                try #require(try await session.find(PlaylistRow.self, 1)),
                try #require(try await session.find(PlaylistRow.self, 2)),
            ]
            var nextID = 100
            for (number, moves) in rounds.enumerated() {
                let before = try await store.fetch(Query(TrackRow.self))
                for move in moves { move.apply(to: lists, &nextID) }
                let plan = try session.changes()
                let changes = try await number % 2 == 0 ? session.save() : saved(session, lists)
                try ensure(Set(plan.changes) == Set(changes.changes), "planned \(plan), saved \(changes)")
                for list in lists {
                    try ensure(try await stored(store, list.id) == list.tracks.map(\.id), "stored in another order")
                    try ensure(try await loaded(store, list.id) == list.tracks.map(\.id), "loaded in another order")
                }
                let rows = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.position.map(Int.init)) })
                let fewest = lists.reduce(0) {
                    $0 + fewestWrites($1.tracks.map { rows[$0.id] ?? nil }, $1.tracks.map(\.id))
                }
                try ensure(written(changes).count <= fewest, "\(written(changes).count) writes, not \(fewest)")
                try ensure(try session.changes().isEmpty, "not clean after the save")
            }
        }
    }

    private func saved(_ session: GraphSession, _ lists: [Playlist]) async throws -> ChangeSet {
        for list in lists { try session.edit(list) }
        return try await session.save(only: .edited)
    }

    /// By trying each set of objects that keep theirs. A list that is in order needs none.
    private func fewestWrites(_ positions: [Int?], _ ids: [Int]) -> Int {
        let isSorted = zip(zip(positions, ids), zip(positions, ids).dropFirst()).allSatisfy { left, right in
            (left.0 ?? .min, left.1) < (right.0 ?? .min, right.1)
        }
        if isSorted, !positions.contains(nil) { return 0 }
        let known = positions.indices.filter { positions[$0] != nil }
        var most = 0
        for set in 0..<(1 << known.count) {
            let kept = known.indices.filter { set & (1 << $0) != 0 }.map { known[$0] }
            let isRoomy = zip(kept, kept.dropFirst()).allSatisfy { left, right in
                (positions[right] ?? 0) - (positions[left] ?? 0) >= right - left
            }
            if isRoomy { most = max(most, kept.count) }
        }
        return known.count - most
    }
}

private struct ListMove: Sendable, CustomStringConvertible {
    let kind: Int
    let from: Int
    let to: Int

    var description: String { "(\(kind), \(from), \(to))" }

    func apply(to lists: [Playlist], _ nextID: inout Int) {
        let (first, second) = (lists[0], lists[1])
        switch kind {
        case 0 where !first.tracks.isEmpty:
            let track = first.tracks.remove(at: from % first.tracks.count)
            first.tracks.insert(track, at: to % (first.tracks.count + 1))
        case 1:
            first.tracks.insert(PlaylistTrack(id: nextID), at: to % (first.tracks.count + 1))
            nextID += 1
        case 2 where !first.tracks.isEmpty:
            let track = first.tracks.remove(at: from % first.tracks.count)
            second.tracks.insert(track, at: to % (second.tracks.count + 1))
        case 3 where first.tracks.count > 1: first.tracks.remove(at: from % first.tracks.count)
        default: break
        }
    }
}
