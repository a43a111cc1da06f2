import Foundation
import GraphMapperStore
import ShopModels

/// The same small graph entered from either end, each time in a session of its own.
func walkScene(_ shop: Shop, _ cast: Cast) async throws {
    let (user, cart) = (cast.hoon.id, cast.cart.id)
    title("Entered from the user")
    let fromUser = try await walk(shop) { session in
        try await session.first(Query(UserRecord.self).where { $0.id == user })
    }
    title("Entered from the cart")
    let fromCart = try await walk(shop) { session in
        try await session.first(Query(CartRecord.self).where { $0.id == cart })?.owner
    }
    show("the same graph from either end: \(fromUser == fromCart)")
}

/// Loads with `enter`, shows what was asked and made, and answers with a description of the graph.
private func walk(_ shop: Shop, _ enter: (GraphSession) async throws -> User?) async throws -> [String] {
    var made: [String] = []
    let session = GraphSession(
        shop.store,
        UserRecord.mapping { made.append("user \($0.name)") },
        CartRecord.mapping { _ in made.append("cart") },
        ItemRecord.mapping { made.append("item \($0.name)") })
    _ = shop.log.take()
    guard let user = try await enter(session), let cart = user.cart else { throw shop.strange }
    let statements = shop.log.take()
    show("\(count(statements.count, "query", "queries")), before any model is made:")
    show(shortened(statements))
    show("then the models, parents first: \(made.joined(separator: ", "))")
    show("user.cart.owner === user is \(cart.owner === user)")
    return [user.id.uuidString, cart.id.uuidString] + cart.items.map(\.id.uuidString)
}
