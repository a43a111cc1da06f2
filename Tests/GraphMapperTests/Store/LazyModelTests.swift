import Foundation
import Testing

@testable import GraphMapperStore

private final class Photo {
    let id: Int
    var title: String
    var image: Data?
    var note: String?
    init(id: Int, title: String) { (self.id, self.title) = (id, title) }
}

private struct PhotoRow: StoredRecord {
    typealias Model = Photo
    let id: Int
    let title: String
    let image: Lazy<Data>
    let note: Lazy<String?>
    static let schema = Schema<Self>("photo") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), image: row("image", \.image), note: row("note", \.note))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Photo(id: $0.id, title: $0.title)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Field(\.image, \.image)
            Field(\.note, \.note)
        }
    }
}

/// Lazy values through a session: not read with their rows, many in one statement, and written when they are set.
@Suite(.perEngine) struct `Lazy values of models` {
    private func opened(_ statements: Locked<[String]> = .init([])) async throws -> (GraphStore, GraphSession) {
        var options = GraphStore.Options()
        options.prepare = { try $0.onStatement { sql in statements.withLock { $0.append(sql) } } }
        let store = try await Engine.open(options: options, PhotoRow.self)
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (1...20).map {
                    PhotoRow(id: $0, title: "t\($0)", image: Lazy(Data([UInt8($0)])), note: Lazy("n\($0)"))
                })
        }
        return (store, GraphSession(store, PhotoRow.mapping))
    }
    private func photos(_ session: GraphSession) async throws -> [Photo] {
        try await session.models(Query(PhotoRow.self).sorted(by: \.id))
    }
    private func stored(_ store: GraphStore) async throws -> [Int: Data] {
        try await store.lazyValues(PhotoRow.self, \.image, ids: 1...20)
    }

    @Test func `they are read for many at once, when they are asked for`() async throws {
        let statements = Locked<[String]>([])
        let (_, session) = try await opened(statements)
        let photos = try await photos(session)
        #expect(photos.allSatisfy { $0.image == nil && $0.note == nil })
        #expect(try session.changes().isEmpty)
        statements.withLock { $0 = [] }
        try await session.load(photos, \PhotoRow.image)
        #expect(photos.map(\.image) == (1...20).map { Data([UInt8($0)]) })
        #expect(photos.allSatisfy { $0.note == nil })
        #expect(statements.withLock { $0.filter { $0.hasPrefix("SELECT") }.count } == 2)
        #expect(try session.changes().isEmpty)
        try await session.load(photos[2], \PhotoRow.note)
        #expect(photos[2].note == "n3" && photos[3].note == nil && photos[2].image == Data([3]))
        #expect(try session.changes().isEmpty)
    }

    @Test func `what is set is written, read before or not`() async throws {
        let (store, session) = try await opened()
        let photos = try await photos(session)
        photos[0].image = Data([100])
        photos[1].title = "other"
        photos[2].title = "both"
        photos[2].image = Data([102])
        let changes = try await session.save().changes
        #expect(changes.count == 3, "\(changes)")
        var expected = Dictionary(uniqueKeysWithValues: (1...20).map { ($0, Data([UInt8($0)])) })
        (expected[1], expected[3]) = (Data([100]), Data([102]))
        #expect(try await stored(store) == expected)
        #expect(try await store.find(PhotoRow.self, 3)?.title == "both")
        #expect(try session.changes().isEmpty)
        // Once it is known, an edit expects what is stored.
        photos[0].image = Data([101])
        try await store.write { _ = try await $0.apply(Patch(PhotoRow.self, 1).set(\.image, Lazy(Data([7])))) }
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict && error?.property == "image")
        #expect(try await stored(store)[1] == Data([7]))
    }

    @Test func `a value that was not read is no edit; one that was read may be cleared where NULL may stand`()
        async throws
    {
        let (store, session) = try await opened()
        let photos = try await photos(session)
        try await session.load(photos, \PhotoRow.image)
        try await session.load(photos[0], \PhotoRow.note)
        photos[0].image = nil
        photos[0].note = nil
        photos[1].note = nil
        let changes = try await session.save().changes
        #expect(changes.count == 1 && "\(changes)".contains("note"), "\(changes)")
        let notes = try await store.lazyValues(PhotoRow.self, \.note, ids: [1, 2])
        #expect(notes == [1: nil, 2: "n2"])
        #expect(try await stored(store)[1] == Data([1]))
    }

    @Test func `a new object needs the value that its row does`() async throws {
        let (store, session) = try await opened()
        let photo = Photo(id: 50, title: "new")
        try session.add(photo)
        await #expect { try await session.save() } throws: { ($0 as? StoreError)?.kind == .constraint }
        photo.image = Data([50])
        try await session.save()
        #expect(try await store.lazyValues(PhotoRow.self, \.image, ids: [50]) == [50: Data([50])])
        #expect(try session.changes().isEmpty)
    }

    @Test func `a second load keeps what was read, and edits`() async throws {
        let (store, session) = try await opened()
        let photos = try await photos(session)
        try await session.load(photos, \PhotoRow.image)
        photos[1].image = Data([99])
        try await store.write { _ = try await $0.apply(Patch(PhotoRow.self, 1).set(\.title, "theirs")) }
        try await session.refresh()
        #expect(photos[0].title == "theirs" && photos[0].image == Data([1]) && photos[1].image == Data([99]))
        #expect(try session.changes().changes.count == 1)
        try await session.refresh(.discardingChanges)
        #expect(photos[1].image == Data([2]))
        #expect(try session.changes().isEmpty)
        photos[2].note = "mine"
        try await session.refresh(.discardingChanges)
        #expect(photos[2].note == nil)
        #expect(try session.changes().isEmpty)
    }

    @Test func `a save that fails, and a transaction that is undone, leave it to be written`() async throws {
        struct Stop: Error {}
        let (store, session) = try await opened()
        let photos = try await photos(session)
        photos[0].image = Data([42])
        await #expect(throws: Stop.self) {
            try await store.write { tx in
                try await session.save(in: tx)
                throw Stop()
            }
        }
        #expect(try session.changes().changes.count == 1)
        try await session.save()
        #expect(try await stored(store)[1] == Data([42]))
    }
}

