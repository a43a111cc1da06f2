import Foundation
import GraphMapperStore
import Testing

// Models that must be given others when they are made: nothing of theirs is optional, and nothing is set later.

private final class Country {
    let id: String
    init(id: String) { self.id = id }
}
private final class City {
    let id: Int
    let country: Country
    init(id: Int, country: Country) { (self.id, self.country) = (id, country) }
}
private final class Trip {
    let id: Int
    let home: City?
    let stops: [City]
    init(id: Int, home: City?, stops: [City]) { (self.id, self.home, self.stops) = (id, home, stops) }
}

private struct CountryDTO: DTO, Identifiable, Codable, NeededLink {
    typealias Model = Country
    let id: String
    static let schema = Schema<Self>("country") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Country(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
private struct CityDTO: DTO, Identifiable, Codable, NeededLink {
    typealias Model = City
    let id: Int
    let country: CountryDTO
    static let schema = Schema<Self>("city") { row in
        try Self(id: row("id", \.id), country: row.nested("country", \.country))
    }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.country) { dto, country in
            City(id: dto.id, country: country)
        } properties: {
            Field(\.id, \.id)
            One(\.country, \.country)
        }
    }
}
private struct TripDTO: DTO, Identifiable, Codable {
    typealias Model = Trip
    let id: Int
    let home: CityDTO?
    let stops: [CityDTO]
    static let schema = Schema<Self>("trip") { row in
        try Self(id: row("id", \.id), home: row.nested("home", \.home), stops: row.nested("stops", \.stops))
    }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.home, \.stops) { dto, home, stops in
            Trip(id: dto.id, home: home, stops: stops)
        } properties: {
            Field(\.id, \.id)
            One(\.home, \.home)
            Many(\.stops, \.stops)
        }
    }
}

// The same by references, stored.

private struct CountryRow: StoredRecord {
    typealias Model = Country
    let id: String
    static let schema = Schema<Self>("country") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Country(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
private struct CityRow: StoredRecord {
    typealias Model = City
    let id: Int
    let country: Ref<CountryRow>
    static let schema = Schema<Self>("city") { row in
        try Self(id: row("id", \.id), country: row("country", \.country))
    }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.country) { dto, country in
            City(id: dto.id, country: country)
        } properties: {
            Field(\.id, \.id)
            One(\.country, \.country)
        }
    }
}
private struct TripRow: StoredRecord {
    typealias Model = Trip
    let id: Int
    var home: Ref<CityRow>?
    var stops: [Ref<CityRow>] = []
    static let schema = Schema<Self>("trip") { row in
        try Self(id: row("id", \.id), home: row("home", \.home), stops: row("stops", \.stops))
    }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.home, \.stops) { dto, home, stops in
            Trip(id: dto.id, home: home, stops: stops)
        } properties: {
            Field(\.id, \.id)
            One(\.home, \.home)
            Many(\.stops, \.stops)
        }
    }
}

// And by objects.

