import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// A random query, as data.
struct AskedWares: CustomStringConvertible {
    static let gen = Gen<AskedWares> { AskedWares(&$0) }

    var filter: Int
    var bound: Int
    var sorts: [(property: Int, descending: Bool)]
    var limit: Int?
    var offset: Int?
    var distinct: Int?

    init(_ choices: inout Choices) {
        filter = Gen<Int>.int(in: 0...9).generate(&choices)
        bound = Gen<Int>.int(in: 0...4).generate(&choices)
        sorts = Gen<[(property: Int, descending: Bool)]>.array(
            of: Gen<Int>.int(in: 0...7).zip(.bool).map { (property: $0.0, descending: $0.1) }, count: 0...3
        ).generate(&choices)
        limit = Gen<Int?>.optional(.int(in: 0...6)).generate(&choices)
        if choices.bool() { limit = nil }
        offset = choices.bool() && choices.bool() ? Gen<Int>.int(in: 0...4).generate(&choices) : nil
        distinct = choices.bool() && choices.bool() ? Gen<Int>.int(in: 0...1).generate(&choices) : nil
    }

    var description: String {
        "filter \(filter) \(bound), sorts \(sorts.map { "\($0.property)\($0.descending ? "↓" : "↑")" }), "
            + "limit \(limit.map { "\($0)" } ?? "-"), offset \(offset.map { "\($0)" } ?? "-"), distinct \(distinct.map { "\($0)" } ?? "-")"
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
        case 9: query = query.where { $0.parts.any { $0.price < Double(bound) } }
        default: break
        }
        for sort in sorts {
            switch sort.property {
            case 0: query = query.sorted(by: \.name, descending: sort.descending)
            case 1: query = query.sorted(by: \.price, descending: sort.descending)
            case 2: query = query.sorted(by: \.group, descending: sort.descending)
            case 3: query = query.sorted(by: \.depot, descending: sort.descending)
            case 4: query = query.sorted(by: \.name, as: .caseInsensitive, descending: sort.descending)
            case 5: query = query.sorted(by: \.name, as: .locale("de_DE"), descending: sort.descending)
            case 6: query = query.sorted(by: \.name, descending: sort.descending, nulls: .last)
            default: query = query.sorted(descending: sort.descending, nulls: .first) { $0.depot.name }
            }
        }
        if distinct == 0 { query = query.distinct(by: \.group) }
        if distinct == 1 { query = query.distinct(by: \.name).distinct(by: \.price) }
        if let limit { query = query.limit(limit) }
        if let offset { query = query.offset(offset) }
        return query
    }
}

enum WareStep: CustomStringConvertible {
    case upsert(WareRecord)
    case patch(Int, Double)
    case delete(Int)
    case rename(Int, String)
    case raw(String)
    case undone(Int)
    /// More rows than a change record tells apart.
    case many(ClosedRange<Int>, Double)
    case updateAll(Int, Double)
    case deleteAll(Int)
    case rekey(Int)

    init(_ choices: inout Choices) {
        let id = Gen<Int>.int(in: 1...9).generate(&choices)
        switch Gen<Int>.int(in: 0...22).generate(&choices) {
        case 0...8: self = .upsert(Self.ware(id, &choices))
        case 9...11: self = .patch(id, Self.price(&choices))
        case 12, 13: self = .delete(id)
        case 14, 15: self = .rename(1 + id % 3, choices.bool() ? "a" : "z")
        case 16, 17:
            self = .raw(
                Gen<String>.element(of: [
                    "UPDATE ware SET price = price + 1 WHERE id = \(id)",
                    "UPDATE ware SET \"group\" = 4 - \"group\"",
                    "DELETE FROM ware WHERE id > \(id) AND id NOT IN (SELECT target FROM ware_parts)",
                    "INSERT OR IGNORE INTO ware (id, price, \"group\") VALUES (\(id), 1, 1)",
                    "INSERT OR REPLACE INTO ware (id, name, price, \"group\") VALUES (\(id + 9), 'a', 1, 1)",
                    "DELETE FROM ware_parts", "UPDATE ware SET id = id + 20 WHERE id = \(id + 9)",
                ]).generate(&choices))
        case 18: self = .undone(id)
        case 20: self = .updateAll(id, Self.price(&choices))
        case 21: self = .deleteAll(id)
        case 22: self = .rekey(id)
        default: self = .many(id...id + 66 + id % 3, Self.price(&choices))
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
        case .many(let ids, let price): "\(ids) \(price)"
        case .updateAll(let id, let price): "update where id > \(id): \(price)"
        case .deleteAll(let id): "delete where id > \(id)"
        case .rekey(let id): "\(id) becomes \(id + 100)"
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
        case .updateAll(let id, let price):
            _ = try await tx.update(WareRecord.self, where: { $0.id > id }, set: { $0.price.set(to: price) })
        case .deleteAll(let id): _ = try await tx.delete(WareRecord.self) { $0.id > id }
        case .rekey(let id):
            try await tx.execute(
                "UPDATE ware SET id = id + 100 WHERE id = ? AND id NOT IN (SELECT owner FROM ware_parts)",
                [.integer(Int64(id))])
        case .many(let ids, let price):
            for id in ids {
                let isThere = try await tx.apply(Patch(WareRecord.self, id).set(\.price, price))
                if !isThere { try await tx.insert(WareRecord(id: id, price: price, group: id % 5)) }
            }
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

/// A query, a table, and what is written to it.
struct WareStory: CustomStringConvertible {
    var asked: AskedWares
    var wares: [WareRecord]
    /// Transactions; after each inner list the observer looks.
    var rounds: [[[WareStep]]]

    static let gen = Gen<WareStory> { choices in
        let asked = AskedWares(&choices)
        var wares: [WareRecord] = []
        choices.rounds(0...8) { choices, index in wares.append(WareStep.ware(index + 1, &choices)) }
        var rounds: [[[WareStep]]] = []
        choices.rounds(1...5) { choices, _ in
            var transactions: [[WareStep]] = []
            choices.rounds(1...3) { choices, _ in
                var steps: [WareStep] = []
                choices.rounds(0...5) { choices, _ in steps.append(WareStep(&choices)) }
                transactions.append(steps)
            }
            rounds.append(transactions)
        }
        return WareStory(asked: asked, wares: wares, rounds: rounds)
    }

    var description: String { "\(asked)\n\(wares.map(WareStep.upsert))\n\(rounds)" }

    /// A store with the table, and then `body` after each round of writes.
    func run(_ body: (GraphStore, _ round: Int?) async throws -> Void) async throws {
        let store = try await openWares()
        try await store.write { tx in
            for id in 1...3 { try await tx.insert(DepotRecord(id: id, name: "a")) }
            try await tx.insert(contentsOf: wares)
        }
        try await body(store, nil)
        for (number, round) in rounds.enumerated() {
            for transaction in round {
                do {
                    try await store.write { tx in for step in transaction { try await step.run(tx) } }
                } catch let error as StoreError where error.kind == .foreignKey || error.kind == .duplicateKey {}
            }
            try await body(store, number)
        }
    }
}

/// Equality as the store has it: NaN is itself.
struct SameWare: Equatable, Sendable, CustomStringConvertible {
    let ware: WareRecord
    var description: String { WareStep.upsert(ware).description }
    static func == (left: Self, right: Self) -> Bool {
        WareRecord.schema.properties.allSatisfy { $0.isSame(left.ware, right.ware) }
    }
}
