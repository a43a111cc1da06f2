import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// A row, and what it shows of what it links to.
private struct SeenWare: Equatable {
    let ware: SameWare
    let depot: String?
    let parts: [StoredValue]
}

@Suite struct `Changes of a query` {
    @Test func `applied to the old collection, they make the new one`() async throws {
        try await check(WareStory.gen, count: times(400, soak: 100_000)) { scenario in
            let query = scenario.asked.query
            // The same as observed: the key decides what the query leaves open.
            let whole = query.sorted(by: \.id)
            var changes: Stepper<LiveRows<WareRecord>>?
            var old: [WareRecord] = []
            var table = TableModel<SameWare>([])
            var moving = table
            try await scenario.run { store, round in
                let expected = try await store.fetch(whole)
                defer { old = expected }
                guard round != nil else {
                    changes = try await Stepper(store, LiveRows(query))
                    table = TableModel(expected.map(SameWare.init))
                    moving = table
                    return
                }
                let told = try await changes?.step()
                try ensure((told == nil) == same(old, expected), told == nil ? "nothing is told" : "told of nothing")
                guard let change = told else { return }
                try verify(change, old, expected)
                try table.apply(change, as: SameWare.init)
                try moving.applyMoving(change, as: SameWare.init)
                try ensure(table.rows == expected.map(SameWare.init), "the table shows \(table.rows)")
                try ensure(moving.rows == expected.map(SameWare.init), "the table with moves shows \(moving.rows)")
            }
        }
    }

    /// What a row shows of what it links to is right after each change, so everything that differs is told of; and nothing
    /// else is, since it is not told of anything where all is the same.
    @Test func `the same with what the records link to`() async throws {
        try await check(WareStory.gen, count: times(200, soak: 10_000)) { story in
            let query = story.asked.query
            let linked = ObservedLinks<WareRecord>.along {
                $0.depot.name
                $0.parts.price
            }
            var changes: Stepper<LiveLinked<WareRecord>>?
            var old: [SeenWare] = []
            var table = TableModel<SeenWare>([])
            try await story.run { store, round in
                let depots = try await store.fetch(Query(DepotRecord.self))
                let wares = try await store.fetch(Query(WareRecord.self))
                let names = Dictionary(uniqueKeysWithValues: depots.map { ($0.id, $0.name) })
                let prices = Dictionary(uniqueKeysWithValues: wares.map { ($0.id, $0.price) })
                let seen: (WareRecord) -> SeenWare = { ware in
                    SeenWare(
                        ware: SameWare(ware: ware), depot: ware.depot.flatMap { names[$0.id] },
                        parts: ware.parts.map { prices[$0.id].map(\.stored) ?? .null })
                }
                let expected = try await store.fetch(query.sorted(by: \.id)).map(seen)
                defer { old = expected }
                guard round != nil else {
                    changes = try await Stepper(store, LiveLinked(query, nil, linked))
                    table = TableModel(expected)
                    return
                }
                let told = try await changes?.step()
                try ensure((told == nil) == (old == expected), told == nil ? "nothing is told" : "told of nothing")
                guard let change = told else { return }
                try table.apply(change, as: seen)
                try ensure(table.rows == expected, "the table shows \(table.rows)")
            }
        }
    }

    @Test func `the same for two queries in one event`() async throws {
        try await check(WareStory.gen.zip(AskedWares.gen), count: times(100, soak: 5000)) { story, other in
            let queries = (story.asked.query, other.query)
            var changes: Stepper<LivePair<LiveLinked<WareRecord>, LiveLinked<WareRecord>>>?
            var tables = (TableModel<SameWare>([]), TableModel<SameWare>([]))
            try await story.run { store, round in
                let first = try await store.fetch(queries.0.sorted(by: \.id)).map(SameWare.init)
                let second = try await store.fetch(queries.1.sorted(by: \.id)).map(SameWare.init)
                guard round != nil else {
                    let live = LivePair(LiveLinked(queries.0), LiveLinked(queries.1))
                    changes = try await Stepper(store, live)
                    tables = (TableModel(first), TableModel(second))
                    return
                }
                let told = try await changes?.step()
                try ensure((told?.0 == nil) == (tables.0.rows == first), "the first is told \(told?.0 as Any)")
                try ensure((told?.1 == nil) == (tables.1.rows == second), "the second is told \(told?.1 as Any)")
                if let change = told?.0 { try tables.0.apply(change, as: SameWare.init) }
                if let change = told?.1 { try tables.1.apply(change, as: SameWare.init) }
                try ensure(tables.0.rows == first && tables.1.rows == second, "they show \(tables)")
            }
        }
    }

    private func same(_ left: some Collection<WareRecord>, _ right: some Collection<WareRecord>) -> Bool {
        left.map(SameWare.init) == right.map(SameWare.init)
    }

    private func verify(
        _ change: CollectionChange<WareRecord>, _ old: [WareRecord], _ expected: [WareRecord]
    ) throws {
        guard case .update(let new, let deletions, let insertions, let modifications) = change else {
            throw Violation(description: "a second initial")
        }
        try ensure(same(new, expected), "got \(new), expected \(expected)")
        try ensure(new.indices.map { new[$0].id } == new.map(\.id), "walking and indexing differ")
        for indices in [deletions, insertions, modifications] {
            try ensure(zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 }, "\(indices) do not ascend")
        }
        let inNew = change.modificationsInNew
        try ensure(inNew.count == modifications.count, "modificationsInNew")
        for (before, after) in zip(modifications, inNew) {
            try ensure(old[before].id == new[after].id, "modified \(before) is not \(after)")
            try ensure(SameWare(ware: old[before]) != SameWare(ware: new[after]), "\(before) is not modified")
        }
        for move in change.moves {
            try ensure(deletions.contains(move.from) && insertions.contains(move.to), "a move of its own")
            try ensure(old[move.from].id == new[move.to].id, "\(move) moves another row")
        }
        let moved = Set(change.moves.map(\.from))
        let gone = Set(deletions.filter { !moved.contains($0) }.map { old[$0].id })
        try ensure(gone.isDisjoint(with: new.map(\.id)), "a deleted row is there")
    }
}
