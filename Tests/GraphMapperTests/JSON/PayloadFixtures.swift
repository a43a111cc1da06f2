import Foundation
import GraphMapperStore
import GraphMapperTesting

/// A shop's purchases: models that come by a web API's payloads and by records.
final class Buyer {
    let id: Int
    var name = ""
    var email: String?
    var homepage: URL?
    /// No payload knows it.
    var age = 18
    init(id: Int) { self.id = id }
}
final class Good {
    let id: Int
    var name = ""
    var price = 0
    init(id: Int) { self.id = id }
}
final class Purchase {
    let id: Int
    var note: String?
    var buyer: Buyer?
    var goods: [Good] = []
    init(id: Int) { self.id = id }
}

// The payloads: everything but ids may be missing.
struct BuyerPayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = Buyer
    let id: Int
    var name: Tristate<String> = .unset
    var email: Tristate<String> = .unset
    var homepage: Tristate<String> = .unset
    static let schema = Schema<Self>("buyer") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), email: row("email", \.email),
            homepage: row("homepage", \.homepage))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Buyer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.email, \.email)
            Field(\.homepage, \.homepage, using: .url)
        }
    }
}
struct GoodPayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = Good
    let id: Int
    var name: Tristate<String> = .unset
    var price: Tristate<String> = .unset
    static let schema = Schema<Self>("good") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), price: row("price", \.price))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Good(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price, using: .digits)
        }
    }
}
struct PurchasePayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = Purchase
    let id: Int
    var note: Tristate<String> = .unset
    var buyer: Tristate<BuyerPayload> = .unset
    var goods: Tristate<[GoodPayload]> = .unset
    static let schema = Schema<Self>("purchase") { row in
        try Self(
            id: row("id", \.id), note: row("note", \.note), buyer: row.nested("buyer", \.buyer),
            goods: row.nested("goods", \.goods))
    }
    static var mapping: Mapping<Self> { mapping(.whole) }
    static func mapping(_ goods: ListScope) -> Mapping<Self> {
        Mapping {
            Purchase(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.note, \.note)
            One(\.buyer, \.buyer)
            Many(\.goods, \.goods, goods)
        }
    }
}

extension Conversion where Value == String, Target == Int {
    static var digits: Self {
        Conversion {
            guard let value = Int($0) else { throw GraphError(.conversion, "\($0) is no number") }
            return value
        } encode: {
            "\($0)"
        }
    }
}

// The records.
struct BuyerRow: StoredRecord {
    typealias Model = Buyer
    let id: Int
    let name: String
    let email: String?
    let homepage: String?
    let age: Int
    static let schema = Schema<Self>("buyer") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), email: row("email", \.email),
            homepage: row("homepage", \.homepage), age: row("age", \.age))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Buyer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.email, \.email)
            Field(\.homepage, \.homepage, using: .url)
            Field(\.age, \.age)
        }
    }
}
struct GoodRow: StoredRecord {
    typealias Model = Good
    let id: Int
    let name: String
    let price: Int
    static let schema = Schema<Self>("good") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), price: row("price", \.price))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Good(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}
struct PurchaseRow: StoredRecord {
    typealias Model = Purchase
    let id: Int
    let note: String?
    let buyer: Ref<BuyerRow>?
    let goods: [Ref<GoodRow>]
    static let schema = Schema<Self>("purchase") { row in
        try Self(
            id: row("id", \.id), note: row("note", \.note), buyer: row("buyer", \.buyer), goods: row("goods", \.goods))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Purchase(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.note, \.note)
            One(\.buyer, \.buyer)
            Many(\.goods, \.goods)
        }
    }
}

func payloadMappings(_ goods: ListScope = .whole) -> [any AnyMapping] {
    [PurchasePayload.mapping(goods), BuyerPayload.mapping, GoodPayload.mapping]
}
func rowMappings() -> [any AnyMapping] { [PurchaseRow.mapping, BuyerRow.mapping, GoodRow.mapping] }

/// A store with buyer 7 (hoon, 20), goods 1 to 3 of prices 10 to 30, and purchase 1 of goods 1 and 2 by buyer 7.
func openPurchases() async throws -> GraphStore {
    let store = try await GraphStore.open(.inMemory, PurchaseRow.self, BuyerRow.self, GoodRow.self)
    try await store.write { tx in
        try await tx.insert(BuyerRow(id: 7, name: "hoon", email: "h@x", homepage: "https://x/h", age: 20))
        try await tx.insert(contentsOf: (1...3).map { GoodRow(id: $0, name: "good \($0)", price: $0 * 10) })
        try await tx.insert(PurchaseRow(id: 1, note: "gift", buyer: Ref(7), goods: [Ref(1), Ref(2)]))
    }
    return store
}

func purchaseSession(_ store: GraphStore, _ goods: ListScope = .whole) -> GraphSession {
    GraphSession(store, payloadMappings(goods) + rowMappings())
}

func payload<D: Decodable>(_ type: D.Type, _ json: String) throws -> D { try payload(json) }

func payload<D: Decodable>(_ json: String) throws -> D {
    try JSONDecoder().decode(D.self, from: Data(json.utf8))
}

func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

extension Gen {
    /// Unset, null, or a value.
    static func tristate<Wrapped: Sendable>(_ gen: Gen<Wrapped>, nulls: Bool = true) -> Gen<Tristate<Wrapped>>
    where Value == Tristate<Wrapped> {
        .oneOf([.always(.unset)] + (nulls ? [.always(.null)] : []) + [gen.map { .value($0) }])
    }
}
