import Foundation
import Testing

@testable import GraphMapperStore

struct FullName: EmbeddedValue, Hashable {
    var first: String
    var last: String
    static let schema = Schema<Self> { row in try Self(first: row("first", \.first), last: row("last", \.last)) }
}

final class Resident {
    let id: FullName
    var age = 0
    var friend: Resident?
    weak var host: Resident?
    var guests: [Resident] = []
    var line: [Resident] = []
    init(id: FullName) { self.id = id }
}

struct ResidentRow: StoredRecord {
    typealias Model = Resident
    let id: FullName
    var age: Int
    var friend: Ref<ResidentRow>?
    var host: Ref<ResidentRow>?
    var line: [Ref<ResidentRow>] = []
    static let schema = Schema<Self>("resident") { row in
        // No name of its own: the key's columns are `first` and `last`.
        try Self(
            id: row("", \.id), age: row("age", \.age), friend: row("friend", \.friend), host: row("host", \.host),
            line: row("line", \.line))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Resident(id: $0.id)
        } properties: {
            Embedded(\.id, \.id)
            Field(\.age, \.age)
            One(\.friend, \.friend)
            Back(\.host, \.host)
            Many(ResidentRow.self, by: \.host, \.guests)
            Many(\.line, \.line)
        }
    }
}

/// Three parts of three types, with the property's name before each.
struct Seat: EmbeddedValue, Hashable {
    var hall: UUID
    var row: Int
    var letter: String
    static let schema = Schema<Self> { row in
        try Self(hall: row("hall", \.hall), row: row("row", \.row), letter: row("letter", \.letter))
    }
}
struct SeatRow: StoredRecord {
    let id: Seat
    var guest: Ref<ResidentRow>?
    static let schema = Schema<Self>("seat") { row in try Self(id: row("id", \.id), guest: row("guest", \.guest)) }
}

/// Four parts, one of them a link.
struct Visit4: EmbeddedValue, Hashable {
    var year: Int
    var week: UInt8
    var door: String
    var guest: UUID
    static let schema = Schema<Self> { row in
        try Self(
            year: row("year", \.year), week: row("week", \.week), door: row("door", \.door),
            guest: row("guest", \.guest))
    }
}
private struct VisitRow: StoredRecord {
    let id: Visit4
    var note: String
    var before: Ref<VisitRow>?
    var others: [Ref<VisitRow>] = []
    static let schema = Schema<Self>("visit4") { row in
        try Self(
            id: row("id", \.id), note: row("note", \.note), before: row("before", \.before),
            others: row("others", \.others))
    }
    static let indexes: [Index<Self>] = [.unique(\.note, \.id.door), .on(\.id.week, \.note)]
}

private struct LooseKey: EmbeddedValue, Hashable {
    var a: Int
    var b: Int?
    static let schema = Schema<Self> { row in try Self(a: row("a", \.a), b: row("b", \.b)) }
}
private struct LooseRow: StoredRecord {
    let id: LooseKey
    static let schema = Schema<Self>("loose") { row in try Self(id: row("id", \.id)) }
}

@Suite(.perEngine) struct `Keys of several columns` {
    func opened() async throws -> GraphStore {
        try await Engine.open(ResidentRow.self, SeatRow.self)
    }
    func name(_ number: Int) -> FullName { FullName(first: "f\(number / 10)", last: "l\(number % 10)") }

