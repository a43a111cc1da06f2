import Foundation
import Testing

@testable import GraphMapper
@testable import GraphMapperStore

struct AuditTag: StoredRecord {
    let id: Int
    var title: String

    static let schema = Schema<Self>("tag") { row in
        try Self(id: row("id", \.id), title: row("title", \.title))
    }
}

struct AuditNote: StoredRecord {
    let id: UUID
    var text: String
    var weight: Double
    var nickname: String?
    var made: Date
    var first: Ref<AuditTag>?
    var tags: [Ref<AuditTag>]

    static let schema = Schema<Self>("note") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), weight: row("weight", \.weight),
            nickname: row("nickname", \.nickname), made: row("made", \.made), first: row("first", \.first),
            tags: row("tags", \.tags))
    }

    init(
        id: UUID = UUID(), text: String = "", weight: Double = 0, nickname: String? = nil,
        made: Date = Date(timeIntervalSince1970: 1.25), first: Ref<AuditTag>? = nil, tags: [Ref<AuditTag>] = []
    ) {
        self.id = id
        self.text = text
        self.weight = weight
        self.nickname = nickname
        self.made = made
        self.first = first
        self.tags = tags
    }
}

/// Its key column is not called `id`.
struct AuditBadge: StoredRecord {
    let id: Int
    var name: String

    static let schema = Schema<Self>("badge") { row in
        try Self(id: row("number", \.id), name: row("name", \.name))
    }
}

/// `AuditNote` with a column less.
struct AuditOldTag: StoredRecord {
    let id: Int

    static let schema = Schema<Self>("tag") { row in try Self(id: row("id", \.id)) }
}

struct AuditTextTag: StoredRecord {
    let id: Int
    var title: Int

    static let schema = Schema<Self>("tag") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
}

private func opened(tags: Int = 0) async throws -> GraphStore {
    let store = try await Engine.open(AuditTag.self, AuditNote.self, AuditBadge.self)
    try await store.write { try await $0.insert(contentsOf: (0..<tags).map { AuditTag(id: $0, title: "t\($0)") }) }
    return store
}

private func refs(_ ids: [Int]) -> [Ref<AuditTag>] { ids.map { Ref($0) } }

