import Foundation
import GraphMapperStore
import ShopModels

struct UserRecord: StoredRecord {
    typealias Model = User
    let id: UUID
    let name: String
    let age: Int
    let homepage: String?

    static let schema = Schema<Self>("user") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), age: row("age", \.age),
            homepage: row("homepage", \.homepage))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            User(id: $0.id, name: $0.name)
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
    static var mapping: Mapping<Self> {
        Mapping {
            ShoppingCart(id: $0.id)
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
            id: row("id", \.id), name: row("name", \.name), price: row("price", \.price),
            picture: row("picture", \.picture))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ShopItem(id: $0.id, name: $0.name, price: $0.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
            Field(\.picture, \.picture, using: .url)
        }
    }
}

func openShop(_ location: GraphStore.Location = .inMemory) async throws -> GraphStore {
    try await GraphStore.open(location, UserRecord.self, CartRecord.self, ItemRecord.self)
}

func shopSession(_ store: any GraphBacking) -> GraphSession {
    GraphSession(store, [UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping])
}

/// Users with one cart each; a cart lists `items[i]`, counted among `count` items of the whole shop.
func seed(_ store: any GraphBacking, carts: [[Int]], items count: Int) async throws -> [User] {
    let session = shopSession(store)
    let items = (0..<count).map { ShopItem(name: "item \($0)", price: 250 + $0) }
    let users = carts.enumerated().map { index, list in
        let user = User(name: "user \(index)")
        let cart = ShoppingCart()
        user.cart = cart
        cart.owner = user
        cart.items = list.map { items[$0] }
        return user
    }
    for user in users { try session.add(user) }
    for item in items { try session.add(item) }
    try await session.save()
    return users
}
