import Foundation
import Testing

@testable import GraphMapperStore

private final class House {
    let id: Int
    init(id: Int) { self.id = id }
}
private struct HouseRow: StoredRecord {
    typealias Model = House
    let id: Int
    static let schema = Schema<Self>("house") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            House(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
private struct RoomRow: StoredRecord {
    let id: Int
    let house: Ref<HouseRow>
    static let schema = Schema<Self>("room") { row in try Self(id: row("id", \.id), house: row("house", \.house)) }
    static let linkRules: [LinkRule<Self>] = [.cascade(\.house)]
}
private struct ChairRow: StoredRecord {
    let id: Int
    let room: Ref<RoomRow>
    static let schema = Schema<Self>("chair") { row in try Self(id: row("id", \.id), room: row("room", \.room)) }
    static let linkRules: [LinkRule<Self>] = [.cascade(\.room)]
}
private struct GuestRow: StoredRecord {
    let id: Int
    var home: Ref<HouseRow>?
    var seen: [Ref<HouseRow>] = []
    var liked: Set<Ref<HouseRow>> = []
    var boss: Ref<GuestRow>?
    var friends: [Ref<GuestRow>] = []
    static let schema = Schema<Self>("guest") { row in
        try Self(
            id: row("id", \.id), home: row("home", \.home), seen: row("seen", \.seen), liked: row("liked", \.liked),
            boss: row("boss", \.boss), friends: row("friends", \.friends))
    }
    static let linkRules: [LinkRule<Self>] = [
        .nullify(\.home), .nullify(\.seen), .nullify(\.liked), .cascade(\.boss), .nullify(\.friends),
    ]
}
/// The same without rules.
private struct PlainGuestRow: StoredRecord {
    let id: Int
    var home: Ref<HouseRow>?
    static let schema = Schema<Self>("plain") { row in try Self(id: row("id", \.id), home: row("home", \.home)) }
}
private struct RuledGuestRow: StoredRecord {
    let id: Int
    var home: Ref<HouseRow>?
    static let schema = Schema<Self>("plain") { row in try Self(id: row("id", \.id), home: row("home", \.home)) }
    static let linkRules: [LinkRule<Self>] = [.nullify(\.home)]
}
private struct WrongRow: StoredRecord {
    let id: Int
    let home: Ref<HouseRow>
    let seen: [Ref<HouseRow>]
    static let schema = Schema<Self>("wrong") { row in
        try Self(id: row("id", \.id), home: row("home", \.home), seen: row("seen", \.seen))
    }
    static let linkRules: [LinkRule<Self>] = [.nullify(\.home), .cascade(\.home), .cascade(\.seen), .cascade(\.id)]
}

@Suite(.perEngine) struct `Rules for rows whose target is deleted` {
    private func opened() async throws -> GraphStore {
        let store = try await Engine.open(
            HouseRow.self, RoomRow.self, ChairRow.self, GuestRow.self, PlainGuestRow.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...3).map { HouseRow(id: $0) })
            try await tx.insert(contentsOf: (1...6).map { RoomRow(id: $0, house: Ref(($0 + 1) / 2)) })
            try await tx.insert(contentsOf: (1...6).map { ChairRow(id: $0, room: Ref($0)) })
            try await tx.insert(
                GuestRow(id: 1, home: Ref(1), seen: [Ref(1), Ref(2), Ref(1), Ref(3)], liked: [Ref(1), Ref(3)]))
            try await tx.insert(GuestRow(id: 2, home: Ref(2), seen: [Ref(2)], boss: Ref(1), friends: [Ref(1), Ref(2)]))
            try await tx.insert(GuestRow(id: 3, boss: Ref(2), friends: [Ref(1)]))
            try await tx.insert(GuestRow(id: 4, friends: [Ref(1), Ref(4), Ref(2), Ref(1)]))
        }
        return store
    }

    private func expectHouseOneGone(_ store: GraphStore) async throws {
        #expect(try await store.fetch(Query(HouseRow.self)).map(\.id) == [2, 3])
        #expect(try await store.fetch(Query(RoomRow.self)).map(\.id) == [3, 4, 5, 6])
        #expect(try await store.fetch(Query(ChairRow.self)).map(\.id) == [3, 4, 5, 6])
        let guest = try #require(try await store.find(GuestRow.self, 1))
        #expect(guest.home == nil && guest.seen == [Ref(2), Ref(3)] && guest.liked == [Ref(3)])
        #expect(try await store.find(GuestRow.self, 2)?.home == Ref(2))
    }

