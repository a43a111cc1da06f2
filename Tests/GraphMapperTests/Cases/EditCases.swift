import GraphMapperStore
import ShopModels
import Testing

extension ChangeSet.Change {
    var isInsertion: Bool { if case .insert = self { true } else { false } }
}

/// A type with an ordered list on demand, and a unique number.
final class Shelf {
    let id: Int
    var number: Int
    var books: [Shelf] = []
    var next: Shelf?
    init(id: Int, number: Int) {
        self.id = id
        self.number = number
    }
}

struct ShelfRow: StoredRecord {
    typealias Model = Shelf
    let id: Int
    let number: Int
    let books: [Ref<ShelfRow>]
    let next: Ref<ShelfRow>?
    static let schema = Schema<Self>("shelf") { row in
        try Self(
            id: row("id", \.id), number: row("number", \.number), books: row("books", \.books),
            next: row("next", \.next))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Shelf(id: $0.id, number: $0.number)
        } properties: {
            Field(\.id, \.id)
            Field(\.number, \.number)
            Many(\.books, \.books).onDemand
            One(\.next, \.next).onDemand
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.number)]
}

/// The same model as the web speaks it: no table.
struct ShelfDTO: DTO, Identifiable {
    typealias Model = Shelf
    let id: Int
    let number: Int
    static let schema = Schema<Self>("shelf") { row in try Self(id: row("id", \.id), number: row("number", \.number)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Shelf(id: $0.id, number: $0.number)
        } properties: {
            Field(\.id, \.id)
            Field(\.number, \.number)
        }
    }
}

/// The same model in a table of its own.
struct OldShelfRow: StoredRecord {
    typealias Model = Shelf
    let id: Int
    let number: Int
    static let schema = Schema<Self>("old_shelf") { row in
        try Self(id: row("id", \.id), number: row("number", \.number))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Shelf(id: $0.id, number: $0.number)
        } properties: {
            Field(\.id, \.id)
            Field(\.number, \.number)
        }
    }
}

