import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

struct SquadRow: StoredRecord {
    let id: Int
    var name: String
    var city: String?
    static let schema = Schema<Self>("squad") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), city: row("city", \.city))
    }
}

struct PlayerRow: StoredRecord {
    let id: Int
    var name: String
    var nick: String?
    var age: Int
    var score: Double
    var rank: Int?
    var price: Decimal
    var serial: UInt64
    var isActive: Bool
    var team: Ref<SquadRow>?
    var friends: [Ref<PlayerRow>]
    var tags: [String]
    var marks: [Int] = []
    var levels: [String: Int] = [:]
    static let schema = Schema<Self>("player") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), nick: row("nick", \.nick), age: row("age", \.age),
            score: row("score", \.score), rank: row("rank", \.rank), price: row("price", \.price),
            serial: row("serial", \.serial), isActive: row("active", \.isActive), team: row("team", \.team),
            friends: row("friends", \.friends), tags: row("tags", \.tags), marks: row("marks", \.marks),
            levels: row("levels", \.levels))
    }
    static let indexes: [Index<Self>] = [.on(\.name), .on(\.age, \.name)]
}

struct League: Sendable {
    var teams: [SquadRow]
    var players: [PlayerRow]

    func team(_ player: PlayerRow) -> SquadRow? { player.team.flatMap { ref in teams.first { $0.id == ref.id } } }
    func friends(_ player: PlayerRow) -> [PlayerRow] {
        player.friends.compactMap { ref in players.first { $0.id == ref.id } }
    }

    static let words = [
        "", "a", "A", "é", "e\u{301}", "E\u{301}", "ab", "aB", "ba", "%", "a_b", "ß", "\u{10FFFF}", "\u{D7FF}x",
    ]
    static let prices: [Decimal] = [
        0, 9, 10, -1, -10, 0.1, 100, Decimal(string: "9.000000000000000000000000000001") ?? 9,
    ]

    static let gen = Gen<League> { choices in
        func word() -> String { words[choices.index(below: words.count)] }
        let teams = (0..<3).map { SquadRow(id: $0, name: word(), city: choices.bool() ? nil : word()) }
        let count = 1 + choices.index(below: 10)
        let players = (0..<count).map { id in
            let scores: [Double] = [0, -0.0, 1.5, -1, .nan, .infinity, -.infinity, 3]
            return PlayerRow(
                id: id, name: word(), nick: choices.bool() ? nil : word(), age: choices.index(below: 6) - 2,
                score: scores[choices.index(below: scores.count)], rank: choices.bool() ? nil : choices.index(below: 3),
                price: prices[choices.index(below: prices.count)],
                serial: [0, 1, .max, .max - 1, 1 << 63][choices.index(below: 5)], isActive: choices.bool(),
                team: choices.bool() ? nil : Ref(choices.index(below: 3)),
                friends: (0..<choices.index(below: 4)).map { _ in Ref(choices.index(below: count)) },
                tags: (0..<choices.index(below: 3)).map { _ in word() },
                marks: (0..<choices.index(below: 3)).map { _ in choices.index(below: 6) - 2 },
                levels: choices.bool() ? [:] : ["x": choices.index(below: 4) - 1, "y": choices.index(below: 3)])
        }
        return League(teams: teams, players: players)
    }
}

/// A predicate twice: for the store and for plain Swift.
struct TwoWayPredicate: CustomStringConvertible, Sendable {
    let description: String
    let stored: @Sendable (Columns<PlayerRow>) -> Condition
    let plain: @Sendable (PlayerRow, League) -> Bool

