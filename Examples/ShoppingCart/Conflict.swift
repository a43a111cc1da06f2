import Foundation
import GraphMapperStore
import ShopModels

/// A cart as a web API might send it: with whole copies of its items.
struct CartDTO: DTO, Identifiable {
    typealias Model = ShoppingCart
    let id: UUID
    let items: [ItemRecord]

    static let schema = Schema<Self>("cart") { row in
        try Self(id: row("id", \.id), items: row.nested("items", \.items))
    }
    static var mapping: Mapping<Self> {
        Mapping { record in
            ShoppingCart(id: record.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.items, \.items)
        }
    }
}

/// Two carts arrive with copies of one item that differ.
func conflictScene(_ shop: Shop, _ cast: Cast) async throws {
    title("Copies that differ")
    let before = try await Checksum(shop.store)
    func copy(_ price: Int) -> ItemRecord {
        ItemRecord(id: cast.espresso.id, name: "espresso", price: price, picture: nil)
    }
    let carts = [CartDTO(id: cast.cart.id, items: [copy(250)]), CartDTO(id: cast.other.id, items: [copy(300)])]
    let session = GraphSession(shop.store, CartDTO.mapping, ItemRecord.mapping)
    func certificate(_ carts: [CartDTO]) -> String {
        do {
            try session.map(carts)
            return "no conflict"
        } catch { return "\(error)" }
    }
    let (one, other) = (certificate(carts), certificate(carts.reversed()))
    show(one)
    show("the same in the other order: \(one == other)")
    let saved = try await session.save()
    show("a save of that session: \(count(saved.changes.count, "change"))")
    let after = try await Checksum(shop.store)
    show("before: \(before)")
    show("after:  \(after)")
    show("rows untouched: \(before == after)")
}

/// All rows of the file, counted and summed up (FNV-1a).
struct Checksum: Equatable, CustomStringConvertible {
    private(set) var rows = 0
    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    init(_ store: GraphStore) async throws {
        let (users, carts, items) = try await store.read { tx in
            (
                try await tx.fetch(Query(UserRecord.self).sorted(by: \.id)),
                try await tx.fetch(Query(CartRecord.self).sorted(by: \.id)),
                try await tx.fetch(Query(ItemRecord.self).sorted(by: \.id))
            )
        }
        for user in users { add([user.id.stored, user.name.stored, user.age.stored, user.homepage.stored]) }
        for cart in carts { add([cart.id.stored, cart.user.id.stored] + cart.items.map(\.id.stored)) }
        for item in items { add([item.id.stored, item.name.stored, item.price.stored, item.picture.stored]) }
    }

    private mutating func add(_ values: [StoredValue]) {
        rows += 1
        for value in values {
            switch value {
            case .null: mix(0)
            case .integer(let value): mix(UInt64(bitPattern: value))
            case .real(let value): mix(value.bitPattern)
            case .text(let text): for byte in text.utf8 { mix(UInt64(byte)) }
            case .blob(let bytes): for byte in bytes { mix(UInt64(byte)) }
            }
        }
    }

    private mutating func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x100_0000_01b3 }

    var description: String { "\(rows) records, checksum \(String(hash, radix: 16))" }
}
