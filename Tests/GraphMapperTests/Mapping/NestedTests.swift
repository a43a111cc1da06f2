import Foundation
import GraphMapper
import Testing

@Suite struct `Nested DTOs` {
    func line(_ id: Int, _ price: Int, _ picture: String? = nil) -> LineDTO {
        LineDTO(id: id, price: price, picture: picture)
    }

    @Test func `equal copies become one instance`() throws {
        let session = orderSession()
        let orders = try session.map([
            OrderDTO(id: 1, title: "a", lines: [line(1, 250), line(2, 5)], customer: CustomerDTO(id: 9, name: "hoon")),
            OrderDTO(id: 2, title: "b", lines: [line(1, 250)], customer: CustomerDTO(id: 9, name: "hoon")),
        ])
        #expect(orders[0].lines[0] === orders[1].lines[0])
        #expect(orders[0].customer === orders[1].customer)
        orders[0].lines[0].price = 300
        #expect(orders[1].lines[0].price == 300)
        let changes = try session.changes()
        #expect(changes.changes.count == 1)
        #expect(changes.description == "update line 1: price 250 → 300")
    }

    @Test func `differing copies raise one certificate whatever the order`() throws {
        let one = OrderDTO(id: 1, title: "a", lines: [line(1, 250)], customer: nil)
        let two = OrderDTO(id: 2, title: "b", lines: [line(7, 1), line(1, 300)], customer: nil)
        func certificate(_ orders: [OrderDTO]) -> String {
            do {
                try orderSession().map(orders)
                return "none"
            } catch { return "\(error)" }
        }
        let text = certificate([one, two])
        #expect(text == certificate([two, one]))
        for part in ["line(1)", "price", "250 at order(1).lines[0].price", "300 at order(2).lines[1].price"] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test func `ways of one length to copies that differ are told apart by their names, not by the order`() {
        let customer = CustomerDTO(id: 0, name: "customer")
        let first = OrderDTO(id: 0, title: "a", lines: [line(0, 1, "https://x/a.png"), line(0, 1)], customer: customer)
        let second = OrderDTO(id: 0, title: "a", lines: [line(0, 1)], customer: nil)
        let texts = [[first, second], [second, first]].map { orders in
            #expect(throws: GraphError.self) { try orderSession().map(orders) }?.description ?? "none"
        }
        #expect(texts[0].contains("NULL at order(0).lines[0].picture"))
        #expect(texts[0] == texts[1])
    }

    @Test func `a failing conversion names its path and changes nothing`() throws {
        let session = orderSession()
        let order = try session.map([OrderDTO(id: 1, title: "a", lines: [line(1, 250)], customer: nil)])[0]
        let bad = OrderDTO(id: 1, title: "b", lines: [line(1, 1), line(2, 1, "")], customer: nil)
        #expect {
            try session.map([bad])
        } throws: {
            ($0 as? GraphError)?.path == "order(1).lines[1].picture" && "\($0)".contains("line(2)")
        }
        #expect(order.title == "a" && order.lines.count == 1 && order.lines[0].price == 250)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a second load keeps what the app has edited`() throws {
        let session = orderSession()
        let order = try session.map([OrderDTO(id: 1, title: "a", lines: [line(1, 250)], customer: nil)])[0]
        order.title = "mine"
        try session.map([OrderDTO(id: 1, title: "theirs", lines: [line(1, 260)], customer: nil)])
        #expect(order.title == "mine")
        #expect(order.lines[0].price == 260)
        #expect(try session.changes().description == "update order 1: title \"theirs\" → \"mine\"")
    }

    @Test func `the same graph again is no change; an edited one replaces its list and updates its parts`() throws {
        let session = orderSession()
        func order(_ lines: [LineDTO]) -> OrderDTO { OrderDTO(id: 1, title: "a", lines: lines, customer: nil) }
        let model = try session.map([order([line(1, 250), line(2, 5)])])[0]
        let first = model.lines[0]
        #expect(try session.map([order([line(1, 250), line(2, 5)])])[0] === model)
        #expect(model.lines[0] === first && model.lines.count == 2)
        try session.map([order([line(3, 1), line(1, 260)])])
        #expect(model.lines.map(\.id) == [3, 1] && model.lines[1] === first && first.price == 260)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a model's DTO has its nested DTOs`() throws {
        let session = orderSession()
        let dto = OrderDTO(
            id: 1, title: "a", lines: [line(1, 2, "https://x/a.png"), line(2, 3)],
            customer: CustomerDTO(id: 9, name: "e\u{301}"))
        let back = try session.record(OrderDTO.self, of: session.map([dto])[0])
        #expect(back.lines.map(\.id) == [1, 2] && back.lines[0].picture == "https://x/a.png")
        #expect(Array((back.customer?.name ?? "").utf8) == Array("e\u{301}".utf8))
    }

    @Test func `two instances for one id are an error`() throws {
        let session = orderSession()
        let order = try session.map([OrderDTO(id: 1, title: "a", lines: [line(1, 250)], customer: nil)])[0]
        order.lines.append(Line(id: 1))
        #expect { try session.changes() } throws: { ($0 as? GraphError)?.kind == .conflict }
    }
}

@Suite struct `Start-up validation` {
    struct Swapped: DTO, Identifiable {
        typealias Model = Customer
        var id: Int
        var first: String
        var last: String
        var flag = false
        static let schema = Schema<Self>("swapped") { row in
            try Self(id: row("id", \.id), first: row("first", \.last), last: row("last", \.first))
        }
    }

    @Test func `swapped key paths and forgotten properties are found`() {
        let text = Swapped.schema.diagnostics.joined(separator: "\n")
        #expect(text.contains("swapped.first") && text.contains("swapped.last") && text.contains("flag"))
        #expect(OrderDTO.schema.diagnostics.isEmpty)
    }

    @Test func `all problems of a mapping at once`() {
        let mapping = Mapping<OrderDTO> {
            Order(id: $0.id, title: $0.title)
        } properties: {
            Field(\.id, \.id)
            Many(\.lines, \.lines)
            Many(\.lines, \.lines)
        }
        let session = GraphSession(mapping)
        #expect { try session.validate() } throws: {
            let text = "\($0)"
            return text.contains("order.title: no entry") && text.contains("order.lines: 2 entries")
                && text.contains("no mapping") && text.contains("order.customer")
        }
    }
}
