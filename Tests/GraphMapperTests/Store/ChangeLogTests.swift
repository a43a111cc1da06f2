import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Pen: StoredRecord, Equatable {
    let id: Int
    var name: String
    var ink: Double
    var peers: [Ref<Pen>]
    static let schema = Schema<Self>("pen") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), ink: row("ink", \.ink), peers: row("peers", \.peers))
    }
    init(id: Int, name: String = "", ink: Double = 0, peers: [Ref<Pen>] = []) {
        self.id = id
        self.name = name
        self.ink = ink
        self.peers = peers
    }
}

private struct Crate: StoredRecord {
    let id: FullName
    var size: Int
    static let schema = Schema<Self>("crate") { row in try Self(id: row("id", \.id), size: row("size", \.size)) }
}

private struct Slot: StoredRecord {
    let id: Int
    var number: Int
    static let schema = Schema<Self>("slot") { row in try Self(id: row("id", \.id), number: row("number", \.number)) }
    static let indexes: [Index<Self>] = [.unique(\.number)]
}

private func opened(_ location: GraphStore.Location = .inMemory) async throws -> GraphStore {
    try await GraphStore.open(location, Pen.self, Crate.self)
}

/// Records as text, without their numbers.
private func texts(_ records: [ChangeRecord]) -> [String] {
    records.map { record in
        let key = record.key.map { $0.map(\.description).joined(separator: "/") } ?? "*"
        return "\(record.kind) \(record.table) \(key) \(record.columns?.joined(separator: ",") ?? "all")"
    }
}

private struct Stop: Error {}

