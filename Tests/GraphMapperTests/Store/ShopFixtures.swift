import Foundation
import GraphMapperStore
import ShopModels

@testable import ShoppingCart

func openShop(_ location: GraphStore.Location = .inMemory) async throws -> GraphStore {
    try await GraphStore.open(location, UserRecord.self, CartRecord.self, ItemRecord.self)
}

func shopSession(_ store: GraphStore) -> GraphSession { shopSession(store.backing) }

func shopSession(_ store: any GraphBacking) -> GraphSession {
    GraphSession(store, [UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping])
}

func seed(_ store: GraphStore, carts: [[Int]], items count: Int) async throws -> [User] {
    try await seed(store.backing, carts: carts, items: count)
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
