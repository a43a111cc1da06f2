import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// A random query, as data.
private struct Asked: CustomStringConvertible {
    var filter: Int
    var bound: Int
    var sorts: [(property: Int, descending: Bool)]
    var limit: Int?
    var offset: Int?

    init(_ choices: inout Choices) {
        filter = Gen<Int>.int(in: 0...8).generate(&choices)
        bound = Gen<Int>.int(in: 0...4).generate(&choices)
        sorts = Gen<[(property: Int, descending: Bool)]>.array(
            of: Gen<Int>.int(in: 0...3).zip(.bool).map { (property: $0.0, descending: $0.1) }, count: 0...3
        ).generate(&choices)
        limit = Gen<Int?>.optional(.int(in: 0...6)).generate(&choices)
        if choices.bool() { limit = nil }
        offset = choices.bool() && choices.bool() ? Gen<Int>.int(in: 0...4).generate(&choices) : nil
    }

    var description: String {
        "filter \(filter) \(bound), sorts \(sorts.map { "\($0.property)\($0.descending ? "↓" : "↑")" }), "
            + "limit \(limit.map { "\($0)" } ?? "-"), offset \(offset.map { "\($0)" } ?? "-")"
    }

    var query: Query<WareRecord> {
        var query = Query(WareRecord.self)
        switch filter {
        case 1: query = query.where { $0.price < Double(bound) }
        case 2: query = query.where { $0.group == bound }
        case 3: query = query.where { !($0.name == "b") }
        case 4: query = query.where { $0.name.isNil || $0.group >= bound }
        case 5:
            query = query.where {
                $0.name.hasPrefix("a")
                $0.price >= 1
            }
        case 6: query = query.where { $0.depot.name == "a" }
        case 7: query = query.where { $0.depot == Ref(bound) }
        case 8: query = query.where { $0.id > bound }
        default: break
        }
        for sort in sorts {
            switch sort.property {
            case 0: query = query.sorted(by: \.name, descending: sort.descending)
            case 1: query = query.sorted(by: \.price, descending: sort.descending)
            case 2: query = query.sorted(by: \.group, descending: sort.descending)
            default: query = query.sorted(by: \.depot, descending: sort.descending)
            }
        }
        if let limit { query = query.limit(limit) }
        if let offset { query = query.offset(offset) }
        return query
    }
}

private enum Step: CustomStringConvertible {
    case upsert(WareRecord)
    case patch(Int, Double)
    case delete(Int)
    case rename(Int, String)
    case raw(String)
    case undone(Int)

    init(_ choices: inout Choices) {
        let id = Gen<Int>.int(in: 1...9).generate(&choices)
        switch Gen<Int>.int(in: 0...9).generate(&choices) {
        case 0...3: self = .upsert(Self.ware(id, &choices))
        case 4, 5: self = .patch(id, Self.price(&choices))
        case 6: self = .delete(id)
        case 7: self = .rename(1 + id % 3, choices.bool() ? "a" : "z")
        case 8:
            self = .raw(
                Gen<String>.element(of: [
                    "UPDATE ware SET price = price + 1 WHERE id = \(id)",
                    "UPDATE ware SET \"group\" = 4 - \"group\"",
                    "DELETE FROM ware WHERE id > \(id) AND id NOT IN (SELECT target FROM ware_parts)",
                    "INSERT OR IGNORE INTO ware (id, price, \"group\") VALUES (\(id), 1, 1)",
                    "INSERT OR REPLACE INTO ware (id, name, price, \"group\") VALUES (\(id + 9), 'a', 1, 1)",
                    "DELETE FROM ware_parts", "UPDATE ware SET id = id + 20 WHERE id = \(id + 9)",
                ]).generate(&choices))
        default: self = .undone(id)
        }
    }

    static func price(_ choices: inout Choices) -> Double {
        Gen<Double>.element(of: [0, 1, 2, 3, 4, -0.0, -1, 0.5, .nan, .infinity]).generate(&choices)
    }

    static func ware(_ id: Int, _ choices: inout Choices) -> WareRecord {
        WareRecord(
            id: id, name: Gen<String?>.optional(.element(of: ["a", "b", "ab", "é", "B", ""])).generate(&choices),
            price: price(&choices), group: Gen<Int>.int(in: 0...4).generate(&choices),
            depot: Gen<Int?>.optional(.int(in: 1...3)).generate(&choices).map { Ref($0) },
            parts: choices.bool() && choices.bool() ? [Ref(id)] : [])
    }