@Suite(.perEngine) struct StoreValueTests {
    @Test(arguments: ["", "a\0b", "👩‍👩‍👧", "e\u{301}", "\u{e9}"])
    func texts(_ text: String) async throws {
        let store = try await opened()
        let note = AuditNote(text: text, nickname: text)
        try await store.write { try await $0.insert(note) }
        let found = try #require(try await store.find(AuditNote.self, note.id))
        #expect(Array(found.text.utf8) == Array(text.utf8))
        #expect(found.nickname.map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(arguments: [0.0, -0.0, 1.5, 3.0, 1e300, .infinity, -.infinity, .leastNormalMagnitude, .nan])
    func doubles(_ value: Double) async throws {
        let store = try await opened()
        let note = AuditNote(weight: value)
        try await store.write { try await $0.insert(note) }
        let found = try #require(try await store.find(AuditNote.self, note.id))
        #expect(Double.isSame(found.weight, value), "\(found.weight)")
    }

    @Test func wholeNumbersFromRawSQL() async throws {
        let store = try await opened()
        let note = AuditNote(weight: 1.5)
        try await store.write { transaction in
            try await transaction.insert(note)
            try await transaction.execute("UPDATE note SET weight = 3")
        }
        #expect(try await store.find(AuditNote.self, note.id)?.weight == 3)
        #expect(try await store.count(Query(AuditNote.self).where { $0.weight == 3 }) == 1)
    }

    @Test func links() async throws {
        let store = try await opened(tags: 4)
        let notes = [AuditNote(first: Ref(2), tags: refs([3, 1, 3])), AuditNote(), AuditNote(tags: refs([0]))]
        try await store.write { try await $0.insert(contentsOf: notes) }
        for note in notes {
            let found = try #require(try await store.find(AuditNote.self, note.id))
            #expect(found.tags == note.tags && found.first == note.first && found.made == note.made)
            #expect(found.nickname == nil)
        }
        let all = try await store.read { try await $0.fetch(AuditNote.self, ids: notes.map(\.id)) }
        #expect(Set(all.map(\.tags)) == Set(notes.map(\.tags)))
    }

    @Test func manyIds() async throws {
        let store = try await opened(tags: 1)
        let found = try await store.read { try await $0.fetch(AuditTag.self, ids: Array(0..<300_000)) }
        #expect(found.map(\.id) == [0])
    }

    /// Rows that sort alike must come with their own lists, whatever plan the engine chooses.
    @Test func pagesWithTies() async throws {
        let store = try await opened(tags: 50)
        let notes = (0..<50).map { AuditNote(text: "same", tags: refs([$0])) }
        try await store.write {
            try await $0.insert(contentsOf: notes)
            try await $0.execute("CREATE INDEX hidden ON note (text, id DESC)")
        }
        for offset in stride(from: 0, to: 50, by: 10) {
            let page = try await store.fetch(Query(AuditNote.self).sorted(by: \.text).limit(10).offset(offset))
            #expect(page.count == 10)
            let alike = page.allSatisfy { note in notes.first { $0.id == note.id }?.tags == note.tags }
            #expect(alike)
        }
    }
}

@Suite(.perEngine) struct StoreWriteTests {
    @Test func upsert() async throws {
        let store = try await opened(tags: 3)
        var note = AuditNote(text: "a", tags: refs([1]))
        try await store.write { transaction in
            let step1 = try await transaction.upsert(note)
            #expect(step1 == .inserted)
            let step2 = try await transaction.upsert(note)
            #expect(step2 == .unchanged)
            note.text = "b"
            note.tags = refs([1, 2])
            let step3 = try await transaction.upsert(note)
            #expect(step3 == .updated(["text", "tags"]))
        }
        let again = note
        #expect(try await store.find(AuditNote.self, note.id)?.tags == refs([1, 2]))
        await #expect(throws: StoreError.self) {
            try await store.write { _ = try await $0.upsert(again, policy: .error) }
        }
    }

    @Test func upsertOfNegativeZeroSettles() async throws {
        let store = try await opened()
        let note = AuditNote(weight: -0.0)
        try await store.write { transaction in
            try await transaction.insert(note)
            let step4 = try await transaction.upsert(note)
            #expect(step4 == .unchanged)
        }
    }

    @Test func patchKeepsTheRest() async throws {
        let store = try await opened()
        let note = AuditNote(text: "a", weight: 2, nickname: "n")
        try await store.write { transaction in
            try await transaction.insert(note)
            let step5 = try await transaction.apply(
                Patch(AuditNote.self, note.id).set(\.text, "b").set(\.nickname, nil))
            #expect(step5)
        }
        let found = try #require(try await store.find(AuditNote.self, note.id))
        #expect(found.text == "b" && found.nickname == nil && found.weight == 2)
        #expect(try await store.write { try await $0.apply(Patch(AuditNote.self, UUID()).set(\.text, "c")) } == false)
    }

