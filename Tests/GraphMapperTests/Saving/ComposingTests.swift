import Foundation
import GraphMapperStore
import Testing

/// DTOs are made from models by the schema's own closure, whatever it does and whatever its values are.
@Suite("Composing DTOs") struct ComposingTests {
    final class Wide {
        let id: UUID
        var texts: [String]
        var owner: Wide?
        var price: Decimal = 0
        var date: Date?
        init(id: UUID, texts: [String]) { (self.id, self.texts) = (id, texts) }
    }

    /// More bytes than the first buffer of answers has, and values that own memory.
    struct WideRow: StoredRecord {
        typealias Model = Wide
        let id: UUID
        let texts: [String]
        let price: Decimal
        let date: Date?
        let owner: Ref<WideRow>
        static let schema = Schema<Self>("wide") { row in
            try Self(
                id: row("id", \.id), texts: row("texts", \.texts), price: row("price", \.price),
                date: row("date", \.date), owner: row("owner", \.owner))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Wide(id: $0.id, texts: $0.texts)
            } properties: {
                Field(\.id, \.id)
                Field(\.texts, \.texts)
                Field(\.price, \.price)
                Field(\.date, \.date)
                One(\.owner, \.owner)
            }
        }
    }

    @Test("an error half way leaves nothing behind, and the same save then succeeds") func errorHalfWay() async throws {
        let store = try await GraphStore.open(.inMemory, WideRow.self)
        let session = GraphSession(store, WideRow.mapping)
        let texts = (0..<100).map { "a text that is too long to lie in a string itself \($0)" }
        let all = (0..<20).map { _ in Wide(id: UUID(), texts: texts) }
        for one in all.dropLast() { one.owner = all[0] }
        for one in all { try session.add(one) }
        for _ in 0..<3 {
            await #expect(throws: GraphError.self) { try await session.save() }
        }
        all[19].owner = all[19]
        try await session.save()
        let again = GraphSession(store, WideRow.mapping)
        let loaded = try await again.models(Query(WideRow.self))
        #expect(loaded.count == 20 && loaded.allSatisfy { $0.texts == texts })
        #expect(try await again.save().isEmpty)
    }

    final class Pair {
        let id: Int
        var name = ""
        init(id: Int) { self.id = id }
    }

    /// A closure that does not always read the same properties.
    struct FickleRow: DTO, Identifiable {
        typealias Model = Pair
        nonisolated(unsafe) static var isFickle = false  // One test touches it.
        let id: Int
        let name: String
        static let schema = Schema<Self>("fickle") { row in
            let id = try row("id", \.id)
            if isFickle { return Self(id: id, name: try row("name", \.name) + (try row("name", \.name))) }
            return Self(id: id, name: try row("name", \.name))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Pair(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.name, \.name)
            }
        }
    }

    @Test("a schema that reads more than it said is an error") func fickle() throws {
        let session = GraphSession(FickleRow.mapping)
        try session.add(Pair(id: 1))
        #expect(try session.changes().changes.count == 1)
        FickleRow.isFickle = true
        defer { FickleRow.isFickle = false }
        #expect(throws: GraphError.self) { try session.changes() }
    }
}
