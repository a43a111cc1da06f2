import Foundation
import GraphMapperStore
import Observation
import Testing

// This target is main-actor by default: a class with nothing written is the main actor's, and so is a test. What a
// user must add is `nonisolated` before a record and `@MainActor` before its mapping.

enum Mood: String, CaseIterable, Sendable { case calm, busy }

@available(macOS 14, iOS 17, *)
final class Author {
    let id: UUID
    var name: String
    var homepage: URL?
    var mood = Mood.calm
    var books: [Book] = []
    var isSelected = false
    init(id: UUID, name: String) {
        self.id = id
        self.name = name
    }
}

@available(macOS 14, iOS 17, *)
@Observable final class Book {
    let id: Int
    var title: String
    var pages = 0
    @ObservationIgnored weak var author: Author?
    var related: Book?
    init(id: Int, title: String) {
        self.id = id
        self.title = title
    }
}

@available(macOS 14, iOS 17, *)
nonisolated struct AuthorRecord: StoredRecord {
    typealias Model = Author
    let id: UUID
    let name: String
    let homepage: String?
    let mood: String

    static let schema = Schema<Self>("author") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), homepage: row("homepage", \.homepage),
            mood: row("mood", \.mood))
    }
    @MainActor static let mapping = Mapping<Self> { record in
        Author(id: record.id, name: record.name)
    } properties: {
        Field(\.id, \.id)
        Field(\.name, \.name)
        Field(\.homepage, \.homepage, using: .url)
        Field(\.mood, \.mood, using: .rawValue)
        Many(BookRecord.self, by: \.author, \.books)
    }
}

@available(macOS 14, iOS 17, *)
nonisolated struct BookRecord: StoredRecord {
    typealias Model = Book
    let id: Int
    let title: String
    let pages: Int
    let author: Ref<AuthorRecord>?
    let related: Ref<BookRecord>?

    static let schema = Schema<Self>("book") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), pages: row("pages", \.pages),
            author: row("author", \.author), related: row("related", \.related))
    }
    @MainActor static let mapping = Mapping<Self> { record in
        Book(id: record.id, title: record.title)
    } properties: {
        Field(\.id, \.id)
        Field(\.title, \.title)
        Field(\.pages, \.pages)
        Back(\.author, \.author)
        One(\.related, \.related)
    }
}

/// A view model, as an app has it.
@available(macOS 14, iOS 17, *)
@Observable final class Library {
    let session: GraphSession
    var authors: [Author] = []
    init(_ store: GraphStore) { session = GraphSession(store, AuthorRecord.mapping, BookRecord.mapping) }

    func load() async throws {
        authors = try await session.models(Query(AuthorRecord.self).where { $0.name != "" }.sorted(by: \.name))
    }
}

@Suite struct `Main-actor by default` {
    @available(macOS 14, iOS 17, *)
    func open() async throws -> GraphStore {
        try await GraphStore.open(.inMemory, AuthorRecord.self, BookRecord.self)
    }

    @available(macOS 14, iOS 17, *)
    func fill(_ store: GraphStore) async throws {
        let session = GraphSession(store, AuthorRecord.mapping, BookRecord.mapping)
        let author = Author(id: UUID(), name: "Ursula")
        author.homepage = URL(string: "https://example.org")
        author.mood = .busy
        author.books = [Book(id: 1, title: "Left Hand"), Book(id: 2, title: "Lathe")]
        author.books[1].related = author.books[0]
        try session.add(author)
        try await session.save()
    }

    @available(macOS 14, iOS 17, *)
    @Test func `load, edit and save with plain and observable models`() async throws {
        let store = try await open()
        try await fill(store)
        let library = Library(store)
        try await library.load()
        let author = try #require(library.authors.first)
        #expect(author.name == "Ursula" && author.mood == .busy && author.homepage?.host() == "example.org")
        #expect(author.books.map(\.title).sorted() == ["Lathe", "Left Hand"])
        #expect(author.books.allSatisfy { $0.author === author })
        #expect(try await library.session.save().isEmpty)

        let book = try #require(try await library.session.find(BookRecord.self, 2))
        #expect(author.books.contains { $0 === book } && book.related?.id == 1)
        book.pages = 184
        author.isSelected = true
        #expect(try await library.session.save().changes.count == 1)
        #expect(try await store.find(BookRecord.self, 2)?.pages == 184)
    }

    @available(macOS 14, iOS 17, *)
    @Test func `a view that watches a model is told of an edit`() async throws {
        let store = try await open()
        try await fill(store)
        let session = GraphSession(store, AuthorRecord.mapping, BookRecord.mapping)
        let book = try #require(try await session.find(BookRecord.self, 1))
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = book.title
        } onChange: {
            tell.yield()
            tell.finish()
        }
        book.title = "The Left Hand of Darkness"
        var count = 0
        for await _ in told { count += 1 }
        #expect(count == 1)
        #expect(try await session.save().changes.count == 1)
    }

    @available(macOS 14, iOS 17, *)
    @Test func `records travel to other tasks, models stay`() async throws {
        let store = try await open()
        try await fill(store)
        let titles = try await Task.detached {
            try await store.read { try await $0.fetch(Query(BookRecord.self).sorted(by: \.id)) }.map(\.title)
        }.value
        #expect(titles == ["Left Hand", "Lathe"])
    }

    @available(macOS 14, iOS 17, *)
    @Test func `observable models say what is edited, and a session holds what the app does`() async throws {
        let store = try await open()
        try await fill(store)
        let session = GraphSession(store, AuthorRecord.mapping, BookRecord.mapping.tracked, retention: .weak)
        func edit() async throws {
            let book = try #require(try await session.find(BookRecord.self, 1))
            book.title = "edited"
        }
        try await edit()
        weak let author = try await session.models(Query(AuthorRecord.self)).first
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(author == nil)
        #expect(try await store.find(BookRecord.self, 1)?.title == "edited")
    }
}