    @Test func patchOfWhatCannotBePatchedThrows() async throws {
        let store = try await opened(tags: 1)
        let note = AuditNote()
        try await store.write { try await $0.insert(note) }
        let error = await #expect(throws: GraphError.self) {
            _ = try await store.write { try await $0.apply(Patch(AuditNote.self, note.id).set(\.tags, refs([0]))) }
        }
        #expect(error?.kind == .misuse)
    }

    @Test func patchOfOnePropertyTwice() async throws {
        let store = try await opened()
        let note = AuditNote(text: "a")
        try await store.write { try await $0.insert(note) }
        _ = try await store.write {
            try await $0.apply(Patch(AuditNote.self, note.id).set(\.text, "b").set(\.text, "c"))
        }
        #expect(try await store.find(AuditNote.self, note.id)?.text == "c")
        #expect(try await store.changeRecords().last?.columns == ["text"])
    }

    @Test func patchOfTheKeyThrows() async throws {
        let store = try await opened(tags: 2)
        for id in [1, 7] {
            let error = await #expect(throws: GraphError.self) {
                _ = try await store.write { try await $0.apply(Patch(AuditTag.self, 1).set(\.id, id)) }
            }
            #expect(error?.kind == .misuse && error?.message.contains("KeyChange") == true)
        }
    }

    @Test func keyColumnOfAnotherName() async throws {
        let store = try await opened()
        try await store.write { transaction in
            try await transaction.insert(AuditBadge(id: 1, name: "a"))
            let step6 = try await transaction.upsert(AuditBadge(id: 1, name: "b"))
            #expect(step6 == .updated(["name"]))
            try await transaction.apply(.delete(.init(table: "badge", keyColumns: ["number"], key: [.integer(1)])))
        }
        #expect(try await store.count(Query(AuditBadge.self)) == 0)
    }

    @Test func danglingLinkFailsAtCommit() async throws {
        let store = try await opened()
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(AuditNote(first: Ref(77))) }
        }
        #expect(error?.kind == .foreignKey)
        #expect(try await store.count(Query(AuditNote.self)) == 0)
        try await store.write { try await $0.insert(AuditTag(id: 1, title: "still works")) }
    }

    @Test func conflicts() async throws {
        let store = try await opened(tags: 3)
        let note = AuditNote(text: "a")
        try await store.write { try await $0.insert(note) }
        let key = [note.id.stored]
        let stale = ChangeSet.Update(
            table: "note", keyColumns: ["id"], key: key, columns: ["text"], values: [.text("mine")],
            expected: [.text("old")])
        let error = await #expect(throws: GraphError.self) {
            try await store.write { try await $0.apply(.update(stale)) }
        }
        #expect(error?.kind == .conflict && error?.property == "text")
        try await store.write { transaction in
            try await transaction.execute("INSERT INTO note_tags VALUES (?, 5, 2)", key)
        }
        // Another writer filled a list that this one read as empty.
        let link = ChangeSet.Relink(table: "note", property: "tags", key: key, base: [], targets: [.integer(1)])
        let other = await #expect(throws: GraphError.self) {
            try await store.write { try await $0.apply(.relink(link)) }
        }
        #expect(other?.kind == .conflict)
        #expect(try await store.find(AuditNote.self, note.id)?.tags == refs([2]))
    }

    /// A task that a transaction starts, and that outlives it, is not inside it.
    @Test func tasksStartedInATransaction() async throws {
        let store = try await opened()
        let (signal, go) = AsyncStream.makeStream(of: Void.self)
        let task = try await store.write { _ in
            Task {
                for await _ in signal { break }
                try await store.write { try await $0.insert(AuditTag(id: 1, title: "later")) }
            }
        }
        go.yield()
        try await task.value
        #expect(try await store.count(Query(AuditTag.self)) == 1)
    }

    @Test func writersTakeTurns() async throws {
        let store = try await opened()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<50 {
                group.addTask {
                    try await store.write { transaction in
                        let count = try await transaction.count(Query(AuditTag.self))
                        await Task.yield()
                        try await transaction.insert(AuditTag(id: id, title: "\(count)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(try await store.fetch(Query(AuditTag.self)).map(\.title)) == Set((0..<50).map(String.init)))
    }
}

@Suite(.perEngine) struct StoreListTests {
    private func relink(_ store: GraphStore, _ note: UUID, _ base: [Int], _ targets: [Int]) async throws -> Int {
        let link = ChangeSet.Relink(
            table: "note", property: "tags", key: [note.stored], base: base.map(\.stored),
            targets: targets.map(\.stored))
        return try await store.write { transaction in
            let before = transaction.statementCount
            try await transaction.apply(.relink(link))
            return transaction.statementCount - before
        }
    }

    /// Statements: one that reads the list, and one a changed row.
    @Test func fewestStatements() async throws {
        let store = try await opened(tags: 101)
        let all = Array(0..<100)
        let note = AuditNote(tags: refs(all))
        try await store.write { try await $0.insert(note) }
        #expect(try await relink(store, note.id, all, all + [100]) == 2)
        #expect(try await relink(store, note.id, all + [100], all) == 2)
        let moved = [99] + all.dropLast()
        #expect(try await relink(store, note.id, all, moved) == 2)
        #expect(try await store.find(AuditNote.self, note.id)?.tags == refs(moved))
    }

    /// Random edits, against the plain array; insertions into one place exhaust its gap.
    @Test(arguments: 0..<20) func randomEdits(_ seed: UInt64) async throws {
        var random = Weyl(state: seed &* 7919 &+ 1)
        let store = try await opened(tags: 8)
        let note = AuditNote()
        try await store.write { try await $0.insert(note) }
        var list: [Int] = []
        for _ in 0..<120 {
            var next = list
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0...next.count, using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1: next.insert(Int.random(in: 0..<8, using: &random), at: place)
                case 2: next.insert(Int.random(in: 0..<8, using: &random), at: min(1, next.count))
                case 3 where !next.isEmpty: next.remove(at: min(place, next.count - 1))
                case 4 where next.count > 12: next.removeLast(4)
                case 5 where !next.isEmpty: next.insert(next.remove(at: min(place, next.count - 1)), at: 0)
                default: next.reverse()
                }
            }
            _ = try await relink(store, note.id, list, next)
            list = next
            #expect(try await store.find(AuditNote.self, note.id)?.tags == refs(list))
        }
    }

    @Test func exhaustedGap() async throws {
        let store = try await opened(tags: 8)
        let note = AuditNote(tags: refs([0, 1]))
        try await store.write { try await $0.insert(note) }
        var list = [0, 1]
        for step in 0..<60 {
            var next = list
            next.insert(2 + step % 6, at: 1)
            _ = try await relink(store, note.id, list, next)
            list = next
        }
        #expect(try await store.find(AuditNote.self, note.id)?.tags == refs(list))
    }
}

private struct Weyl: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

@Suite struct StoreFileTests {
    // Root may write anywhere.
    @Test(.enabled(if: getuid() != 0)) func readOnlyFolder() async throws {
        let place = try Scratch.folder().path
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: place)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: place) }
        let error = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(place + "/a.db"), AuditTag.self)
        }
        #expect(error?.kind == .cannotOpen || error?.kind == .readOnly)
    }

    /// What nobody may write to, root neither.
    @Test func folderThatIsAFile() async throws {
        let file = try Scratch.folder().path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        let error = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(file + "/a.db"), AuditTag.self)
        }
        #expect(error?.kind == .cannotOpen)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).isEmpty)
    }

    @Test func readOnlyStore() async throws {
        let path = try Scratch.folder().path + "/a.db"
        let writable = try await GraphStore.open(.file(path), AuditTag.self)
        try await writable.write { try await $0.insert(AuditTag(id: 1, title: "a")) }
        var options = GraphStore.Options()
        options.isReadOnly = true
        let store = try await GraphStore.open(.file(path), options: options, AuditTag.self)
        #expect(try await store.count(Query(AuditTag.self)) == 1)
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(AuditTag(id: 2, title: "b")) }
        }
        #expect(error?.kind == .readOnly)
        let mismatch = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(path), options: options, AuditOldTag.self)
        }
        #expect(mismatch?.kind == .schemaMismatch)
    }

    @Test func busy() async throws {
        let path = try Scratch.folder().path + "/a.db"
        var options = GraphStore.Options()
        options.busyTimeout = .seconds(0.05)
        let one = try await GraphStore.open(.file(path), options: options, AuditTag.self)
        let two = try await GraphStore.open(.file(path), options: options, AuditTag.self)
        try await one.write { transaction in
            try await transaction.insert(AuditTag(id: 1, title: "a"))
            let error = await #expect(throws: StoreError.self) {
                try await two.write { try await $0.insert(AuditTag(id: 2, title: "b")) }
            }
            #expect(error?.kind == .busy)
            #expect(try await two.count(Query(AuditTag.self)) == 0)
        }
        try await two.write { try await $0.insert(AuditTag(id: 2, title: "b")) }
        #expect(try await one.count(Query(AuditTag.self)) == 2)
    }

    @Test func schemaMismatch() async throws {
        let path = try Scratch.folder().path + "/a.db"
        _ = try await GraphStore.open(.file(path), AuditTag.self)
        let missing = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(path), AuditOldTag.self)
        }
        #expect(missing?.kind == .schemaMismatch && missing?.message.contains("title") == true)
        let retyped = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(path), AuditTextTag.self)
        }
        #expect(retyped?.kind == .schemaMismatch && retyped?.message.contains("title") == true)
    }

    @Test func schemaMistakes() async throws {
        let error = await #expect(throws: GraphError.self) { _ = try await GraphStore.open(.inMemory, AuditNote.self) }
        #expect(error?.kind == .invalidSchema)
        let twice = await #expect(throws: GraphError.self) {
            _ = try await GraphStore.open(.inMemory, AuditTag.self, AuditTextTag.self)
        }
        #expect(twice?.kind == .invalidSchema)
    }
}

