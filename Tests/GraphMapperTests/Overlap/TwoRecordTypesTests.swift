import GraphMapperStore
import Testing

@testable import GraphMapper

/// An object that two records read: a narrow one for lists, and one with the rest.
private final class Leaflet {
    let id: Int
    var title = ""
    var pages = 0
    var body = ""
    init(id: Int) { self.id = id }
}
private struct LeafletTitleRow: StoredRecord {
    typealias Model = Leaflet
    let id: Int
    var title = ""
    static let schema = Schema<Self>("leaflet") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Leaflet(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
        }
    }
}
private struct LeafletRow: StoredRecord {
    typealias Model = Leaflet
    let id: Int
    var title = ""
    var pages = 0
    static let schema = Schema<Self>("leaflet") { row in
        try Self(id: row("id", \.id), title: row("title", \.title), pages: row("pages", \.pages))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Leaflet(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Field(\.pages, \.pages)
        }
    }
}
/// The rest of it, in a table of its own.
private struct LeafletBodyRow: StoredRecord {
    typealias Model = Leaflet
    let id: Int
    var body = ""
    static let schema = Schema<Self>("leaflet_body") { row in try Self(id: row("id", \.id), body: row("body", \.body)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Leaflet(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.body, \.body)
        }
    }
}

/// Which records have read the object, in this order.
private enum Reading: CaseIterable, Sendable {
    case narrowThenWide, wideThenNarrow, wideThenBody, bodyThenWide, all
}
private enum Mode: CaseIterable, Sendable { case keeping, discarding, merging, whole }

@Suite struct `Refreshing an object that two records read` {
    private func opened() async throws -> GraphStore {
        let store = try await GraphStore.open(
            .inMemory, LeafletTitleRow.self, LeafletRow.self, LeafletBodyRow.self)
        try await store.write { tx in
            try await tx.insert(LeafletRow(id: 1, title: "a", pages: 1))
            try await tx.insert(LeafletBodyRow(id: 1, body: "a"))
        }
        return store
    }

    private func session(_ store: GraphStore, isReversed: Bool) -> GraphSession {
        let mappings: [any AnyMapping] = [LeafletTitleRow.mapping, LeafletRow.mapping, LeafletBodyRow.mapping]
        return GraphSession(store, isReversed ? mappings.reversed() : mappings)
    }

    private func read(_ reading: Reading, _ session: GraphSession) async throws -> Leaflet {
        func narrow() async throws -> Leaflet? { try await session.first(Query(LeafletTitleRow.self)) }
        func wide() async throws -> Leaflet? { try await session.first(Query(LeafletRow.self)) }
        func body() async throws -> Leaflet? { try await session.first(Query(LeafletBodyRow.self)) }
        let found: [Leaflet?] =
            switch reading {
            case .narrowThenWide: try await [narrow(), wide()]
            case .wideThenNarrow: try await [wide(), narrow()]
            case .wideThenBody: try await [wide(), body()]
            case .bodyThenWide: try await [body(), wide()]
            case .all: try await [narrow(), wide(), body()]
            }
        #expect(found.allSatisfy { $0 === found[0] })
        return try #require(found[0])
    }

    @Test(arguments: Reading.allCases, Mode.allCases)
    private func `brings what each of them reads`(reading: Reading, mode: Mode) async throws {
        for isReversed in [false, true] {
            let store = try await opened()
            let session = session(store, isReversed: isReversed)
            let leaflet = try await read(reading, session)
            try await store.write { tx in
                try await tx.upsert(LeafletRow(id: 1, title: "b", pages: 2))
                try await tx.upsert(LeafletBodyRow(id: 1, body: "b"))
            }
            switch mode {
            case .keeping: try await session.refresh(leaflet)
            case .discarding: try await session.refresh(leaflet, .discardingChanges)
            case .merging: try await session.refresh(leaflet, .merging { _ in .theirs })
            case .whole: try await session.refresh()
            }
            #expect(leaflet.title == "b" && leaflet.pages == 2, "mappings reversed: \(isReversed)")
            let hasBody = ![.narrowThenWide, .wideThenNarrow].contains(reading)
            #expect(leaflet.body == (hasBody ? "b" : ""))
            #expect(try session.changes().isEmpty)
            leaflet.title = "c"
            leaflet.pages = 3
            try await session.save()
            let row = try #require(try await store.find(LeafletRow.self, 1))
            #expect(row.title == "c" && row.pages == 3)
        }
    }

    @Test(arguments: [false, true])
    func `keeps edits of each, and discards those of each`(isReversed: Bool) async throws {
        let store = try await opened()
        let session = session(store, isReversed: isReversed)
        let leaflet = try await read(.all, session)
        (leaflet.title, leaflet.pages, leaflet.body) = ("mine", 9, "mine")
        try await session.refresh(leaflet)
        #expect(leaflet.title == "mine" && leaflet.pages == 9 && leaflet.body == "mine")
        try await session.refresh(leaflet, .discardingChanges)
        #expect(leaflet.title == "a" && leaflet.pages == 1 && leaflet.body == "a")
        #expect(try session.changes().isEmpty)
    }

    @Test(arguments: [false, true])
    func `one that was read by one of them alone is refreshed by that`(isReversed: Bool) async throws {
        let store = try await opened()
        let session = session(store, isReversed: isReversed)
        let leaflet = try #require(try await session.first(Query(LeafletTitleRow.self)))
        try await store.write { try await $0.upsert(LeafletRow(id: 1, title: "b", pages: 2)) }
        try await session.refresh(leaflet)
        #expect(leaflet.title == "b")
        #expect(try session.changes().isEmpty)
        leaflet.title = "c"
        try await session.save()
        let row = try #require(try await store.find(LeafletRow.self, 1))
        #expect(row.title == "c" && row.pages == 2)
    }
}
