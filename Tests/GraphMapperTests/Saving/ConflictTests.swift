import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapper
@testable import GraphMapperStore

/// A note with a value of each kind that can clash, and a version if the record has one.
final class Memory {
    let id: UUID
    var text = ""
    var count = 0
    var place: MemoryPlace?
    var parts: [Memory] = []
    init(id: UUID) { self.id = id }
}
struct MemoryPlace: EmbeddedValue, Hashable {
    var x: Int
    var y: Int
    static let schema = Schema<Self> { row in try Self(x: row("x", \.x), y: row("y", \.y)) }
}
struct MemoryRow: StoredRecord {
    typealias Model = Memory
    let id: UUID
    var text: String
    var count: Int
    var place: MemoryPlace?
    var parts: [Ref<MemoryRow>] = []
    static let schema = Schema<Self>("memory") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), count: row("count", \.count), place: row("place", \.place),
            parts: row("parts", \.parts))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Memory(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
            Field(\.count, \.count)
            Field(\.place, \.place)
            Many(\.parts, \.parts)
        }
    }
}
struct CountedRow: StoredRecord {
    typealias Model = Memory
    let id: UUID
    let text: String
    let count: Int
    let version: Int
    let parts: [Ref<CountedRow>]
    static let schema = Schema<Self>("counted") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), count: row("count", \.count),
            version: row("version", \.version), parts: row("parts", \.parts))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Memory(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
            Field(\.count, \.count)
            Version(\.version)
            Many(\.parts, \.parts)
        }
    }
}

@Suite struct `Conflicts with other writers` {
    private let ids = (0..<6).map { _ in UUID() }

    private func opened() async throws -> (GraphStore, GraphSession, [Memory]) {
        let store = try await GraphStore.open(.inMemory, MemoryRow.self)
        try await store.write { tx in
            for (index, id) in ids.enumerated() {
                try await tx.insert(
                    MemoryRow(
                        id: id, text: "text \(index)", count: index, place: MemoryPlace(x: 1, y: 2),
                        parts: index == 0 ? ids[1...4].map { Ref($0) } : []))
            }
        }
        let session = GraphSession(store, MemoryRow.mapping)
        let models = try await session.models(Query(MemoryRow.self))
        return (store, session, ids.compactMap { id in models.first { $0.id == id } })
    }

    /// What another writer does.
    private func theirs(_ store: GraphStore, _ index: Int, _ edit: (inout MemoryRow) -> Void) async throws {
        var row = try #require(try await store.find(MemoryRow.self, ids[index]))
        edit(&row)
        _ = try await store.write { try await $0.upsert(row) }
    }

    private func row(_ store: GraphStore, _ index: Int) async throws -> MemoryRow {
        try #require(try await store.find(MemoryRow.self, ids[index]))
    }

