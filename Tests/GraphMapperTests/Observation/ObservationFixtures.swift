import Foundation
import GraphMapperTesting

@testable import GraphMapperStore

struct DepotRecord: StoredRecord, Equatable {
    let id: Int
    var name: String
    static let schema = Schema<Self>("depot") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
}

struct WareRecord: StoredRecord, Equatable {
    let id: Int
    var name: String?
    var price: Double
    var group: Int
    var depot: Ref<DepotRecord>?
    var parts: [Ref<WareRecord>]

    static let schema = Schema<Self>("ware") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), price: row("price", \.price), group: row("group", \.group),
            depot: row("depot_id", \.depot), parts: row("parts", \.parts))
    }
    init(
        id: Int, name: String? = nil, price: Double = 0, group: Int = 0, depot: Ref<DepotRecord>? = nil,
        parts: [Ref<WareRecord>] = []
    ) {
        self.id = id
        self.name = name
        self.price = price
        self.group = group
        self.depot = depot
        self.parts = parts
    }
}

func openWares(_ location: GraphStore.Location = .inMemory) async throws -> GraphStore {
    var options = GraphStore.Options()
    options.watchInterval = 0.01
    return try await GraphStore.open(location, options: options, WareRecord.self, DepotRecord.self)
}

/// What a table view does with batch updates: throws where it would raise an exception.
struct TableModel<Row: Equatable> {
    private(set) var rows: [Row]

    init(_ rows: some Sequence<Row>) { self.rows = Array(rows) }

    struct Inconsistent: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - deletions, reloads: positions before.
    ///   - insertions: positions afterwards.
    ///   - source: what the data source has afterwards.
    mutating func performBatchUpdates(
        deletions: [Int], insertions: [Int], reloads: [Int], moves: [CollectionMove] = [], source: some Collection<Row>
    ) throws {
        func refuse(_ text: String) -> Inconsistent { Inconsistent(description: text) }
        let source = Array(source)
        let old = deletions + reloads + moves.map(\.from)
        let new = insertions + moves.map(\.to)
        guard Set(old).count == old.count else { throw refuse("one row before is named twice in \(old)") }
        guard Set(new).count == new.count else { throw refuse("one row afterwards is named twice in \(new)") }
        guard old.allSatisfy(rows.indices.contains) else { throw refuse("no such row before: \(old), \(rows.count)") }
        guard new.allSatisfy(source.indices.contains) else {
            throw refuse("no such row afterwards: \(new), \(source.count)")
        }
        guard rows.count - deletions.count + insertions.count == source.count else {
            throw refuse("\(rows.count) - \(deletions.count) + \(insertions.count) is not \(source.count)")
        }
        // The cells that stay, in their order; those named come from the data source, the others are not asked for again.
        let leaving = Set(deletions + moves.map(\.from))
        var staying = rows.indices.filter { !leaving.contains($0) }[...]
        let coming = Set(new)
        let reloads = Set(reloads)
        var shown: [Row] = []
        for index in source.indices {
            if coming.contains(index) {
                shown.append(source[index])
            } else if let cell = staying.popFirst() {
                shown.append(reloads.contains(cell) ? source[index] : rows[cell])
            } else {
                throw refuse("no cell is left for row \(index)")
            }
        }
        rows = shown
    }

    /// As an app does it that does not animate moves.
    mutating func apply<R>(_ change: CollectionChange<R>, as row: (R) -> Row) throws {
        switch change {
        case .initial(let collection): rows = collection.map(row)
        case .update(let collection, let deletions, let insertions, let modifications):
            try performBatchUpdates(
                deletions: deletions, insertions: insertions, reloads: modifications, source: collection.map(row))
        }
    }

    /// As one does that does.
    mutating func applyMoving<R>(_ change: CollectionChange<R>, as row: (R) -> Row) throws {
        guard case .update(let collection, let deletions, let insertions, let modifications) = change else {
            return try apply(change, as: row)
        }
        let moves = change.moves
        let from = Set(moves.map(\.from))
        let to = Set(moves.map(\.to))
        try performBatchUpdates(
            deletions: deletions.filter { !from.contains($0) }, insertions: insertions.filter { !to.contains($0) },
            reloads: modifications, moves: moves, source: collection.map(row))
    }
}

/// Drives what is kept up to date step by step, so that a test learns also that nothing is told.
struct Stepper<L: Live> {
    private let store: GraphStore
    private(set) var live: L
    private let id: Hub.ID

    init(_ store: GraphStore, _ live: L) async throws {
        var live = live
        try await store.read { tx in try await live.prepare(tx, store.lists) }
        id = store.hub.add(live.interest)
        _ = try await store.read { tx in try await live.start(tx) }
        self.store = store
        self.live = live
    }

    /// What has changed since the last step.
    mutating func step() async throws -> L.Event? {
        let (pending, _) = store.hub.take(id)
        guard !pending.isEmpty else { return nil }
        var copy = live
        defer { live = copy }
        return try await store.read { tx in try await copy.advance(tx, pending) }
    }
}
