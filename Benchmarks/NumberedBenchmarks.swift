import Foundation
import GraphMapperStore

// The shop where rows refer to each other by whole numbers, each keeping its UUID once: the fastest layout that people can
// read, as records say it.

final class NUser {
    let row: Int
    let id: UUID
    var name: String
    var cart: NCart?
    init(_ record: NUserRecord) { (row, id, name) = (record.id, record.uuid, record.name) }
}
final class NCart {
    let row: Int
    let id: UUID
    weak var owner: NUser?
    var items: [NItem] = []
    init(_ record: NCartRecord) { (row, id) = (record.id, record.uuid) }
}
final class NItem {
    let row: Int
    let id: UUID
    var name: String
    var price: Int
    init(_ record: NItemRecord) { (row, id, name, price) = (record.id, record.uuid, record.name, record.price) }
}

struct NUserRecord: StoredRecord {
    typealias Model = NUser
    let id: Int
    let uuid: UUID
    let name: String
    static let schema = Schema<Self>("user") { row in
        try Self(id: row("id", \.id), uuid: row("uuid", \.uuid), name: row("name", \.name))
    }
    static let indexes: [Index<Self>] = [.unique(\.uuid)]
    static var mapping: Mapping<Self> {
        Mapping {
            NUser($0)
        } properties: {
            Field(\.id, \.row)
            Field(\.uuid, \.id)
            Field(\.name, \.name)
            One(NCartRecord.self, by: \.user, \.cart)
        }
    }
}
struct NCartRecord: StoredRecord {
    typealias Model = NCart
    let id: Int
    let uuid: UUID
    let user: Ref<NUserRecord>
    let items: [Ref<NItemRecord>]
    static let schema = Schema<Self>("cart") { row in
        try Self(
            id: row("id", \.id), uuid: row("uuid", \.uuid), user: row("user_id", \.user), items: row("items", \.items))
    }
    static let indexes: [Index<Self>] = [.unique(\.uuid), .unique(\.user)]
    static var mapping: Mapping<Self> {
        Mapping {
            NCart($0)
        } properties: {
            Field(\.id, \.row)
            Field(\.uuid, \.id)
            Back(\.user, \.owner)
            Many(\.items, \.items)
        }
    }
}
struct NItemRecord: StoredRecord {
    typealias Model = NItem
    let id: Int
    let uuid: UUID
    let name: String
    let price: Int
    static let schema = Schema<Self>("item") { row in
        try Self(
            id: row("id", \.id), uuid: row("uuid", \.uuid), name: row("name", \.name), price: row("price", \.price))
    }
    static let indexes: [Index<Self>] = [.unique(\.uuid)]
    static var mapping: Mapping<Self> {
        Mapping {
            NItem($0)
        } properties: {
            Field(\.id, \.row)
            Field(\.uuid, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}

/// The graph of as many objects by records with numbers, and by records with UUIDs, both against by hand from numbers.
func benchmarkBestLayout(
    _ harness: Harness, _ workload: Workload, _ store: GraphStore, _ folder: URL
) async throws {
    guard harness.wants("store.graph.numbers", "store.graph.integers") else { return }
    let study = try LayoutStudy(.integers, 1, folder.appendingPathComponent("integers.sqlite").path)
    try study.fill()
    let numbered = try await GraphStore.open(
        .file(folder.appendingPathComponent("numbers.sqlite").path), NUserRecord.self, NCartRecord.self,
        NItemRecord.self)
    try await fill(numbered, workload)
    let references = workload.carts.count * 11
    try await harness.compare("store.graph.numbers", n: references, target: 1.15) {
        let session = GraphSession(numbered, NUserRecord.mapping, NCartRecord.mapping, NItemRecord.mapping)
        return try await session.models(Query(NUserRecord.self)).reduce(0) { $0 + ($1.cart?.items.count ?? 0) }
    } baseline: {
        try study.loadAll()
    }
    try await harness.compare("store.graph.integers", n: references, target: 1.15) {
        try await shopSession(store).models(Query(UserRecord.self)).reduce(0) { $0 + ($1.cart?.items.count ?? 0) }
    } baseline: {
        try study.loadAll()
    }
}

private func fill(_ store: GraphStore, _ workload: Workload) async throws {
    let items = Dictionary(uniqueKeysWithValues: zip(workload.items.map(\.id), 1...))
    try await store.write { tx in
        for (item, row) in zip(workload.items, 1...) {
            try await tx.insert(NItemRecord(id: row, uuid: item.id, name: item.name, price: item.price))
        }
        for (user, row) in zip(workload.users, 1...) {
            try await tx.insert(NUserRecord(id: row, uuid: user.id, name: user.name))
        }
        for (cart, row) in zip(workload.carts, 1...) {
            let links = cart.items.compactMap { items[$0.id] }.map { Ref<NItemRecord>($0) }
            try await tx.insert(NCartRecord(id: row, uuid: cart.id, user: Ref(row), items: links))
        }
    }
}
