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
    options.watchInterval = .seconds(0.01)
    return try await GraphStore.open(location, options: options, WareRecord.self, DepotRecord.self)
}

/// Drives what is kept up to date step by step, so that a test learns also that nothing is told.
struct Stepper<L: LiveQuery> {
    private let store: GraphStore
    private(set) var live: L
    private let id: ObserverID

    init(_ store: GraphStore, _ live: L) async throws {
        var live = live
        try await store.read { tx in try await live.prepare(tx, store.lists) }
        id = store.broadcaster.add(live.region)
        _ = try await store.read { tx in try await live.start(tx) }
        self.store = store
        self.live = live
    }

    /// What has changed since the last step, and what was known of it beforehand.
    mutating func step() async throws -> L.Event? { try await stepTelling().event }

    mutating func stepTelling() async throws -> (event: L.Event?, pending: PendingChanges) {
        let (pending, _) = store.broadcaster.take(id)
        guard !pending.isEmpty else { return (nil, pending) }
        var copy = live
        defer { live = copy }
        return (try await store.read { tx in try await copy.advance(tx, pending) }, pending)
    }
}
