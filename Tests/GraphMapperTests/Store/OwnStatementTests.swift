import Foundation
import Testing

@testable import GraphMapperStore

private struct Entry: StoredRecord {
    let id: Int
    var text: String
    static let schema = Schema<Self>("entry") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    static let indexes: [Index<Self>] = [.unique(\.text)]
}

@Suite struct `Statements of one's own` {
    @Test(arguments: [
        "COMMIT", "commit;", "END", "End Transaction", "ROLLBACK", "rollback transaction", "BEGIN", "BEGIN IMMEDIATE",
        " \n\t-- a remark\n/* COMMIT */ COMMIT", ";;COMMIT", "\u{feff}COMMIT", "/**/ROLLBACK/* TO */", "COMMIT--",
    ])
    func `one that begins or ends a transaction is refused before it runs`(sql: String) async throws {
        for location in [GraphStore.Location.inMemory, .file(try Scratch.file())] {
            let store = try await GraphStore.open(location, Entry.self)
            let result = await #expect(throws: StoreError.self) {
                try await store.write { tx in
                    try await tx.insert(Entry(id: 1, text: "a"))
                    try await tx.execute(sql)
                }
            }
            #expect(result?.kind == .misuse)
            #expect(result?.sql == sql)
            #expect(try await store.count(Query(Entry.self)) == 0)
            // Who catches it has the transaction as it was.
            try await store.write { tx in
                try await tx.insert(Entry(id: 1, text: "a"))
                try? await tx.execute(sql)
                try await tx.insert(Entry(id: 2, text: "b"))
            }
            #expect(try await store.count(Query(Entry.self)) == 2)
        }
    }

    @Test func `savepoints of one's own, and names that look like such words, are no such statements`() async throws {
        let store = try await GraphStore.open(.inMemory, Entry.self)
        try await store.write { tx in
            try await tx.insert(Entry(id: 1, text: "a"))
            try await tx.execute("SAVEPOINT mine")
            try await tx.insert(Entry(id: 2, text: "b"))
            try await tx.execute("ROLLBACK /* only */ TO mine")
            try await tx.execute("RELEASE mine")
            try await tx.execute("CREATE TABLE \"commit\" (\"begin\" INTEGER)")
            try await tx.execute("-- COMMIT\nUPDATE entry SET text = 'COMMIT' WHERE id = 1")
            try await tx.execute("EXPLAIN COMMIT")
        }
        #expect(try await store.fetch(Query(Entry.self)).map(\.text) == ["COMMIT"])
    }

    @Test func `after an error that has ended the transaction nothing is written by itself`() async throws {
        let store = try await GraphStore.open(.inMemory, Entry.self)
        try await store.write { try await $0.insert(Entry(id: 1, text: "a")) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { tx in
                try await tx.insert(Entry(id: 2, text: "b"))
                try? await tx.execute("INSERT OR ROLLBACK INTO entry VALUES (3, 'a')")
                try await tx.insert(Entry(id: 4, text: "d"))
            }
        }
        #expect(error?.kind == .misuse)
        #expect(try await store.fetch(Query(Entry.self)).map(\.id) == [1])
    }

    @Test func `a hook that leaves a transaction open is an error`() async throws {
        var options = GraphStore.Options()
        options.prepare = { try $0.execute("BEGIN") }
        let error = await #expect(throws: StoreError.self) {
            try await GraphStore.open(.inMemory, options: options, Entry.self)
        }
        #expect(error?.kind == .misuse)
    }
}

@Suite struct `Paths of files` {
    @Test(arguments: ["", ":memory:", "a\0b", "\0"])
    func `what names no file is an error when the store is opened`(path: String) async throws {
        let error = await #expect(throws: StoreError.self) { try await GraphStore.open(.file(path), Entry.self) }
        #expect(error?.kind == .cannotOpen)
        let store = try await GraphStore.open(.inMemory, Entry.self)
        let other = await #expect(throws: StoreError.self) { try await store.backup(to: path) }
        #expect(other?.kind == .cannotOpen)
    }

    /// Relative paths are from the folder that the tests run in.
    @Test func `what looks like a URI is a name`() async throws {
        let name = "file:gm-\(UUID().uuidString)?mode=memory"
        let files = FileManager.default
        defer { for end in ["", "-wal", "-shm"] { try? files.removeItem(atPath: "./" + name + end) } }
        do {
            let store = try await GraphStore.open(.file(name), Entry.self)
            try await store.write { try await $0.insert(Entry(id: 1, text: "a")) }
            #expect(try await store.count(Query(Entry.self)) == 1)
        }
        #expect(files.fileExists(atPath: "./" + name))
        #expect(try await GraphStore.open(.file(name), Entry.self).count(Query(Entry.self)) == 1)
    }
}

@Suite struct `Rows of one's own statements` {
    @Test func `a read reads, and refuses what writes`() async throws {
        for location in [GraphStore.Location.inMemory, .file(try Scratch.file())] {
            let store = try await GraphStore.open(location, Entry.self)
            try await store.write { try await $0.insert(contentsOf: (0..<3).map { Entry(id: $0, text: "\($0)") }) }
            let rows = try await store.read {
                try await $0.rows("SELECT text FROM entry WHERE id >= ? ORDER BY id", [.integer(1)])
            }
            #expect(rows == [[.text("1")], [.text("2")]])
            for sql in ["DELETE FROM entry", "COMMIT", "INSERT INTO entry VALUES (9, 'x') RETURNING id"] {
                let error = await #expect(throws: StoreError.self) {
                    _ = try await store.read { try await $0.rows(sql) }
                }
                #expect(error?.kind == .misuse)
            }
            #expect(try await store.count(Query(Entry.self)) == 3)
        }
    }

    /// The store's functions are there for whoever writes statements.
    @Test func `a function of the store takes any number`() async throws {
        let store = try await GraphStore.open(.inMemory, Entry.self)
        let rows = try await store.read { try await $0.rows("SELECT graphmapper_start('ab', -1)") }
        #expect(rows == [[.text("")]])
    }

    @Test func `a write may return rows, and is noted`() async throws {
        let store = try await GraphStore.open(.inMemory, Entry.self)
        let rows = try await store.write { try await $0.rows("INSERT INTO entry VALUES (9, 'x') RETURNING id") }
        #expect(rows == [[.integer(9)]])
        #expect(try await store.changeRecords().map(\.kind) == [.insert])
    }
}