    @Test func `a deletion by its key`() async throws {
        let store = try await opened()
        try await store.write { _ = try await $0.delete(HouseRow.self, 1) }
        try await expectHouseOneGone(store)
    }

    @Test func `a deletion by condition, and by a statement of one's own`() async throws {
        let store = try await opened()
        try await store.write { _ = try await $0.delete(HouseRow.self) { $0.id < 2 } }
        try await expectHouseOneGone(store)
        let other = try await opened()
        try await other.write { try await $0.execute("DELETE FROM house WHERE id = 1") }
        try await expectHouseOneGone(other)
    }

    @Test func `a deletion by a session that knows nothing of the others`() async throws {
        let store = try await opened()
        let session = GraphSession(store, HouseRow.mapping)
        try session.delete(try #require(try await session.find(HouseRow.self, 1)))
        try await session.save()
        try await expectHouseOneGone(store)
        #expect(try session.changes().isEmpty)
    }

    @Test func `rows that link to rows of their own table`() async throws {
        let store = try await opened()
        try await store.write { _ = try await $0.delete(GuestRow.self, 1) }
        let left = try await store.fetch(Query(GuestRow.self))
        #expect(left.map(\.id) == [4] && left[0].friends == [Ref(4)])
    }

    @Test func `without a rule it is an error that names the link, and nothing is deleted`() async throws {
        let store = try await opened()
        try await store.write { try await $0.insert(PlainGuestRow(id: 1, home: Ref(1))) }
        await #expect { try await store.write { _ = try await $0.delete(HouseRow.self, 1) } } throws: {
            ($0 as? StoreError)?.kind == .foreignKey && "\($0)".contains("plain")
        }
        #expect(try await store.count(Query(RoomRow.self)) == 6)
    }

    @Test func `what the rules have written is in the change records, and observers see it`() async throws {
        let store = try await opened()
        let (rooms, homes) = (Query(RoomRow.self), Query(GuestRow.self).where { $0.home != nil })
        var changes = store.changes(of: rooms).makeAsyncIterator()
        var guests = store.changes(of: homes).makeAsyncIterator()
        _ = try await (changes.next(), guests.next())
        let known = try await store.changeRecords().last?.sequence ?? 0
        try await store.write { _ = try await $0.delete(HouseRow.self, 1) }
        let records = try await store.changeRecords(after: known)
        #expect(records.first?.table == "house" && records.first?.key == [.integer(1)])
        let others = records.dropFirst().map { ($0.kind, $0.table, Set($0.columns ?? [])) }.sorted { $0.1 < $1.1 }
        #expect(others.map(\.1) == ["chair", "guest", "room"] && others.map(\.0) == [.delete, .update, .delete])
        #expect(others[1].2 == ["home", "seen", "liked"])
        #expect(try await changes.next()?.collection.map(\.id) == [3, 4, 5, 6])
        #expect(try await guests.next()?.collection.map(\.id) == [2])
    }

    @Test func `rules that cannot be kept are mistakes, all told at once`() async throws {
        let error = await #expect(throws: GraphError.self) {
            try await Engine.open(HouseRow.self, WrongRow.self)
        }
        let message = error?.message ?? ""
        for part in [
            "wrong.home: the link is required", "wrong.home: it has two rules", "wrong.seen: a list lets go", "no link",
        ] {
            #expect(message.contains(part), "\(message)")
        }
    }
}

@Suite struct `A rule that is new` {
    @Test func `is a difference that a migration settles`() async throws {
        let path = try Scratch.file()
        do {
            let store = try await GraphStore.open(.file(path), HouseRow.self, PlainGuestRow.self)
            try await store.write { tx in
                try await tx.insert(HouseRow(id: 1))
                try await tx.insert(PlainGuestRow(id: 1, home: Ref(1)))
            }
        }
        await #expect { try await GraphStore.open(.file(path), HouseRow.self, RuledGuestRow.self) } throws: {
            ($0 as? StoreError)?.kind == .schemaMismatch && "\($0)".contains("ON DELETE SET NULL")
        }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("guests let go") {
                try await $0.transform(PlainGuestRow.self, to: RuledGuestRow.self) { old in
                    RuledGuestRow(id: old.id, home: old.home)
                }
            }
        ]
        let store = try await GraphStore.open(.file(path), options: options, HouseRow.self, RuledGuestRow.self)
        try await store.write { _ = try await $0.delete(HouseRow.self, 1) }
        #expect(try await store.find(RuledGuestRow.self, 1)?.home == .some(nil))
    }
}
