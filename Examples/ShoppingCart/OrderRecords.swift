import Foundation
import GraphMapperStore
import ShopModels

/// Orders in the store. Users and items have their records already.
struct OrderRecord: StoredRecord {
    typealias Model = Order
    let id: UUID
    let placed: Date
    let note: String?
    let customer: Ref<UserRecord>
    let lines: [Ref<LineRecord>]

    static let schema = Schema<Self>("order") { row in
        try Self(
            id: row("id", \.id),
            placed: row("placed", \.placed),
            note: row("note", \.note),
            customer: row("customer_id", \.customer),
            lines: row("lines", \.lines))
    }
    static var mapping: Mapping<Self> {
        Mapping { record in
            Order(id: record.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.placed, \.placed)
            Field(\.note, \.note)
            One(\.customer, \.customer)
            Many(\.lines, \.lines)
        }
    }
}

/// A line has an id here, which the model makes: the payload has none.
struct LineRecord: StoredRecord {
    typealias Model = OrderLine
    let id: UUID
    let quantity: Int
    let item: Ref<ItemRecord>

    static let schema = Schema<Self>("line") { row in
        try Self(id: row("id", \.id), quantity: row("quantity", \.quantity), item: row("item_id", \.item))
    }
    static var mapping: Mapping<Self> {
        Mapping { record in
            OrderLine(id: record.id, quantity: record.quantity)
        } properties: {
            Field(\.id, \.id)
            Field(\.quantity, \.quantity)
            One(\.item, \.item)
        }
    }
}
