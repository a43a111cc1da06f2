import Foundation
import GraphMapper

/// A shop in the stand-in database: a user has a cart and knows it, a cart has items, and knows its user.
class LiveUser: LiveObject, Identifiable {
    override class var table: String { "user" }
    override class var backlinks: [(String, String)] { [("cart", "user"), ("user", "friends")] }
    var id: Int {
        get { value("id", 0) }
        set { set("id", newValue) }
    }
    var name: String {
        get { value("name", "") }
        set { set("name", newValue) }
    }
    var homepage: String? {
        get { value("homepage", nil) }
        set { set("homepage", newValue) }
    }
    var cart: LiveCart? {
        get { link("cart") }
        set { setLink("cart", newValue) }
    }
    /// A list that is an object and cannot be set.
    var friends: LiveList<LiveUser> { list("friends") }
    /// No mapping knows it.
    var secret: String {
        get { value("secret", "unset") }
        set { set("secret", newValue) }
    }
}

class LiveCart: LiveObject, Identifiable {
    override class var table: String { "cart" }
    override class var backlinks: [(String, String)] { [("user", "cart")] }
    var id: Int {
        get { value("id", 0) }
        set { set("id", newValue) }
    }
    var user: LiveUser? {
        get { link("user") }
        set { setLink("user", newValue) }
    }
    var items: LiveList<LiveItem> { list("items") }
}

final class LiveItem: LiveObject, Identifiable {
    override class var table: String { "item" }
    override class var backlinks: [(String, String)] { [("cart", "items")] }
    var id: Int {
        get { value("id", 0) }
        set { set("id", newValue) }
    }
    var name: String {
        get { value("name", "") }
        set { set("name", newValue) }
    }
    var price: Int {
        get { value("price", 0) }
        set { set("price", newValue) }
    }
}

// The app's models: plain Swift.
final class LUser {
    let id: Int
    var name: String
    var homepage: URL?
    var cart: LCart?
    var friends: [LUser] = []
    init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}
final class LCart {
    let id: Int
    weak var owner: LUser?
    var items: [LItem] = []
    init(id: Int) { self.id = id }
}
final class LItem {
    let id: Int
    var name: String
    var price: Int
    var isSelected = false
    init(id: Int, name: String, price: Int) {
        self.id = id
        self.name = name
        self.price = price
    }
}

// The mapping.
extension LiveUser: DTO {
    typealias Model = LUser
    typealias Row = LiveUser
    static let schema = Schema<LiveUser>("user", LiveUser.init) { row in
        row("id", \.id)
        row("name", \.name)
        row("homepage", \.homepage)
        row.one("cart", \.cart)
        row.many("friends", \.friends)
    } isLive: {
        $0.store != nil
    }
    static var mapping: Mapping<LiveUser> {
        Mapping {
            LUser(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.homepage, \.homepage, using: .url)
            One(\.cart, \.cart)
            Many(LiveUser.self, in: \.friends, \.friends).onDemand
        }
    }
}
extension LiveCart: DTO {
    typealias Model = LCart
    typealias Row = LiveCart
    static let schema = Schema<LiveCart>("cart", LiveCart.init) { row in
        row("id", \.id)
        row.one("user", \.user)
        row.many("items", \.items)
    } isLive: {
        $0.store != nil
    }
    static var mapping: Mapping<LiveCart> {
        Mapping {
            LCart(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.user, \.owner)
            Many(LiveItem.self, in: \.items, \.items)
        }
    }
}
extension LiveItem: DTO {
    typealias Model = LItem
    typealias Row = LiveItem
    static let schema = Schema<LiveItem>("item", LiveItem.init) { row in
        row("id", \.id)
        row("name", \.name)
        row("price", \.price)
    } isLive: {
        $0.store != nil
    }
    static var mapping: Mapping<LiveItem> {
        Mapping {
            LItem(id: $0.id, name: $0.name, price: $0.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}

/// Two users with a cart each; both carts have item 1.
func liveShop() throws -> LiveStore {
    let store = LiveStore()
    func item(_ id: Int) -> LiveItem {
        let item = LiveItem()
        item.id = id
        item.name = "item \(id)"
        item.price = id * 100
        return item
    }
    let items = (1...3).map(item)
    try store.write {
        for (id, list) in [(1, [0, 1, 0]), (2, [0, 2])] {
            let user = LiveUser()
            user.id = id
            user.name = "user \(id)"
            user.homepage = "https://example.org/\(id)"
            user.secret = "secret \(id)"
            let cart = LiveCart()
            cart.id = id * 10
            user.cart = cart
            cart.user = user
            cart.items.append(contentsOf: list.map { items[$0] })
            store.add(user)
        }
    }
    store.forgetCounts()
    return store
}

func liveSession(_ store: LiveStore) -> GraphSession {
    GraphSession(
        ObjectBacking(LiveDatabase(store: store), LiveUser.self, LiveCart.self, LiveItem.self),
        [LiveUser.mapping, LiveCart.mapping, LiveItem.mapping])
}
