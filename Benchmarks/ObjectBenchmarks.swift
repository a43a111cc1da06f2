import Foundation
import GraphMapper

/// The id of blank objects; a random one costs more than all the rest.
private let blankID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

/// Class DTOs of the shop: links by reference, a cart knows its user.
final class UserObject: DTO, Identifiable {
    typealias Model = BUser
    typealias Row = UserObject
    var id = blankID
    var name = ""
    var cart: CartObject?
    static let schema = Schema<UserObject>("user", UserObject.init) { row in
        row("id", \.id)
        row("name", \.name)
        row.one("cart", \.cart)
    }
    static var mapping: Mapping<UserObject> {
        Mapping {
            BUser(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            One(\.cart, \.cart)
        }
    }
}
final class CartObject: DTO, Identifiable {
    typealias Model = BCart
    typealias Row = CartObject
    var id = blankID
    unowned var owner: UserObject?
    var user: UserObject? {
        get { owner }
        set { owner = newValue }
    }
    var items: [ItemObject] = []
    static let schema = Schema<CartObject>("cart", CartObject.init) { row in
        row("id", \.id)
        row.one("user", \.user)
        row.many("items", \.items)
    }
    static var mapping: Mapping<CartObject> {
        Mapping {
            BCart(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.user, \.owner)
            Many(\.items, \.items)
        }
    }
}
final class ItemObject: DTO, Identifiable {
    typealias Model = BItem
    typealias Row = ItemObject
    var id = blankID
    var name = ""
    var price = 0
    static let schema = Schema<ItemObject>("item", ItemObject.init) { row in
        row("id", \.id)
        row("name", \.name)
        row("price", \.price)
    }
    static var mapping: Mapping<ItemObject> {
        Mapping {
            BItem(id: $0.id, name: $0.name, price: $0.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}

extension Workload {
    /// The graph as objects that share their items.
    func objects() -> [UserObject] {
        var items: [UUID: ItemObject] = [:]
        for row in self.items {
            let item = ItemObject()
            item.id = row.id
            item.name = row.name
            item.price = row.price
            items[row.id] = item
        }
        return zip(users, carts).map { row, cart in
            let user = UserObject()
            user.id = row.id
            user.name = row.name
            let object = CartObject()
            object.id = cart.id
            object.owner = user
            object.items = cart.items.compactMap { items[$0.id] }
            user.cart = object
            return user
        }
    }
}

/// What one writes by hand: each object is read once, one instance an id, copies are compared, and no recursion.
private struct ObjectsByHand {
    struct Known<Model, Values: Equatable> {
        var byObject: [ObjectIdentifier: Model] = [:]
        var byID: [UUID: (model: Model, values: Values)] = [:]

        init(_ count: Int) {
            byObject.reserveCapacity(count)
            byID.reserveCapacity(count)
        }

        /// The model of an object, and whether its links are to be followed.
        mutating func model(
            _ object: AnyObject, _ id: UUID, _ values: Values, _ make: () -> Model
        ) throws -> (Model, isNew: Bool) {
            if let (model, known) = byID[id] {
                guard known == values else { throw Different() }
                byObject[ObjectIdentifier(object)] = model
                return (model, false)
            }
            let model = make()
            byObject[ObjectIdentifier(object)] = model
            byID[id] = (model, values)
            return (model, true)
        }
    }
    struct ItemValues: Equatable {
        let name: String
        let price: Int
    }
    struct NoValues: Equatable {}

    var users: Known<BUser, String>
    var carts: Known<BCart, NoValues>
    var items: Known<BItem, ItemValues>

    init(_ count: Int) {
        users = Known(count)
        carts = Known(count)
        items = Known(count / 2)
    }

    mutating func map(_ objects: [UserObject]) throws -> [BUser] {
        var result: [BUser] = []
        result.reserveCapacity(objects.count)
        for object in objects {
            if let user = users.byObject[ObjectIdentifier(object)] {
                result.append(user)
                continue
            }
            let id = object.id
            let name = object.name
            let (user, _) = try users.model(object, id, name) { BUser(id: id, name: name) }
            result.append(user)
            guard let cart = object.cart else { continue }
            user.cart = try map(cart, owner: user)
        }
        return result
    }

    private mutating func map(_ object: CartObject, owner: BUser) throws -> BCart {
        if let cart = carts.byObject[ObjectIdentifier(object)] { return cart }
        let id = object.id
        let (cart, isNew) = try carts.model(object, id, NoValues()) { BCart(id: id) }
        guard isNew else { return cart }
        if let user = object.user { cart.owner = users.byObject[ObjectIdentifier(user)] ?? owner }
        let items = object.items
        cart.items.reserveCapacity(items.count)
        for item in items { cart.items.append(try map(item)) }
        return cart
    }

    private mutating func map(_ object: ItemObject) throws -> BItem {
        if let item = items.byObject[ObjectIdentifier(object)] { return item }
        let id = object.id
        let values = ItemValues(name: object.name, price: object.price)
        return try items.model(object, id, values) { BItem(id: id, name: values.name, price: values.price) }.0
    }
}

func benchmarkObjects(_ harness: Harness, _ workload: Workload) async throws {
    guard harness.wants("map.class") else { return }
    let objects = workload.objects()
    // Cart of a user, item of a cart, and the way back.
    let references = workload.carts.reduce(2 * workload.carts.count) { $0 + $1.items.count }
    try await harness.compare("map.class", n: references, target: 2) {
        let session = GraphSession(UserObject.mapping, CartObject.mapping, ItemObject.mapping)
        return checksum(try session.map(objects))
    } baseline: {
        var mapping = ObjectsByHand(objects.count)
        return checksum(try mapping.map(objects))
    }
}

/// A chain of objects: each leads to the next.
final class LinkObject: DTO, Identifiable {
    typealias Model = BLink
    typealias Row = LinkObject
    var id = blankID
    var value = 0
    var next: LinkObject?
    static let schema = Schema<LinkObject>("link", LinkObject.init) { row in
        row("id", \.id)
        row("value", \.value)
        row.one("next", \.next)
    }
    static var mapping: Mapping<LinkObject> {
        Mapping {
            BLink(id: $0.id, value: $0.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.next, \.next)
        }
    }
}

/// The chain by hand: without recursion, and each object once.
private func mapChainByHand(_ first: LinkObject) throws -> BLink {
    var known: [ObjectIdentifier: BLink] = [:]
    var byID: [UUID: (link: BLink, value: Int)] = [:]
    func link(_ object: LinkObject) throws -> (BLink, isNew: Bool) {
        if let link = known[ObjectIdentifier(object)] { return (link, false) }
        let id = object.id
        let value = object.value
        if let (link, first) = byID[id] {
            guard first == value else { throw Different() }
            known[ObjectIdentifier(object)] = link
            return (link, false)
        }
        let link = BLink(id: id, value: value)
        known[ObjectIdentifier(object)] = link
        byID[id] = (link, value)
        return (link, true)
    }
    let (root, _) = try link(first)
    var last = root
    var next = first.next
    while let object = next {
        let (target, isNew) = try link(object)
        last.next = target
        guard isNew else { break }
        last = target
        next = object.next
    }
    return root
}

func benchmarkObjectDepth(_ harness: Harness, count: Int = 1_000_000) async throws {
    guard harness.wants("map.class.deep") else { return }
    var random = Random(state: 11)
    let links = (0..<count).map { value in
        let link = LinkObject()
        link.id = random.uuid()
        link.value = value
        return link
    }
    for (link, next) in zip(links, links.dropFirst()) { link.next = next }
    // Released whole, a chain recurses a million deep: it is taken apart.
    func consume(_ first: BLink) -> Int {
        var sum = 0
        var next: BLink? = first
        while let link = next {
            sum = sum &* 31 &+ link.value
            next = link.next
            link.next = nil
        }
        return sum
    }
    try await harness.compare("map.class.deep", n: count) {
        let session = GraphSession(LinkObject.mapping)
        return consume(try session.map([links[0]])[0])
    } baseline: {
        consume(try mapChainByHand(links[0]))
    }
    for link in links { link.next = nil }
}
