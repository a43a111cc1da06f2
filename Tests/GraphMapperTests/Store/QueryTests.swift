import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

private func store() async throws -> GraphStore {
    let store = try await Engine.open(SquadRow.self, PlayerRow.self)
    let names = ["bob", "Ann", "émile", "Zoë", "ann", "Öz", "Eva"]
    try await store.write { tx in
        try await tx.insert(contentsOf: [
            SquadRow(id: 0, name: "red", city: "Ulm"), SquadRow(id: 1, name: "blue", city: nil),
        ])
        for (id, name) in names.enumerated() {
            try await tx.insert(
                PlayerRow(
                    id: id, name: name, nick: id % 3 == 0 ? nil : "n\(id % 2)", age: id % 4, score: Double(id) / 2,
                    rank: nil, price: Decimal(id) / 10, serial: UInt64(id), isActive: id % 2 == 0,
                    team: id == 6 ? nil : Ref(id % 2), friends: [], tags: []))
        }
    }
    return store
}

@Suite(.perEngine) struct `Orders, pages, groups` {
    private func names(_ query: Query<PlayerRow>) async throws -> [String] {
        try await store().fetch(query).map(\.name)
    }

    @Test func `texts are sorted by bytes, without case, or as a person does`() async throws {
        let all = Query(PlayerRow.self)
        #expect(try await names(all.sorted(by: \.name)) == ["Ann", "Eva", "Zoë", "ann", "bob", "Öz", "émile"])
        #expect(
            try await names(all.sorted(by: \.name, as: .caseInsensitive).sorted(by: \.id))
                == ["Ann", "ann", "bob", "Eva", "Zoë", "émile", "Öz"])
        #expect(
            try await names(all.sorted(by: \.name, as: .locale("de_DE")))
                == ["ann", "Ann", "bob", "émile", "Eva", "Öz", "Zoë"])
        #expect(
            try await names(all.sorted(as: .locale("sv_SE"), descending: true) { $0.name }).prefix(2) == ["Öz", "Zoë"])
    }

    @Test func `records without a value come where they are wanted`() async throws {
        func ids(_ descending: Bool, _ nulls: NullPlacement?) async throws -> [Int] {
            try await store().fetch(
                Query(PlayerRow.self).sorted(by: \.nick, descending: descending, nulls: nulls).sorted(by: \.id)
            ).map(\.id)
        }
        #expect(try await ids(false, nil) == [0, 3, 6, 2, 4, 1, 5])
        #expect(try await ids(true, nil) == [1, 5, 2, 4, 0, 3, 6])
        #expect(try await ids(false, .last) == [2, 4, 1, 5, 0, 3, 6])
        #expect(try await ids(true, .first) == [0, 3, 6, 1, 5, 2, 4])
    }

    @Test func `sorts through links, and by what is computed`() async throws {
        let query = Query(PlayerRow.self).sorted(nulls: .last) { $0.team.name }.sorted(descending: true) {
            $0.age * 10 + $0.id
        }
        #expect(try await store().fetch(query).map(\.id) == [3, 5, 1, 2, 4, 0, 6])
    }

    @Test func `distinct keeps the first of each in the query's order`() async throws {
        let query = Query(PlayerRow.self).distinct(by: \.age).sorted(by: \.id, descending: true)
        #expect(try await store().fetch(query).map(\.id) == [6, 5, 4, 3])
        #expect(try await store().count(query.where { $0.id < 5 }) == 4)
        #expect(try await store().fetch(query.where { $0.id < 5 }.limit(2).offset(1)).map(\.id) == [3, 2])
    }

    @Test func `columns, aggregates and groups`() async throws {
        let store = try await store()
        let players = Query(PlayerRow.self)
        let rows = try await store.select(players.where { $0.id < 2 }.sorted(by: \.id)) {
            ($0.name, $0.team.city, $0.age + 1)
        }
        #expect(rows.map(\.0) == ["bob", "Ann"] && rows.map(\.1) == ["Ulm", nil] && rows.map(\.2) == [1, 2])
        #expect(try await store.select(players.sorted(by: \.age), distinct: true) { $0.age } == [0, 1, 2, 3])
        #expect(try await store.value(players) { $0.age.sum() } == 9)
        #expect(try await store.value(players) { $0.price.sum() } == Decimal(string: "2.1"))
        #expect(try await store.value(players) { $0.price.max() } == Decimal(string: "0.6"))
        #expect(try await store.value(players) { $0.score.average() } == 1.5)
        #expect(try await store.value(players) { $0.rank.max() } == .some(nil))
        #expect(try await store.value(players) { $0.count() } == 7)
        #expect(try await store.value(players) { $0.nick.count() } == 4)
        #expect(try await store.value(players.where { $0.id < 0 }) { $0.age.sum() } == 0)
        let groups = try await store.select(
            players.grouped { $0.team.name ?? "" }.having { $0.count() > 1 }.sorted { $0.team.name ?? "" }
        ) { ($0.team.name ?? "", $0.count(), $0.age.max()) }
        #expect(groups.map(\.0) == ["blue", "red"] && groups.map(\.1) == [3, 3] && groups.map(\.2) == [3, 2])
        await #expect { try await store.fetch(players.grouped { $0.age }) } throws: {
            ($0 as? GraphError)?.kind == .misuse
        }
        await #expect { try await store.value(players.where { $0.id == 6 }) { $0.team.name } } throws: {
            ($0 as? GraphError)?.kind == .conversion
        }
    }

    @Test func `a column of truth values is a term`() async throws {
        let store = try await store()
        let all = try await store.fetch(Query(PlayerRow.self))
        func ids(_ query: Query<PlayerRow>) async throws -> Set<Int> { Set(try await store.fetch(query).map(\.id)) }
        let active = Set(all.filter(\.isActive).map(\.id))
        #expect(try await ids(Query(PlayerRow.self).where { $0.isActive }) == active)
        #expect(try await ids(Query(PlayerRow.self).where { !$0.isActive }) == Set(all.map(\.id)).subtracting(active))
        #expect(
            try await ids(
                Query(PlayerRow.self).where {
                    $0.isActive
                    $0.age > 1 || !$0.isActive
                }) == active.intersection(all.filter { $0.age > 1 }.map(\.id)))
    }

    @Test func `sections are in the order of their keys`() async throws {
        let sections = try await store().sections(Query(PlayerRow.self).sorted(by: \.name)) { $0.age }
        #expect(sections.map(\.key) == [0, 1, 2, 3])
        #expect(
            sections.map { $0.records.map(\.name) } == [["ann", "bob"], ["Ann", "Öz"], ["Eva", "émile"], ["Zoë"]])
        let down = try await store().sections(Query(PlayerRow.self).limit(3).sorted(by: \.id), descending: true) {
            $0.age
        }
        // The limit is the query's.
        #expect(down.map(\.key) == [2, 1, 0])
        #expect(try await store().sections(Query(PlayerRow.self).where { $0.id < 0 }) { $0.age }.isEmpty)
    }

    @Test func `children by foreign key, and a list behind a link`() async throws {
        let store = try await store()
        let busy = Query(SquadRow.self).where { $0.many(PlayerRow.self, by: \.team).where { $0.age > 2 }.count == 1 }
        #expect(try await store.fetch(busy).map(\.id) == [1])
        let all = Query(SquadRow.self).where { squad in
            squad.many(PlayerRow.self, by: \.team).all { $0.team.name == squad.name }
        }
        #expect(try await store.count(all) == 2)
        #expect(try await store.count(Query(PlayerRow.self).where { $0.team.isIn(busy) }) == 3)
    }

    @Test func `a condition under an if, and in a loop`() async throws {
        func count(_ name: String?, _ ages: [Int]) async throws -> Int {
            try await store().count(
                Query(PlayerRow.self).where {
                    if let name { $0.name == name }
                    for age in ages { $0.age != age }
                })
        }
        #expect(try await count(nil, []) == 7)
        #expect(try await count("bob", []) == 1)
        #expect(try await count("bob", [0]) == 0)
        #expect(try await count(nil, [0, 1]) == 3)
    }

    @Test func `patterns`() async throws {
        func fits(_ text: String, _ pattern: String, _ options: TextOptions = []) async throws -> Bool {
            let store = try await Engine.open(SquadRow.self)
            try await store.write { try await $0.insert(SquadRow(id: 1, name: text, city: nil)) }
            return try await store.count(Query(SquadRow.self).where { $0.name.like(pattern, options) }) == 1
        }
        for (text, pattern) in [
            ("", ""), ("", "%"), ("abc", "a%"), ("abc", "%c"), ("abc", "_b_"), ("aXbXc", "%X%c"),
            ("50%", "50\\%"), ("a\0b", "a_b"), ("aab", "%ab"), ("a\\", "a\\"), ("mississippi", "%iss%ip%"),
        ] {
            #expect(try await fits(text, pattern), "\(text) \(pattern)")
        }
        for (text, pattern) in [("a", ""), ("", "_"), ("abc", "A%"), ("500", "50\\%"), ("mississippi", "%issp%")] {
            #expect(try await !fits(text, pattern), "\(text) \(pattern)")
        }
        #expect(try await fits("ÉCLAIR", "é%r", .caseInsensitive))
        #expect(try await fits("éclair", "E%", [.caseInsensitive, .diacriticInsensitive]))
    }

    @Test func `a column of another query is an error`() async throws {
        let store = try await store()
        nonisolated(unsafe) var stolen: ColumnExpression<Int>?
        _ = Query(PlayerRow.self).where { columns in
            stolen = columns.age
            return Condition.always
        }
        let column = try #require(stolen)
        await #expect { try await store.fetch(Query(PlayerRow.self).where { _ in column > 1 }) } throws: {
            ($0 as? GraphError)?.kind == .misuse
        }
    }

    @Test func `a plan warns of full scans`() async throws {
        let store = try await store()
        let slow = try await store.explain(Query(PlayerRow.self).where { $0.score > 1 }.sorted(by: \.score))
        #expect(slow.warnings.count == 1 && slow.warnings[0].contains("player") && slow.sortsRows)
        let fast = try await store.explain(Query(PlayerRow.self).where { $0.name.hasPrefix("a") }.sorted(by: \.name))
        #expect(fast.warnings == [] && !fast.sortsRows, "\(fast)")
        let children = try await store.explain(
            Query(PlayerRow.self).where {
                $0.age == 1
                $0.name > "b"
            })
        #expect(children.warnings == [], "\(children)")
    }

    @Test func `updates refuse what cannot be set`() async throws {
        let store = try await store()
        func fails(_ set: @escaping @Sendable (Columns<PlayerRow>) -> [Assignment<PlayerRow>]) async {
            let error = await #expect(throws: GraphError.self) {
                try await store.write {
                    try await $0.update(PlayerRow.self, where: { _ in Condition.always }, set: set)
                }
            }
            #expect(error?.kind == .misuse)
        }
        await fails { [$0.id.set(to: 3)] }
        await fails { _ in [] }
        await fails { [$0.age.set(to: 1), $0.age.set(to: 2)] }
        await fails { [$0.team.name.set(to: "x")] }
        await fails { [($0.age + 1).set(to: 2)] }
    }

    @Test func `bulk writes leave change records`() async throws {
        let store = try await store()
        let known = try await store.changeRecords().last?.sequence ?? 0
        try await store.write { tx in
            try await tx.update(PlayerRow.self, where: { $0.id < 2 }) { $0.age.set(to: 9) }
            try await tx.delete(PlayerRow.self) { $0.id == 6 }
        }
        let records = try await store.changeRecords(after: known)
        #expect(records.map(\.key) == [[.integer(0)], [.integer(1)], [.integer(6)]])
        #expect(records.map(\.kind) == [.update, .update, .delete] && records[0].columns == ["age"])
        try await store.write { tx in
            try await tx.insert(contentsOf: (0..<100).map { SquadRow(id: $0 + 10, name: "x", city: nil) })
            try await tx.update(SquadRow.self, where: { $0.id >= 10 }) { $0.name.set(to: "y") }
        }
        let many = try await store.changeRecords(after: records[2].sequence)
        #expect(many.map(\.key) == [nil, nil] && many[1].columns == ["name"])
    }
}