    private typealias P = TwoWayPredicate

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func less(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    static func gen(depth: Int) -> Gen<TwoWayPredicate> {
        Gen { choices in
            if depth > 0, choices.index(below: 3) > 0 {
                let left = gen(depth: depth - 1).generate(&choices)
                let right = gen(depth: depth - 1).generate(&choices)
                switch choices.index(below: 3) {
                case 0:
                    return P(description: "(\(left) && \(right))") {
                        left.stored($0) && right.stored($0)
                    } plain: {
                        left.plain($0, $1) && right.plain($0, $1)
                    }
                case 1:
                    return P(description: "(\(left) || \(right))") {
                        left.stored($0) || right.stored($0)
                    } plain: {
                        left.plain($0, $1) || right.plain($0, $1)
                    }
                default:
                    return P(description: "!\(left)") {
                        !left.stored($0)
                    } plain: {
                        !left.plain($0, $1)
                    }
                }
            }
            return leaf(&choices)
        }
    }

    private static func leaf(_ choices: inout Choices) -> TwoWayPredicate {
        let word = League.words[choices.index(below: League.words.count)]
        let age = choices.index(below: 6) - 2
        let price = League.prices[choices.index(below: League.prices.count)]
        var leaves: [TwoWayPredicate] = []
        func add(
            _ description: String, _ stored: @escaping @Sendable (Columns<PlayerRow>) -> Condition,
            _ plain: @escaping @Sendable (PlayerRow, League) -> Bool
        ) { leaves.append(P(description: description, stored: stored, plain: plain)) }
        add("name == \(word)", { $0.name == word }, { p, _ in bytes(p.name) == bytes(word) })
        add("name < \(word)", { $0.name < word }, { p, _ in less(p.name, word) })
        add("nick != \(word)", { $0.nick != word }, { p, _ in p.nick.map(bytes) != bytes(word) })
        add("nick is nil", { $0.nick.isNil }, { p, _ in p.nick == nil })
        add("nick == name", { ($0.nick ?? "") == $0.name }, { p, _ in bytes(p.nick ?? "") == bytes(p.name) })
        add("age >= \(age)", { $0.age >= age }, { p, _ in p.age >= age })
        add("age in \(age)...3", { $0.age.isIn(age...3) }, { p, _ in (age...3).contains(p.age) })
        add(
            "age in \(age)..<3", { $0.age.isIn(Swift.min(age, 3)..<3) },
            { p, _ in (Swift.min(age, 3)..<3).contains(p.age) })
        add("age in list", { $0.age.isIn([age, 0]) }, { p, _ in p.age == age || p.age == 0 })
        add("rank < 2", { $0.rank < 2 }, { p, _ in p.rank.map { $0 < 2 } ?? false })
        add("rank in 1...2", { $0.rank.isIn(1...2) }, { p, _ in p.rank.map { (1...2).contains($0) } ?? false })
        add("score > 1", { $0.score > 1 }, { p, _ in p.score > 1 })
        add("score <= 1.5", { $0.score <= 1.5 }, { p, _ in p.score <= 1.5 })
        add("score == 0", { $0.score == 0 }, { p, _ in p.score == 0 })
        add("score < nan", { $0.score < .nan }, { _, _ in false })
        add("price < \(price)", { $0.price < price }, { p, _ in p.price < price })
        add("price >= \(price)", { $0.price >= price }, { p, _ in p.price >= price })
        add("serial > 2^63", { $0.serial > 1 << 63 }, { p, _ in p.serial > 1 << 63 })
        add("serial <= 1", { $0.serial <= 1 }, { p, _ in p.serial <= 1 })
        add("active", { Condition($0.isActive) }, { p, _ in p.isActive })
        add("age + age * 2 > 3", { $0.age + $0.age * 2 > 3 }, { p, _ in p.age + p.age * 2 > 3 })
        add("age / 2 == 1", { $0.age / 2 == 1 }, { p, _ in p.age / 2 == 1 })
        add("age % 2 == -1", { $0.age % 2 == -1 }, { p, _ in p.age % 2 == -1 })
        add("age < id", { $0.age < $0.id }, { p, _ in p.age < p.id })
        add(
            "score < score of friend", { p in p.friends.any { $0.score < p.score } },
            { p, l in
                l.friends(p).contains { $0.score < p.score }
            })
        add(
            "name has \(word)", { $0.name.contains(word) },
            { p, _ in
                word.isEmpty || bytes(p.name).indices.contains { bytes(p.name)[$0...].starts(with: bytes(word)) }
            })
        add("name starts \(word)", { $0.name.hasPrefix(word) }, { p, _ in bytes(p.name).starts(with: bytes(word)) })
        add(
            "name ends \(word)", { $0.name.hasSuffix(word) },
            { p, _ in
                bytes(p.name).reversed().starts(with: bytes(word).reversed())
            })
        add(
            "name equals, folded, \(word)", { $0.name.equals(word, [.caseInsensitive, .diacriticInsensitive]) },
            { p, _ in
                p.name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
                    == word.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
            })
        add(
            "nick has, any case, \(word)", { $0.nick.contains(word, .caseInsensitive) },
            { p, _ in
                p.nick.map { word.isEmpty || bytes(fold($0)).containsRun(bytes(fold(word))) } ?? false
            })
        add(
            "team.name == \(word)", { $0.team.name == word },
            { p, l in l.team(p).map { bytes($0.name) == bytes(word) } ?? false })
        add("team.city is nil", { $0.team.city.isNil }, { p, l in l.team(p)?.city == nil })
        add(
            "team in query", { $0.team.isIn(Query(SquadRow.self).where { $0.name >= word }) },
            { p, l in
                l.team(p).map { !less($0.name, word) } ?? false
            })
        add("friends.count > 1", { $0.friends.count > 1 }, { p, _ in p.friends.count > 1 })
        add(
            "all friends older", { $0.friends.all { $0.age > age } },
            { p, l in l.friends(p).allSatisfy { $0.age > age } })
        add(
            "no friend named", { $0.friends.none { $0.name == word } },
            { p, l in
                !l.friends(p).contains { bytes($0.name) == bytes(word) }
            })
        add("friends.max age", { $0.friends.max { $0.age } == age }, { p, l in l.friends(p).map(\.age).max() == age })
        add(
            "friends.min price", { $0.friends.min { $0.price } < price },
            { p, l in
                l.friends(p).map(\.price).min().map { $0 < price } ?? false
            })
        add("friends.sum", { $0.friends.sum { $0.age } > 2 }, { p, l in l.friends(p).map(\.age).reduce(0, +) > 2 })
        add(
            "friends.sum price", { $0.friends.sum { $0.price } == 10 },
            { p, l in l.friends(p).map(\.price).reduce(0, +) == 10 })
        add(
            "friends.max serial", { $0.friends.max { $0.serial } == .max },
            { p, l in
                l.friends(p).map(\.serial).max() == .max
            })
        add(
            "friends.average", { $0.friends.average { $0.age } >= 0.5 },
            { p, l in
                let ages = l.friends(p).map { Double($0.age) }
                return !ages.isEmpty && ages.reduce(0, +) / Double(ages.count) >= 0.5
            })
        add(
            "friend's friend in my team", { p in p.friends.any { f in f.friends.any { $0.team == p.team } } },
            { p, l in
                l.friends(p).contains { l.friends($0).contains { $0.team == p.team } }
            })
        add(
            "friends where active, count", { $0.friends.where { $0.isActive == true }.count == 1 },
            { p, l in
                l.friends(p).filter(\.isActive).count == 1
            })
        add("contains friend 0", { $0.friends.contains(Ref(0)) }, { p, _ in p.friends.contains(Ref(0)) })
        add(
            "is somebody's friend", { p in p.team.isNil || !p.friends.isEmpty },
            { p, _ in p.team == nil || !p.friends.isEmpty })
        add(
            "tags contain \(word)", { $0.tags.contains(word) }, { p, _ in p.tags.contains { bytes($0) == bytes(word) } }
        )
        add(
            "a tag starts", { $0.tags.any { $0.hasPrefix("a") } }, { p, _ in p.tags.contains { bytes($0).first == 97 } }
        )
        add(
            "all tags start", { $0.tags.all { $0.hasPrefix("a") } },
            { p, _ in p.tags.allSatisfy { bytes($0).first == 97 } })
        add(
            "no tag is \(word)", { $0.tags.none { $0 == word } },
            { p, _ in !p.tags.contains { bytes($0) == bytes(word) } })
        add(
            "tags contain any", { $0.tags.containsAny(in: [word, "a"]) },
            { p, _ in p.tags.contains { bytes($0) == bytes(word) || bytes($0) == [97] } })
        add(
            "tags contain all", { $0.tags.containsAll(in: [word, "a"]) },
            { p, _ in [word, "a"].allSatisfy { text in p.tags.contains { bytes($0) == bytes(text) } } })
        add(
            "greatest tag", { $0.tags.greatestElement() == word },
            { p, _ in p.tags.max(by: less).map { bytes($0) == bytes(word) } ?? false })
        add(
            "least tag", { $0.tags.leastElement() >= word },
            { p, _ in p.tags.min(by: less).map { !less($0, word) } ?? false })
        add("marks.sum", { $0.marks.elementSum() > 2 }, { p, _ in p.marks.reduce(0, +) > 2 })
        add(
            "marks.average", { $0.marks.elementAverage() <= 0.5 },
            { p, _ in
                !p.marks.isEmpty && Double(p.marks.reduce(0, +)) / Double(p.marks.count) <= 0.5
            })
        add("a mark", { $0.marks.contains(age) }, { p, _ in p.marks.contains(age) })
        add("levels[x]", { $0.levels["x"] == age }, { p, _ in p.levels["x"] == age })
        add("levels has x", { $0.levels.containsKey("x") }, { p, _ in p.levels["x"] != nil })
        add(
            "a level", { $0.levels.any { key, value in key != "x" && value > age } },
            { p, _ in p.levels.contains { $0.key != "x" && $0.value > age } })
        add(
            "contains any friend", { $0.friends.containsAny(in: [Ref(0), Ref(3)]) },
            { p, _ in p.friends.contains(Ref(0)) || p.friends.contains(Ref(3)) })
        add(
            "contains all friends", { $0.friends.containsAll(in: [Ref(0), Ref(1)]) },
            { p, _ in p.friends.contains(Ref(0)) && p.friends.contains(Ref(1)) })
        add("friends are none", { $0.friends.isEmpty }, { p, _ in p.friends.isEmpty })
        add(
            "teammates older", { p in p.team.isIn(Query(SquadRow.self)) && p.age > 0 },
            { p, _ in p.team != nil && p.age > 0 })
        add(
            "somebody's friend", { p in p.id.isIn(Query(PlayerRow.self).where { $0.age > age }, \.id) },
            { p, _ in p.age > age })
        add("age - 1 != 0", { $0.age - 1 != 0 }, { p, _ in p.age - 1 != 0 })
        add("|age| > 1", { $0.age.magnitude > 1 }, { p, _ in p.age.magnitude > 1 })
        add(
            "score * 2 >= 3", { $0.score * 2 >= 3 }, { p, _ in p.score * 2 >= 3 })
        add("length", { $0.name.scalarCount > 1 }, { p, _ in p.name.unicodeScalars.count > 1 })
        add(
            "first letter", { $0.name.prefix(1) == "a" },
            { p, _ in p.name.unicodeScalars.first == "a" })
        add(
            "name like", { $0.name.like("%b%") }, { p, _ in bytes(p.name).contains(98) })
        add(
            "name has suffix, folded", { $0.name.hasSuffix("B", .caseInsensitive) },
            { p, _ in bytes(fold(p.name)).last == 98 })
        add("nick <= name", { $0.nick <= "b" }, { p, _ in p.nick.map { !less("b", $0) } ?? false })
        add("rank is not 1", { $0.rank != 1 }, { p, _ in p.rank != 1 })
        add("rank in list", { $0.rank.isIn([1, nil]) }, { p, _ in p.rank == 1 || p.rank == nil })
        add("tags.count", { $0.tags.elementCount == 2 }, { p, _ in p.tags.count == 2 })
        return leaves[choices.index(below: leaves.count)]
    }

    private static func fold(_ text: String) -> String {
        text.folding(options: .caseInsensitive, locale: nil).precomposedStringWithCanonicalMapping
    }
}

extension [UInt8] {
    fileprivate func containsRun(_ other: [UInt8]) -> Bool {
        (0...count).contains { self[$0...].starts(with: other) }
    }
}

@Suite(.perEngine) struct `Queries are filters` {
    static func store(_ league: League) async throws -> GraphStore {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await fill(store, league)
        return store
    }

