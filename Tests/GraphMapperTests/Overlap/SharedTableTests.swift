import GraphMapperStore
import Testing

@testable import GraphMapper

private final class Placard {
    let id: Int
    var text = ""
    init(id: Int) { self.id = id }
}
private final class Flyer {
    let id: Int
    var text = ""
    init(id: Int) { self.id = id }
}
private class Ticket {
    let id: Int
    var seat = ""
    init(id: Int) { self.id = id }
}
private final class SeasonTicket: Ticket {
    var season = ""
}

private struct PlacardRow: StoredRecord {
    typealias Model = Placard
    let id: Int
    var text = ""
    static let schema = Schema<Self>("sheet") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Placard(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
        }
    }
}
private struct FlyerRow: StoredRecord {
    typealias Model = Flyer
    let id: Int
    var text = ""
    static let schema = Schema<Self>("sheet") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Flyer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
        }
    }
}
/// Of the poster's table, and the poster's own.
private struct PosterNameRow: StoredRecord {
    typealias Model = Placard
    let id: Int
    static let schema = Schema<Self>("sheet") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Placard(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
/// Without a model.
private struct SheetRow: StoredRecord {
    let id: Int
    var text = ""
    static let schema = Schema<Self>("sheet") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
}
private struct TicketRow: StoredRecord {
    typealias Model = Ticket
    let id: Int
    var seat = ""
    static let schema = Schema<Self>("ticket") { row in try Self(id: row("id", \.id), seat: row("seat", \.seat)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Ticket(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.seat, \.seat)
        }
    }
}
private struct SeasonTicketRow: StoredRecord {
    typealias Model = SeasonTicket
    let id: Int
    var seat = ""
    var season = ""
    static let schema = Schema<Self>("ticket") { row in
        try Self(id: row("id", \.id), seat: row("seat", \.seat), season: row("season", \.season))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            SeasonTicket(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.seat, \.seat)
            Field(\.season, \.season)
        }
    }
}
/// The flyer as a web API sends it: of the table's name, and in no table.
private struct FlyerPayload: DTO, Identifiable {
    typealias Model = Flyer
    let id: Int
    static let schema = Schema<Self>("sheet") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Flyer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}

/// A database that keeps rows of every type.
private struct Everything: GraphBacking {
    func snapshot(_ body: nonisolated(nonsending) (any GraphSource) async throws -> Void) async throws {}
    func transaction(_ body: nonisolated(nonsending) (any ChangeSink) async throws -> Void) async throws {}
}

@Suite struct `Models that share a table` {
    private func ensureRefused(_ session: GraphSession, _ names: [String], table: String) async {
        let error = #expect(throws: GraphError.self) { try session.validate() }
        #expect(error?.kind == .invalidSchema)
        for name in names + [table] {
            #expect(error?.message.contains(name) == true, "\(name) is not in \(error as Any)")
        }
        // Whatever is done first says so, too.
        let first = #expect(throws: GraphError.self) { try session.changes() }
        #expect(first?.kind == .invalidSchema)
    }

    @Test(arguments: [false, true])
    func `classes that have nothing in common are refused, in either order`(isReversed: Bool) async throws {
        let store = try await GraphStore.open(.inMemory, PlacardRow.self, FlyerRow.self)
        let mappings: [any AnyMapping] = [PlacardRow.mapping, FlyerRow.mapping]
        let session = GraphSession(store, isReversed ? mappings.reversed() : mappings)
        await ensureRefused(session, ["Placard", "Flyer"], table: "sheet")
    }

    @Test(arguments: [false, true])
    func `a class and its subclass are refused, in either order`(isReversed: Bool) async throws {
        let store = try await GraphStore.open(.inMemory, TicketRow.self, SeasonTicketRow.self)
        let mappings: [any AnyMapping] = [TicketRow.mapping, SeasonTicketRow.mapping]
        let session = GraphSession(store, isReversed ? mappings.reversed() : mappings)
        await ensureRefused(session, ["Ticket", "SeasonTicket"], table: "ticket")
    }

    @Test func `three are named in one error, with the other mistakes`() async throws {
        let store = try await GraphStore.open(
            .inMemory, PlacardRow.self, FlyerRow.self, PosterNameRow.self, TicketRow.self, SeasonTicketRow.self)
        let session = GraphSession(
            store, PlacardRow.mapping, PosterNameRow.mapping, FlyerRow.mapping, TicketRow.mapping,
            SeasonTicketRow.mapping)
        await ensureRefused(
            session, ["PlacardRow", "PosterNameRow", "FlyerRow", "SeasonTicketRow", "sheet"], table: "ticket")
    }

    @Test func `they are refused over any database`() async throws {
        await ensureRefused(
            GraphSession(Everything(), [PlacardRow.mapping, FlyerRow.mapping]), ["Placard", "Flyer"], table: "sheet")
    }

    @Test func `records of one class, records without one and payloads are fine`() async throws {
        let store = try await GraphStore.open(.inMemory, PlacardRow.self, PosterNameRow.self, SheetRow.self)
        let session = GraphSession(store, PlacardRow.mapping, PosterNameRow.mapping, FlyerPayload.mapping)
        try session.validate()
        try await store.write { try await $0.insert(SheetRow(id: 1, text: "a")) }
        let poster = try #require(try await session.find(PosterNameRow.self, 1))
        #expect(try await session.find(PlacardRow.self, 1) === poster)
        #expect(try await session.models(Query(PlacardRow.self))[0] === poster)
        #expect(try session.map([FlyerPayload(id: 1)])[0].id == 1)
        poster.text = "b"
        try await session.save()
        #expect(try await store.find(SheetRow.self, 1)?.text == "b")
    }

    @Test func `the same classes are fine where the store keeps one of them`() async throws {
        let store = try await GraphStore.open(.inMemory, PlacardRow.self)
        let session = GraphSession(store, PlacardRow.mapping, FlyerPayload.mapping)
        try session.validate()
    }
}
