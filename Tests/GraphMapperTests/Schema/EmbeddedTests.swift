import Foundation
import GraphMapperStore
import Testing

struct Coordinates: EmbeddedValue {
    var latitude: Double
    var longitude: Double
    static let schema = Schema<Self> { row in
        try Self(latitude: row("latitude", \.latitude), longitude: row("longitude", \.longitude))
    }
}

/// All optional, with another one inside.
struct Contact: EmbeddedValue {
    var phone: String?
    var at: Coordinates?
    static let schema = Schema<Self> { row in try Self(phone: row("phone", \.phone), at: row("at", \.at)) }
}

/// What the model has instead of coordinates.
struct Point: Equatable {
    var x: Double
    var y: Double
}

final class Shop {
    let id: Int
    var location: Coordinates
    var home: Coordinates?
    var contact: Contact?
    var point: Point?
    init(id: Int, location: Coordinates) {
        self.id = id
        self.location = location
    }
}

struct ShopRow: StoredRecord {
    typealias Model = Shop
    let id: Int
    var location: Coordinates
    var home: Coordinates?
    var contact: Contact?
    var point: Coordinates?
    static let schema = Schema<Self>("shop") { row in
        try Self(
            id: row("id", \.id), location: row("location", \.location), home: row("home", \.home),
            contact: row("contact", \.contact), point: row("point", \.point))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Shop(id: $0.id, location: $0.location)
        } properties: {
            Field(\.id, \.id)
            Embedded(\.location, \.location)
            Embedded(\.home, \.home)
            Embedded(\.contact, \.contact)
            Embedded(
                \.point, \.point,
                using: Conversion<Coordinates, Point>(
                    decode: { Point(x: $0.longitude, y: $0.latitude) },
                    encode: { Coordinates(latitude: $0.y, longitude: $0.x) }))
        }
    }
    static let indexes: [Index<Self>] = [.on(\.location.latitude), .on(\.home)]
}

private struct SwappedInside: EmbeddedValue {
    var a: Int
    var b: Int
    static let schema = Schema<Self> { row in try Self(a: row("a", \.b), b: row("b", \.a)) }
}

private struct Picky: EmbeddedValue {
    let number: Int
    init(number: Int) throws {
        guard number > 1000 else { throw GraphError(.conversion, "too small") }
        self.number = number
    }
    static let schema = Schema<Self> { row in try Self(number: row("number", \.number)) }
}

private struct BadRow: StoredRecord {
    let id: Int
    var swapped: SwappedInside?
    var one: Coordinates
    var other: Coordinates
    static let schema = Schema<Self>("bad") { row in
        try Self(
            id: row("id", \.id), swapped: row("swapped", \.swapped), one: row("one", \.other),
            other: row("other", \.one))
    }
}

private struct PickyRow: StoredRecord {
    let id: Int
    var picky: Picky
    static let schema = Schema<Self>("picky") { row in try Self(id: row("id", \.id), picky: row("picky", \.picky)) }
}

private struct Linking: EmbeddedValue {
    var shop: Ref<ShopRow>
    static let schema = Schema<Self> { row in try Self(shop: row("shop", \.shop)) }
}

@Suite(.perEngine) struct `Embedded values` {
    let here = Coordinates(latitude: 4, longitude: -7.5)

    private func opened() async throws -> GraphStore { try await Engine.open(ShopRow.self) }