@Suite struct `Change records` {
    @Test func `one a write, with table, key and columns`() async throws {
        let store = try await opened()
        let box = FullName(first: "a, 'b'", last: "X'00'")
        try await store.write { tx in
            try await tx.insert(Pen(id: 1))
            try await tx.insert(Pen(id: 2, peers: [Ref(1), Ref(2)]))
            try await tx.insert(Crate(id: box, size: 1))
        }
        try await store.write { tx in
            try await tx.upsert(Pen(id: 1, name: "a", ink: 2))
            try await tx.upsert(Pen(id: 1, name: "a", ink: 2, peers: [Ref(2)]))
            _ = try await tx.apply(Patch(Crate.self, box).set(\.size, 3))
            _ = try await tx.delete(Crate.self, box)
        }
        let records = try await store.changeRecords()
        #expect(
            texts(records) == [
                "insert pen 1 all", "insert pen 2 all", "insert crate \"a, 'b'\"/\"X'00'\" all",
                "update pen 1 name,ink", "update pen 1 peers", "update crate \"a, 'b'\"/\"X'00'\" size",
                "delete crate \"a, 'b'\"/\"X'00'\" all",
            ])
        #expect(records.map(\.sequence) == [1, 2, 3, 4, 5, 6, 7])
        #expect(records.map(\.transaction) == [1, 1, 1, 4, 4, 4, 4])
        #expect(try await store.changeRecords(after: 5).map(\.sequence) == [6, 7])
        #expect(try await store.changeRecords(after: 7).isEmpty)
        #expect(try await store.changeRecords(after: .max).isEmpty)
    }

    @Test func `a save leaves one for each of its changes`() async throws {
        let store = try await openTown()
        let session = townSession(store)
        let people = (1...4).map { Person(id: $0, name: "\($0)") }
        for person in people { try session.add(person) }
        try await session.save()
        people[0].name = "ann"
        people[1].boss = people[0]
        try session.delete(people[3])
        try session.add(Person(id: 5, name: "new"))
        let start = try await store.changeRecords().last?.sequence ?? 0
        let changes = try await session.save()
        let expected = changes.changes.map { change in
            switch change {
            case .insert(let row): "insert \(row.table) \(row.key[0]) all"
            case .update(let row): "update \(row.table) \(row.key[0]) \(row.columns.joined(separator: ","))"
            case .relink(let link): "update \(link.table) \(link.key[0]) \(link.property)"
            case .delete(let row): "delete \(row.table) \(row.key[0]) all"
            }
        }
        #expect(expected.count == 4)
        #expect(texts(try await store.changeRecords(after: start)) == expected)
    }

    /// The update that makes room for another is no write of anybody's.
    @Test func `a swap of unique values leaves two`() async throws {
        let store = try await GraphStore.open(.inMemory, Slot.self)
        try await store.write { try await $0.insert(contentsOf: [Slot(id: 1, number: 10), Slot(id: 2, number: 20)]) }
        try await store.write { tx in
            try await tx.apply(
                ChangeSet(
                    [(1, 10, -1), (2, 20, 10), (1, -1, 20)].map { id, old, new in
                        .update(
                            .init(
                                table: "slot", keyColumns: ["id"], key: [.integer(id)], columns: ["number"],
                                values: [.integer(new)], expected: [.integer(old)], isInterim: new < 0))
                    }))
        }
        let updates = texts(try await store.changeRecords(after: 2))
        #expect(Set(updates) == ["update slot 1 number", "update slot 2 number"] && updates.count == 2)
    }

    @Test func `what writes nothing leaves nothing`() async throws {
        let store = try await opened()
        try await store.write { tx in
            try await tx.insert(Pen(id: 1))
            try await tx.insert(Pen(id: 2))
        }
        let known = try await store.changeRecords().count
        try await store.write { tx in
            _ = try await tx.upsert(Pen(id: 1))
            _ = try await tx.apply(Patch(Pen.self, 9).set(\.name, "x"))
            _ = try await tx.delete(Pen.self, 9)
            try await tx.execute("UPDATE pen SET name = 'x' WHERE id = 9")
            try await tx.execute("CREATE TABLE mine (x)")
            try await tx.apply(.delete(.init(table: "pen", keyColumns: ["id"], key: [.integer(9)])))
        }
        await #expect(throws: Stop.self) {
            try await store.write { tx in
                try await tx.insert(Pen(id: 3))
                throw Stop()
            }
        }
        try await store.write { tx in
            do {
                try await tx.savepoint {
                    try await tx.insert(Pen(id: 3))
                    throw Stop()
                }
            } catch is Stop {}
        }
        #expect(try await store.changeRecords().count == known)
    }

    @Test func `statements of one's own are told by table and column`() async throws {
        let store = try await opened()
        try await store.write { tx in
            try await tx.insert(Pen(id: 1, peers: [Ref(1)]))
            try await tx.execute("CREATE TABLE mine (x)")
            try await tx.execute(
                "CREATE TRIGGER t AFTER UPDATE OF ink ON pen BEGIN INSERT INTO mine VALUES (new.ink); END")
        }
        let start = try await store.changeRecords().count
        for _ in 0..<2 {
            try await store.write { tx async throws in
                try await tx.execute("UPDATE pen SET name = ?, ink = ink + 1", [.text("x")])
                try await tx.execute("INSERT INTO pen_peers VALUES (1, 5 + (SELECT max(position) FROM pen_peers), 1)")
            }
        }
        let records = texts(try await store.changeRecords(after: Int64(start)))
        let each = ["update pen * name,ink,peers", "insert mine * all"]
        #expect(records == each + each)
        try await store.write { try await $0.execute("DELETE FROM pen") }
        let last = texts(try await store.changeRecords()).suffix(2)
        #expect(Set(last) == ["delete pen * all", "update pen * peers"])
        try await store.write { tx in
            try await tx.insert(Pen(id: 1))
            try await tx.execute("DROP TRIGGER t")
            try await tx.execute("UPDATE pen SET name = ?, ink = ink + 1", [.text("x")])
        }
        #expect(texts(try await store.changeRecords()).suffix(2) == ["insert pen 1 all", "update pen * name,ink"])
    }

    /// Up to 64 rows each have a record; one more, and there is one for all of them.
    @Test(arguments: [63, 64, 65, 1000]) func `many rows of a kind collapse`(_ count: Int) async throws {
        let store = try await opened()
        try await store.write { try await $0.insert(contentsOf: (0..<count).map { Pen(id: $0, peers: [Ref(0)]) }) }
        let inserted = try await store.changeRecords()
        #expect(inserted.count(where: { $0.kind == .insert }) == (count > 64 ? 1 : count))
        #expect(inserted.allSatisfy { ($0.key == nil) == (count > 64) || $0.kind == .update })
        try await store.write { tx in
            for id in 0..<count {
                _ = try await tx.apply(
                    id % 2 == 0 ? Patch(Pen.self, id).set(\.name, "x") : Patch(Pen.self, id).set(\.ink, 1))
            }
        }
        let updated = try await store.changeRecords(after: inserted.last?.sequence ?? 0)
        #expect(updated.count == (count > 64 ? 1 : count))
        if count > 64 { #expect(texts(updated) == ["update pen * name,ink"]) }
    }

    @Test func `the last 4096 are kept, and numbers go on`() async throws {
        let file = try Scratch.file()
        for round in 0..<2 {
            let store = try await opened(.file(file))
            for part in 0..<40 {
                try await store.write { tx in
                    for id in 0..<60 { try await tx.insert(Pen(id: round * 10_000 + part * 100 + id)) }
                }
            }
            let records = try await store.changeRecords()
            let last = Int64((round + 1) * 2400)
            #expect(records.count == min(4096, Int(last)) && records.last?.sequence == last)
            #expect(zip(records, records.dropFirst()).allSatisfy { $0.sequence + 1 == $1.sequence })
        }
    }

    /// Who keeps a copy up to date by the records has, after any writes, what the store has.
    @Test func `a copy that follows the records`() async throws {
        let writes = Gen.array(of: Gen<Int>.int(in: 0...399), count: 1...90)
        try await check("a copy follows", Gen.array(of: writes, count: 1...5), count: 30) { transactions in
            let store = try await opened()
            var copy: [Int: Pen] = [:]
            var known: Int64 = 0
            for (number, writes) in transactions.enumerated() {
                try await store.write { tx in
                    for write in writes {
                        let id = write % 100
                        switch write / 100 {
                        case 0: _ = try await tx.upsert(Pen(id: id, name: "\(number) \(write)"))
                        case 1: _ = try await tx.delete(Pen.self, id)
                        case 2: _ = try await tx.apply(Patch(Pen.self, id).set(\.ink, Double(number)))
                        default: try await tx.execute("UPDATE pen SET ink = ink + 1 WHERE id < ?", [.integer(3)])
                        }
                    }
                }
                let start = known
                let records = try await store.changeRecords(after: start)
                try ensure(records.first.map { $0.sequence == start + 1 } ?? true)
                known = records.last?.sequence ?? known
                let isAll = records.contains { $0.key == nil }
                if isAll { copy = [:] }
                let all = try await store.fetch(Query(Pen.self))
                let changed = Set(records.compactMap(\.key))
                for pen in all where isAll || changed.contains([.integer(Int64(pen.id))]) { copy[pen.id] = pen }
                for key in changed {
                    guard case .integer(let id) = key[0], !all.contains(where: { $0.id == Int(id) }) else { continue }
                    copy[Int(id)] = nil
                }
                let stored = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
                try ensure(copy == stored, "\(copy) is not \(stored)")
            }
        }
    }

    @Test func `another store of the file leaves records too, and readers see a snapshot`() async throws {
        let file = try Scratch.file()
        let one = try await opened(.file(file))
        let two = try await opened(.file(file))
        try await one.read { tx async throws in
            let before = try await tx.changeRecords()
            #expect(before.isEmpty)
            try await two.write { try await $0.insert(Pen(id: 1)) }
            #expect(try await tx.changeRecords().isEmpty)
        }
        #expect(texts(try await one.changeRecords()) == ["insert pen 1 all"])
    }

    @Test func `they are not counted among the statements`() async throws {
        let store = try await opened()
        let before = try await store.write { $0.statementCount }
        try await store.write { try await $0.insert(Pen(id: 1)) }
        // BEGIN, INSERT, COMMIT, BEGIN; the last one's COMMIT comes later. And the COMMIT before.
        #expect(try await store.write { $0.statementCount } == before + 5)
    }

    @Test func `a record that cannot be read`() async throws {
        let store = try await opened()
        try store.writer.execute("INSERT INTO graphmapper_change VALUES (1, 1, 'pen', 'update', 'nonsense', NULL)")
        let error = await #expect(throws: StoreError.self) { _ = try await store.changeRecords() }
        #expect(error?.table == "graphmapper_change")
        try store.writer.execute("UPDATE graphmapper_change SET seq = ?", [.integer(.max)])
        let full = await #expect(throws: StoreError.self) { try await store.write { try await $0.insert(Pen(id: 1)) } }
        #expect(full?.table == "graphmapper_change")
        #expect(try await store.count(Query(Pen.self)) == 0)
    }

    @Test func `a file without them, opened to be read`() async throws {
        let file = try Scratch.file()
        _ = try await opened(.file(file))
        try Connection(path: file, readOnly: false, busyTimeout: .seconds(1)).execute("DROP TABLE graphmapper_change")
        var options = GraphStore.Options()
        options.isReadOnly = true
        let store = try await GraphStore.open(.file(file), options: options, Pen.self)
        #expect(try await store.changeRecords().isEmpty)
    }

    @Test func `values and names as text come back to the bit`() throws {
        let value: Gen<StoredValue> = .oneOf(
            .always(.null), Gen<Int>.int().map { .integer(Int64($0)) }, Gen<String>.string.map { .text($0) },
            Gen<Double>.double.map { $0.isNaN ? .real(.infinity) : .real($0) },
            Gen<Data>.data.map { .blob([UInt8]($0)) })
        try check("values", Gen.array(of: value, count: 1...4)) { values in
            try ensure(Literals.values(Literals.text(values)) == values, Literals.text(values))
        }
        try check("names", Gen.array(of: Gen<String>.string, count: 1...4)) { names in
            let back = Literals.names(Literals.text(names: names))
            try ensure(back.map { $0.map { Array($0.utf8) } } == names.map { Array($0.utf8) })
        }
        try check("any text", Gen<String>.string) { text in
            if let values = Literals.values(text) { try ensure(Literals.values(Literals.text(values)) == values) }
        }
        for text in ["", "'", "'a", "X'0'", "X'0g'", "1,2", "1, ", "nil", "'a'b"] {
            #expect(Literals.values(text) == nil, "\(text)")
        }
    }
}
