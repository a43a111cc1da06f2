import Foundation

/// The app's models: plain Swift, which knows nothing of how it is stored.
public final class User {
    public let id: UUID
    public var name: String
    public var age = 0
    public var homepage: URL?
    public var cart: ShoppingCart?

    public init(id: UUID = UUID(), name: String) {
        self.id = id
        self.name = name
    }
}

public final class ShoppingCart {
    public let id: UUID
    public weak var owner: User?
    public var items: [ShopItem] = []

    public init(id: UUID = UUID()) { self.id = id }
}

/// What a user has bought. Nothing but the order knows its lines.
public final class Order {
    public let id: UUID
    public var placed = Date(timeIntervalSince1970: 0)
    public var note: String?
    public var customer: User?
    public var lines: [OrderLine] = []

    public init(id: UUID = UUID()) { self.id = id }
}

public final class OrderLine {
    public let id: UUID
    public var quantity: Int
    public var item: ShopItem?

    public init(id: UUID = UUID(), quantity: Int) {
        self.id = id
        self.quantity = quantity
    }
}

public final class ShopItem {
    public let id: UUID
    public var name: String
    /// In cents.
    public var price: Int
    public var picture: URL?
    /// Only on screen: never stored.
    public var isSelected = false

    public init(id: UUID = UUID(), name: String, price: Int) {
        self.id = id
        self.name = name
        self.price = price
    }
}
