import Foundation
import GraphMapperStore
import Testing

@Suite struct `Stores in trouble` {
    @Test func `a full disk: nothing is written, and the save is tried again`() async throws {
        var options = GraphStore.Options()
        options.prepare = { try $0.execute("PRAGMA max_page_count = 60") }
        let store = try await openTown(.file(try Scratch.file()), options: options)
        let session = townSession(store)
        for id in 0..<500 { try session.add(Person(id: id, name: String(repeating: "x", count: 2000))) }
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .full)
        #expect(try await store.count(Query(PersonRow.self)) == 0)
        try await store.write { try await $0.execute("PRAGMA max_page_count = 100000") }
        #expect(try await session.save().changes.count == 500)
        #expect(try await session.save().isEmpty)
    }

    @Test func `a read-only store reads, and refuses saves`() async throws {
        let file = try Scratch.file()
        let writable = try await openTown(.file(file))
        try await writable.write { try await $0.insert(TeamRow(id: 1, leader: nil)) }
        var options = GraphStore.Options()
        options.isReadOnly = true
        let store = try await openTown(.file(file), options: options)
        let session = townSession(store)
        _ = try #require(try await session.find(TeamRow.self, 1))
        try session.add(Team(id: 2))
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .readOnly)
        #expect(try session.changes().changes.count == 1)
        withExtendedLifetime(writable) {}
    }

    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    @Test(.enabled(if: hasPython))
    func `another process that holds the write lock`() async throws {
        let file = try Scratch.file()
        var options = GraphStore.Options()
        options.busyTimeout = .seconds(0.1)
        let store = try await openTown(.file(file), options: options)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE');"
                + "print('held', flush=True); sys.stdin.read(); c.execute('COMMIT')", file,
        ]
        let output = Pipe()
        let input = Pipe()
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        try #require(output.fileHandleForReading.read(upToCount: 5) == Data("held\n".utf8))
        let session = townSession(store)
        try session.add(Team(id: 1))
        let error = await #expect(throws: StoreError.self) { try await session.save() }
        #expect(error?.kind == .busy)
        #expect(try await store.count(Query(TeamRow.self)) == 0)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        try await session.save()
        #expect(try await store.count(Query(TeamRow.self)) == 1)
    }

    @Test func `another store of the file holds the write lock`() async throws {
        let file = try Scratch.file()
        var options = GraphStore.Options()
        options.busyTimeout = .seconds(0.1)
        let store = try await openTown(.file(file), options: options)
        let other = try await openTown(.file(file))
        let session = townSession(store)
        try session.add(Team(id: 1))
        try await other.write { _ async throws in
            let error = await #expect(throws: StoreError.self) { try await session.save() }
            #expect(error?.kind == .busy)
            #expect(try await store.count(Query(TeamRow.self)) == 0)
            #expect(try session.changes().changes.count == 1)
        }
        try await session.save()
        #expect(try await other.count(Query(TeamRow.self)) == 1)
    }

    @Test func `300 000 ids in one load`() async throws {
        let store = try await openTown()
        let count = 300_000
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (0..<count).map { PersonRow(id: $0, name: "", boss: nil, friend: nil, secret: 0) })
        }
        let session = GraphSession(store, [PersonRow.mapping, MedalRow.mapping])
        let people = try await session.load(PersonRow.self) {
            try await $0.fetch(PersonRow.self, ids: Array((0..<count).reversed()))
        }
        #expect(people.count == count && Set(people.map(ObjectIdentifier.init)).count == count)
        #expect(try session.changes().isEmpty)
    }

    @Test(arguments: ["a\0b", "\0", "", "e\u{301}"])
    func `texts are stored to the byte`(_ text: String) async throws {
        let store = try await openTown()
        let session = townSession(store)
        let ann = Person(id: 1, name: text)
        try session.add(ann)
        try await session.save()
        let found = try #require(
            try await townSession(store).models(Query(PersonRow.self).where { $0.name == text }).first)
        #expect(Array(found.name.utf8) == Array(text.utf8))
        ann.name = text + "\0c"
        #expect(try await session.save().changes.count == 1)
        ann.name = text
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(PersonRow.self, 1).map { Array($0.name.utf8) } == Array(text.utf8))
    }

    @Test func `a cancelled waiter never runs, and its task may be kept`() async throws {
        let store = try await openTown()
        var tasks: [Task<Void, any Error>] = []
        try await store.write { tx in
            for id in 0..<20 {
                // Detached: not inside this transaction.
                tasks.append(
                    Task.detached { try await store.write { try await $0.insert(TeamRow(id: id, leader: nil)) } })
            }
            try await Task.sleep(for: .milliseconds(20))
            for task in tasks { task.cancel() }
        }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(try await store.count(Query(TeamRow.self)) == 0)
        try await store.write { try await $0.insert(TeamRow(id: 1, leader: nil)) }
    }

    /// A reference that is passed to another task leads to the object of the snapshot that it is resolved in.
    @Test func `a snapshot has what another task has deleted since`() async throws {
        let store = try await openTown(.file(try Scratch.file()))
        try await store.write { try await $0.insert(TeamRow(id: 1, leader: nil)) }
        let ref = Ref<TeamRow>(1)
        try await store.read { tx in
            let before = try await tx.find(TeamRow.self, ref.id)
            #expect(before != nil)
            let isDeleted = try await Task.detached {
                try await store.write { try await $0.delete(TeamRow.self, ref.id) }
            }.value
            #expect(isDeleted)
            let after = try await tx.find(TeamRow.self, ref.id)
            #expect(after != nil)
        }
        #expect(try await store.find(TeamRow.self, ref.id) == nil)
    }

    @Test func `a stray COMMIT is an error, and the store goes on`() async throws {
        let store = try await openTown()
        await #expect(throws: StoreError.self) {
            try await store.write { try await $0.execute("COMMIT") }
        }
        await #expect(throws: StoreError.self) {
            try await store.write { try await $0.execute("BEGIN") }
        }
        try await store.write { try await $0.insert(TeamRow(id: 1, leader: nil)) }
        #expect(try await store.count(Query(TeamRow.self)) == 1)
    }
}
