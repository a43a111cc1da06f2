import GraphMapper
import GraphMapperStore
import Testing

/// A table of which a record does not have all columns.
private struct WidePosterRow: StoredRecord {
    let id: Int
    var title: String
    var text: String?
    var secret = 7
    var notice: String?
    static let schema = Schema<Self>("poster") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), text: row("text", \.text),
            secret: row("secret", \.secret), notice: row("notice", \.notice))
    }
}

/// Deleting an object and adding another under its key in one save makes a new row.
@Suite @MainActor struct `Objects in the place of deleted ones` {
    private func opened() async throws -> (GraphStore, GraphSession, Poster) {
        let store = try await GraphStore.open(.inMemory, WidePosterRow.self, PosterRow.self)
        try await store.write {
            try await $0.insert(WidePosterRow(id: 1, title: "base", text: "long", secret: 3, notice: "wide"))
        }
        let session = GraphSession(store, PosterRow.mapping)
        return (store, session, try #require(try await session.find(PosterRow.self, 1)))
    }

    @Test(arguments: [false, true], [false, true])
    func `inherit neither lazy values nor columns that are not mapped`(isRead: Bool, isSameTitle: Bool) async throws {
        let (store, session, old) = try await opened()
        if isRead { try await session.load(old, \PosterRow.text) }
        try session.delete(old)
        let new = Poster(id: 1)
        new.title = isSameTitle ? "base" : "new"
        try session.add(new)
        try await session.save()
        let row = try #require(try await store.find(WidePosterRow.self, 1))
        #expect(row.title == new.title)
        #expect(row.text == nil, "the old one's lazy value")
        #expect(row.secret == 7, "the old one's unmapped property")
        #expect(session.state(of: old) == nil && session.state(of: new) == .clean)
        #expect(try await session.find(PosterRow.self, 1) === new)
        #expect(try await session.save().isEmpty)
    }

    @Test func `have the lazy value that they are given`() async throws {
        let (store, session, old) = try await opened()
        try session.delete(old)
        let new = Poster(id: 1)
        new.text = "new"
        try session.add(new)
        try await session.save()
        #expect(try await store.find(WidePosterRow.self, 1)?.text == "new")
    }

    @Test func `are as before when the save fails`() async throws {
        let store = try await GraphStore.open(.inMemory, WidePosterRow.self, PosterRow.self)
        try await store.write {
            try await $0.insert(WidePosterRow(id: 1, title: "base", text: "long", secret: 3, notice: "wide"))
        }
        let waiting = WaitingStore(store)
        let session = GraphSession(waiting, [PosterRow.mapping])
        let old = try #require(try await session.find(PosterRow.self, 1))
        try session.delete(old)
        let new = Poster(id: 1)
        try session.add(new)
        await #expect(throws: Undone.self) {
            try await waiting.whileWaiting(.commit, failingWith: Undone()) {
                try await session.save()
            } edits: {
            }
        }
        let row = try #require(try await store.find(WidePosterRow.self, 1))
        #expect(row.title == "base" && row.text == "long" && row.secret == 3 && row.notice == "wide")
        try await session.save()
        let replaced = try #require(try await store.find(WidePosterRow.self, 1))
        #expect(replaced.title == "" && replaced.text == nil && replaced.secret == 7)
    }

    private func inheritsNoLinks<K: OverlapKey>(_: K.Type, _ link: StageLink, isGiven: Bool) async throws {
        let theatre = try await Theatre<K>()
        let side = try await theatre.side()
        let old = side.stage
        try side.session.delete(old)
        let new = Stage(id: K(number: 1))
        new.name = "new"
        if isGiven { link.put(9, into: new) }
        try side.session.add(new)
        try await side.session.save()
        #expect(try await theatre.row(1).name == "new")
        #expect(try await theatre.row(1).note == "")
        for other in StageLink.allCases {
            #expect(try await other.stored(theatre) == (isGiven && other == link ? [9] : []), "\(other)")
        }
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: StageLink.allCases, [false, true])
    func `inherit no links`(link: StageLink, isGiven: Bool) async throws {
        try await inheritsNoLinks(Int.self, link, isGiven: isGiven)
        try await inheritsNoLinks(OverlapPair.self, link, isGiven: isGiven)
    }

    /// What the old one's row says now is not the new one's business, and no merge of the two.
    @Test func `are a conflict where another writer has changed the old one`() async throws {
        let (store, session, old) = try await opened()
        try await store.write { _ = try await $0.apply(Patch(PosterRow.self, 1).set(\.title, "theirs")) }
        try session.delete(old)
        let new = Poster(id: 1)
        new.title = "new"
        try session.add(new)
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        #expect(try await store.find(PosterRow.self, 1)?.title == "theirs")
        try await session.save(onConflict: .mine)
        let row = try #require(try await store.find(WidePosterRow.self, 1))
        #expect(row.title == "new" && row.text == nil && row.secret == 7)
        #expect(try await session.save().isEmpty)
    }
}
