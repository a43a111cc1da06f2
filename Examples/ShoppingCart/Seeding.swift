import Foundation
import GraphMapperStore
import ShopModels

/// Fills an empty file: every user's cart lists the espresso, which all share, and a cup of its own.
func seedOrFind(_ shop: Shop, _ options: Options) async throws {
    title("Seeded or found")
    let found = try await shop.store.count(Query(UserRecord.self))
    guard found == 0 else {
        show("found \(count(found, "user")) of an earlier run")
        if options.isCountGiven, options.users != found {
            show("--users \(options.users) is for an empty file: remove this one first to have as many")
        }
        return
    }
    let (changes, time) = try await timed("seeding") { status in try await seed(shop, options.users, status) }
    show("seeded \(count(options.users, "user")): \(changes) changes in \(time)")
}

/// - Returns: how many changes it took.
private func seed(_ shop: Shop, _ users: Int, _ status: Status) async throws -> Int {
    let first = shop.session()
    let espresso = ShopItem(name: "espresso", price: 250)
    espresso.picture = URL(string: "https://shop.example/espresso.png")
    try first.add(espresso)
    var changes = try await first.save().changes.count
    let step = 10_000
    // A session a batch: what is saved need not stay in memory.
    for start in stride(from: 0, to: users, by: step) {
        let session = shop.session()
        guard let shared = try await session.find(ItemRecord.self, espresso.id) else { throw shop.strange }
        let end = min(start + step, users)
        for index in start..<end { try session.add(makeUser(index, sharing: shared)) }
        changes += try await session.save().changes.count
        status.text = "seeding: \(end) of \(users) users saved"
    }
    return changes
}

private func makeUser(_ index: Int, sharing shared: ShopItem) -> User {
    let user = User(name: index == 0 ? "hoon" : "user \(index)")
    user.age = 20 + index % 50
    user.homepage = URL(string: "https://users.example/\(index)")
    let cart = ShoppingCart()
    cart.owner = user
    user.cart = cart
    cart.items = [shared, ShopItem(name: "cup \(index)", price: 900)]
    return user
}
