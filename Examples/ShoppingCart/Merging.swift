import GraphMapperStore
import ShopModels

/// Two sessions change the same cart and the same item: what merges, what clashes, and who decides.
func mergingScene(_ shop: Shop, _ session: GraphSession, _ cast: Cast) async throws {
    title("Two writers, one cart")
    let theirs = shop.session()
    let theirCart = try await theirs.find(CartRecord.self, cast.cart.id)
    guard let theirCart, let another = theirCart.items.first(where: { $0.id != cast.espresso.id }),
        let espresso = theirCart.items.first(where: { $0.id == cast.espresso.id })
    else { throw shop.strange }
    let before = cast.cart.items
    theirCart.items.insert(another, at: 0)
    espresso.price += 10
    try await theirs.save()
    show("another session puts one more \(another.name) in front, and raises the espresso by 10")

    let price = cast.espresso.price
    cast.cart.items.append(cast.espresso)
    cast.espresso.price += 5
    show("this one appends an espresso, and raises it by 5; its plan:")
    show("\(try await session.plan())", indent: "    ")
    do {
        try await session.save()
    } catch let error as GraphError where error.kind == .conflict {
        for conflict in error.conflicts { show("conflict: \(conflict)") }
    }
    try await session.save(
        onConflict: .merge { conflict in
            guard
                case (.integer(let base)?, .integer(let mine)?, .integer(let theirs)?) =
                    (conflict.base.first, conflict.mine.first, conflict.theirs.first)
            else { return .mine }
            return .merged([.integer(theirs + mine - base)])
        })
    show("saved with a policy that adds: \(price) → \(cast.espresso.price)")
    show("the cart has both edits: \(before.count) → \(count(cast.cart.items.count, "item"))")

    // As it was, for the scenes that follow.
    cast.cart.items = before
    cast.espresso.price = price
    try await session.save()
    _ = shop.log.take()
}
