import Foundation
import GraphMapper

/// Nested DTOs, as a web API sends them.
struct OrderDTO: DTO, Identifiable {
    typealias Model = Order
    let id: Int
    let title: String
    let lines: [LineDTO]
    let customer: CustomerDTO?

    static let schema = Schema<Self>("order") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), lines: row.nested("lines", \.lines),
            customer: row.nested("customer", \.customer))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Order(id: $0.id, title: $0.title)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Many(\.lines, \.lines)
            One(\.customer, \.customer)
        }
    }
}

struct LineDTO: DTO, Identifiable {
    typealias Model = Line
    let id: Int
    let price: Int
    let picture: String?

    static let schema = Schema<Self>("line") { row in
        try Self(id: row("id", \.id), price: row("price", \.price), picture: row("picture", \.picture))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Line(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.price, \.price)
            Field(\.picture, \.picture, using: .url)
        }
    }
}

struct CustomerDTO: DTO, Identifiable {
    typealias Model = Customer
    let id: Int
    let name: String

    static let schema = Schema<Self>("customer") { row in
        try Self(id: row("id", \.id), name: row("name", \.name))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Customer(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}

final class Order {
    let id: Int
    var title: String
    var lines: [Line] = []
    var customer: Customer?
    init(id: Int, title: String) {
        self.id = id
        self.title = title
    }
}

final class Line {
    let id: Int
    var price = 0
    var picture: URL?
    init(id: Int) { self.id = id }
}

final class Customer {
    let id: Int
    var name: String
    init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}

func orderSession() -> GraphSession { GraphSession(OrderDTO.mapping, LineDTO.mapping, CustomerDTO.mapping) }
