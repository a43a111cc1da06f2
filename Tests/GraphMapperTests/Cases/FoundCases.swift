import Foundation
import GraphMapperStore
import Testing

/// Defects that were found by trying the library; each stands for its kind.
@Suite struct `Found by trying` {
    final class Word {
        let id: String
        var text = ""
        var next: Word?
        init(id: String) { self.id = id }
    }

    struct WordRow: StoredRecord {
        typealias Model = Word
        let id: String
        let text: String
        let next: Ref<WordRow>?
        static let schema = Schema<Self>("word") { row in
            try Self(id: row("id", \.id), text: row("text", \.text), next: row("next", \.next))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Word(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.text, \.text)
                One(\.next, \.next)
            }
        }
    }

    private let composed = "caf\u{e9}"
    private let decomposed = "cafe\u{301}"

    @Test func `keys that only look alike are two objects, as they are two rows`() async throws {
        let store = try await GraphStore.open(.inMemory, WordRow.self)
        try await store.write { tx in
            try await tx.insert(WordRow(id: composed, text: "a", next: nil))
            try await tx.insert(WordRow(id: decomposed, text: "b", next: Ref(composed)))
        }
        let session = GraphSession(store, WordRow.mapping)
        let words = try await session.models(Query(WordRow.self))
        #expect(words.count == 2 && words[0] !== words[1])
        let second = try #require(try await session.find(WordRow.self, decomposed))
        let first = try #require(second.next)
        #expect(first.text == "a" && second.text == "b" && first !== second)
        // From one spelling to the other is an edit of the link.
        second.next = second
        second.text = "c"
        try await session.save()
        let rows = try await store.fetch(Query(WordRow.self)).reduce(into: [:]) { $0[Array($1.id.utf8)] = $1 }
        #expect(rows[Array(composed.utf8)]?.text == "a" && rows[Array(decomposed.utf8)]?.text == "c")
        #expect((rows[Array(decomposed.utf8)]?.next?.id.utf8).map(Array.init) == Array(decomposed.utf8))
        #expect(try session.changes().isEmpty)
    }

    @Test func `two new objects whose keys only look alike are both stored`() async throws {
        let store = try await GraphStore.open(.inMemory, WordRow.self)
        let session = GraphSession(store, WordRow.mapping)
        try session.add(Word(id: composed))
        try session.add(Word(id: decomposed))
        try await session.save()
        #expect(try await store.count(Query(WordRow.self)) == 2)
    }

    @Test func `another instance of a stored object is found by a save, and gone after a roll-back`() async throws {
        let store = try await GraphStore.open(.inMemory, WordRow.self)
        try await store.write { tx in
            try await tx.insert(WordRow(id: "a", text: "a", next: nil))
            try await tx.insert(WordRow(id: "b", text: "b", next: Ref("a")))
        }
        let session = GraphSession(store, WordRow.mapping)
        let words = try await session.models(Query(WordRow.self).sorted(by: \.id))
        let other = Word(id: "a")
        words[1].next = other
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict && error?.message.contains("delete that and add this one") == true)
        try session.rollback()
        #expect(try words[1].next === words[0] && session.changes().isEmpty)
        // In the place of a deleted one it takes the row over.
        try session.delete(words[0])
        words[1].next = other
        try session.rollback()
        #expect(words[1].next === words[0])
        try session.delete(words[0])
        words[1].next = other
        try await session.save()
        #expect(try await session.find(WordRow.self, "a") === other)
        #expect(try await store.find(WordRow.self, "a")?.text == "")
        #expect(session.state(of: words[0]) == nil)
        #expect(try session.changes().isEmpty)
    }

    // MARK: What a model cannot take

    final class Ticket {
        let id: Int
        let code: String
        var uses = 0
        var label: String { "\(code) \(uses)" }
        init(id: Int, code: String) { (self.id, self.code) = (id, code) }
    }
    struct TicketRow: StoredRecord {
        typealias Model = Ticket
        let id: Int
        let code: String
        let uses: Int
        let label: String
        static let schema = Schema<Self>("ticket") { row in
            try Self(
                id: row("id", \.id), code: row("code", \.code), uses: row("uses", \.uses), label: row("label", \.label))
        }
        static func mapping(code: @escaping (Self) -> String = { $0.code }) -> Mapping<Self> {
            Mapping {
                Ticket(id: $0.id, code: code($0))
            } properties: {
                Field(\.id, \.id)
                Field(\.code, \.code)
                Field(\.uses, \.uses)
                Field(\.label, \.label)
            }
        }
    }

    @Test func `a let that another writer changes is an error, and is not written back`() async throws {
        let store = try await GraphStore.open(.inMemory, TicketRow.self)
        try await store.write { try await $0.insert(TicketRow(id: 1, code: "a", uses: 0, label: "a 0")) }
        let session = GraphSession(store, TicketRow.mapping())
        let ticket = try #require(try await session.find(TicketRow.self, 1))
        // What is computed follows.
        func theirs(_ uses: Int, code: String = "a") async throws {
            let row = TicketRow(id: 1, code: code, uses: uses, label: "\(code) \(uses)")
            try await store.write { _ = try await $0.upsert(row) }
        }
        try await theirs(1)
        try await session.refresh()
        #expect(try ticket.label == "a 1" && session.changes().isEmpty)
        try await theirs(2, code: "b")
        for mode in [RefreshMode.keepingChanges, .discardingChanges] {
            let error = await #expect(throws: GraphError.self) { try await session.refresh(mode) }
            #expect(error?.property == "code" && error?.id == "1" && error?.message.contains("let") == true)
        }
        #expect(ticket.uses == 1)
        ticket.uses = 5
        await #expect(throws: GraphError.self) { try await session.save(onConflict: .theirs) }
        #expect(try await store.find(TicketRow.self, 1)?.code == "b")
        try session.evict(ticket)
        #expect(try await session.find(TicketRow.self, 1)?.label == "b 2")
        #expect(try session.changes().isEmpty)
    }

    @Test func `a let that the initializer gets wrong is found by the first load`() async throws {
        let store = try await GraphStore.open(.inMemory, TicketRow.self)
        try await store.write { try await $0.insert(TicketRow(id: 1, code: "a", uses: 0, label: "a 0")) }
        let session = GraphSession(store, TicketRow.mapping { _ in "?" })
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { _ = try await session.find(TicketRow.self, 1) }
            #expect(error?.kind == .invalidSchema && error?.property == "code")
        }
        #expect(try session.changes().isEmpty)
    }

    // MARK: Subclasses of models

    class Animal {
        let id: Int
        var name = ""
        init(id: Int) { self.id = id }
    }

    final class Dog: Animal { var tricks = 0 }

    /// What frameworks make behind an app's back: nothing of its own is stored.
    final class ObservedAnimal: Animal { var observers = 0 }

    final class Keeper {
        let id: Int
        var pet: Animal?
        init(id: Int) { self.id = id }
    }

    struct AnimalRow: StoredRecord {
        typealias Model = Animal
        let id: Int
        let name: String
        static let schema = Schema<Self>("animal") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Animal(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.name, \.name)
            }
        }
    }

    struct DogRow: StoredRecord {
        typealias Model = Dog
        let id: Int
        let name: String
        let tricks: Int
        static let schema = Schema<Self>("dog") { row in
            try Self(id: row("id", \.id), name: row("name", \.name), tricks: row("tricks", \.tricks))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Dog(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.name, \.name)
                Field(\.tricks, \.tricks)
            }
        }
    }

    struct KeeperRow: StoredRecord {
        typealias Model = Keeper
        let id: Int
        let pet: Ref<AnimalRow>?
        static let schema = Schema<Self>("keeper") { row in try Self(id: row("id", \.id), pet: row("pet", \.pet)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Keeper(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                One(\.pet, \.pet)
            }
        }
    }

    private func zoo() async throws -> GraphStore {
        try await GraphStore.open(.inMemory, AnimalRow.self, DogRow.self, KeeperRow.self)
    }

    @Test func `a subclass with a mapping of its own is stored by it, whatever the order of mappings`() async throws {
        for mappings in [
            [AnimalRow.mapping, DogRow.mapping, KeeperRow.mapping] as [any AnyMapping],
            [DogRow.mapping, KeeperRow.mapping, AnimalRow.mapping],
        ] {
            let store = try await zoo()
            let session = GraphSession(store, mappings)
            let dog = Dog(id: 1)
            dog.tricks = 5
            try session.add(dog)
            try await session.save()
            #expect(try await store.find(DogRow.self, 1)?.tricks == 5)
            #expect(try await store.count(Query(AnimalRow.self)) == 0)
            #expect(session.state(of: dog) == .clean)
            try session.delete(dog)
            try await session.save()
            #expect(try await store.count(Query(DogRow.self)) == 0)
        }
    }

    @Test func `a link to a superclass does not store half of a subclass`() async throws {
        let store = try await zoo()
        try await store.write { tx in
            try await tx.insert(DogRow(id: 3, name: "rex", tricks: 9))
            try await tx.insert(KeeperRow(id: 1, pet: nil))
        }
        let session = GraphSession(store, AnimalRow.mapping, DogRow.mapping, KeeperRow.mapping)
        let rex = try #require(try await session.find(DogRow.self, 3))
        let keeper = try #require(try await session.find(KeeperRow.self, 1))
        for pet in [rex, Dog(id: 4)] {
            keeper.pet = pet
            let error = await #expect(throws: GraphError.self) { try await session.save() }
            #expect(error?.kind == .misuse && error?.path == "keeper(1).pet")
            #expect(error?.message.contains("dog") == true)
        }
        keeper.pet = ObservedAnimal(id: 5)
        try await session.save()
        #expect(try await store.find(AnimalRow.self, 5) != nil)
    }

    // MARK: A fixed owner

    @Test func `a model that keeps its owner cannot be held by another`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            for id in 1...2 {
                try await tx.insert(PersonRow(id: id, name: "", boss: nil, friend: nil, secret: 0))
            }
            try await tx.insert(MedalRow(id: 1, title: "", owner: Ref(1)))
        }
        let session = townSession(store)
        let people = try await session.models(Query(PersonRow.self).sorted(by: \.id))
        let medal = try #require(people[0].medals.first)
        people[1].medals.append(medal)
        people[0].medals.removeAll { $0 === medal }
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        #expect(error?.message.contains("person(1)") == true && error?.message.contains("person(2)") == true)
    }

    // MARK: An owner that is deleted

    final class Par {
        let id: Int
        var kids: [Kid] = []
        init(id: Int) { self.id = id }
    }

    final class Kid {
        let id: Int
        weak var par: Par?
        init(id: Int) { self.id = id }
    }

    struct ParRow: StoredRecord {
        typealias Model = Par
        let id: Int
        static let schema = Schema<Self>("par") { row in try Self(id: row("id", \.id)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Par(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Many(KidRow.self, by: \.par, \.kids)
            }
        }
    }

    struct KidRow: StoredRecord {
        typealias Model = Kid
        let id: Int
        let par: Ref<ParRow>?
        static let schema = Schema<Self>("kid") { row in try Self(id: row("id", \.id), par: row("par", \.par)) }
        static var mapping: Mapping<Self> {
            Mapping {
                Kid(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Back(\.par, \.par)
            }
        }
    }

    @Test func `a child that is moved to an owner which is deleted agrees with its row`() async throws {
        let store = try await GraphStore.open(.inMemory, ParRow.self, KidRow.self)
        try await store.write { tx in
            for id in 1...2 { try await tx.insert(ParRow(id: id)) }
            try await tx.insert(KidRow(id: 9, par: Ref(1)))
        }
        let session = GraphSession(store, ParRow.mapping, KidRow.mapping)
        let owners = try await session.models(Query(ParRow.self).sorted(by: \.id))
        let kid = try #require(owners[0].kids.first)
        kid.par = owners[1]
        try session.delete(owners[1])
        try await session.save()
        let stored = try await store.find(KidRow.self, 9)?.par?.id
        #expect(kid.par?.id == stored)
        #expect(owners[0].kids.count == (stored == 1 ? 1 : 0))
        #expect(try session.changes().isEmpty)
        try await session.refresh()
        #expect(kid.par?.id == stored)
    }

    // MARK: Certificates

    struct Block: DTO, Identifiable {
        typealias Model = BlockModel
        let id: Data
        let data: Data
        static let schema = Schema<Self>("block") { row in try Self(id: row("id", \.id), data: row("data", \.data)) }
        static var mapping: Mapping<Self> {
            Mapping {
                BlockModel(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(\.data, \.data)
            }
        }
    }

    final class BlockModel {
        let id: Data
        var data = Data()
        init(id: Data) { self.id = id }
    }

    @Test func `ids that print alike are no copies of each other`() throws {
        let blocks = [
            Block(id: Data([1]), data: Data([1])), Block(id: Data([2]), data: Data([2])),
            Block(id: Data([3]), data: Data([3])), Block(id: Data([3]), data: Data([4])),
        ]
        let error = #expect(throws: GraphError.self) { try GraphSession(Block.mapping).map(blocks) }
        #expect(error?.kind == .conflict && error?.property == "data")
        #expect(error?.message.contains("03 at") == true && error?.message.contains("04 at") == true)
        #expect(error?.message.contains("01 at") == false)
    }

    // MARK: Many edits

    @Test func `each of many children is moved by its back-reference in one save`() async throws {
        let store = try await GraphStore.open(.inMemory, TeamRow.self, TopicRow.self, PersonRow.self, MedalRow.self)
        let session = GraphSession(store, TeamRow.mapping, TopicRow.mapping, PersonRow.mapping, MedalRow.mapping)
        let (one, two) = (Team(id: 1), Team(id: 2))
        one.topics = Set((0..<500).map { Topic(id: $0) })
        for topic in one.topics { topic.weight = topic.id }
        try session.add(one)
        try session.add(two)
        try await session.save()
        for topic in one.topics where topic.id % 2 == 0 { topic.team = two }
        try await session.save()
        #expect(one.topics.count == 250 && two.topics.count == 250)
        #expect(two.topics.allSatisfy { $0.id % 2 == 0 })
        #expect(try session.changes().isEmpty)
        for topic in two.topics { topic.team = one }
        try await session.save()
        #expect(one.topics.count == 500 && two.topics.isEmpty)
        #expect(try session.changes().isEmpty)
    }

    @Test func `objects that are added and taken back leave nothing, in any order`() throws {
        let session = GraphSession(WordRow.mapping)
        let words = (0..<200).map { Word(id: "\($0)") }
        for word in words { try session.add(word) }
        for word in words where Int(word.id).map({ $0 % 3 != 0 }) ?? false { try session.delete(word) }
        #expect(try session.changes().changes.count == 67)
        for word in words.reversed() { try session.add(word) }
        #expect(try session.changes().changes.count == 200)
        for word in words.shuffled() { try session.evict(word) }
        #expect(try session.changes().isEmpty)
    }
}
