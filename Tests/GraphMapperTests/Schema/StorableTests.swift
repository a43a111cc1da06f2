import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

enum Mood: String, Storable, CaseIterable {
    case calm
    case glad = "very glad"
}
enum Grade: Int8, Storable, CaseIterable {
    case low = -128
    case high = 127
}

struct Tags: Codable, Sendable, Equatable {
    var names: [String: Double] = [:]
    var date: Date?
}

struct ValueRow: StoredRecord {
    let id: Int
    var url: URL
    var link: URL?
    var price: Decimal
    var rebate: Decimal?
    var mood: Mood
    var grade: Grade?
    var tags: JSONColumn<Tags>
    var list: JSONColumn<[Int]>?
    static let schema = Schema<Self>("value") { row in
        try Self(
            id: row("id", \.id), url: row("url", \.url), link: row("link", \.link), price: row("price", \.price),
            rebate: row("rebate", \.rebate), mood: row("mood", \.mood), grade: row("grade", \.grade),
            tags: row("tags", \.tags), list: row("list", \.list))
    }
}

final class TagHolder {
    let id: Int
    var tags: Tags
    init(id: Int, tags: Tags) {
        self.id = id
        self.tags = tags
    }
}
struct TagHolderRow: StoredRecord {
    typealias Model = TagHolder
    let id: Int
    let tags: JSONColumn<Tags>
    static let schema = Schema<Self>("holder") { row in try Self(id: row("id", \.id), tags: row("tags", \.tags)) }
    static var mapping: Mapping<Self> {
        Mapping {
            TagHolder(id: $0.id, tags: try $0.tags.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.tags, \.tags, using: .json)
        }
    }
}

/// Whole digits of up to 38 places at every scale that a decimal has.
private let decimals = Gen<Decimal> { choices in
    let digits = Gen<Int>.int(in: 1...38).generate(&choices)
    let text = (0..<digits).map { _ in "\(Gen<Int>.int(in: 0...9).generate(&choices))" }.joined()
    let whole = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? 0
    let exponent = Gen<Int>.int(in: -127...89).generate(&choices)
    return Decimal(sign: Gen<Bool>.bool.generate(&choices) ? .minus : .plus, exponent: exponent, significand: whole)
}

@Suite(.perEngine) struct `Types of columns` {
    private func row(_ id: Int, price: Decimal = 0, url: String = "https://a.b/c?d=e#f") throws -> ValueRow {
        ValueRow(
            id: id, url: try #require(URL(string: url)), link: nil, price: price, rebate: nil, mood: .calm, grade: nil,
            tags: try JSONColumn(Tags()), list: nil)
    }

    private func roundTrip(_ row: ValueRow) async throws {
        let store = try await Engine.open(ValueRow.self)
        try await store.write { transaction async throws in
            try await transaction.insert(row)
            let found = try #require(try await transaction.find(ValueRow.self, row.id))
            for property in ValueRow.schema.properties {
                #expect(property.isSame(found, row), "\(property.name): \(found), \(row)")
            }
            #expect(try await transaction.upsert(row) == .unchanged)
        }
    }

    @Test func `the schema finds nothing wrong`() { #expect(ValueRow.schema.diagnostics == []) }

    @Test func `the extremes come back`() async throws {
        let prices: [Decimal] = [
            .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0, .nan, .pi,
            Decimal(sign: .minus, exponent: -127, significand: 1),
        ]
        for price in prices {
            var row = try row(1, price: price)
            row.rebate = price
            row.mood = .glad
            row.grade = .low
            row.list = try JSONColumn([.min, .max, 0])
            row.link = row.url
            row.tags = try JSONColumn(
                Tags(
                    names: ["": .infinity, "é": -.infinity, "e\u{301}x\0\"\\/": .greatestFiniteMagnitude],
                    date: .distantPast))
            try await roundTrip(row)
        }
    }

    @Test(arguments: [
        "mailto:x@y", "#f", "//h", "file:///tmp/a%20b", "http://[::1]:80/", "data:,", "a b", "https://é.com/ü?x=y z",
        "https://a/%zz", "x:" + String(repeating: "y", count: 5000),
    ])
    func `a URL's text comes back exactly`(text: String) async throws { try await roundTrip(row(1, url: text)) }

    @Test func `any decimal comes back exactly`() async throws {
        let store = try await Engine.open(ValueRow.self)
        try await check(decimals) { price in
            try await store.write { transaction async throws in
                _ = try await transaction.upsert(try row(1, price: price))
                let found = try #require(try await transaction.find(ValueRow.self, 1))
                try #require(found.price == price)
                let same = Query(ValueRow.self).where { $0.price == price }
                #expect(try await transaction.count(same) == 1)
            }
        }
    }

    @Test func `decimals are ordered as numbers`() async throws {
        let store = try await Engine.open(ValueRow.self)
        let prices: [Decimal] = [9, 10, -1, .nan, Decimal(string: "9.5") ?? 0]
        try await store.write { transaction async throws in
            for (id, price) in prices.enumerated() { try await transaction.insert(row(id, price: price)) }
        }
        func ids(_ query: Query<ValueRow>) async throws -> [Int] { try await store.fetch(query).map(\.id) }
        #expect(try await ids(Query(ValueRow.self).where { $0.price > 9 }) == [1, 4])
        #expect(try await ids(Query(ValueRow.self).where { $0.price <= 9 }) == [0, 2])
        #expect(try await ids(Query(ValueRow.self).sorted(by: \.price, descending: true)) == [1, 4, 0, 2, 3])
        #expect(try await ids(Query(ValueRow.self).where { $0.rebate < 9 }) == [])
    }

    @Test(arguments: [
        ("url", "a b"), ("url", ""), ("price", "1,5"), ("price", "1e400"), ("price", ""), ("price", "1x"),
        ("mood", "sad"), ("tags", "{}"), ("tags", "nonsense"), ("list", "[1.5]"), ("link", ""),
        ("price", "0.1234567890123456789012345678901234567890123"),
    ])
    func `what is no such value is an error that names the column`(column: String, text: String) async throws {
        let store = try await Engine.open(ValueRow.self)
        try await store.write { transaction async throws in
            try await transaction.insert(row(1))
            try await transaction.execute("UPDATE value SET \(column) = ?", [.text(text)])
        }
        let error = await #expect(throws: GraphError.self) { try await store.find(ValueRow.self, 1) }
        #expect(error?.kind == .conversion && error?.property == column)
    }

    @Test func `JSON that another writer spelt differently is clean until it changes`() async throws {
        let store = try await Engine.open(TagHolderRow.self)
        try await store.write { transaction async throws in
            try await transaction.insert(
                TagHolderRow(id: 1, tags: JSONColumn(text: "{ \"names\": {\"b\": 1.0, \"a\": 2} }")))
        }
        let session = GraphSession(store, TagHolderRow.mapping)
        let holder = try #require(try await session.find(TagHolderRow.self, 1))
        #expect(holder.tags.names == ["a": 2, "b": 1])
        #expect(try session.changes().isEmpty)
        holder.tags.names["a"] = 3
        try await session.save()
        #expect(try await store.find(TagHolderRow.self, 1)?.tags.text == "{\"names\":{\"a\":3,\"b\":1}}")
    }
}