/// As another version of the app has it.
private struct NewPhotoRow: StoredRecord {
    let id: Int
    let title: String
    let image: Lazy<Data>
    let note: Lazy<String?>
    let rank: Int
    static let schema = Schema<Self>("photo") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), image: row("image", \.image), note: row("note", \.note),
            rank: row("rank", \.rank))
    }
}

@Suite struct `Lazy values in migrations` {
    @Test func `records that are made into others keep them`() async throws {
        let path = try Scratch.file()
        do {
            let store = try await GraphStore.open(.file(path), PhotoRow.self)
            try await store.write { tx in
                try await tx.insert(
                    contentsOf: (1...3).map {
                        PhotoRow(
                            id: $0, title: "t", image: Lazy(Data([UInt8($0)])), note: Lazy($0 == 2 ? nil : "n\($0)"))
                    })
            }
        }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("ranks") { step in
                try await step.transform(PhotoRow.self, to: NewPhotoRow.self) { old in
                    NewPhotoRow(id: old.id, title: old.title, image: old.image, note: old.note, rank: 0)
                }
            }
        ]
        let store = try await GraphStore.open(.file(path), options: options, NewPhotoRow.self)
        #expect(
            try await store.lazyValues(NewPhotoRow.self, \.image, ids: 1...3) == [
                1: Data([1]), 2: Data([2]), 3: Data([3]),
            ])
        #expect(try await store.lazyValues(NewPhotoRow.self, \.note, ids: 1...3) == [1: "n1", 2: nil, 3: "n3"])
    }
}
