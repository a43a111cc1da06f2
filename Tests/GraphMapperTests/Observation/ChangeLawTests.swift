import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

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