    @Test func `columns are the property's name and the value's`() {
        #expect(
            ShopRow.schema.properties.flatMap(\.columnNames) == [
                "id", "location_latitude", "location_longitude", "home_latitude", "home_longitude", "contact_phone",
                "contact_at_latitude", "contact_at_longitude", "point_latitude", "point_longitude",
            ])
        #expect(ShopRow.schema.diagnostics == [])
    }

    @Test func `records come back as they went`() async throws {
        let store = try await opened()
        let rows = [
            ShopRow(id: 1, location: here, home: nil, contact: nil, point: nil),
            ShopRow(id: 2, location: here, home: here, contact: Contact(phone: "1", at: nil), point: here),
            ShopRow(id: 3, location: here, home: nil, contact: Contact(phone: nil, at: here), point: nil),
        ]
        try await store.write { try await $0.insert(contentsOf: rows) }
        for row in rows {
            let found = try #require(try await store.find(ShopRow.self, row.id))
            for property in ShopRow.schema.properties { #expect(property.isSame(found, row)) }
        }
    }

    /// The rule: a value whose columns are all NULL is nil.
    @Test func `a value whose parts are all nil counts as nil`() async throws {
        let store = try await opened()
        let row = ShopRow(id: 1, location: here, contact: Contact(phone: nil, at: nil))
        try await store.write { transaction async throws in
            try await transaction.insert(row)
            #expect(try await transaction.find(ShopRow.self, 1)?.contact == nil)
            #expect(try await transaction.upsert(row) == .unchanged)
        }
        let session = GraphSession(store, ShopRow.mapping)
        let shop = try #require(try await session.find(ShopRow.self, 1))
        shop.contact = Contact(phone: nil, at: nil)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a save names the columns that changed`() async throws {
        let store = try await opened()
        let session = GraphSession(store, ShopRow.mapping)
        let shop = Shop(id: 1, location: here)
        shop.point = Point(x: 1, y: 2)
        try session.add(shop)
        try await session.save()
        #expect(try session.changes().isEmpty)
        shop.location.longitude = 8
        shop.contact = Contact(phone: "2", at: nil)
        shop.point?.y = 3
        #expect(
            try await session.save().description == "update shop 1: location_longitude -7.5 → 8.0, "
                + "contact_phone NULL → \"2\", point_latitude 2.0 → 3.0")
        shop.point = nil
        shop.home = here
        try await session.save()
        let other = try #require(try await GraphSession(store, ShopRow.mapping).find(ShopRow.self, 1))
        #expect(other.location == Coordinates(latitude: 4, longitude: 8))
        #expect(other.contact == Contact(phone: "2", at: nil) && other.point == nil && other.home == here)
    }

    @Test func `queries, sorts and patches reach inside`() async throws {
        let store = try await opened()
        let rows = (0..<6).map { number in
            ShopRow(
                id: number, location: Coordinates(latitude: Double(number), longitude: Double(-number)),
                home: number % 2 == 0 ? here : nil,
                contact: Contact(phone: nil, at: Coordinates(latitude: 1, longitude: Double(number))))
        }
        try await store.write { try await $0.insert(contentsOf: rows) }
        let query = Query(ShopRow.self)
        func ids(_ query: Query<ShopRow>) async throws -> [Int] { try await store.fetch(query).map(\.id) }
        #expect(try await ids(query.where { $0.location.latitude > 3 }) == [4, 5])
        #expect(
            try await ids(
                query.where {
                    $0.home.latitude == 4
                    $0.id > 2
                }) == [4])
        #expect(try await ids(query.where { $0.home == nil }) == [1, 3, 5])
        #expect(try await ids(query.where { $0.home.isNil }) == [1, 3, 5])
        #expect(try await ids(query.where { $0.home != here }) == [1, 3, 5])
        #expect(try await ids(query.where { $0.contact.at.longitude <= 1 }) == [0, 1])
        #expect(try await ids(query.where { $0.location == rows[3].location }) == [3])
        #expect(try await ids(query.where { $0.location.isIn([rows[2].location, rows[5].location, here]) }) == [2, 5])
        #expect(try await ids(query.where { $0.location.isIn([]) }) == [])
        #expect(try await ids(query.sorted(by: \.location.longitude).limit(2)) == [5, 4])
        #expect(try await ids(query.sorted(by: \.location, descending: true).limit(2)) == [5, 4])
        try await store.write { transaction async throws in
            let patch = Patch(ShopRow.self, 3).set(\.location.latitude, 9).set(\.home, here)
            #expect(try await transaction.apply(patch))
        }
        let patched = try #require(try await store.find(ShopRow.self, 3))
        #expect(patched.location == Coordinates(latitude: 9, longitude: -3) && patched.home == here)
    }

    @Test func `half a value is an error that names the column`() async throws {
        let store = try await opened()
        try await store.write { transaction async throws in
            try await transaction.insert(ShopRow(id: 1, location: here, home: here))
            try await transaction.execute("UPDATE shop SET home_longitude = NULL")
        }
        let error = await #expect(throws: GraphError.self) { try await store.find(ShopRow.self, 1) }
        #expect(error?.kind == .conversion && error?.property == "home_longitude")
    }

    @Test func `swapped key paths are found, inside too`() {
        let text = BadRow.schema.diagnostics.joined(separator: "\n")
        for place in ["SwappedInside.a:", "SwappedInside.b:", "bad.one:", "bad.other:"] {
            #expect(text.contains(place), "\(text)")
        }
    }

    @Test func `a value that refuses, or has links, is a mistake and no trap`() {
        #expect(PickyRow.schema.diagnostics.contains { $0.contains("too small") })
        #expect(Linking.schemaMistakes.contains { $0.contains("links belong to the record") })
    }
}
