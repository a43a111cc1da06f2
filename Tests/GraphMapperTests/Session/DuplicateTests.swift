import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

/// Copies of one object that differ: the certificate, and the policies for those who ask.
@Suite struct Duplicates {
    private func order(_ id: Int, _ title: String = "", lines: [LineDTO] = [], by name: String? = nil) -> OrderDTO {
        OrderDTO(id: id, title: title, lines: lines, customer: name.map { CustomerDTO(id: 9, name: $0) })
    }

    private func line(_ id: Int, _ price: Int) -> LineDTO { LineDTO(id: id, price: price, picture: nil) }

    @Test func `the first or the last copy is taken by its place, for those who ask`() throws {
        let orders = [order(1, by: "ann"), order(2, by: "bob"), order(3, by: "cid")]
        #expect { try orderSession().map(orders) } throws: { ($0 as? GraphError)?.kind == .conflict }
        #expect(try orderSession().map(orders, duplicates: .first)[2].customer?.name == "ann")
        #expect(try orderSession().map(orders, duplicates: .last)[0].customer?.name == "cid")
    }

    @Test func `the links of a copy are taken with it`() throws {
        let orders = [
            order(1, "a", lines: [line(1, 5), line(2, 6)]), order(2, "b", lines: [line(3, 7)]), order(1, "c"),
        ]
        let first = try orderSession().map(orders, duplicates: .first)
        #expect(first[0] === first[2] && first[0].title == "a" && first[0].lines.map(\.id) == [1, 2])
        let last = try orderSession().map(orders, duplicates: .last)
        #expect(last[0] === last[2] && last[0].title == "c" && last[0].lines.isEmpty && last[1].lines.count == 1)
    }

    @Test func `a policy changes nothing where no copies differ, and is not an edit`() throws {
        let session = orderSession()
        let orders = [order(1, "a", lines: [line(1, 5)], by: "ann"), order(2, "b", lines: [line(1, 5)], by: "ann")]
        let models = try session.map(orders, duplicates: .last)
        #expect(models[0].lines[0] === models[1].lines[0])
        #expect(try session.changes().isEmpty)
        _ = try session.map([order(3, by: "x"), order(4, by: "y")], duplicates: .first)
        #expect(try session.changes().isEmpty)
    }

    @Test func `the chosen copy is that of a plain reading, whatever the orders`() throws {
        let lines = Gen<[[(id: Int, price: Int)]]>.array(
            of: .array(of: Gen { ($0.index(below: 4), $0.index(below: 3)) }, count: 0...4), count: 1...6)
        try check(lines) { lists in
            let orders = lists.enumerated().map { index, list in
                order(index, lines: list.map { line($0.id, $0.price) })
            }
            var first: [Int: Int] = [:]
            var last: [Int: Int] = [:]
            for line in orders.flatMap(\.lines) {
                if first[line.id] == nil { first[line.id] = line.price }
                last[line.id] = line.price
            }
            for (policy, expected) in [(DuplicatePolicy.first, first), (.last, last)] {
                for line in try orderSession().map(orders, duplicates: policy).flatMap(\.lines) {
                    try ensure(line.price == expected[line.id], "\(policy): line \(line.id) costs \(line.price)")
                }
            }
        }
    }

    @Test func `copies that look the same are told apart`() throws {
        let orders = [order(1, by: "\u{e9}"), order(2, by: "e\u{301}")]
        let error = #expect(throws: GraphError.self) { try orderSession().map(orders) }
        #expect(error?.kind == .conflict && error?.property == "name")
        #expect(error?.message.contains(#""\u{00E9}" at order(1).customer.name"#) == true)
        #expect(error?.message.contains(#""e\u{0301}" at order(2).customer.name"#) == true)
    }
}
