import Foundation
import GraphMapper
import ShopModels

/// An order as a web API sends it: everything nested by value, customers and items over and over, lines without ids. What
/// is a `Tristate` may be missing, which is not null.
struct OrderPayload: DTO, Identifiable, Codable {
    typealias Model = Order
    let id: UUID
    let placed: String
    let note: Tristate<String>
    let customer: CustomerPayload
    let lines: [LinePayload]

    static let schema = Schema<Self>("order") { row in
        try Self(
            id: row("id", \.id),
            placed: row("placed", \.placed),
            note: row("note", \.note),
            customer: row.nested("customer", \.customer),
            lines: row.nested("lines", \.lines))
    }
    static var mapping: Mapping<Self> {
        Mapping { dto in
            Order(id: dto.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.placed, \.placed, using: .iso8601)
            Field(\.note, \.note)
            One(\.customer, \.customer)
            Many(\.lines, \.lines)
        }
    }
}

struct LinePayload: KeylessDTO, Codable {
    typealias Model = OrderLine
    let quantity: Int
    let item: ItemPayload

    static let schema = Schema<Self>("line") { row in
        try Self(quantity: row("quantity", \.quantity), item: row.nested("item", \.item))
    }
    static var mapping: Mapping<Self> {
        Mapping { dto in
            OrderLine(quantity: dto.quantity)
        } properties: {
            Field(\.quantity, \.quantity)
            One(\.item, \.item)
        }
    }
}

struct CustomerPayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = User
    let id: UUID
    let name: String
    let age: Int
    let homepage: Tristate<String>

    static let schema = Schema<Self>("user") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), age: row("age", \.age),
            homepage: row("homepage", \.homepage))
    }
    static var mapping: Mapping<Self> {
        Mapping { dto in
            User(id: dto.id, name: dto.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.age, \.age)
            Field(\.homepage, \.homepage, using: .url)
        }
    }
}

struct ItemPayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = ShopItem
    let id: UUID
    let name: String
    let price: Int
    let picture: Tristate<String>

    static let schema = Schema<Self>("item") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), price: row("price", \.price),
            picture: row("picture", \.picture))
    }
    static var mapping: Mapping<Self> {
        Mapping { dto in
            ShopItem(id: dto.id, name: dto.name, price: dto.price)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
            Field(\.picture, \.picture, using: .url)
        }
    }
}
