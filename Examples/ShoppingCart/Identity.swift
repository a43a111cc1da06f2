import GraphMapperStore
import ShopModels

/// Loads everything: one instance for each stored object.
func identityScene(_ shop: Shop, _ session: GraphSession) async throws -> Cast {
    title("One instance for each stored object")
    _ = shop.log.take()
    let (users, time) = try await timed("loading") { _ in
        try await session.models(Query(UserRecord.self).sorted(by: \.name))
    }
    let statements = shop.log.take().count
    let cast = try Cast(users, of: shop)
    let items = users.compactMap(\.cart).flatMap(\.items)
    let instances = Set(items.map(ObjectIdentifier.init)).count
    show(
        "\(count(users.count, "user")) with their carts and items, in \(count(statements, "query", "queries")), \(time)"
    )
    show("\(items.count) references → \(instances) instances")
    let there = cast.other.items.first { $0.id == cast.espresso.id }
    show("the espresso in two carts: one === other is \(there === cast.espresso)")
    show("the cycle is closed: user.cart.owner === user is \(cast.cart.owner === cast.hoon)")
    let closed = users.count { user in user.cart?.owner === user }
    show("carts that know their user: \(closed) of \(users.count)")
    return cast
}
