import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// Observes a query step by step.
struct Observer<R: StoredRecord> {
    private var iterator: Changes<CollectionChange<R>>.AsyncIterator

    init(_ store: GraphStore, _ query: Query<R>, observing: [any PartialKeyPath<R> & Sendable]? = nil) async throws {
        iterator = store.changes(of: query, observing: observing).makeAsyncIterator()
        guard case .initial? = try await iterator.next() else { throw Violation(description: "not initial") }
    }

    /// Deletions, insertions, modifications.
    mutating func next() async throws -> [[Int]] {
        guard case .update(_, let deletions, let insertions, let modifications)? = try await iterator.next() else {
            throw Violation(description: "not an update")
        }
        return [deletions, insertions, modifications]
    }
}

private struct Undo: Error {}

/// Runs a program to its end.
func run(_ program: String, _ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
}

@Suite struct `What observers are told of` {
    private let byName = Query(WareRecord.self).sorted(by: \.name)

    private func three(_ location: GraphStore.Location = .inMemory) async throws -> GraphStore {
        let store = try await openWares(location)
        try await store.write { tx in
            try await tx.insert(contentsOf: [("ann", 1), ("bob", 2), ("dan", 3)].map { WareRecord(id: $1, name: $0) })
        }
        return store
    }

    /// Scenario 8 of the cases.
    @Test func `one commit that deletes, inserts and edits is one change`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName)
        try await store.write { tx in
            _ = try await tx.delete(WareRecord.self, 2)
            try await tx.insert(WareRecord(id: 4, name: "cat"))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.price, 9))
        }
        #expect(try await observer.next() == [[1], [1], [0]])
    }

    /// Realm 26 and 28.
    @Test func `a row that comes to match is inserted, one that moves is deleted and inserted`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName.where { $0.group == 0 })
        var whole = store.changes(of: byName).makeAsyncIterator()
        _ = try await whole.next()
        try await store.write { try await $0.insert(WareRecord(id: 4, name: "cat", group: 1)) }
        _ = try await whole.next()
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 4).set(\.group, 0)) }
        #expect(try await observer.next() == [[], [2], []])
        _ = try await whole.next()
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.name, "eve")) }
        #expect(try await observer.next() == [[0], [3], []])
        let change = try await whole.next()
        #expect(change?.moves == [CollectionMove(from: 0, to: 3)])
        // It is sorted by something else, but stays where it is.
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.name, "eva")) }
        #expect(try await observer.next() == [[], [], [3]])
    }

    /// Realm 30.
    @Test func `the first element has what was written before, and no changes`() async throws {
        let store = try await openWares()
        var changes = store.changes(of: byName).makeAsyncIterator()
        try await store.write { try await $0.insert(WareRecord(id: 1)) }
        guard case .initial(let first)? = try await changes.next() else { throw Violation(description: "not initial") }
        #expect(first.map(\.id) == [1])
    }

    /// Realm 14, and changes that cancel out: what comes next is the change after them.
    @Test func `what changes nothing is not told of`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName)
        var watched = try await Observer(store, byName, observing: [\.price])
        let records = try await store.fetch(byName)
        try await store.write { tx in for record in records { try await tx.upsert(record, policy: .all) } }
        try await store.write { tx in
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.price, 5))
            try await tx.insert(WareRecord(id: 9))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.price, 0))
            _ = try await tx.delete(WareRecord.self, 9)
        }
        try await store.write { try await $0.execute("UPDATE ware SET price = price") }
        await #expect(throws: Undo.self) {
            try await store.write { tx in
                _ = try await tx.delete(WareRecord.self, 1)
                throw Undo()
            }
        }
        try await store.write { try await $0.insert(DepotRecord(id: 1, name: "d")) }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 3).set(\.group, 5)) }
        #expect(try await observer.next() == [[], [], [2]])
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 5)) }
        #expect(try await watched.next() == [[], [], [1]])
    }

    /// The observer is not even woken.
    @Test func `writes to other tables and columns cost nothing`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName, observing: [\.price])
        try await store.write { try await $0.insert(DepotRecord(id: 1, name: "d")) }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.group, 5)) }
        #expect(store.broadcaster.pendingCount == 0)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.price, 5)) }
        #expect(store.broadcaster.pendingCount == 1)
        #expect(try await observer.next() == [[], [], [0]])
    }

    @Test func `raw statements and lists`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName)
        try await store.write { try await $0.execute("UPDATE ware SET price = 7 WHERE id > 1") }
        #expect(try await observer.next() == [[], [], [1, 2]])
        _ = try await store.write { try await $0.upsert(WareRecord(id: 1, name: "ann", parts: [Ref(2), Ref(3)])) }
        #expect(try await observer.next() == [[], [], [0]])
        try await store.write { try await $0.execute("DELETE FROM ware_parts WHERE target = 3") }
        #expect(try await observer.next() == [[], [], [0]])
        try await store.write { try await $0.execute("DELETE FROM ware_parts") }
        #expect(try await observer.next() == [[], [], [0]])
        try await store.write { try await $0.execute("DELETE FROM ware") }
        #expect(try await observer.next() == [[0, 1, 2], [], []])
    }

    @Test func `a COMMIT of one's own is refused, and tells nothing`() async throws {
        let store = try await three()
        var observer = try await Observer(store, byName)
        await #expect(throws: StoreError.self) {
            try await store.write { tx in
                _ = try await tx.delete(WareRecord.self, 1)
                try await tx.execute("COMMIT")
            }
        }
        try await store.write { _ = try await $0.delete(WareRecord.self, 3) }
        #expect(try await observer.next() == [[2], [], []])
    }

    @Test func `triggers and cascades`() async throws {
        let store = try await three()
        try await store.write { tx in
            try await tx.insert(DepotRecord(id: 1, name: "d"))
            try await tx.execute(
                "CREATE TRIGGER t AFTER UPDATE OF name ON depot BEGIN UPDATE ware SET price = price + 1 WHERE id = 2; END"
            )
            try await tx.execute(
                "CREATE TRIGGER u AFTER DELETE ON ware BEGIN INSERT INTO ware (id, price, \"group\") VALUES (99, 0, 0); END"
            )
        }
        var observer = try await Observer(store, byName)
        try await store.write { _ = try await $0.apply(Patch(DepotRecord.self, 1).set(\.name, "e")) }
        #expect(try await observer.next() == [[], [], [1]])
        _ = try await store.write { try await $0.upsert(DepotRecord(id: 1, name: "f")) }
        #expect(try await observer.next() == [[], [], [1]])
        try await store.write { _ = try await $0.delete(WareRecord.self, 2) }
        #expect(try await observer.next() == [[1], [0], []])
        try await store.write { tx in
            try await tx.execute("DROP TRIGGER u")
            try await tx.execute("CREATE TABLE mine (ware REFERENCES ware ON DELETE CASCADE)")
            try await tx.execute(
                "CREATE TRIGGER v AFTER DELETE ON mine BEGIN UPDATE ware SET price = 50 WHERE id = 1; END")
            try await tx.execute("INSERT INTO mine VALUES (3)")
        }
        try await store.write { _ = try await $0.delete(WareRecord.self, 3) }
        #expect(try await observer.next() == [[2], [], [1]])
    }

    @Test func `another store of the same file`() async throws {
        let file = try Scratch.file()
        let store = try await three(.file(file))
        var observer = try await Observer(store, byName)
        let other = try await openWares(.file(file))
        try await other.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 5)) }
        #expect(try await observer.next() == [[], [], [1]])
    }

    private static let shell = "/usr/bin/sqlite3"
    private static let hasShell = FileManager.default.isExecutableFile(atPath: shell)

    @Test(.enabled(if: hasShell, "there is no sqlite3 shell")) func `another process`() async throws {
        let shell = Self.shell
        let file = try Scratch.file()
        let store = try await three(.file(file))
        var observer = try await Observer(store, byName)
        #expect(try run(shell, [file, "DELETE FROM ware WHERE id = 1"]) == 0)
        #expect(try await observer.next() == [[0], [], []])
        // Both at once.
        #expect(try run(shell, [file, "INSERT INTO ware VALUES (7, 'zoe', 1, 1, NULL)"]) == 0)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 3).set(\.price, 8)) }
        var changes = try await observer.next()
        if changes != [[], [2], [1]] { changes = try await observer.next() }
        #expect(changes == [[], [2], [1]] || changes == [[], [2], []])
    }

    @Test func `where only stores write, their change records tell what is concerned`() async throws {
        let file = try Scratch.file()
        var options = GraphStore.Options()
        options.onlyStoresWrite = true
        // It does not look by itself.
        options.watchInterval = .seconds(3600)
        let other = try await three(.file(file))
        let store = try await GraphStore.open(.file(file), options: options, WareRecord.self, DepotRecord.self)
        var observer = try await Observer(store, byName)
        var one = try await Observer(store, Query(WareRecord.self).where { $0.id == 3 })
        try await other.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 5)) }
        try await other.write { try await $0.insert(DepotRecord(id: 1, name: "d")) }
        // A write finds what others have written.
        try await store.write { _ in }
        #expect(store.broadcaster.pendingCount == 1)
        #expect(try await observer.next() == [[], [], [1]])
        // Records that are gone by now may have said anything.
        try await other.write { tx in
            for id in 0..<40 { _ = try await tx.apply(Patch(WareRecord.self, 3).set(\.price, Double(id))) }
        }
        try await other.write { try await $0.execute("DELETE FROM graphmapper_change WHERE seq < 44") }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.price, 1)) }
        #expect(try await observer.next() == [[], [], [0, 2]])
        #expect(try await one.next() == [[], [], [0]])
    }

    @Test func `of many observers of a table, those are told whom a write concerns`() async throws {
        let store = try await openWares()
        let count = 200
        try await store.write { tx in
            for id in 0..<count { try await tx.insert(WareRecord(id: id, group: id)) }
        }
        var observers: [Stepper<LiveRows<WareRecord>>] = []
        for group in 0..<count {
            observers.append(
                try await Stepper(store, LiveRows(Query(WareRecord.self).where { $0.group == group })))
        }
        func told() async throws -> [Int] {
            let pending = store.broadcaster.pendingCount
            var told: [Int] = []
            for place in observers.indices where try await observers[place].step() != nil { told.append(place) }
            #expect(pending == told.count)
            return told
        }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 7).set(\.price, 1)) }
        #expect(try await told() == [7])
        try await store.write { try await $0.insert(WareRecord(id: 900, group: 9)) }
        #expect(try await told() == [9])
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 900).set(\.group, 11)) }
        #expect(try await told() == [9, 11])
        try await store.write { _ = try await $0.upsert(WareRecord(id: 900, group: 13)) }
        #expect(try await told() == [11, 13])
        try await store.write { _ = try await $0.delete(WareRecord.self, 900) }
        #expect(try await told() == [13])
        try await store.write { tx in
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.group, 2))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.group, 3))
            _ = try await tx.apply(Patch(WareRecord.self, 4).set(\.group, 5))
            _ = try await tx.delete(WareRecord.self, 4)
        }
        #expect(try await told() == [1, 3, 4])
        // Nobody knows whom this concerns.
        try await store.write { try await $0.execute("UPDATE ware SET \"group\" = 6 WHERE id = 5") }
        #expect(store.broadcaster.pendingCount == count)
    }

    /// What a row held in the middle of a transaction is nothing that an observer has seen.
    @Test func `a row that is replaced in a transaction and deleted again is told of by what it was before`()
        async throws
    {
        let store = try await openWares()
        try await store.write { try await $0.insert(WareRecord(id: 1, group: 5)) }
        var observer = try await Stepper(store, LiveRows(Query(WareRecord.self).where { $0.group == 5 }))
        try await store.write { tx in
            _ = try await tx.delete(WareRecord.self) { $0.id == 1 }
            try await tx.insert(WareRecord(id: 1, group: 6))
            _ = try await tx.delete(WareRecord.self, 1)
        }
        #expect(try await observer.step()?.collection.isEmpty == true)
    }

    @Test func `a store that only reads is told of what others write`() async throws {
        let file = try Scratch.file()
        let store = try await three(.file(file))
        var options = GraphStore.Options()
        options.isReadOnly = true
        options.watchInterval = .seconds(0.01)
        let reader = try await GraphStore.open(.file(file), options: options, WareRecord.self, DepotRecord.self)
        var observer = try await Observer(reader, byName)
        try await store.write { _ = try await $0.delete(WareRecord.self, 2) }
        #expect(try await observer.next() == [[1], [], []])
    }

    /// Realm 22: nothing is invalid here.
    @Test func `a result that depends on a deleted row is empty`() async throws {
        let store = try await three()
        try await store.write { tx in
            try await tx.insert(DepotRecord(id: 1, name: "d"))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.depot, Ref(1)))
        }
        var changes = store.changes(of: byName.where { $0.depot.name == "d" }).makeAsyncIterator()
        #expect(try await changes.next()?.collection.count == 1)
        try await store.write { tx in
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.depot, nil))
            _ = try await tx.delete(DepotRecord.self, 1)
        }
        #expect(try await changes.next()?.collection.isEmpty == true)
        try await store.write { tx in
            try await tx.insert(DepotRecord(id: 2, name: "e"))
            _ = try await tx.apply(Patch(WareRecord.self, 3).set(\.depot, Ref(2)))
        }
        // Only the other table is written to.
        try await store.write { _ = try await $0.apply(Patch(DepotRecord.self, 2).set(\.name, "d")) }
        #expect(try await changes.next()?.collection.map(\.id) == [3])
    }

    /// What a row's condition sees of another row of its table.
    @Test func `a row that comes to match since another one has changed`() async throws {
        let store = try await three()
        try await store.write { _ = try await $0.upsert(WareRecord(id: 1, name: "ann", parts: [Ref(2)])) }
        var observer = try await Observer(store, byName.where { $0.parts.any { $0.price > 1 } })
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 2)) }
        #expect(try await observer.next() == [[], [0], []])
    }

    @Test func `many rows in one commit are told by their keys`() async throws {
        let store = try await openWares()
        let count = RowChange.most / 2
        try await store.write { try await $0.insert(contentsOf: (1...count).map { WareRecord(id: $0) }) }
        var all = try await Stepper(store, LiveRows(byName))
        var one = try await Stepper(store, LiveRows(Query(WareRecord.self).where { $0.id == 7 }))
        func keys(_ pending: PendingChanges) -> Int? {
            if case .keys(let keys)? = pending.tables["ware"] { keys.all.count } else { nil }
        }
        try await store.write { tx in
            for id in 1...1000 { _ = try await tx.apply(Patch(WareRecord.self, id).set(\.price, 1)) }
            for id in 500...1000 { _ = try await tx.apply(Patch(WareRecord.self, id).set(\.price, 2)) }
        }
        let (change, pending) = try await all.stepTelling()
        #expect(keys(pending) == 1000)
        guard case .update(_, [], [], let modified)? = change else { throw Violation(description: "\(change as Any)") }
        #expect(modified == Array(0..<1000))
        #expect(try await one.step() != nil)
        // One that looks at none of the rows is not woken.
        try await store.write { tx in
            for id in 8...100 { _ = try await tx.apply(Patch(WareRecord.self, id).set(\.price, 3)) }
        }
        #expect(try await one.stepTelling().pending.isEmpty)
        let (_, updated) = try await all.stepTelling()
        #expect(keys(updated) == 93)
        try await store.write {
            _ = try await $0.update(WareRecord.self, where: { $0.id > 50 }) { $0.price.set(to: 4) }
        }
        #expect(try await keys(all.stepTelling().pending) == count - 50)
        // More than an observer tells apart.
        for price in 5...7 {
            try await store.write { tx in
                _ = try await tx.update(WareRecord.self, where: { $0.id > 0 }) { $0.price.set(to: Double(price)) }
            }
        }
        let (last, all2) = try await all.stepTelling()
        #expect(keys(all2) == nil && !all2.isEmpty)
        guard case .update(_, [], [], let every)? = last else { throw Violation(description: "\(last as Any)") }
        #expect(every.count == count)
    }

    @Test func `how changes are found is explained`() async throws {
        let store = try await openWares()
        func plan(_ query: Query<WareRecord>) async throws -> String {
            try await store.explainChanges(of: query).description
        }
        let columns = "depot_id, group, id, name, parts, price"
        #expect(
            try await plan(byName.where { $0.price > 1 })
                == "looks at the rows that were written; watches ware(\(columns))")
        #expect(
            try await plan(byName.where { $0.depot.name == "d" })
                == "looks at the rows that were written; watches depot(id, name), ware(\(columns)); "
                + "runs the query again when depot changes")
        #expect(try await plan(byName.offset(1)).hasPrefix("runs the query again: it skips rows"))
        #expect(try await plan(byName.limit(3)).hasSuffix("; runs the query again when a full window loses a row"))
        #expect(
            try await plan(byName.distinct(by: \.group)).hasPrefix(
                "runs the query again: it takes one of several rows that are alike"))
        #expect(
            try await plan(byName.where { $0.parts.any { $0.price > 1 } }).hasPrefix(
                "runs the query again: it looks at other rows of the same table"))
        let german = Query(WareRecord.self).sorted(by: \.name, as: .locale("de_DE"))
        #expect(try await plan(german).hasPrefix("runs the query again: it has an order of its own"))
        let folded = Query(WareRecord.self).sorted(by: \.name, as: .caseInsensitive, nulls: .last)
        #expect(try await plan(folded).hasPrefix("looks at the rows that were written"))
        let sum = try await store.explainChanges(of: Query(WareRecord.self).where { $0.group == 1 }) { $0.price.sum() }
        #expect(sum.description == "runs the query again: it is computed of all rows; watches ware(group, id, price)")
    }
}