@Suite(.perEngine) struct StoreQueryTests {
    private func found(_ build: @Sendable (Columns<AuditNote>) -> Condition) async throws -> [String] {
        let store = try await opened(tags: 3)
        try await store.write { transaction in
            try await transaction.insert(AuditNote(text: "ab", weight: 1, nickname: "x", first: Ref(1)))
            try await transaction.insert(AuditNote(text: "abc", weight: 2, first: Ref(2)))
            try await transaction.insert(AuditNote(text: "c", weight: 3, nickname: "y"))
        }
        return try await store.fetch(Query(AuditNote.self).where { build($0) }.sorted(by: \.text)).map(\.text)
    }

    @Test func operators() async throws {
        #expect(try await found { $0.text == "ab" } == ["ab"])
        #expect(try await found { $0.text != "ab" } == ["abc", "c"])
        #expect(try await found { $0.weight > 1 && $0.weight < 3 } == ["abc"])
        #expect(try await found { $0.weight <= 1 || $0.weight >= 3 } == ["ab", "c"])
        #expect(try await found { $0.nickname == nil } == ["abc"])
        #expect(try await found { $0.nickname == "x" } == ["ab"])
        #expect(try await found { $0.nickname != "x" } == ["abc", "c"])
        #expect(try await found { !($0.nickname > "x") } == ["ab", "abc"])
        #expect(try await found { $0.text.isIn(["c", "ab", "zz"]) } == ["ab", "c"])
        #expect(try await found { $0.text.isIn([]) } == [])
        #expect(try await found { $0.nickname.isNil } == ["abc"])
        #expect(try await found { $0.text.contains("b") } == ["ab", "abc"])
        #expect(try await found { $0.text.hasPrefix("ab") } == ["ab", "abc"])
        #expect(try await found { $0.first.title == "t2" } == ["abc"])
        #expect(try await found { $0.first == Ref(1) } == ["ab"])
        #expect(try await found { $0.text == "'; DROP TABLE note; --" } == [])
    }

    @Test func textOperators() async throws {
        #expect(try await found { $0.text.hasSuffix("c") } == ["abc", "c"])
        #expect(try await found { $0.text.hasSuffix("") } == ["ab", "abc", "c"])
        #expect(try await found { $0.text.like("a%") } == ["ab", "abc"])
        #expect(try await found { $0.nickname.contains("x") } == ["ab"])
        #expect(try await found { $0.nickname.hasPrefix("y") } == ["c"])
    }

    @Test func pages() async throws {
        let store = try await opened(tags: 10)
        let query = Query(AuditTag.self).sorted(by: \.id, descending: true)
        #expect(try await store.fetch(query.limit(3).offset(2)).map(\.id) == [7, 6, 5])
        #expect(try await store.first(query)?.id == 9)
        #expect(try await store.count(query.where { $0.id < 4 }) == 4)
    }
}