@Suite struct `Edits` {
    private func shelves(_ count: Int, books: [Int] = []) async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, ShelfRow.self)
        try await store.write { tx in
            for id in 0..<count {
                try await tx.insert(
                    ShelfRow(
                        id: id, number: id, books: id == 0 ? books.map { Ref($0) } : [], next: id == 0 ? Ref(1) : nil))
            }
        }
        return store
    }

    private func branches() async throws -> (GraphStore, GraphSession, [Branch]) {
        let store = try await openNodes()
        try await store.write { tx in
            for id in 0..<4 {
                try await tx.insert(BranchRecord(id: id, value: "b\(id)", parent: id == 1 ? Ref(0) : nil))
            }
        }
        let session = GraphSession(store, BranchRecord.mapping)
        return (store, session, try await session.models(Query(BranchRecord.self).sorted(by: \.id)))
    }

    // MARK: Unique values

    @Test(arguments: [[1, 0], [1, 2, 0], [1, 2, 3], [3, 2, 1, 0], [2, 0, 1, 4, 3, 9]])
    func `unique values move among rows`(_ numbers: [Int]) async throws {
        let store = try await shelves(numbers.count)
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        for (shelf, number) in zip(shelves, numbers) { shelf.number = number }
        // One takes what another frees by going.
        let count = try await store.write { $0.statementCount }
        let changes = try await session.save()
        let statements = try await store.write { $0.statementCount } - count
        var cycles = 0
        var seen: Set<Int> = []
        for start in numbers.indices where !seen.contains(start) {
            var place = start
            while place < numbers.count, seen.insert(place).inserted { place = numbers[place] }
            if place == start, numbers[start] != start { cycles += 1 }
        }
        #expect(changes.changes.count == numbers.indices.count { numbers[$0] != $0 } + cycles)
        // And the first COMMIT, BEGIN and COMMIT, and BEGIN.
        #expect(statements == changes.changes.count + 4)
        #expect(try await store.fetch(Query(ShelfRow.self).sorted(by: \.id)).map(\.number) == numbers)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a unique value is freed by a deleted row and a changed one, and taken by a new one and another`()
        async throws
    {
        let store = try await shelves(4)
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        try session.delete(shelves[3])
        shelves[2].number = 3
        shelves[1].number = 2
        try session.add(Shelf(id: 9, number: 1))
        try await session.save()
        #expect(try await store.fetch(Query(ShelfRow.self).sorted(by: \.id)).map(\.number) == [0, 2, 3, 1])
    }

    @Test func `a swap that another writer has been faster at is a conflict in the app's words`() async throws {
        let store = try await shelves(3)
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        (shelves[0].number, shelves[1].number) = (1, 0)
        try await store.write { try await $0.execute("UPDATE shelf SET number = 50 WHERE id = 0") }
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        #expect(try await store.fetch(Query(ShelfRow.self).sorted(by: \.id)).map(\.number) == [50, 1, 2])
    }

    // MARK: Both sides of a link

    @Test func `back-references follow a move by the owners`() async throws {
        let (_, session, branches) = try await branches()
        branches[0].children = []
        branches[2].children = [branches[1]]
        try await session.save()
        #expect(branches[1].parent === branches[2])
        branches[2].children = []
        try await session.save()
        #expect(branches[1].parent == nil)
        let new = Branch(id: 9, value: "new")
        branches[1].children = [new]
        try await session.save()
        #expect(new.parent === branches[1])
        #expect(try await session.save().isEmpty)
    }

    @Test func `the owners' links follow a move by the back-reference`() async throws {
        let (store, session, branches) = try await branches()
        branches[1].parent = branches[2]
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(BranchRecord.self, 1)?.parent == Ref(2))
        #expect(branches[0].children.isEmpty && branches[2].children.map(\.id) == [1])
        #expect(try await session.save().isEmpty)
        branches[1].parent = nil
        #expect(try await session.save().changes.count == 1)
        #expect(branches[2].children.isEmpty)
        #expect(try await session.save().isEmpty)
        // And on from there by the other side.
        branches[3].children = [branches[1]]
        try await session.save()
        #expect(try await store.find(BranchRecord.self, 1)?.parent == Ref(3))
    }

    @Test func `both sides say different things`() async throws {
        let (_, session, branches) = try await branches()
        branches[0].children = []
        branches[2].children = [branches[1]]
        branches[1].parent = branches[3]
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        #expect(error?.message.contains("(2)") == true && error?.message.contains("(3)") == true)
        branches[1].parent = branches[2]
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `an owner that only a back-reference leads to is an error`() async throws {
        let (store, session, branches) = try await branches()
        let new = Branch(id: 9, value: "new")
        branches[3].parent = new
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .unreachable)
        try session.add(new)
        try await session.save()
        #expect(try await store.find(BranchRecord.self, 3)?.parent == Ref(9))
        #expect(new.children.map(\.id) == [3])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a child that another writer has moved is not moved back`() async throws {
        let (store, session, branches) = try await branches()
        _ = try await store.write { try await $0.upsert(BranchRecord(id: 1, value: "b1", parent: Ref(2))) }
        try await session.refresh()
        #expect(branches[1].parent === branches[2] && branches[0].children.isEmpty)
        #expect(try session.changes().isEmpty)
    }

    // MARK: Links that are not loaded

    @Test func `adding to a list that was never loaded is refused`() async throws {
        let store = try await shelves(4, books: [1, 2])
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        #expect(try !session.isLoaded(shelves[0], \.books))
        shelves[0].books.append(shelves[3])
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .misuse && error?.path == "shelf(0).books")
        try await session.load(shelves[0], \.books)
        #expect(try session.isLoaded(shelves[0], \.books))
        #expect(shelves[0].books.map(\.id) == [1, 2, 3])
        try await session.save()
        #expect(try await store.find(ShelfRow.self, 0)?.books.map(\.id) == [1, 2, 3])
    }

    @Test func `a link that was never loaded is cleared on purpose`() async throws {
        let store = try await shelves(4, books: [1, 2])
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        #expect(try session.changes().isEmpty)
        try session.clear(shelves[0], \.next)
        try session.clear(shelves[0], \.books)
        shelves[0].books.append(shelves[3])
        try await session.save()
        let row = try #require(try await store.find(ShelfRow.self, 0))
        #expect(row.books.map(\.id) == [3] && row.next == nil)
        #expect(try await session.save().isEmpty)
        #expect(throws: GraphError.self) { try session.clear(shelves[0], \.number) }
    }

    // MARK: Whether a row is there

    @Test func `what a found row has and the new object leaves empty is kept`() async throws {
        let store = try await shelves(3, books: [1, 2])
        let session = GraphSession(store, ShelfRow.mapping)
        let mine = Shelf(id: 0, number: 70)
        try session.add(mine, ifStored: .update)
        try session.add(Shelf(id: 8, number: 80))
        let changes = try await session.save()
        #expect(changes.changes.count == 2)
        let row = try #require(try await store.find(ShelfRow.self, 0))
        #expect(row.number == 70 && row.books.map(\.id) == [1, 2] && row.next == Ref(1))
        #expect(try await session.find(ShelfRow.self, 0) === mine)
        #expect(try await session.save().isEmpty)
        mine.number = 71
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `what came by another DTO type is written through the table`() async throws {
        let store = try await shelves(2)
        let session = GraphSession(store, [ShelfDTO.mapping, ShelfRow.mapping])
        let models = try session.map([ShelfDTO(id: 1, number: 11), ShelfDTO(id: 5, number: 55)])
        try await session.save()
        #expect(try await store.fetch(Query(ShelfRow.self).sorted(by: \.id)).map(\.number) == [0, 11, 55])
        #expect(try await session.save().isEmpty)
        models[0].number = 12
        #expect(try await session.save().changes.count == 1)
        try await session.refresh()
        try session.add(Shelf(id: 6, number: 66))
        #expect(try await session.save().changes.count == 1)
        try session.delete(models[1])
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.fetch(Query(ShelfRow.self).sorted(by: \.id)).map(\.number) == [0, 12, 66])
    }

    @Test func `an object is written through the table that it was loaded from, a new one through the first`()
        async throws
    {
        let store = try await GraphStore.open(.inMemory, ShelfRow.self, OldShelfRow.self)
        try await store.write { try await $0.insert(OldShelfRow(id: 1, number: 1)) }
        let session = GraphSession(store, ShelfRow.mapping, OldShelfRow.mapping)
        let old = try #require(try await session.find(OldShelfRow.self, 1))
        #expect(try session.changes().isEmpty)
        old.number = 2
        try session.add(Shelf(id: 2, number: 3))
        try await session.save()
        #expect(try await store.fetch(Query(OldShelfRow.self)).map(\.number) == [2])
        #expect(try await store.fetch(Query(ShelfRow.self)).map(\.number) == [3])
        #expect(try await session.save().isEmpty)
        try await session.refresh()
        try session.delete(old)
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `an evicted object may be linked, and comes back by adding it`() async throws {
        let (store, session, branches) = try await branches()
        try session.evict(branches[1])
        #expect(try await session.save().isEmpty)
        branches[0].children = []
        branches[2].children = [branches[1]]
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .misuse)
        branches[1].parent = branches[2]
        try session.add(branches[1])
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(BranchRecord.self, 1)?.parent == Ref(2))
    }

    // MARK: Reading again, and undoing

    @Test func `a refresh keeps, discards or merges`() async throws {
        let store = try await shelves(3)
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        func diverge() async throws {
            for (index, shelf) in shelves.enumerated() { shelf.number = 10 + index }
            try await store.write { try await $0.execute("UPDATE shelf SET number = number + 100 WHERE id < 2") }
        }
        try await diverge()
        try await session.refresh()
        #expect(shelves.map(\.number) == [10, 11, 12])
        try await session.refresh(.discardingChanges)
        #expect(shelves.map(\.number) == [100, 101, 2])
        #expect(try session.changes().isEmpty)
        try await diverge()
        var seen: [String] = []
        try await session.refresh(
            .merging { conflict in
                seen.append(
                    "\(conflict.type)(\(conflict.id)).\(conflict.property): \(conflict.base) \(conflict.mine) \(conflict.theirs)"
                )
                return conflict.id == "0" ? .mine : .theirs
            })
        #expect(seen.sorted() == ["shelf(0).number: [100] [10] [200]", "shelf(1).number: [101] [11] [201]"])
        #expect(shelves.map(\.number) == [10, 201, 12])
        #expect(try await session.save().changes.count == 2)
        try await store.write { try await $0.execute("UPDATE shelf SET number = number + 1000") }
        try await session.refresh(shelves[1])
        #expect(shelves.map(\.number) == [10, 1201, 12])
    }

    @Test func `of one object, and what it leads to, changes are discarded alone`() async throws {
        let (store, session, branches) = try await branches()
        for branch in branches { branch.value += " edited" }
        branches[0].children = [branches[1], branches[3]]
        branches[2].children = [Branch(id: 9, value: "new")]
        try session.delete(branches[1])
        try await store.write { try await $0.execute("UPDATE branch SET value = 'theirs' WHERE id = 1") }
        try await session.refresh(branches[0], .discardingChanges)
        #expect(branches.map(\.value) == ["b0", "theirs", "b2 edited", "b3 edited"])
        #expect(branches[0].children.map(\.id) == [1] && branches[1].parent === branches[0])
        #expect(session.state(of: branches[1]) == .clean && session.state(of: branches[2]) == .changed)
        #expect(try await session.save().changes.count == 3)
        #expect(try await store.find(BranchRecord.self, 3)?.parent == nil)
        #expect(try await store.find(BranchRecord.self, 9)?.parent == Ref(2))
        // A payload's word is an edit, too.
        let purchases = try await openPurchases()
        let other = purchaseSession(purchases)
        let goods = try await other.models(Query(GoodRow.self).sorted(by: \.id))
        try other.map([GoodPayload(id: 1, name: .value("said")), GoodPayload(id: 2, name: .value("said"))])
        try await other.refresh(goods[0], .discardingChanges)
        #expect(goods.map(\.name) == ["good 1", "said", "good 3"])
        #expect(try await other.save().changes.count == 1)
    }

    @Test func `rows that vanish leave the links`() async throws {
        let (store, session, branches) = try await branches()
        try await store.write { try await $0.execute("DELETE FROM branch WHERE id IN (1, 3)") }
        #expect(session.state(of: branches[1]) == .clean)
        try await session.refresh()
        #expect(session.state(of: branches[1]) == .deleted && session.state(of: branches[0]) == .clean)
        #expect(branches[0].children.isEmpty)
        #expect(try session.changes().isEmpty)
        branches[1].value = "x"
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .conflict)
        try session.add(branches[1])
        #expect(session.state(of: branches[1]) == .new)
        try session.delete(branches[3])
        try await session.save()
        #expect(try await store.find(BranchRecord.self, 1)?.value == "x")
        #expect(session.state(of: branches[1]) == .clean && session.state(of: branches[3]) == nil)
        branches[1].value = "y"
        #expect(session.state(of: branches[1]) == .changed)
        #expect(session.state(of: Branch(id: 50, value: "")) == nil)
    }

    @Test func `a rollback undoes everything that was not saved`() async throws {
        let (_, session, branches) = try await branches()
        let new = Branch(id: 9, value: "new")
        branches[0].value = "x"
        branches[0].children = [new]
        branches[2].children = [branches[1]]
        branches[1].parent = branches[3]
        try session.add(Branch(id: 10, value: ""))
        try session.delete(branches[3])
        try session.rollback()
        #expect(branches[0].value == "b0" && branches[0].children.map(\.id) == [1])
        #expect(branches[2].children.isEmpty && branches[1].parent === branches[0])
        #expect(try session.changes().isEmpty)
        #expect(session.state(of: branches[3]) == .clean && session.state(of: new) == nil)
        branches[2].children = [branches[3]]
        #expect(try await session.save().changes.count == 1)
    }

    @Test func `a rollback of ordered lists, and of links that were not loaded`() async throws {
        let store = try await shelves(4, books: [1, 2])
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        shelves[0].next = shelves[2]
        shelves[0].books = [shelves[3]]
        try session.rollback()
        #expect(shelves[0].next == nil && shelves[0].books.isEmpty)
        try await session.load(shelves[0], \.books)
        shelves[0].books.swapAt(0, 1)
        try session.rollback()
        #expect(shelves[0].books.map(\.id) == [1, 2])
        #expect(try session.changes().isEmpty)
    }

    @Test func `a value that does not encode stops no load half-way`() async throws {
        let even = Conversion<Int, Int> {
            $0
        } encode: {
            if $0 % 2 == 1 { throw GraphError(.conversion, "odd") }
            return $0
        }
        let mapping = Mapping<ShelfDTO> {
            Shelf(id: $0.id, number: $0.number)
        } properties: {
            Field(\.id, \.id)
            Field(\.number, \.number, using: even)
        }
        let session = GraphSession(mapping)
        let shelves = try session.map((0..<3).map { ShelfDTO(id: $0, number: $0 * 2) })
        shelves[1].number = 7
        try session.map((0..<3).map { ShelfDTO(id: $0, number: $0 * 20) })
        #expect(shelves.map(\.number) == [0, 7, 40])
        #expect(throws: GraphError.self) { try session.changes() }
    }

    @Test func `more entries than bits`() async throws {
        // With `return`, the closure is no builder's.
        let fields = (0..<70).map { _ in Field<ShelfRow, Int, Int>(\.number, \.number).step }
        let links = (0..<65).map { _ in Many<ShelfRow, ShelfRow>(\.books, \.books).step }
        let mapping = Mapping<ShelfRow> {
            Shelf(id: $0.id, number: 0)
        } properties: {
            return fields + links
        }
        #expect { try GraphSession(mapping).validate() } throws: { "\($0)".contains("65 links") }
    }
}
