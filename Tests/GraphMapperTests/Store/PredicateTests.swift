import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

struct SpotRow: StoredRecord {
    struct Position: EmbeddedValue {
        var x: Int
        var y: Int?
        static let schema = Schema<Self> { row in try Self(x: row("x", \.x), y: row("y", \.y)) }
    }
    let id: Int
    var place: Position
    var other: Position?
    var squad: Ref<SquadRow>?
    static let schema = Schema<Self>("spot") { row in
        try Self(
            id: row("id", \.id), place: row("place", \.place), other: row("other", \.other),
            squad: row("squad", \.squad))
    }
}

@Suite(.perEngine) struct `Foundation's predicates` {
    @available(macOS 14, iOS 17, *)
    private static func players() -> [Predicate<PlayerRow>] {
        let (ages, range, text, price) = (Set([1, 2]), 0..<2, "a", Decimal(9))
        return [
            #Predicate { $0.name == "a" }, #Predicate { $0.name != text && $0.age > 0 },
            #Predicate { $0.nick == nil || $0.isActive }, #Predicate { $0.nick == text }, #Predicate { !$0.isActive },
            #Predicate { ($0.nick ?? "ab") == "ab" }, #Predicate { $0.age + $0.id * 2 - 1 <= 4 },
            #Predicate { -$0.age >= 1 }, #Predicate { $0.age / 2 == 0 }, #Predicate { $0.age % 2 == -1 },
            #Predicate { ages.contains($0.age) }, #Predicate { range.contains($0.age) },
            #Predicate { (0...1).contains($0.age) }, #Predicate { $0.name.contains("b") },
            #Predicate { $0.name.starts(with: "a") }, #Predicate { $0.name.isEmpty },
            #Predicate { $0.tags.contains(text) },
            #Predicate { $0.tags.count == 1 }, #Predicate { $0.tags.isEmpty }, #Predicate { $0.score > 1 },
            #Predicate { $0.score / 2 <= 0.75 }, #Predicate { $0.price < price }, #Predicate { $0.serial > 5 },
            #Predicate { $0.team?.id == 1 }, #Predicate { $0.rank != nil && $0.rank! > 0 },
            #Predicate { ($0.isActive ? $0.age : $0.id) == 1 }, #Predicate { $0.age < $0.id },
            #Predicate { _ in true },
        ]
    }

    @Test func `the store chooses what the predicate does`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        let predicates = Self.players()
        // By its own arithmetic a predicate may compare NaN and spell texts otherwise: those are laws of the other form.
        try await check(League.gen, count: 60) { league in
            try await `Queries are filters`.fill(store, league)
            for predicate in predicates {
                let found = try await store.fetch(Query(PlayerRow.self).where(predicate).sorted(by: \.id)).map(\.id)
                let expected = try league.players.filter { try predicate.evaluate($0) }.map(\.id)
                try ensure(found == expected, "\(predicate): \(found), \(expected)")
            }
        }
    }

    @Test func `parts of embedded values, and ids of links`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await Engine.open(SquadRow.self, SpotRow.self)
        let rows = [
            SpotRow(id: 1, place: .init(x: 1, y: 2), other: nil, squad: nil),
            SpotRow(id: 2, place: .init(x: 2, y: nil), other: .init(x: 5, y: 1), squad: Ref(7)),
        ]
        try await store.write { tx in
            try await tx.insert(SquadRow(id: 7, name: "", city: nil))
            try await tx.insert(contentsOf: rows)
        }
        let predicates: [Predicate<SpotRow>] = [
            #Predicate { $0.place.x == 2 }, #Predicate { $0.place.y == nil }, #Predicate { $0.other?.x == 5 },
            #Predicate { $0.other == nil }, #Predicate { $0.squad?.id == 7 }, #Predicate { $0.squad == nil },
        ]
        for predicate in predicates {
            let found = try await store.fetch(Query(SpotRow.self).where(predicate).sorted(by: \.id)).map(\.id)
            #expect(found == (try rows.filter { try predicate.evaluate($0) }.map(\.id)), "\(predicate)")
        }
    }

    @Test func `what cannot be asked is an error that names the part`() throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        func message(_ predicate: Predicate<PlayerRow>) -> String {
            do {
                _ = try Query(PlayerRow.self).where(predicate)
                return ""
            } catch { return (error as? GraphError)?.kind == .misuse ? "\(error)" : "wrong: \(error)" }
        }
        #expect(message(#Predicate { $0.tags.allSatisfy { $0 == "a" } }).contains("SequenceAllSatisfy"))
        #expect(message(#Predicate { $0.friends.isEmpty }).contains("KeyPath"))
        #expect(message(#Predicate { $0.name.count == 1 }).contains("KeyPath"))
        #expect(message(#Predicate { $0.tags[0] == "a" }).contains("CollectionIndexSubscript"))
    }
}