    @Test func `the same letters in other columns are another row`() async throws {
        let store = try await opened()
        let one = FullName(first: "a_b", last: "c")
        let two = FullName(first: "a", last: "b_c")
        try await store.write { transaction async throws in
            #expect(try await transaction.upsert(ResidentRow(id: one, age: 1)) == .inserted)
            #expect(try await transaction.upsert(ResidentRow(id: two, age: 2)) == .inserted)
            #expect(try await transaction.upsert(ResidentRow(id: one, age: 3)) == .updated(["age"]))
            #expect(try await transaction.upsert(ResidentRow(id: one, age: 3)) == .unchanged)
            #expect(try await transaction.count(Query(ResidentRow.self)) == 2)
            #expect(try await transaction.find(ResidentRow.self, two)?.age == 2)
            #expect(try await transaction.delete(ResidentRow.self, FullName(first: "a", last: "c")) == false)
            #expect(try await transaction.apply(Patch(ResidentRow.self, two).set(\.age, 5)))
            #expect(try await transaction.delete(ResidentRow.self, one))
        }
        #expect(try await store.fetch(Query(ResidentRow.self)).map(\.age) == [5])
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(ResidentRow(id: two, age: 0)) }
        }
        #expect(error?.kind == .duplicateKey)
    }

    @Test func `the tables as SQLite has them`() async throws {
        let store = try await Engine.open(ResidentRow.self)
        func column(_ sql: String) throws -> [StoredValue] { try store.writer.rows(sql).map { $0[0] } }
        #expect(
            try column("SELECT name FROM pragma_table_info('resident') WHERE pk > 0 ORDER BY pk")
                == ["first", "last"].map { .text($0) })
        #expect(
            try column("SELECT \"from\" FROM pragma_foreign_key_list('resident') ORDER BY 1")
                == ["friend_first", "friend_last", "host_first", "host_last"].map { .text($0) })
        #expect(
            try column("SELECT name FROM pragma_table_info('resident_line') ORDER BY cid")
                == ["owner_first", "owner_last", "position", "target_first", "target_last"].map { .text($0) })
    }

    @Test func `foreign keys are enforced`() async throws {
        let store = try await opened()
        let nobody = Ref<ResidentRow>(FullName(first: "no", last: "body"))
        for row in [
            ResidentRow(id: name(1), age: 0, friend: nobody), ResidentRow(id: name(1), age: 0, line: [nobody]),
        ] {
            let error = await #expect(throws: StoreError.self) { try await store.write { try await $0.insert(row) } }
            #expect(error?.kind == .foreignKey)
        }
    }

    @Test func `a graph with links, lists and back-references comes back, and edits are few`() async throws {
        let store = try await opened()
        let session = GraphSession(store, ResidentRow.mapping)
        let people = (0..<30).map { Resident(id: name($0)) }
        for (index, person) in people.enumerated() {
            person.age = index
            person.friend = people[(index + 7) % 30]
            person.line = [people[(index + 1) % 30], people[(index + 2) % 30], people[(index + 1) % 30]]
        }
        people[0].guests = Array(people[1..<4])
        for person in people { try session.add(person) }
        try await session.save()

        let second = GraphSession(store, ResidentRow.mapping)
        let first = try #require(try await second.find(ResidentRow.self, name(0)))
        #expect(first.friend?.friend?.age == 14)
        #expect(first.line.map(\.age) == [1, 2, 1] && first.line[0] === first.line[2])
        #expect(Set(first.guests.map(\.age)) == [1, 2, 3] && first.guests.allSatisfy { $0.host === first })
        #expect(try second.changes().isEmpty)

        first.line.append(first)
        first.line.remove(at: 0)
        first.guests.removeAll { $0.age == 2 }
        first.friend = nil
        #expect(try await second.save().changes.count == 3)
        let third = try #require(try await GraphSession(store, ResidentRow.mapping).find(ResidentRow.self, name(0)))
        #expect(third.line.map(\.age) == [2, 1, 0] && third.friend == nil && third.guests.count == 2)
        try second.delete(first)
        for person in try await second.models(Query(ResidentRow.self)) { person.line.removeAll { $0 === first } }
        try await second.save()
        #expect(try await store.count(Query(ResidentRow.self)) == 29)
    }

    /// The many way: above 256 keys the table is read as a whole.
    @Test(arguments: [3, 300]) func `selections by many keys`(count: Int) async throws {
        let store = try await opened()
        let rows = (0..<count).map { number in
            ResidentRow(
                id: FullName(first: "\(number)", last: "\(number % 3)"), age: number,
                line: [Ref(FullName(first: "0", last: "0"))])
        }
        try await store.write { try await $0.insert(contentsOf: rows) }
        try await store.read { transaction async throws in
            let ids = rows.map(\.id) + [FullName(first: "x", last: "y")]
            let found = try await transaction.fetch(ResidentRow.self, ids: ids)
            #expect(found.map(\.age).sorted() == Array(0..<count))
            #expect(found.allSatisfy { $0.line.count == 1 })
        }
        let second = Query(ResidentRow.self).sorted(by: \.age).offset(1).limit(1)
        #expect(try await store.first(second)?.line == [Ref(rows[0].id)])
        #expect(try await store.count(Query(ResidentRow.self).where { $0.id.isIn([rows[0].id, rows[2].id]) }) == 2)
        #expect(try await store.count(Query(ResidentRow.self).where { $0.id.last == "1" }) == count / 3)
    }

    @Test func `queries go through links of several columns`() async throws {
        let store = try await opened()
        let seat = Seat(hall: UUID(), row: 4, letter: "b")
        try await store.write { transaction async throws in
            try await transaction.insert(ResidentRow(id: name(1), age: 7))
            try await transaction.insert(ResidentRow(id: name(2), age: 8, friend: Ref(name(1))))
            try await transaction.insert(SeatRow(id: seat, guest: Ref(name(2))))
            try await transaction.insert(SeatRow(id: Seat(hall: seat.hall, row: 5, letter: "b"), guest: nil))
        }
        let query = Query(SeatRow.self)
        #expect(try await store.fetch(query.where { $0.guest.age == 8 }).map(\.id) == [seat])
        #expect(try await store.fetch(query.where { $0.guest.friend.age == 7 }).map(\.id) == [seat])
        #expect(try await store.fetch(query.where { $0.guest.id.first == "f0" }).map(\.id) == [seat])
        #expect(try await store.fetch(query.where { $0.guest == Ref(name(2)) }).map(\.id) == [seat])
        #expect(try await store.count(query.where { $0.guest == nil }) == 1)
        #expect(try await store.find(SeatRow.self, seat)?.guest?.id == name(2))
    }

    @Test func `a key of four, links to it, and unique values of several columns`() async throws {
        let store = try await Engine.open(VisitRow.self)
        let guest = UUID()
        func key(_ week: UInt8, _ door: String = "a") -> Visit4 {
            Visit4(year: 2026, week: week, door: door, guest: guest)
        }
        let first = VisitRow(id: key(1), note: "first")
        var second = VisitRow(id: key(2), note: "second", before: Ref(key(1)), others: [Ref(key(2)), Ref(key(1))])
        let rows = [first, second]
        try await store.write { try await $0.insert(contentsOf: rows) }
        let found = try #require(try await store.find(VisitRow.self, key(2)))
        #expect(found.before == Ref(key(1)) && found.others == [Ref(key(2)), Ref(key(1))] && found.note == "second")
        #expect(try await store.find(VisitRow.self, key(1, "b")) == nil)
        second.note = "other"
        second.others = [Ref(key(1))]
        let edited = second
        #expect(try await store.write { try await $0.upsert(edited) } == .updated(["note", "others"]))
        #expect(try await store.count(Query(VisitRow.self).where { $0.before.note == "first" }) == 1)
        #expect(try await store.count(Query(VisitRow.self).where { $0.others.contains(Ref(key(1))) }) == 1)
        #expect(try await store.fetch(Query(VisitRow.self).where { $0.id.week == 2 }).map(\.id) == [key(2)])
        #expect(try await store.index(of: key(2), in: Query(VisitRow.self).sorted(by: \.note, descending: true)) == 0)
        // The same note behind another door is another value.
        try await store.write { try await $0.insert(VisitRow(id: key(3, "b"), note: "first")) }
        await #expect { try await store.write { try await $0.insert(VisitRow(id: key(4), note: "first")) } } throws: {
            ($0 as? StoreError)?.kind == .duplicateKey
        }
        #expect(try await store.write { try await $0.delete(VisitRow.self, key(3, "b")) })
        await #expect { try await store.write { _ = try await $0.delete(VisitRow.self, key(1)) } } throws: {
            ($0 as? StoreError)?.kind == .foreignKey
        }
    }

    @Test func `a key with optional parts is refused`() async throws {
        let error = await #expect(throws: GraphError.self) { try await Engine.open(LooseRow.self) }
        #expect(error?.message.contains("optional parts") == true)
    }
}