private final class CountryObject: DTO, Identifiable, NeededLink {
    typealias Model = Country
    typealias Row = CountryObject
    var id = ""
    static let schema = Schema<CountryObject>("country", CountryObject.init) { row in row("id", \.id) }
    static var mapping: Mapping<CountryObject> {
        Mapping {
            Country(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
private final class CityObject: DTO, Identifiable, NeededLink {
    typealias Model = City
    typealias Row = CityObject
    var id = 0
    var country: CountryObject?
    static let schema = Schema<CityObject>("city", CityObject.init) { row in
        row("id", \.id)
        row.one("country", \.country)
    }
    static var mapping: Mapping<CityObject> {
        Mapping(needing: \.country) { dto, country in
            City(id: dto.id, country: try country ?? { throw NoCountry() }())
        } properties: {
            Field(\.id, \.id)
            One(\.country, \.optionalCountry)
        }
    }
    init() {}
    init(_ id: Int, _ country: CountryObject?) { (self.id, self.country) = (id, country) }
}
private struct NoCountry: Error {}
extension City {
    fileprivate var optionalCountry: Country? { country }
}
private final class TripObject: DTO, Identifiable {
    typealias Model = Trip
    typealias Row = TripObject
    var id = 0
    var home: CityObject?
    var stops: [CityObject] = []
    static let schema = Schema<TripObject>("trip", TripObject.init) { row in
        row("id", \.id)
        row.one("home", \.home)
        row.many("stops", \.stops)
    }
    static var mapping: Mapping<TripObject> {
        Mapping(needing: \.home, \.stops) { dto, home, stops in
            Trip(id: dto.id, home: home, stops: stops)
        } properties: {
            Field(\.id, \.id)
            One(\.home, \.home)
            Many(\.stops, \.stops)
        }
    }
}

/// A ring of nested DTOs that need each other.
private final class Hand {
    let id: Int
    let other: Hand?
    init(id: Int, other: Hand?) { (self.id, self.other) = (id, other) }
}
private final class HandObject: DTO, Identifiable, NeededLink {
    typealias Model = Hand
    typealias Row = HandObject
    var id = 0
    var other: HandObject?
    static let schema = Schema<HandObject>("hand", HandObject.init) { row in
        row("id", \.id)
        row.one("other", \.other)
    }
    static var mapping: Mapping<HandObject> {
        Mapping(needing: \.other) { dto, other in
            Hand(id: dto.id, other: other)
        } properties: {
            Field(\.id, \.id)
            One(\.other, \.other)
        }
    }
}

@Suite struct `Models that need others to be made` {
    private let france = CountryDTO(id: "fr")

    private func check(_ trip: Trip) {
        #expect(trip.home?.id == 1)
        #expect(trip.stops.map(\.id) == [2, 1])
        #expect(trip.home === trip.stops[1])
        #expect(trip.stops[0].country === trip.stops[1].country)
    }

    @Test func `nested DTOs`() throws {
        let session = GraphSession(TripDTO.mapping, CityDTO.mapping, CountryDTO.mapping)
        let (first, second) = (CityDTO(id: 1, country: france), CityDTO(id: 2, country: france))
        let dto = TripDTO(id: 1, home: first, stops: [second, first])
        let trip = try #require(try session.map([dto]).first)
        check(trip)
        #expect(try session.map([dto]).first === trip)
        #expect(try session.map([TripDTO(id: 2, home: nil, stops: [])]).first?.home == nil)
        let written = try session.record(TripDTO.self, of: trip)
        #expect(written.stops.map(\.id) == [2, 1])
        #expect(written.home?.country.id == "fr")
    }

    @Test func `references of stored records`() async throws {
        let store = try await GraphStore.open(.inMemory, TripRow.self, CityRow.self, CountryRow.self)
        func session() -> GraphSession {
            GraphSession(store, TripRow.mapping, CityRow.mapping, CountryRow.mapping)
        }
        let france = Country(id: "fr")
        let (first, second) = (City(id: 1, country: france), City(id: 2, country: france))
        let writer = session()
        try writer.add(Trip(id: 1, home: first, stops: [second, first]))
        try await writer.save()
        let reader = session()
        check(try #require(try await reader.find(TripRow.self, 1)))
        #expect(try reader.changes().isEmpty)
    }

    @Test func `objects of classes`() throws {
        let session = GraphSession(TripObject.mapping, CityObject.mapping, CountryObject.mapping)
        let france = CountryObject()
        france.id = "fr"
        let object = TripObject()
        object.id = 1
        object.home = CityObject(1, france)
        object.stops = [CityObject(2, france), try #require(object.home)]
        check(try #require(try session.map([object]).first))
        let lost = TripObject()
        lost.home = CityObject(3, nil)
        #expect(throws: (any Error).self) { try session.map([lost]) }
    }

    @Test func `another list by a payload is an error, and no model is changed`() throws {
        let session = GraphSession(TripDTO.mapping, CityDTO.mapping, CountryDTO.mapping)
        let city = CityDTO(id: 1, country: france)
        let trip = try #require(try session.map([TripDTO(id: 1, home: city, stops: [city])]).first)
        let error = #expect(throws: GraphError.self) { try session.map([TripDTO(id: 1, home: city, stops: [])]) }
        #expect(error?.kind == .conflict)
        #expect(error?.property == "stops")
        #expect(trip.stops.count == 1)
    }

    @Test func `a circle of needs is said`() throws {
        let (left, right) = (HandObject(), HandObject())
        (left.id, right.id) = (1, 2)
        (left.other, right.other) = (right, left)
        let error = #expect(throws: GraphError.self) { try GraphSession(HandObject.mapping).map([left]) }
        #expect(error?.kind == .cycle)
        right.other = nil
        #expect(try GraphSession(HandObject.mapping).map([left]).first?.other?.id == 2)
    }
}