@Suite(.perEngine) struct `Pages by key` {

    /// Every way to sort by which a page could start.
    static let orders: [@Sendable (Query<PlayerRow>) -> Query<PlayerRow>] = [
        { $0 }, { $0.sorted(by: \.age) }, { $0.sorted(by: \.name).sorted(by: \.age) },
        { $0.sorted(by: \.age, descending: true).sorted(by: \.name) }, { $0.sorted(by: \.rank) },
        { $0.sorted(by: \.rank, descending: true) }, { $0.sorted(by: \.rank, nulls: .last) },
        { $0.sorted(by: \.rank, descending: true, nulls: .first).sorted(by: \.id, descending: true) },
        { $0.sorted(by: \.name, as: .locale("de_DE")) }, { $0.sorted(by: \.score) }, { $0.sorted(by: \.price) },
        { $0.sorted(by: \.serial, descending: true) }, { $0.sorted { $0.team.name } },
        { $0.sorted(as: .caseInsensitive, nulls: .last) { $0.nick } },
    ]

    @Test func `pages are the whole, whatever the order`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(.int(in: 0...(Self.orders.count * 4 - 1))), count: 200) {
            (league: League, choice: Int) in
            try await fill(store, league)
            let query = Self.orders[choice / 4](Query(PlayerRow.self))
            let whole = try await store.fetch(query.limit(1000)).map(\.id)
            var found: [Int] = []
            var cursor: PageCursor?
            repeat {
                let page = try await store.page(query, after: cursor, size: choice % 4 + 1)
                found += page.records.map(\.id)
                try ensure(page.next == nil || page.records.count == choice % 4 + 1)
                cursor = page.next.flatMap { PageCursor($0.description) }
            } while cursor != nil
            try ensure(found == whole, "order \(choice / 4): \(found), \(whole)")
        }
    }

    @Test func `pages of distinct records are the whole, too, and each has its place`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await check(League.gen.zip(.int(in: 0...(Self.orders.count * 4 - 1))), count: 100) {
            (league: League, choice: Int) in
            try await fill(store, league)
            let all = Self.orders[choice / 4](Query(PlayerRow.self).where { $0.age < 3 })
            let query = choice % 2 == 0 ? all : all.distinct(by: \.age)
            let whole = try await store.fetch(query.limit(1000)).map(\.id)
            var found: [Int] = []
            var cursor: PageCursor?
            repeat {
                let page = try await store.page(query, after: cursor, size: choice % 3 + 1)
                found += page.records.map(\.id)
                cursor = page.next
            } while cursor != nil
            try ensure(found == whole, "order \(choice / 4): \(found), \(whole)")
            let list = store.toMany(query, pageSize: choice % 3 + 1, as: \.id) { _, _ in -1 }
            try ensure(Array(list) == whole, "order \(choice / 4): \(Array(list)), \(whole)")
            for player in league.players {
                let place = try await store.index(of: player.id, in: query)
                try ensure(
                    place == whole.firstIndex(of: player.id), "\(player.id) in \(whole): \(String(describing: place))")
            }
        }
        await #expect { try await store.index(of: 1, in: Query(PlayerRow.self).limit(3)) } throws: {
            ($0 as? GraphError)?.kind == .misuse
        }
    }

    @Test func `rows that come and go between pages shift nothing`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        try await store.write { tx in
            for id in 0..<20 { try await tx.insert(SquadRow(id: id, name: "\(id / 3)", city: nil)) }
        }
        let query = Query(SquadRow.self).sorted(by: \.name)
        let first = try await store.page(query, size: 5)
        try await store.write { tx in
            // Before and after the cursor, one the cursor's own row.
            try await tx.delete(SquadRow.self) { $0.id.isIn([first.records[0].id, first.records[4].id]) }
            try await tx.insert(SquadRow(id: 100, name: "", city: nil))
            try await tx.insert(SquadRow(id: 101, name: "9", city: nil))
        }
        let second = try await store.page(query, after: first.next, size: 100)
        let expected = Set(0..<20).subtracting(first.records.map(\.id)).union([101])
        #expect(
            Set(second.records.map(\.id)) == expected && second.records.count == expected.count && second.next == nil)
        await #expect { try await store.page(query.limit(3), size: 1) } throws: { ($0 as? GraphError)?.kind == .misuse }
        await #expect { try await store.page(query.sorted(by: \.city), after: first.next, size: 1) } throws: {
            ($0 as? GraphError)?.kind == .misuse
        }
    }

    @Test func `a late page is found by an index`() async throws {
        let store = try await Engine.open(SquadRow.self, PlayerRow.self)
        let query = Query(PlayerRow.self).sorted(by: \.age).sorted(by: \.name)
        let log = try await store.explain(query.where { $0.age >= 3 })
        #expect(log.warnings == [] && !log.sortsRows, "\(log)")
    }
}

private func fill(_ store: GraphStore, _ league: League) async throws {
    try await `Queries are filters`.fill(store, league)
}
