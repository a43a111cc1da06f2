import Foundation
import GraphMapperStore
import ShopModels

/// The open file, and what the scenes share.
struct Shop {
    let store: GraphStore
    let log: StatementLog
    let path: String

    init(_ path: String) async throws {
        self.path = path
        log = StatementLog()
        store = try await GraphStore.open(
            .file(path), options: log.options, UserRecord.self, CartRecord.self, ItemRecord.self)
        _ = log.take()
    }

    /// A fresh session: it has no models yet.
    func session() -> GraphSession {
        GraphSession(store, UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping)
    }

    /// For files that are no shop of this example's.
    var strange: GraphError {
        GraphError(.misuse, "\(path) holds another shop than this example makes; remove it, or name another file")
    }
}

/// Everybody in the shop, and the four whom the scenes are about.
struct Cast {
    let users: [User]
    let hoon: User
    let cart: ShoppingCart
    /// Somebody else's, that lists the same item.
    let other: ShoppingCart
    let espresso: ShopItem

    init(_ users: [User], of shop: Shop) throws {
        guard let hoon = users.first(where: { $0.name == "hoon" }), let cart = hoon.cart,
            let espresso = cart.items.first(where: { $0.name == "espresso" }),
            let other = users.lazy.compactMap(\.cart).first(where: { other in
                other !== cart && other.items.contains { $0 === espresso }
            })
        else { throw shop.strange }
        self.users = users
        self.hoon = hoon
        self.cart = cart
        self.other = other
        self.espresso = espresso
    }
}