    var description: String {
        switch self {
        case .upsert(let ware):
            "upsert \(ware.id) \(ware.name ?? "nil") \(ware.price) \(ware.group) \(ware.parts.count)"
        case .patch(let id, let price): "patch \(id) \(price)"
        case .delete(let id): "delete \(id)"
        case .rename(let id, let name): "rename depot \(id) \(name)"
        case .raw(let sql): sql
        case .undone(let id): "undone \(id)"
        }
    }

    private struct Undo: Error {}

    func run(_ tx: WriteTransaction) async throws {
        switch self {
        case .upsert(let ware): try await tx.upsert(ware)
        case .patch(let id, let price): try await tx.apply(Patch(WareRecord.self, id).set(\.price, price))
        case .delete(let id): try await tx.delete(WareRecord.self, id)
        case .rename(let id, let name): try await tx.upsert(DepotRecord(id: id, name: name))
        case .raw(let sql): try await tx.execute(sql)
        case .undone(let id):
            do {
                try await tx.savepoint {
                    _ = try await tx.delete(WareRecord.self, id)
                    throw Undo()
                }
            } catch is Undo {}
        }
    }
}

private struct Scenario: CustomStringConvertible {
    var asked: Asked
    var wares: [WareRecord]
    /// Transactions; after each inner list the observer looks.
    var rounds: [[[Step]]]

    static let gen = Gen<Scenario> { choices in
        let asked = Asked(&choices)
        var wares: [WareRecord] = []
        choices.rounds(0...8) { choices, index in wares.append(Step.ware(index + 1, &choices)) }
        var rounds: [[[Step]]] = []
        choices.rounds(1...5) { choices, _ in
            var transactions: [[Step]] = []
            choices.rounds(1...3) { choices, _ in
                var steps: [Step] = []
                choices.rounds(0...5) { choices, _ in steps.append(Step(&choices)) }
                transactions.append(steps)
            }
            rounds.append(transactions)
        }
        return Scenario(asked: asked, wares: wares, rounds: rounds)
    }

    var description: String { "\(asked)\n\(wares.map(Step.upsert))\n\(rounds)" }
}

@Suite struct `Changes of a query` {
    @Test func `applied to the old collection, they make the new one`() async throws {
        try await check(Scenario.gen, count: 400) { scenario in
            let store = try await openWares()
            try await store.write { tx in
                for id in 1...3 { try await tx.insert(DepotRecord(id: id, name: "a")) }
                try await tx.insert(contentsOf: scenario.wares)
            }
            let query = scenario.asked.query
            // The same as observed: the key decides what the query leaves open.
            let whole = query.sorted(by: \.id)
            var changes = try await Stepper(store, LiveRows(query))
            var old = try await store.fetch(whole)
            var table = TableModel(old.map(Same.init))
            var moving = table
            for round in scenario.rounds {
                for transaction in round {
                    do {
                        try await store.write { tx in for step in transaction { try await step.run(tx) } }
                    } catch let error as StoreError where error.kind == .foreignKey || error.kind == .duplicateKey {}
                }
                let expected = try await store.fetch(whole)
                let told = try await changes.step()
                try ensure((told == nil) == same(old, expected), told == nil ? "nothing is told" : "told of nothing")
                guard let change = told else { continue }
                try verify(change, old, expected)
                try table.apply(change, as: Same.init)
                try moving.applyMoving(change, as: Same.init)
                try ensure(table.rows == expected.map(Same.init), "the table shows \(table.rows)")
                try ensure(
                    moving.rows.map(\.ware.id) == expected.map(\.id), "the table with moves shows \(moving.rows)")
                old = expected
            }
        }
    }

    private func same(_ left: some Collection<WareRecord>, _ right: some Collection<WareRecord>) -> Bool {
        left.map(Same.init) == right.map(Same.init)
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
            try ensure(Same(ware: old[before]) != Same(ware: new[after]), "\(before) is not modified")
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

/// Equality as the store has it: NaN is itself.
private struct Same: Equatable, Sendable, CustomStringConvertible {
    let ware: WareRecord
    var description: String { Step.upsert(ware).description }
    static func == (left: Self, right: Self) -> Bool {
        WareRecord.schema.properties.allSatisfy { $0.isSame(left.ware, right.ware) }
    }
}
