import Foundation
import GraphMapperStore
import Testing

/// Swift holds two spellings of an accented letter for equal; they are the keys of two rows all the same.
@Suite struct `Keys that only look alike` {
    private static let composed = "caf\u{e9}"
    private static let decomposed = "cafe\u{301}"

    final class Term {
        var id: String
        var text = ""
        var scan: Data?
        var next: Term?
        init(id: String) { self.id = id }
    }
    struct TermRow: StoredRecord {
        typealias Model = Term
        let id: String
        let text: String
        let scan: Lazy<Data>
        let next: Ref<TermRow>?
        static let schema = Schema<Self>("term") { row in
            try Self(
                id: row("id", \.id), text: row("text", \.text), scan: row("scan", \.scan), next: row("next", \.next))
        }
        static let indexes: [Index<Self>] = [.text(\.text)]
        static var mapping: Mapping<Self> {
            Mapping {
                Term(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.text, \.text)
                Field(\.scan, \.scan)
                One(\.next, \.next)
            }
        }
    }

    private func opened() async throws -> (GraphStore, GraphSession, [Term]) {
        let store = try await GraphStore.open(.inMemory, TermRow.self)
        try await store.write { tx in
            let rows = [("1 sea", Self.composed, Self.composed), ("2 sea", Self.decomposed, Self.decomposed)]
            for (text, id, next) in rows + [("3", "x", Self.decomposed), ("4", "y", Self.composed)] {
                try await tx.insert(TermRow(id: id, text: text, scan: Lazy(Data(text.utf8.prefix(1))), next: Ref(next)))
            }
        }
        let session = GraphSession(store, TermRow.mapping)
        return (store, session, try await session.models(Query(TermRow.self).sorted(by: \.text)))
    }

    @Test func `what points to the other one stays when one gets another key`() async throws {
        let (store, session, terms) = try await opened()
        try await session.changeKey(of: terms[0], to: "q")
        #expect(try session.changes().isEmpty)
        for term in terms { term.text += "!" }
        try await session.save()
        let rows = try await store.fetch(Query(TermRow.self).sorted(by: \.text))
        #expect(rows.map { Array($0.next?.id.utf8 ?? "".utf8).count } == [1, 6, 6, 1])
    }

    @Test func `one spelling becomes the other`() async throws {
        let store = try await GraphStore.open(.inMemory, TermRow.self)
        try await store.write { tx in
            try await tx.insert(TermRow(id: Self.composed, text: "", scan: Lazy(Data()), next: Ref(Self.composed)))
        }
        let session = GraphSession(store, TermRow.mapping)
        let term = try #require(try await session.find(TermRow.self, Self.composed))
        try await session.changeKey(of: term, to: Self.decomposed)
        #expect(try session.changes().isEmpty)
        term.text = "new"
        try await session.save()
        let row = try #require(try await store.first(Query(TermRow.self)))
        #expect(row.text == "new" && row.id.utf8.count == 6 && row.next?.id.utf8.count == 6)
    }

    @Test func `each has its own text, value and model`() async throws {
        let (store, session, terms) = try await opened()
        let hits = try await store.search(Query(TermRow.self), for: .words("sea"))
        #expect(hits.map(\.record.text).sorted() == ["1 sea", "2 sea"])
        try await session.load(terms, \TermRow.scan)
        #expect(terms.map { $0.scan.map { String(decoding: $0, as: UTF8.self) } } == ["1", "2", "3", "4"])
        try await session.follow(Query(TermRow.self).sorted(by: \.text)) { change in
            #expect(change.models.map(ObjectIdentifier.init) == terms.map(ObjectIdentifier.init))
            withUnsafeCurrentTask { $0?.cancel() }
        }
    }

    // MARK: Owners

    final class Owner {
        let id: String
        var pets: [Pet] = []
        init(id: String) { self.id = id }
    }
    final class Pet {
        let id: Int
        weak var owner: Owner?
        init(id: Int) { self.id = id }
    }
    struct OwnerRow: StoredRecord {
        typealias Model = Owner
        let id: String
        static let schema = Schema<Self>("owner") { row in try Self(id: row("id", \.id)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Owner(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Many(PetRow.self, by: \.owner, \.pets)
            }
        }
    }
    struct PetRow: StoredRecord {
        typealias Model = Pet
        let id: Int
        let owner: Ref<OwnerRow>?
        static let schema = Schema<Self>("pet") { row in try Self(id: row("id", \.id), owner: row("owner", \.owner)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Pet(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Back(\.owner, \.owner)
            }
        }
    }

    @Test func `a child moves from one to the other`() async throws {
        let store = try await GraphStore.open(.inMemory, OwnerRow.self, PetRow.self)
        try await store.write { tx in
            for id in [Self.composed, Self.decomposed] { try await tx.insert(OwnerRow(id: id)) }
            for id in 1...2 { try await tx.insert(PetRow(id: id, owner: Ref(Self.composed))) }
        }
        let session = GraphSession(store, OwnerRow.mapping, PetRow.mapping)
        let owners = try await session.models(Query(OwnerRow.self))
        let old = try #require(owners.first { $0.pets.count == 2 })
        let new = try #require(owners.first { $0 !== old })
        new.pets.append(old.pets.removeFirst())
        try session.rollback()
        #expect(old.pets.count == 2 && new.pets.isEmpty)
        new.pets.append(old.pets.removeFirst())
        try await session.save()
        #expect(try await store.count(Query(PetRow.self).where { $0.owner == Ref(Self.decomposed) }) == 1)
        #expect(new.pets.first?.owner === new)
    }

    // MARK: Payloads

    final class Shelf {
        let id: Int
        var terms: [Term] = []
        init(id: Int) { self.id = id }
    }
    struct TermPayload: DTO, Identifiable {
        typealias Model = Term
        let id: String
        let text: String
        static let schema = Schema<Self>("term") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Term(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.text, \.text)
            }
        }
    }
    struct ShelfPayload: DTO, Identifiable {
        typealias Model = Shelf
        let id: Int
        let terms: [TermPayload]
        static let schema = Schema<Self>("shelf") { row in
            try Self(id: row("id", \.id), terms: row.nested("terms", \.terms))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Shelf(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Many(\.terms, \.terms, .partial)
            }
        }
    }

    @Test func `a part of a list may have both`() throws {
        let session = GraphSession(ShelfPayload.mapping, TermPayload.mapping)
        let (one, two) = (TermPayload(id: Self.composed, text: "1"), TermPayload(id: Self.decomposed, text: "2"))
        let shelf = try session.map([ShelfPayload(id: 1, terms: [one])])[0]
        try session.map([ShelfPayload(id: 1, terms: [two, one])])
        #expect(shelf.terms.map(\.text) == ["1", "2"])
    }
}