    static func fill(_ store: GraphStore, _ league: League) async throws {
        try await store.write { tx in
            try await tx.delete(PlayerRow.self) { _ in Condition.always }
            try await tx.delete(SquadRow.self) { _ in Condition.always }
            try await tx.insert(contentsOf: league.teams)
            try await tx.insert(contentsOf: league.players)
        }
    }

    @Test func `a random predicate chooses what plain Swift chooses`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(TwoWayPredicate.gen(depth: 3)), count: 600) {
            (league: League, predicate: TwoWayPredicate) in
            try await Self.fill(store, league)
            let query = Query(PlayerRow.self).where { predicate.stored($0) }
            let found = try await store.fetch(query)
            let expected = league.players.filter { predicate.plain($0, league) }
            try ensure(
                found.map(\.id).sorted() == expected.map(\.id),
                "\(predicate): \(found.map(\.id)), \(expected.map(\.id))")
            for row in found { try ensure(row.friends == league.players[row.id].friends, "friends of \(row.id)") }
            try ensure(try await store.count(query) == expected.count)
        }
    }

    @Test func `a random predicate deletes and updates what plain Swift chooses`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(TwoWayPredicate.gen(depth: 1)), count: 150) {
            (league: League, predicate: TwoWayPredicate) in
            try await Self.fill(store, league)
            let chosen = Set(league.players.filter { predicate.plain($0, league) }.map(\.id))
            let count = try await store.write { tx in
                try await tx.update(PlayerRow.self, where: { predicate.stored($0) }) {
                    $0.age.set(to: $0.age + $0.id)
                    $0.nick.set(to: nil)
                }
            }
            try ensure(count == chosen.count, "\(predicate): \(count), \(chosen)")
            let left = try await store.fetch(Query(PlayerRow.self).where { !$0.nick.isNil }).map(\.id)
            try ensure(left == league.players.filter { $0.nick != nil && !chosen.contains($0.id) }.map(\.id))
            for row in try await store.fetch(Query(PlayerRow.self)) {
                let old = league.players[row.id]
                try ensure(row.age == (chosen.contains(row.id) ? old.age + row.id : old.age), "\(predicate)")
                try ensure((row.nick == nil) == (chosen.contains(row.id) || old.nick == nil), "\(predicate)")
            }
        }
    }

    @Test func `what is set is computed of all rows as they were`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(TwoWayPredicate.gen(depth: 0)), count: 100) {
            (league: League, predicate: TwoWayPredicate) in
            try await Self.fill(store, league)
            try await store.write { tx in
                try await tx.update(PlayerRow.self, where: { predicate.stored($0) }) {
                    $0.age.set(to: $0.friends.sum { $0.age } - $0.age)
                }
            }
            for row in try await store.fetch(Query(PlayerRow.self)) {
                let old = league.players[row.id]
                let new = league.friends(old).map(\.age).reduce(0, +) - old.age
                try ensure(row.age == (predicate.plain(old, league) ? new : old.age), "\(predicate)")
            }
        }
    }

    @Test func `a random predicate deletes what plain Swift chooses`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(TwoWayPredicate.gen(depth: 1)), count: 150) {
            (league: League, predicate: TwoWayPredicate) in
            try await Self.fill(store, league)
            let chosen = league.players.filter { predicate.plain($0, league) }.map(\.id)
            try await store.write { tx in
                // Foreign keys are checked at commit: nobody may be left who has a friend that is gone.
                let count = try await tx.delete(PlayerRow.self, where: { predicate.stored($0) })
                try ensure(count == chosen.count, "\(predicate): \(count), \(chosen)")
                let left = try await tx.select(Query(PlayerRow.self).sorted(by: \.id)) { $0.id }
                try ensure(left == league.players.map(\.id).filter { !chosen.contains($0) }, "\(predicate)")
                try await tx.delete(PlayerRow.self) { _ in Condition.always }
            }
        }
    }
}
