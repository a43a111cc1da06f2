import Foundation
import GraphMapperStore
import Testing

/// What a programmer gets wrong in a mapping, and what data gets wrong in a graph: each names its place.
@Suite struct Mistakes {
    final class Author {
        var id: Int
        var first = ""
        var books: [Book] = []
        var favourites: [Book] = []
        init(id: Int) { self.id = id }
    }

    final class Book {
        var id: Int
        var title = ""
        weak var author: Author?
        init(id: Int) { self.id = id }
    }

    struct AuthorRow: StoredRecord {
        typealias Model = Author
        let id: Int
        let first: String
        let last: String
        static let schema = Schema<Self>("author") { row in
            try Self(id: row("id", \.id), first: row("first", \.first), last: row("last", \.last))
        }
    }

    struct BookRow: StoredRecord {
        typealias Model = Book
        let id: Int
        let title: String
        let author: Ref<AuthorRow>
        static let schema = Schema<Self>("book") { row in
            try Self(id: row("id", \.id), title: row("title", \.title), author: row("author", \.author))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Book(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.title, \.title)
                Back(\.author, \.author)
            }
        }
    }

    private func problems(_ mapping: Mapping<AuthorRow>) -> String {
        let session = GraphSession(mapping, BookRow.mapping)
        do { try session.validate() } catch { return "\(error)" }
        return ""
    }

    @Test func `two entries that set one property of the model are named`() {
        let text = problems(
            Mapping {
                Author(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.first, \.first)
                Field(\.last, \.first)
            })
        #expect(text.contains("author: 2 entries of the mapping set") && text.contains("first"))
    }

    @Test func `two other sides of one foreign key are named`() {
        let text = problems(
            Mapping {
                Author(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.first, \.first)
                Unmapped(\.last, initial: "")
                Many(BookRow.self, by: \.author, \.books)
                Many(BookRow.self, by: \.author, \.favourites)
            })
        #expect(text.contains("author: 2 entries of the mapping are the other side of") && text.contains("author"))
    }

    @Test func `a mapping that does not say where the id is ends no process`() throws {
        let mapping = Mapping<AuthorRow> {
            Author(id: $0.id)
        } properties: {
            Unmapped(\.id, initial: 0)
            Field(\.first, \.first)
            Unmapped(\.last, initial: "")
        }
        let author = Author(id: 1)
        func isInvalid(_ body: () throws -> Void) -> Bool {
            do { try body() } catch { return (error as? GraphError)?.kind == .invalidSchema }
            return false
        }
        #expect(isInvalid { _ = try mapping.id(of: author) })
        let session = GraphSession(mapping, BookRow.mapping)
        #expect(session.state(of: author) == nil)
        #expect(isInvalid { try session.add(author) })
        #expect(isInvalid { try session.evict(author) })
        #expect(isInvalid { try session.clear(author, \.books) })
        #expect(isInvalid { _ = try session.isLoaded(author, \.books) })
        #expect(isInvalid { _ = try session.record(AuthorRow.self, of: author) })
        #expect(isInvalid { try session.map([AuthorRow(id: 1, first: "", last: "")]) })
        #expect(isInvalid { _ = try session.changes() })
    }

    /// Answers from arrays.
    private struct Shelf: GraphSource {
        var people: [PersonRow] = []
        var memos: [MemoRow] = []

        func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D]
        where D.ID: Storable & Hashable {
            let all: [Any] = people + memos
            return all.compactMap { $0 as? D }.filter { ids.contains($0.id) }
        }

        func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
            _ type: D.Type, where name: String, isIn owners: [Owner]
        ) async throws -> [D] where D.ID: Storable & Hashable { [] }
    }

    private struct Backing: GraphBacking {
        let shelf: Shelf
        func snapshot(_ body: (any GraphSource) async throws -> Void) async throws { try await body(shelf) }
        func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
            throw GraphError(.misuse, "it is only read")
        }
    }

    @Test func `a link to nowhere says who refers to it, and the way from the root`() async throws {
        let people = [
            PersonRow(id: 1, name: "ann", boss: Ref(2), friend: nil, secret: 0),
            PersonRow(id: 2, name: "bob", boss: Ref(3), friend: nil, secret: 0),
        ]
        let session = GraphSession(Backing(shelf: Shelf(people: people)), [PersonRow.mapping, MedalRow.mapping])
        let error = await #expect(throws: GraphError.self) {
            _ = try await session.load(PersonRow.self) { try await $0.fetch(PersonRow.self, ids: [1]) }
        }
        #expect(error?.kind == .dangling && error?.path == "person(1).boss.boss")
        #expect(error?.description.contains("person(3)") == true)
    }

    @Test func `a long way is told by its ends`() async throws {
        let people = (1...1000).map { PersonRow(id: $0, name: "", boss: Ref($0 + 1), friend: nil, secret: 0) }
        let session = GraphSession(Backing(shelf: Shelf(people: people)), [PersonRow.mapping, MedalRow.mapping])
        let error = await #expect(throws: GraphError.self) {
            _ = try await session.load(PersonRow.self) { try await $0.fetch(PersonRow.self, ids: [1]) }
        }
        let path = try #require(error?.path)
        #expect(path.hasPrefix("person(1).boss") && path.contains("more") && path.count < 500)
    }

    @Test func `two instances of one id are met on a way that is named`() async throws {
        let store = try await GraphStore.open(.inMemory, PersonRow.self, MedalRow.self)
        try await store.write { try await $0.insert(PersonRow(id: 1, name: "", boss: nil, friend: nil, secret: 0)) }
        let session = GraphSession(store, PersonRow.mapping, MedalRow.mapping)
        let ann = try #require(try await session.find(PersonRow.self, 1))
        ann.boss = Person(id: 1)
        let error = #expect(throws: GraphError.self) { _ = try session.changes() }
        #expect(error?.kind == .conflict && error?.path == "person(1).boss")
    }
}
