import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Letter: StoredRecord, Hashable {
    let id: Int
    var title: String
    var note: String?
    var weight: Double
    var squads: [Ref<SquadRow>]
    var body: Lazy<String?>
    static let schema = Schema<Self>("letter") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), note: row("note", \.note),
            weight: row("weight", \.weight), squads: row("squads", \.squads), body: row("body", \.body))
    }

    static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && schema.properties.allSatisfy { $0.isSame(left, right) }
    }
    func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The names of what differs, or of all; an unread body is left, a set one is always written.
    func written(over old: Letter, all: Bool) -> [String] {
        var names: [String] = []
        if all || !String.isSame(title, old.title) { names.append("title") }
        if all || !String?.isSame(note, old.note) { names.append("note") }
        if all || !Double.isSame(weight, old.weight) { names.append("weight") }
        if all || squads != old.squads { names.append("squads") }
        if body.value != nil { names.append("body") }
        return names
    }

    static let gen = Gen<Letter> { choices in
        let weights = [0, -0.0, .nan, 1.5]
        return Letter(
            id: choices.index(below: 5), title: League.words[choices.index(below: 6)],
            note: choices.bool() ? nil : League.words[choices.index(below: 3)],
            weight: weights[choices.index(below: 4)],
            squads: (0..<choices.index(below: 3)).map { _ in Ref(choices.index(below: 2)) },
            body: choices.index(below: 3) > 0 ? .unread : Lazy(choices.bool() ? nil : "body"))
    }
}

@Suite(.perEngine) struct `Upserts` {
    @Test func `many have the outcomes, and leave the rows, that a dictionary says`() async throws {
        let store = try await Engine.open(SquadRow.self, Letter.self)
        try await store.write { try await $0.insert(contentsOf: (0..<2).map { SquadRow(id: $0, name: "", city: nil) }) }
        try await check(Gen<[Letter]>.array(of: Letter.gen, count: 0...8).zip(.bool), count: 150) {
            (letters: [Letter], all: Bool) in
            try await store.write { _ = try await $0.delete(Letter.self) { _ in Condition.always } }
            var rows: [Int: Letter] = [:]
            var bodies: [Int: String?] = [:]
            var expected: [UpsertOutcome] = []
            for letter in letters {
                if let old = rows[letter.id] {
                    let names = letter.written(over: old, all: all)
                    expected.append(names.isEmpty ? .unchanged : .updated(names))
                } else {
                    expected.append(.inserted)
                }
                rows[letter.id] = letter
                if let body = letter.body.value {
                    bodies[letter.id] = .some(body)
                } else if bodies[letter.id] == nil {
                    bodies[letter.id] = .some(nil)
                }
            }
            let outcomes = try await store.write {
                try await $0.upsert(contentsOf: letters, policy: all ? .all : .modified)
            }
            try ensure(outcomes == expected, "\(outcomes), \(expected)")
            for found in try await store.fetch(Query(Letter.self)) {
                try ensure(rows.removeValue(forKey: found.id) == found, "\(found)")
            }
            try ensure(rows.isEmpty)
            try ensure(try await store.lazyValues(Letter.self, \.body, ids: bodies.keys) == bodies)
        }
    }

    @Test func `each policy does what it says`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        let (a, b) = (SquadRow(id: 1, name: "a", city: "c"), SquadRow(id: 1, name: "a", city: nil))
        func upsert(_ row: SquadRow, _ policy: UpsertPolicy) async throws -> UpsertOutcome {
            try await store.write { try await $0.upsert(row, policy: policy) }
        }
        #expect(try await upsert(a, .error) == .inserted)
        await #expect { try await upsert(a, .error) } throws: { ($0 as? StoreError)?.kind == .duplicateKey }
        #expect(try await upsert(a, .modified) == .unchanged)
        #expect(try await upsert(b, .modified) == .updated(["city"]))
        #expect(try await upsert(a, .all) == .updated(["name", "city"]))
        #expect(try await store.find(SquadRow.self, 1)?.city == "c")
    }

    @Test func `only what is named is written to a row that is there`() async throws {
        let store = try await Engine.open(SquadRow.self, Letter.self)
        func letter(_ title: String, _ weight: Double) -> Letter {
            Letter(id: 1, title: title, note: nil, weight: weight, squads: [], body: Lazy(title))
        }
        try await store.write { tx async throws in
            #expect(try await tx.upsert(letter("a", 1), only: [\.weight]) == .inserted)
            #expect(try await tx.upsert(letter("b", 1), only: [\.weight, \.note]) == .unchanged)
            #expect(try await tx.upsert(letter("b", 2), only: [\.weight, \.note]) == .updated(["weight"]))
            #expect(try await tx.upsert(letter("b", 2), policy: .all, only: [\.weight]) == .updated(["weight"]))
            #expect(try await tx.upsert(contentsOf: [letter("c", 3)], only: []) == [.unchanged])
            #expect(try await tx.find(Letter.self, 1)?.title == "a")
            #expect(try await tx.lazyValue(Letter.self, \.body, 1) == "a")
        }
        await #expect {
            try await store.write { try await $0.upsert(letter("b", 1), only: [\.title.count]) }
        } throws: {
            ($0 as? GraphError)?.kind == .misuse
        }
    }

    @Test func `what is the same is neither written nor noted`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        let rows = (0..<100).map { SquadRow(id: $0, name: "n\($0)", city: nil) }
        try await store.write { try await $0.insert(contentsOf: rows) }
        let known = try await store.changeRecords().count
        let outcomes = try await store.write { try await $0.upsert(contentsOf: rows) }
        #expect(outcomes.allSatisfy { $0 == .unchanged })
        #expect(try await store.changeRecords().count == known)
    }

    @Test func `another row has a unique value: an error, and nothing is written`() async throws {
        let store = try await Engine.open(Named.self)
        try await store.write { try await $0.insert(contentsOf: [Named(id: 1, name: "a"), Named(id: 2, name: "b")]) }
        await #expect {
            try await store.write {
                try await $0.upsert(contentsOf: [Named(id: 3, name: "c"), Named(id: 2, name: "a")])
            }
        } throws: {
            ($0 as? StoreError)?.kind == .duplicateKey
        }
        #expect(try await store.fetch(Query(Named.self).sorted(by: \.id)).map(\.name) == ["a", "b"])
    }
}

private struct Named: StoredRecord {
    let id: Int
    var name: String
    static let schema = Schema<Self>("named") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    static let indexes: [Index<Self>] = [.unique(\.name)]
}
