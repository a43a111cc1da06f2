import Foundation
import GraphMapperStore
import ShopModels

/// `ShoppingCart [--users N] [--file PATH]`: the shop's graph from a file into models and back.
let arguments = CommandLine.arguments
func option(_ name: String) -> String? {
    arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
}

func title(_ text: String) { print("\n── \(text)") }

let users = option("--users").flatMap(Int.init) ?? 2
let path = option("--file") ?? FileManager.default.temporaryDirectory.appendingPathComponent("shop.sqlite").path
let store = try await GraphStore.open(.file(path), UserRecord.self, CartRecord.self, ItemRecord.self)

func makeSession() -> GraphSession {
    GraphSession(store, UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping)
}

/// Every user's cart lists one item of its own, and one that all carts share twice.
func seed() async throws {
    let session = makeSession()
    let shared = ShopItem(name: "espresso", price: 250)
    shared.picture = URL(string: "https://shop.example/espresso.png")
    for index in 0..<users {
        let user = User(name: index == 0 ? "hoon" : "user \(index)")
        user.age = 20 + index % 50
        user.homepage = URL(string: "https://hoon.example/\(index)")
        let cart = ShoppingCart()
        cart.owner = user
        user.cart = cart
        cart.items = [shared, ShopItem(name: "cup \(index)", price: 900), shared]
        try session.add(user)
        if index % 10_000 == 9_999 { print("  \(index + 1) users made") }
    }
    let changes = try await session.save()
    print("  seeded \(users) users: \(changes.changes.count) changes in one transaction")
}

title("The file \(path)")
let found = try await store.count(Query(UserRecord.self))
if found == 0 { try await seed() } else { print("  found \(found) users of an earlier run") }

weak var released: User?
do {
    let session = makeSession()

    title("One instance for each stored object")
    let all = try await session.models(Query(UserRecord.self).sorted(by: \.name))
    let lists = all.compactMap(\.cart).map(\.items)
    let references = lists.reduce(0) { $0 + $1.count }
    let instances = Set(lists.joined().map(ObjectIdentifier.init)).count
    print("  \(references) references → \(instances) instances")
    guard let hoon = all.first(where: { $0.name == "hoon" }), let cart = hoon.cart, all.count > 1,
        let other = all.first(where: { $0 !== hoon })?.cart, let item = cart.items.first
    else { throw GraphError(.misuse, "the file holds another shop; remove \(path)") }
    released = hoon
    print("  the same espresso in two carts: \(item === other.items[0])")
    print("  the cycle is closed: user.cart.owner === user is \(cart.owner === hoon)")
    let again = try await session.first(Query(CartRecord.self).where { $0.id == cart.id })
    print("  entered from the cart, the same instances: \(again === cart && again?.owner === hoon)")

    title("A price changed through one cart, read through the other")
    item.price += 50
    item.isSelected = true
    print("  read through the other cart: \(other.items[0].price)")
    print("  " + (try session.changes().description))
    let written = try await session.save()
    print(
        "  saved: \(written.changes.count) change, where writing both carts whole takes \(2 + lists.prefix(2).joined().count)"
    )
    print("  saved again: \(try await session.save().changes.count) changes")

    title("A volatile property")
    try await session.refresh()
    print(
        "  isSelected survives a refresh: \(item.isSelected); in the schema: "
            + "\(ItemRecord.schema.properties.contains { $0.name == "isSelected" })")

    title("Copies that differ")
    func certificate(_ prices: [Int]) -> String {
        let copies = prices.map { ItemRecord(id: item.id, name: item.name, price: $0, picture: nil) }
        do {
            try makeSession().map(copies)
            return "no conflict"
        } catch { return "\(error)" }
    }
    print("  " + certificate([250, 300]))
    print("  the same in the other order: \(certificate([250, 300]) == certificate([300, 250]))")
}
title("After the session")
print("  models alive: \(released == nil ? 0 : 1)")
