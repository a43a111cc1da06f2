import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

private struct Place: EmbeddedValue, Hashable {
    var latitude: Double
    var note: String?
    static let schema = Schema<Self> { row in
        try Self(latitude: row("latitude", \.latitude), note: row("note", \.note))
    }
}

private struct Name: EmbeddedValue, Hashable {
    var first: String
    var last: String
    static let schema = Schema<Self> { row in try Self(first: row("first", \.first), last: row("last", \.last)) }
}

private final class SpotModel {
    let id: Name
    var place: Place?
    var tags: [String: Int]?
    var children: [SpotModel] = []
    weak var parent: SpotModel?
    init(id: Name) { self.id = id }
}

/// An object with a key of two columns, a value of two columns, and children that hold the link.
private class Spot: LiveObject, DTO, Identifiable {
    typealias Model = SpotModel
    typealias Row = Spot
    override class var table: String { "spot" }
    var id: Name {
        get { value("id", Name(first: "", last: "")) }
        set { set("id", newValue) }
    }
    var place: Place? {
        get { value("place", nil) }
        set { set("place", newValue) }
    }
    var tags: JSONColumn<[String: Int]>? {
        get { value("tags", nil) }
        set { set("tags", newValue) }
    }
    var parent: Spot? {
        get { link("parent") }
        set { setLink("parent", newValue) }
    }
    static let schema = Schema<Spot>("spot", Spot.init) { row in
        row("id", \.id)
        row("place", \.place)
        row("tags", \.tags)
        row.one("parent", \.parent)
    } isLive: {
        $0.store != nil
    }
    static var mapping: Mapping<Spot> {
        Mapping {
            SpotModel(id: $0.id)
        } properties: {
            Embedded(\.id, \.id)
            Embedded(\.place, \.place)
            Field(\.tags, \.tags, using: Conversion<JSONColumn<[String: Int]>, [String: Int]>.json.optional)
            Back(\.parent, \.parent)
            Many(Spot.self, by: \.parent, \.children)
        }
    }
}

@Suite struct `Values of objects` {
    private func expectDecoded<V: Storable>(_ values: [V]) throws {
        for value in values { #expect(V.isSame(try V.decode(value.storedValues), value), "\(value)") }
    }

    @Test func `what is stored is decoded`() throws {
        try expectDecoded([true, false])
        try expectDecoded([Int.min, 0, .max])
        try expectDecoded([Int8.min, .max])
        try expectDecoded([UInt32.max])
        try expectDecoded([-0.0, 0.1, .infinity, .nan])
        try expectDecoded([Float.pi])
        try expectDecoded(["", "e\u{301}", String(repeating: "long ", count: 100)])
        try expectDecoded([Data(), Data([0, 255])])
        try expectDecoded([UUID()])
        try expectDecoded([Date(timeIntervalSince1970: 0.125)])
        try expectDecoded([Decimal(string: "12345678901234567890.123")])
        try expectDecoded([URL(string: "https://example.org/a?b")])
        try expectDecoded([Int?.none, 1])
        try expectDecoded([Place?.none, Place(latitude: 1, note: nil), Place(latitude: 2, note: "two")])
        try expectDecoded([Name(first: "a_b", last: "c")])
        try expectDecoded([Ref<LiveUser>(7)])
        try expectDecoded([try JSONColumn(["a": 1])])
    }

    @Test func `random texts and bytes are decoded`() throws {
        let texts = Gen<[Int]>.array(of: .int(in: 0...0x2FFF), count: 0...20)
        try check(texts, count: 200) { scalars in
            let text = String(String.UnicodeScalarView(scalars.compactMap { Unicode.Scalar(UInt32($0)) }))
            try expectDecoded([Name(first: text, last: "\(scalars)")])
            try expectDecoded([Data(scalars.map { UInt8(truncatingIfNeeded: $0) })])
        }
    }

    @Test func `values that do not fit are an error`() {
        for values in [[], [.text("1")], [.null], [.integer(1), .integer(2)]] as [[StoredValue]] {
            let error = #expect(throws: GraphError.self) { try Int.decode(values) }
            #expect(error?.kind == .conversion)
        }
        #expect(throws: GraphError.self) { try Int8.decode([.integer(300)]) }
    }

    @MainActor @Test func `keys and values of several columns, and links that the other side holds`() async throws {
        let store = LiveStore()
        let backing = ObjectBacking(LiveDatabase(store: store), Spot.self)
        let session = GraphSession(backing, [Spot.mapping])
        let root = SpotModel(id: Name(first: "a_b", last: "c"))
        let child = SpotModel(id: Name(first: "a", last: "b_c"))
        root.place = Place(latitude: 1, note: "one")
        root.tags = ["x": 1]
        root.children = [child]
        try session.add(root)
        try await session.save()
        #expect(store.count("spot") == 2)

        let fresh = GraphSession(backing, [Spot.mapping])
        let again = try #require(try await fresh.find(Spot.self, root.id))
        #expect(again.place == root.place && again.tags == root.tags)
        #expect(again.children.map(\.id) == [child.id] && again.children[0].parent === again)
        #expect(try fresh.changes().isEmpty)

        again.place?.note = "other"
        store.forgetCounts()
        let changes = try await fresh.save()
        #expect(changes.description.contains("place_note \"one\" → \"other\""), "\(changes)")
        #expect(!changes.description.contains("latitude"))
        #expect(store.sets == ["spot(\(AnyHashable(root.id))).place"])
        #expect(store.stored("spot", root.id)?["place"] as? Place == Place(latitude: 1, note: "other"))

        again.children = []
        try await fresh.save()
        #expect(store.stored("spot", child.id)?["parent"] == nil)
        #expect(store.violations.isEmpty, "\(store.violations)")
    }
}
