import GraphMapperStore
import ShopModels

/// Edits, what a save would do, and what it does.
func writingScene(_ shop: Shop, _ session: GraphSession, _ cast: Cast) async throws {
    title("A price changed through one cart, read through the other")
    let old = cast.espresso.price
    for item in cast.cart.items where item.name == "espresso" { item.price = old + 50 }
    let read = cast.other.items.first { $0.name == "espresso" }?.price ?? 0
    show("\(old) → \(old + 50) in hoon's cart; in the other cart it is \(read)")
    try await save(shop, session, cast)

    title("A list in another order")
    cast.cart.items.append(cast.cart.items.removeFirst())
    show("hoon's first item goes last: \(cast.cart.items.map(\.name).joined(separator: ", "))")
    try await save(shop, session, cast)
}

private func save(_ shop: Shop, _ session: GraphSession, _ cast: Cast) async throws {
    show("what a save would do:")
    let (planned, _) = try await timed("looking for changes") { _ in try session.changes() }
    show("  \(planned)")
    _ = shop.log.take()
    let (written, time) = try await timed("saving") { _ in try await session.save() }
    let statements = shop.log.take()
    show("what it did, in one transaction and \(time) (exactly the plan: \(written == planned)):")
    show(shortened(statements))
    let writes = statements.count { !$0.hasPrefix("SELECT") }
    let references = cast.users.reduce(0) { $0 + ($1.cart?.items.count ?? 0) }
    let carts = cast.users.count { $0.cart != nil }
    show(
        "\(count(writes, "row")) written; writing every object at each place where it stands takes "
            + "\(cast.users.count + carts + 2 * references): \(cast.users.count) users, \(carts) carts, "
            + "\(references) items and as many places in lists")
    let (again, _) = try await timed("saving again") { _ in try await session.save() }
    show("saved again: \(count(again.changes.count, "change")), \(count(shop.log.take().count, "statement"))")
}
