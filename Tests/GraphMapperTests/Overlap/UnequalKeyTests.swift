import GraphMapperStore
import Testing

@testable import GraphMapper

private struct Position: EmbeddedValue, Hashable {
    var line: Int
    var offset: Double
    static let schema = Schema<Self> { row in
        try Self(line: row("line", \.line), offset: row("offset", \.offset))
    }
}
private final class Pin<K: Hashable> {
    let id: K
    var name = ""
    var next: Pin<K>?
    var pins: [Pin<K>] = []
    init(id: K) { self.id = id }
}
private protocol PinKey: Storable, Hashable, Sendable {
    static var pinSchema: Schema<PinRow<Self>> { get }
    static var pinSaid: Schema<PinPayload<Self>> { get }
    /// A key that is not equal to itself.
    static var unequal: Self { get }
    static var plain: Self { get }
}
private struct PinRow<K: PinKey>: StoredRecord {
    typealias Model = Pin<K>
    let id: K
    var name = ""
    var next: Ref<PinRow>?
    var pins: [Ref<PinRow>] = []
    static var schema: Schema<Self> { K.pinSchema }
    static func made() -> Schema<Self> {
        Schema("pin") { row in
            try Self(
                id: row("id", \.id), name: row("name", \.name), next: row("next", \.next), pins: row("pins", \.pins))
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Pin(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            One(\.next, \.next)
            Many(\.pins, \.pins)
        }
    }
}
private struct PinPayload<K: PinKey>: DTO, Identifiable {
    typealias Model = Pin<K>
    let id: K
    var name: Tristate<String> = .unset
    static var schema: Schema<Self> { K.pinSaid }
    static func made() -> Schema<Self> {
        Schema("pin") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Pin(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
extension Double: PinKey {
    fileprivate static let pinSchema = PinRow<Double>.made()
    fileprivate static let pinSaid = PinPayload<Double>.made()
    fileprivate static var unequal: Double { .nan }
    fileprivate static var plain: Double { 1.5 }
}
extension Float: PinKey {
    fileprivate static let pinSchema = PinRow<Float>.made()
    fileprivate static let pinSaid = PinPayload<Float>.made()
    fileprivate static var unequal: Float { .nan }
    fileprivate static var plain: Float { 1.5 }
}
extension Position: PinKey {
    fileprivate static let pinSchema = PinRow<Position>.made()
    fileprivate static let pinSaid = PinPayload<Position>.made()
    fileprivate static var unequal: Position { Position(line: 1, offset: .nan) }
    fileprivate static var plain: Position { Position(line: 1, offset: 1.5) }
}

private enum KeyType: CaseIterable, Sendable { case double, float, compound }
private enum Use: CaseIterable, Sendable {
    case add, linkInList, linkAsOne, map, merge, mergeRecord, load, loadLink
}

@Suite struct `Keys that are not equal to themselves` {
    private func run<K: PinKey>(_: K.Type, _ use: Use) async throws {
        let store = try await GraphStore.open(.inMemory, PinRow<K>.self)
        try await store.write { try await $0.insert(PinRow(id: K.plain)) }
        let session = GraphSession(store, PinRow<K>.mapping, PinPayload<K>.mapping)
        let pin = try #require(try await session.find(PinRow<K>.self, K.plain))
        let strange = Pin(id: K.unequal)
        let error: (any Error)?
        do {
            switch use {
            case .add: try session.add(strange)
            case .linkInList:
                pin.pins = [strange]
                _ = try session.changes()
            case .linkAsOne:
                pin.next = strange
                _ = try session.changes()
            case .map: try session.map([PinPayload(id: K.unequal)])
            case .merge: try await session.merge([PinPayload(id: K.unequal)])
            case .mergeRecord: try await session.merge([PinRow(id: K.unequal)])
            case .load: try await session.load(PinRow<K>.self) { _ in [PinRow(id: K.unequal)] }
            case .loadLink:
                try await session.load(PinRow<K>.self) { _ in [PinRow(id: K.plain, pins: [Ref(K.unequal)])] }
            }
            error = nil
        } catch let thrown { error = thrown }
        let known = try #require(error as? GraphError, "it was taken")
        #expect("\(known)".lowercased().contains("nan"), "\(known)")
        // The session goes on without it.
        pin.pins = []
        pin.next = nil
        pin.name = "still"
        try await session.save()
        let rows = try await store.fetch(Query(PinRow<K>.self))
        #expect(rows.count == 1 && rows[0].name == "still" && rows[0].pins.isEmpty)
        #expect(try session.changes().isEmpty)
    }

    @Test(arguments: KeyType.allCases, Use.allCases)
    private func `are refused`(key: KeyType, use: Use) async throws {
        switch key {
        case .double: try await run(Double.self, use)
        case .float: try await run(Float.self, use)
        case .compound: try await run(Position.self, use)
        }
    }

    @Test func `nothing is found for one`() async throws {
        let store = try await GraphStore.open(.inMemory, PinRow<Double>.self)
        let session = GraphSession(store, PinRow<Double>.mapping)
        for _ in 0..<2 {
            do { #expect(try await session.find(PinRow<Double>.self, .nan) == nil) } catch is GraphError {}
        }
        #expect(try session.changes().isEmpty)
    }
}
