import Foundation
import GraphMapperStore
import GraphMapperTesting

/// Two tables with every kind of rule: a unique value that is required, one that is not, references that are and are not
/// required, to the same table and in circles, and a list.
final class Alpha {
    let id: Int
    var tag: Int
    var label: Int?
    var next: Alpha?
    var beta: Beta?
    var list: [Beta] = []
    init(id: Int, tag: Int) { (self.id, self.tag) = (id, tag) }
}
final class Beta {
    let id: Int
    var code: Int
    var alpha: Alpha?
    var other: Alpha?
    init(id: Int, code: Int) { (self.id, self.code) = (id, code) }
}

struct AlphaRow: StoredRecord {
    typealias Model = Alpha
    let id: Int
    let tag: Int
    let label: Int?
    let next: Ref<AlphaRow>?
    let beta: Ref<BetaRow>?
    let list: [Ref<BetaRow>]
    static let schema = Schema<Self>("alpha") { row in
        try Self(
            id: row("id", \.id), tag: row("tag", \.tag), label: row("label", \.label), next: row("next", \.next),
            beta: row("beta", \.beta), list: row("list", \.list))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Alpha(id: $0.id, tag: $0.tag)
        } properties: {
            Field(\.id, \.id)
            Field(\.tag, \.tag)
            Field(\.label, \.label)
            One(\.next, \.next)
            One(\.beta, \.beta)
            Many(\.list, \.list)
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.tag), .unique(\.label)]
}
struct BetaRow: StoredRecord {
    typealias Model = Beta
    let id: Int
    let code: Int
    let alpha: Ref<AlphaRow>
    let other: Ref<AlphaRow>?
    static let schema = Schema<Self>("beta") { row in
        try Self(
            id: row("id", \.id), code: row("code", \.code), alpha: row("alpha", \.alpha), other: row("other", \.other))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Beta(id: $0.id, code: $0.code)
        } properties: {
            Field(\.id, \.id)
            Field(\.code, \.code)
            One(\.alpha, \.alpha)
            One(\.other, \.other)
        }
    }
    // The required link may be part of a unique value.
    static let indexes: [Index<Self>] = [.unique(\.alpha, \.code)]
}

/// A naive database of the two tables that checks every rule after every change.
struct StrictDatabase {
    struct Broken: Error, CustomStringConvertible { var description: String }

    typealias Row = [String: StoredValue]
    var tables: [String: [[StoredValue]: Row]] = ["alpha": [:], "beta": [:]]
    var lists: [[StoredValue]: [StoredValue]] = [:]
    /// Whether foreign keys are left to the end.
    var defers = false

    static let nullable: [String: Set<String>] = ["alpha": ["label", "next", "beta"], "beta": ["other"]]
    static let uniques: [String: [[String]]] = ["alpha": [["tag"], ["label"]], "beta": [["alpha", "code"]]]
    static let references: [String: [String: String]] = [
        "alpha": ["next": "alpha", "beta": "beta"], "beta": ["alpha": "alpha", "other": "alpha"],
    ]

    mutating func apply(_ change: ChangeSet.Change) throws {
        switch change {
        case .insert(let row):
            guard tables[row.table]?[row.key] == nil else { throw Broken(description: "\(change): it is there") }
            tables[row.table]?[row.key] = Dictionary(uniqueKeysWithValues: zip(row.columns, row.values))
        case .update(let row):
            guard var found = tables[row.table]?[row.key] else { throw Broken(description: "\(change): it is gone") }
            for (column, (expected, value)) in zip(row.columns, zip(row.expected, row.values)) {
                guard found[column] == expected else { throw Broken(description: "\(change): it is \(found)") }
                found[column] = value
            }
            tables[row.table]?[row.key] = found
        case .delete(let row):
            guard let found = tables[row.table]?[row.key] else { throw Broken(description: "\(change): it is gone") }
            for (column, expected) in zip(row.columns, row.expected) where found[column] != expected {
                throw Broken(description: "\(change): it is \(found)")
            }
            tables[row.table]?[row.key] = nil
            if row.table == "alpha" { lists[row.key] = nil }
        case .relink(let link):
            guard lists[link.key] ?? [] == link.base else { throw Broken(description: "\(change): another list") }
            lists[link.key] = link.targets
        }
        try check(isCommit: false)
    }

    func check(isCommit: Bool) throws {
        for (name, rows) in tables {
            for (key, row) in rows {
                for (column, value) in row where value == .null {
                    guard Self.nullable[name]?.contains(column) == true else {
                        throw Broken(description: "\(name)(\(key)).\(column) is NULL")
                    }
                }
                guard isCommit || !defers else { continue }
                for (column, target) in Self.references[name] ?? [:] {
                    guard let value = row[column], value != .null, tables[target]?[[value]] == nil else { continue }
                    throw Broken(description: "\(name)(\(key)).\(column) points to nothing")
                }
            }
            for columns in Self.uniques[name] ?? [] {
                let values = rows.values.map { row in columns.map { row[$0] ?? .null } }.filter { !$0.contains(.null) }
                guard Set(values).count == values.count else { throw Broken(description: "\(name): \(columns) twice") }
            }
        }
        guard isCommit || !defers else { return }
        for (owner, targets) in lists where !targets.isEmpty {
            guard tables["alpha"]?[owner] != nil else { throw Broken(description: "a list of nobody") }
            for target in targets where tables["beta"]?[[target]] == nil {
                throw Broken(description: "a list of nothing")
            }
        }
    }
}

/// A backing that keeps nothing, and says what a database of those rules would.
struct Rules: GraphBacking, GraphSource {
    let alphas: [AlphaRow]
    let betas: [BetaRow]
    var hasUniques = true
    var defersForeignKeys = false

    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws { try await body(self) }
    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {}
    func uniqueColumns(of table: String) -> [[String]] { hasUniques ? StrictDatabase.uniques[table] ?? [] : [] }
    func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D]
    where D.ID: Storable & Hashable {
        let wanted = Set(ids)
        return ((alphas as? [D] ?? []) + (betas as? [D] ?? [])).filter { wanted.contains($0.id) }
    }
    func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable { [] }
}