    @Test func `a clash is told with all its values, and all clashes at once`() async throws {
        let (store, session, models) = try await opened()
        models[1].text = "mine"
        models[2].count = 20
        models[3].count = 30
        try await theirs(store, 1) { $0.text = "theirs" }
        try await theirs(store, 2) { $0.count = 22 }
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { try await session.save() }
            #expect(error?.kind == .conflict)
            let conflicts = try #require(error?.conflicts.sorted { $0.path < $1.path })
            #expect(Set(conflicts.map(\.path)) == ["memory(\(ids[1])).text", "memory(\(ids[2])).count"])
            let text = try #require(conflicts.first { $0.property == "text" })
            #expect(text.base == [.text("text 1")] && text.mine == [.text("mine")] && text.theirs == [.text("theirs")])
            #expect(text.kind == .value && "\(text)".contains("\"theirs\""))
            #expect(try await row(store, 3).count == 3)
        }
    }

    @Test func `edits of different properties merge, and the same edit by both is none`() async throws {
        let (store, session, models) = try await opened()
        models[1].text = "mine"
        models[1].place?.x = 7
        models[2].text = "both"
        try await theirs(store, 1) {
            $0.count = 11
            $0.place?.y = 8
        }
        try await theirs(store, 2) { $0.text = "both" }
        try await session.save()
        let merged = try await row(store, 1)
        #expect(merged.text == "mine" && merged.count == 11 && merged.place == MemoryPlace(x: 7, y: 8))
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: [0, 1, 2]) func `a policy decides, and the model follows`(_ choice: Int) async throws {
        let (store, session, models) = try await opened()
        models[1].count = 101
        models[1].text = "mine"
        try await theirs(store, 1) { $0.count += 10 }
        let policies: [ConflictPolicy] = [
            .mine, .theirs,
            .merge { conflict in
                guard
                    case (.integer(let base)?, .integer(let mine)?, .integer(let theirs)?) =
                        (conflict.base.first, conflict.mine.first, conflict.theirs.first)
                else { return .mine }
                return .merged([.integer(theirs + mine - base)])
            },
        ]
        let expected = [101, 11, 111][choice]
        let written = try await session.save(onConflict: policies[choice])
        let stored = try await row(store, 1)
        #expect(stored.count == expected && stored.text == "mine")
        #expect(models[1].count == expected && models[1].text == "mine")
        #expect(written.changes.count == 1)
        #expect(try await session.save().isEmpty)
    }

    @Test func `what a policy throws undoes the save`() async throws {
        struct Undecided: Error {}
        let (store, session, models) = try await opened()
        models[0].text = "first"
        models[1].count = 101
        try await theirs(store, 1) { $0.count = 5 }
        await #expect(throws: Undecided.self) { try await session.save(onConflict: .merge { _ in throw Undecided() }) }
        #expect(try await row(store, 0).text == "text 0")
        let error = await #expect(throws: GraphError.self) {
            try await session.save(onConflict: .merge { _ in .merged([]) })
        }
        #expect(error?.kind == .misuse)
        try await session.save(onConflict: .theirs)
        #expect(models[1].count == 5 && models[0].text == "first")
    }

    @Test func `an object that was deleted meanwhile`() async throws {
        for choice in 0..<3 {
            let (store, session, models) = try await opened()
            models[2].text = "mine"
            models[2].parts = [models[5]]
            models[3].text = "other"
            try await store.write { tx in
                try await tx.execute("DELETE FROM memory_parts WHERE target = ?", [ids[2].stored])
                _ = try await tx.delete(MemoryRow.self, ids[2])
            }
            if choice == 0 {
                let error = await #expect(throws: GraphError.self) { try await session.save() }
                #expect(error?.conflicts.map(\.kind) == [.deletedByOther])
                #expect(error?.conflicts.first?.path == "memory(\(ids[2]))")
                #expect(try await row(store, 3).text == "text 3")
            } else if choice == 1 {
                try await session.save(onConflict: .mine)
                let again = try await row(store, 2)
                #expect(again.text == "mine" && again.count == 2 && again.parts.map(\.id) == [ids[5]])
                #expect(try await session.save().isEmpty)
                #expect(session.state(of: models[2]) == .clean)
            } else {
                try await session.save(onConflict: .theirs)
                #expect(try await store.find(MemoryRow.self, ids[2]) == nil)
                #expect(models[0].parts.map(\.id) == [ids[1], ids[3], ids[4]])
                #expect(session.state(of: models[2]) == nil && models[3].text == "other")
                #expect(try await session.save().isEmpty)
                try await session.refresh()
                #expect(models[0].parts.count == 3)
            }
        }
    }

    @Test func `an object whose empty list was filled, and that was deleted meanwhile`() async throws {
        let (store, session, models) = try await opened()
        models[5].parts = [models[1], models[2]]
        _ = try await store.write { try await $0.delete(MemoryRow.self, ids[5]) }
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.conflicts.map(\.kind) == [.deletedByOther])
        try await session.save(onConflict: .mine)
        #expect(try await row(store, 5).parts.map(\.id) == [ids[1], ids[2]])
        #expect(try await session.save().isEmpty)
    }

    @Test func `an object that is deleted here and was changed there`() async throws {
        for choice in 0..<3 {
            let (store, session, models) = try await opened()
            try session.delete(models[5])
            try session.delete(models[4])
            try await theirs(store, 5) { $0.text = "theirs" }
            _ = try await store.write { tx in
                try await tx.execute("DELETE FROM memory_parts WHERE target = ?", [ids[4].stored])
                try await tx.delete(MemoryRow.self, ids[4])
            }
            if choice == 0 {
                let error = await #expect(throws: GraphError.self) { try await session.save() }
                #expect(error?.conflicts.map(\.kind) == [.deletedByMe])
                #expect(error?.property == "text" && session.state(of: models[5]) == .deleted)
                try await session.save(onConflict: .mine)
            } else {
                try await session.save(onConflict: choice == 1 ? .mine : .theirs)
            }
            #expect(session.state(of: models[4]) == nil)
            if choice == 2 {
                #expect(models[5].text == "theirs" && session.state(of: models[5]) == .clean)
            } else {
                #expect(try await store.find(MemoryRow.self, ids[5]) == nil && session.state(of: models[5]) == nil)
            }
            #expect(try await session.save().isEmpty)
            try await session.refresh()
            #expect(try session.changes().isEmpty)
        }
    }

    @Test func `lists merge element by element, and the model has the whole`() async throws {
        let (store, session, models) = try await opened()
        let new = Memory(id: UUID())
        models[0].parts = [models[1], models[3], new, models[4]]
        let more = UUID()
        try await store.write { tx in
            try await tx.insert(MemoryRow(id: more, text: "more", count: 0))
        }
        try await theirs(store, 0) { $0.parts = [ids[1], ids[2], ids[3], more, ids[5]].map { Ref($0) } }
        try await session.save()
        let merged = [ids[1], ids[3], more, ids[5], new.id]
        #expect(try await row(store, 0).parts.map(\.id) == merged)
        #expect(models[0].parts.map(\.id) == merged && models[0].parts[2].text == "more")
        #expect(try await session.save().isEmpty)
    }

    @Test func `what repeats in a list is told apart by where it stands`() throws {
        func merged(_ base: [Int], _ mine: [Int], _ theirs: [Int]) -> [String] {
            func keys(_ list: [Int]) -> [[StoredValue]] { list.map { [.integer(Int64($0))] } }
            return ListMerge(base: keys(base), mine: keys(mine), theirs: keys(theirs)).merged.map { "\($0[0])" }
        }
        #expect(merged([1, 2], [1, 2, 1], [2, 1, 2]) == ["2", "1", "2", "1"])
        #expect(merged([1, 3, 1], [3, 1], [1, 3]) == ["3"])
        #expect(merged([1, 2, 3], [1, 9, 2, 3], [1, 2, 8, 3]) == ["1", "9", "2", "8", "3"])
    }

    @Test func `two orders of one list clash`() async throws {
        for choice in 0..<3 {
            let (store, session, models) = try await opened()
            models[0].parts.swapAt(0, 1)
            try await theirs(store, 0) { $0.parts.swapAt(2, 3) }
            if choice == 0 {
                let error = await #expect(throws: GraphError.self) { try await session.save() }
                #expect(error?.conflicts.map(\.kind) == [.list] && error?.property == "parts")
            }
            try await session.save(onConflict: choice == 1 ? .theirs : .mine)
            let expected = choice == 1 ? [1, 2, 4, 3] : [2, 1, 3, 4]
            #expect(try await row(store, 0).parts.map(\.id) == expected.map { ids[$0] })
            #expect(models[0].parts.map(\.id) == expected.map { ids[$0] })
            #expect(try await session.save().isEmpty)
        }
    }

    @Test func `a version makes any two changes of a row a conflict`() async throws {
        for choice in 0..<3 {
            let store = try await GraphStore.open(.inMemory, CountedRow.self)
            let session = GraphSession(store, CountedRow.mapping)
            let one = Memory(id: ids[0])
            let two = Memory(id: ids[1])
            try session.add(one)
            try session.add(two)
            try await session.save()
            one.text = "a"
            #expect(try await session.save().changes.count == 1)
            one.parts = [two]
            try await session.save()
            #expect(try await store.find(CountedRow.self, ids[0])?.version == 3)
            #expect(try await store.find(CountedRow.self, ids[1])?.version == 1)
            let other = GraphSession(store, CountedRow.mapping)
            try #require(try await other.find(CountedRow.self, ids[0])).count = 5
            try await other.save()
            one.text = "b"
            if choice == 0 {
                let error = await #expect(throws: GraphError.self) { try await session.save() }
                #expect(error?.conflicts.map(\.property) == ["version"])
                try await session.save(onConflict: .mine)
            } else {
                try await session.save(onConflict: choice == 1 ? .mine : .theirs)
            }
            let row = try #require(try await store.find(CountedRow.self, ids[0]))
            #expect(row.count == 5 && row.text == (choice == 2 ? "a" : "b") && row.version == (choice == 2 ? 4 : 5))
            #expect(one.text == row.text && one.count == 5)
            #expect(try await session.save().isEmpty)
            one.count = 6
            #expect(try await session.save().changes.count == 1)
        }
    }

    @Test func `a refresh takes merged values, too`() async throws {
        let (store, session, models) = try await opened()
        models[1].text = "mine"
        models[1].place = MemoryPlace(x: 5, y: 2)
        try await theirs(store, 1) {
            $0.text = "theirs"
            $0.place = nil
        }
        try await session.refresh(
            .merging { conflict in
                conflict.property == "text" ? .merged([.text("both")]) : .merged([.integer(3), .integer(4)])
            })
        #expect(models[1].text == "both" && models[1].place == MemoryPlace(x: 3, y: 4))
        #expect(try await session.save().changes.count == 1)
        #expect(try await row(store, 1).place == MemoryPlace(x: 3, y: 4))
    }

    /// What both have in common is there, what either has taken out is not, and nobody's order is lost.
    @Test func `any two edits of a list`() throws {
        let list = Gen<[Int]>.array(of: .int(in: 0...5), count: 0...6)
        try check(list.zip(list).zip(list), count: 2000) { lists, theirs in
            let (base, mine) = lists
            func merged(_ base: [Int], _ mine: [Int], _ theirs: [Int]) -> ListMerge {
                ListMerge(
                    base: base.map { [.integer(Int64($0))] }, mine: mine.map { [.integer(Int64($0))] },
                    theirs: theirs.map { [.integer(Int64($0))] })
            }
            func count(_ key: Int, _ list: [Int]) -> Int { list.count { $0 == key } }
            let result = merged(base, mine, theirs).merged.compactMap { key -> Int? in
                if case .integer(let number)? = key.first { Int(number) } else { nil }
            }
            for key in 0...5 {
                let mine = count(key, mine) - count(key, base)
                let theirs = count(key, theirs) - count(key, base)
                // Both may have taken out the same one, or one each.
                let least =
                    mine < 0 && theirs < 0 ? mine + theirs : mine * theirs > 0 ? max(mine, theirs) : mine + theirs
                let most = mine < 0 && theirs < 0 ? min(mine, theirs) : least
                let change = count(key, result) - count(key, base)
                try ensure(
                    change >= max(least, -count(key, base)) && change <= most,
                    "\(key) in \(result) of \(base) \(mine) \(theirs)")
            }
            let quiet = merged(base, base, theirs)
            try ensure(!quiet.isClash && quiet.merged.map { "\($0[0])" } == theirs.map { "\($0)" }, "one edit only")
            let same = merged(base, mine, mine)
            try ensure(!same.isClash && same.merged.map { "\($0[0])" } == mine.map { "\($0)" }, "the same edit")
        }
    }

    /// By the store, by SQL of one's own, or by another program, which gives rows whatever positions it likes.
    @Test func `whoever has edited a list meanwhile, a save notices`() async throws {
        let file = try Scratch.file()
        defer { try? FileManager.default.removeItem(atPath: file) }
        let store = try await GraphStore.open(.file(file), TallyRow.self, MarkRow.self)
        let other = try Connection(path: file, readOnly: false, busyTimeout: .seconds(5))
        try await store.write { tx in
            for id in 0...5 { try await tx.insert(MarkRow(id: id)) }
            try await tx.insert(TallyRow(id: 0, count: 0, name: "", marks: []))
        }
        func keys(_ list: [Int]) -> [[StoredValue]] { list.map { [.integer(Int64($0))] } }
        func write(_ list: [Int], _ writer: Int) async throws {
            guard writer > 0 else {
                return try await store.write { tx in
                    _ = try await tx.upsert(TallyRow(id: 0, count: 0, name: "", marks: list.map { Ref($0) }))
                }
            }
            let sql =
                ["DELETE FROM tally_marks"]
                + list.enumerated().map { place, mark in
                    "INSERT INTO tally_marks (owner, position, target) VALUES (0, \(place * writer), \(mark))"
                }
            guard writer > 2 else {
                return try await store.write { tx in for sql in sql { try await tx.execute(sql) } }
            }
            for sql in ["BEGIN IMMEDIATE"] + sql + ["COMMIT"] { try other.execute(sql) }
        }
        let list = Gen<[Int]>.array(of: .int(in: 0...5), count: 0...6)
        let writer = Gen<Int>.int(in: 0...4)
        try await check(list.zip(list).zip(list).zip(writer.zip(writer)), count: times(200, soak: 5000)) {
            lists, writers in
            let ((base, mine), theirs) = lists
            try await write(base, writers.0)
            let session = GraphSession(store, TallyRow.mapping, MarkRow.mapping)
            let marks = try await session.models(Query(MarkRow.self).sorted(by: \.id))
            let tally = try #require(try await session.find(TallyRow.self, 0))
            // Half of the time nobody else writes, and half of the time the same again.
            let isOther = writers.1 % 2 == 0
            if isOther { try await write(theirs, writers.1) }
            tally.marks = mine.map { marks[$0] }
            try await session.save(onConflict: .mine)
            let merge = ListMerge(base: keys(base), mine: keys(mine), theirs: keys(isOther ? theirs : base))
            let expected = base == mine && isOther ? keys(theirs) : merge.merged
            let found = try #require(try await store.find(TallyRow.self, 0)).marks.map {
                [StoredValue.integer(Int64($0.id))]
            }
            try ensure(found == expected, "\(found) in place of \(expected)")
            try ensure(try await session.save().isEmpty, "a second save writes")
            guard base != mine else { return }
            try ensure(keys(tally.marks.map(\.id)) == expected, "the model has \(tally.marks.map(\.id))")
        }
    }

    /// The store knows long lists that it has written itself, and does not read them again for an append: it has to notice
    /// whatever else is written, and what is undone.
    @Test func `a long list that is edited many times by many`() async throws {
        let file = try Scratch.file()
        defer { try? FileManager.default.removeItem(atPath: file) }
        let store = try await GraphStore.open(.file(file), TallyRow.self, MarkRow.self)
        let other = try Connection(path: file, readOnly: false, busyTimeout: .seconds(5))
        try await store.write { tx in
            for id in 0..<10 { try await tx.insert(MarkRow(id: id)) }
            try await tx.insert(TallyRow(id: 1, count: 0, name: "", marks: (0..<100).map { Ref($0 % 10) }))
        }
        func keys(_ list: [Int]) -> [[StoredValue]] { list.map { [.integer(Int64($0))] } }
        struct Undo: Error {}
        let steps = Gen<Int>.int(in: 0...9).zip(.int(in: 0...99))
        try await check(.array(of: steps, count: 1...12), count: times(60, soak: 2000)) { steps in
            var stored = (0..<KnownLists.least + 6).map { $0 * 7 % 10 }
            let start = stored
            try await store.write { tx in
                _ = try await tx.upsert(TallyRow(id: 0, count: 0, name: "", marks: start.map { Ref($0) }))
            }
            let session = GraphSession(store, TallyRow.mapping, MarkRow.mapping)
            let marks = try await session.models(Query(MarkRow.self).sorted(by: \.id))
            let tally = try #require(try await session.find(TallyRow.self, 0))
            var base = stored
            func save() async throws {
                let mine = tally.marks.map(\.id)
                let merge = ListMerge(base: keys(base), mine: keys(mine), theirs: keys(stored))
                try await session.save(onConflict: .mine)
                if mine != base {
                    stored = merge.merged.compactMap { if case .integer(let id) = $0[0] { Int(id) } else { nil } }
                }
                base = mine == base ? base : stored
                try ensure(tally.marks.map(\.id) == base, "the model has \(tally.marks.map(\.id)), not \(base)")
            }
            for (step, number) in steps {
                let place = number % stored.count
                let target = (stored[place] + 1 + number % 9) % 10
                let sql = """
                    UPDATE tally_marks SET target = \(target) WHERE owner = 0 AND position =
                    (SELECT position FROM tally_marks WHERE owner = 0 ORDER BY position LIMIT 1 OFFSET \(place))
                    """
                switch step {
                case 0, 1, 2: tally.marks.append(marks[number % 10])
                case 3: tally.marks[tally.marks.count - 1 - number % 3] = marks[number / 10]
                case 4: tally.marks.insert(tally.marks.removeLast(), at: number % tally.marks.count)
                case 5:
                    try await store.write { try await $0.execute(sql) }
                    stored[place] = target
                case 6:
                    try other.execute(sql)
                    stored[place] = target
                case 7:
                    stored.swapAt(place, 0)
                    let list = stored
                    try await store.write { tx in
                        _ = try await tx.upsert(TallyRow(id: 0, count: 0, name: "", marks: list.map { Ref($0) }))
                    }
                case 8:
                    tally.marks.append(marks[number % 10])
                    await #expect(throws: Undo.self) {
                        try await store.write { tx in
                            try await session.save(onConflict: .mine, in: tx)
                            throw Undo()
                        }
                    }
                default:
                    tally.marks.append(marks[number % 10])
                    try await store.write { tx in
                        await #expect(throws: Undo.self) {
                            try await tx.savepoint {
                                try await session.save(onConflict: .mine, in: tx)
                                throw Undo()
                            }
                        }
                        _ = try await tx.upsert(TallyRow(id: 1, count: number, name: "", marks: []))
                    }
                }
                if !(5...7).contains(step) || number % 2 == 0 { try await save() }
                let found = try #require(try await store.find(TallyRow.self, 0)).marks.map(\.id)
                try ensure(found == stored, "\(found) in place of \(stored)")
            }
        }
    }

    @Test func `an append to a long list that nobody else has written reads only its end`() async throws {
        let log = Statements()
        var options = GraphStore.Options()
        options.prepare = { connection in try connection.onStatement { log.add($0) } }
        let store = try await GraphStore.open(.inMemory, options: options, TallyRow.self, MarkRow.self)
        let session = GraphSession(store, TallyRow.mapping, MarkRow.mapping)
        let mark = Mark(id: 1)
        let tally = Tally(id: 0)
        tally.marks = Array(repeating: mark, count: 100)
        try session.add(tally)
        try await session.save()
        for isOther in [false, false, true, false] {
            if isOther {
                try await store.write { try await $0.execute("UPDATE tally_marks SET position = position + 1") }
            }
            tally.marks.append(mark)
            tally.count += 1
            log.clear()
            try await session.save()
            let reads = log.all.filter { $0.contains("tally_marks") && $0.hasPrefix("SELECT") }
            #expect(reads.count == 1 && reads[0].hasSuffix("LIMIT ?") == !isOther, "\(reads)")
        }
        #expect(try await store.find(TallyRow.self, 0)?.marks.count == 104)
    }

    @Test(arguments: [false, true]) func `of what is undone nothing is known`(_ isSavepoint: Bool) async throws {
        let store = try await GraphStore.open(.inMemory, TallyRow.self, MarkRow.self)
        try await store.write { tx in
            for id in 0..<3 { try await tx.insert(MarkRow(id: id)) }
            try await tx.insert(
                TallyRow(id: 0, count: 0, name: "", marks: Array(repeating: Ref(0), count: KnownLists.least * 2)))
        }
        func opened() async throws -> (session: GraphSession, tally: Tally, marks: [Mark]) {
            let session = GraphSession(store, TallyRow.mapping, MarkRow.mapping)
            let marks = try await session.models(Query(MarkRow.self).sorted(by: \.id))
            return (session, try #require(try await session.find(TallyRow.self, 0)), marks)
        }
        let (one, two) = (try await opened(), try await opened())
        one.tally.marks[10] = one.marks[1]
        try await one.session.save()
        // Back to what the other session has read, and undone.
        one.tally.marks[10] = one.marks[0]
        struct Undo: Error {}
        func save(_ tx: WriteTransaction) async throws {
            try await one.session.save(in: tx)
            throw Undo()
        }
        if isSavepoint {
            try await store.write { tx in
                await #expect(throws: Undo.self) { try await tx.savepoint { try await save(tx) } }
            }
        } else {
            await #expect(throws: Undo.self) { try await store.write { tx in try await save(tx) } }
        }
        two.tally.marks.append(two.marks[2])
        try await two.session.save()
        let stored = try #require(try await store.find(TallyRow.self, 0)).marks.map(\.id)
        #expect(stored[10] == 1 && stored.last == 2)
        #expect(two.tally.marks.map(\.id) == stored)
    }
}
