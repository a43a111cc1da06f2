import Foundation
import GraphMapperStore

final class BUser {
    let id: UUID
    var name: String
    var cart: BCart?
    init(id: UUID, name: String) {
        self.id = id
        self.name = name
    }
}
final class BCart {
    let id: UUID
    weak var owner: BUser?
    var items: [BItem] = []
    init(id: UUID) { self.id = id }
}
final class BItem {
    let id: UUID
    var name: String
    var price: Int
    init(id: UUID, name: String, price: Int) {
        self.id = id
        self.name = name
        self.price = price
    }
}

/// Nested DTOs.
struct UserDTO: DTO, Identifiable, Codable {
    typealias Model = BUser
    let id: UUID
    let name: String
    let cart: CartDTO?
    static let schema = Schema<Self>("user") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), cart: row.nested("cart", \.cart))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BUser(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            One(\.cart, \.cart)
        }
    }
}
struct CartDTO: DTO, Identifiable, Codable {
    typealias Model = BCart
    let id: UUID
    let items: [ItemRecord]
    static let schema = Schema<Self>("cart") { row in
        try Self(id: row("id", \.id), items: row.nested("items", \.items))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BCart(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.items, \.items)
        }
    }
}

/// Records.
struct UserRecord: StoredRecord {
    typealias Model = BUser
    let id: UUID
    let name: String
    static let schema = Schema<Self>("user") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    static var mapping: Mapping<Self> {
        Mapping {
            BUser(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            One(CartRecord.self, by: \.user, \.cart)
        }
    }
}
struct CartRecord: StoredRecord {
    typealias Model = BCart
    let id: UUID
    let user: Ref<UserRecord>
    let items: [Ref<ItemRecord>]
    static let schema = Schema<Self>("cart") { row in
        try Self(id: row("id", \.id), user: row("user_id", \.user), items: row("items", \.items))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BCart(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.user, \.owner)
            Many(\.items, \.items)
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.user)]
}
struct ItemRecord: StoredRecord, Codable {
    typealias Model = BItem
    let id: UUID
    let name: String
    let price: Int
    static let schema = Schema<Self>("item") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), price: row("price", \.price))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BItem(id: $0.id, name: $0.name, price: $0.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}

/// 10 000 users, one cart each, 10 items a cart out of 5 000 shared ones; the same for every run.
struct Workload {
    let items: [ItemRecord]
    let users: [UserRecord]
    let carts: [CartRecord]
    let nested: [UserDTO]

    init(users count: Int = 10_000) {
        var random = Random(state: 42)
        func id() -> UUID { random.uuid() }
        let items = (0..<count / 2).map { ItemRecord(id: id(), name: "item number \($0)", price: $0) }
        let users = (0..<count).map { UserRecord(id: id(), name: "user number \($0)") }
        let lists = users.map { _ in (0..<10).map { _ in Int(random.next() % UInt64(items.count)) } }
        let ids = users.map { _ in id() }
        carts = users.indices.map { index in
            CartRecord(id: ids[index], user: Ref(users[index].id), items: lists[index].map { Ref(items[$0].id) })
        }
        nested = users.indices.map { index in
            UserDTO(
                id: users[index].id, name: users[index].name,
                cart: CartDTO(id: ids[index], items: lists[index].map { items[$0] }))
        }
        self.items = items
        self.users = users
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
    mutating func uuid() -> UUID {
        var words = (next(), next())
        return withUnsafeBytes(of: &words) { $0.loadUnaligned(as: UUID.self) }
    }
}
