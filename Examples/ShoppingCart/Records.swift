import Foundation
import GraphMapperStore
import ShopModels

/// The persistence layer: one record a table, and how each becomes a model. `made` sees each record of which a model is
/// made: only the scene of the walk asks for it.
struct UserRecord: StoredRecord {
    typealias Model = User
    let id: UUID
    let name: String
    let age: Int
    let homepage: String?

    static let schema = Schema<Self>("user") { row in
        try Self(
            id: row("id", \.id),
            name: row("name", \.name),
            age: row("age", \.age),
            homepage: row("homepage", \.homepage))
    }
    static var mapping: Mapping<Self> { mapping { _ in } }
    static func mapping(made: @escaping (Self) -> Void) -> Mapping<Self> {
        Mapping { record in
            made(record)
            return User(id: record.id, name: record.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.age, \.age)
            Field(\.homepage, \.homepage, using: .url)
            One(CartRecord.self, by: \.user, \.cart)
        }
    }
}

struct CartRecord: StoredRecord {
    typealias Model = ShoppingCart
    let id: UUID
    let user: Ref<UserRecord>
    let items: [Ref<ItemRecord>]

    static let schema = Schema<Self>("cart") { row in
        try Self(id: row("id", \.id), user: row("user_id", \.user), items: row("items", \.items))
    }
    static var mapping: Mapping<Self> { mapping { _ in } }
    static func mapping(made: @escaping (Self) -> Void) -> Mapping<Self> {
        Mapping { record in
            made(record)
            return ShoppingCart(id: record.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.user, \.owner)
            Many(\.items, \.items)
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.user)]
}

struct ItemRecord: StoredRecord {
    typealias Model = ShopItem
    let id: UUID
    let name: String
    let price: Int
    let picture: String?

    static let schema = Schema<Self>("item") { row in
        try Self(
            id: row("id", \.id),
            name: row("name", \.name),
            price: row("price", \.price),
            picture: row("picture", \.picture))
    }
    static var mapping: Mapping<Self> { mapping { _ in } }
    static func mapping(made: @escaping (Self) -> Void) -> Mapping<Self> {
        Mapping { record in
            made(record)
            return ShopItem(id: record.id, name: record.name, price: record.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
            Field(\.picture, \.picture, using: .url)
        }
    }
}
