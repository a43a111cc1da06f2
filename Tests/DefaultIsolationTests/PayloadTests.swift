import Foundation
import GraphMapper
import Testing

// Payloads in a module that is main-actor by default: `nonisolated` before them, as before records.

final class Visit {
    let id: Int
    var note: String?
    var stops: [Stop] = []
    init(id: Int) { self.id = id }
}
final class Stop {
    var city: String
    init(city: String) { self.city = city }
}

nonisolated struct VisitPayload: DTO, Identifiable, Codable {
    typealias Model = Visit
    let id: Int
    let note: Tristate<String>
    let stops: Tristate<[StopPayload]>

    static let schema = Schema<Self>("visit") { row in
        try Self(id: row("id", \.id), note: row("note", \.note), stops: row.nested("stops", \.stops))
    }
    @MainActor static let mapping = Mapping<Self> { dto in
        Visit(id: dto.id)
    } properties: {
        Field(\.id, \.id)
        Field(\.note, \.note)
        Many(\.stops, \.stops)
    }
}

nonisolated struct StopPayload: KeylessDTO, Codable {
    typealias Model = Stop
    let city: String

    static let schema = Schema<Self>("stop") { row in try Self(city: row("city", \.city)) }
    @MainActor static let mapping = Mapping<Self> { dto in
        Stop(city: dto.city)
    } properties: {
        Field(\.city, \.city)
    }
}

@Suite struct `Payloads of main-actor models` {
    @Test func `JSON both ways`() throws {
        let session = GraphSession(VisitPayload.mapping, StopPayload.mapping)
        let text = #"{"id":1,"stops":[{"city":"a"},{"city":"a"}]}"#
        let visit = try session.map([JSONDecoder().decode(VisitPayload.self, from: Data(text.utf8))])[0]
        #expect(visit.stops.count == 2 && visit.stops[0] !== visit.stops[1] && visit.note == nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        func back() throws -> String {
            try String(decoding: encoder.encode(session.record(VisitPayload.self, of: visit)), as: UTF8.self)
        }
        #expect(try back() == text)
        visit.note = "x"
        #expect(try back() == #"{"id":1,"note":"x","stops":[{"city":"a"},{"city":"a"}]}"#)
    }
}
