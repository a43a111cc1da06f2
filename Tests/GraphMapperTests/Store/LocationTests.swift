import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// A counter, and the rows that each writer added.
private struct Slip: StoredRecord, Equatable {
    let id: Int
    var text: String
    static let schema = Schema<Self>("slip") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
}

private func rights(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}

private func kind(_ location: GraphStore.Location, _ options: GraphStore.Options = .init()) async -> StoreError.Kind? {
    await #expect(throws: StoreError.self) {
        _ = try await GraphStore.open(location, options: options, Slip.self)
    }?.kind
}

@Suite struct `Where a store lies` {
    private func open(_ location: GraphStore.Location, _ options: GraphStore.Options = .init()) async throws
        -> GraphStore
    {
        try await GraphStore.open(location, options: options, Slip.self)
    }

    @Test func `memory is shared by name, one transaction at a time`() async throws {
        let name = "a b?c=%/\(UUID())"
        // A transaction that yields waits for all other tests' tasks.
        var options = GraphStore.Options()
        options.busyTimeout = .seconds(120)
        let first = try await open(.sharedMemory(name), options)
        do {
            let second = try await open(.sharedMemory(name), options)
            let other = try await open(.sharedMemory(name + "x"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, store) in [first, second, first, second].enumerated() {
                    group.addTask {
                        for index in 0..<20 {
                            try await store.write {
                                try await $0.insert(Slip(id: number * 100 + index, text: ""))
                                await Task.yield()
                            }
                            try await store.read { tx in
                                let before = try await tx.count(Query(Slip.self))
                                await Task.yield()
                                #expect(try await tx.count(Query(Slip.self)) == before)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await second.count(Query(Slip.self)) == 80)
            #expect(try await other.count(Query(Slip.self)) == 0)
            var changes = first.changes(of: Query(Slip.self).where { $0.text == "new" }).makeAsyncIterator()
            #expect(try await changes.next()?.collection.count == 0)
            try await second.write { try await $0.insert(Slip(id: -1, text: "new")) }
            #expect(try await changes.next()?.collection.count == 1)
        }
        #expect(try await first.count(Query(Slip.self)) == 81)
        // Private memory is nobody else's.
        let lone = try await open(.inMemory)
        #expect(try await lone.count(Query(Slip.self)) == 0)
    }

    @Test func `shared memory is gone with its last store`() async throws {
        let name = "\(UUID())"
        do { try await open(.sharedMemory(name)).write { try await $0.insert(Slip(id: 1, text: "")) } }
        #expect(try await open(.sharedMemory(name)).count(Query(Slip.self)) == 0)
    }

    @Test func `a new file is its owner's alone, with all that stands beside it, and an old one keeps its rights`()
        async throws
    {
        let path = try Scratch.folder().path + "/a"
        do {
            let store = try await open(.file(path))
            try await store.write { try await $0.insert(Slip(id: 1, text: "")) }
            _ = try await store.count(Query(Slip.self))
            for end in ["", "-wal", "-shm"] { #expect(try rights(path + end) == 0o600, "\(end)") }
            try await store.backup(to: path + "b")
            #expect(try rights(path + "b") == 0o600)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let store = try await open(.file(path))
        try await store.write { try await $0.insert(Slip(id: 2, text: "")) }
        for end in ["", "-wal", "-shm"] { #expect(try rights(path + end) == 0o640, "\(end)") }
    }

    @Test func `a link to a file is followed`() async throws {
        let folder = try Scratch.folder().path
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/file")
        do { try await open(.file(folder + "/link")).write { try await $0.insert(Slip(id: 1, text: "")) } }
        #expect(try await open(.file(folder + "/file")).count(Query(Slip.self)) == 1)
        #expect(try rights(folder + "/file") == 0o600)
    }

    @Test func `what is no file of ours is an error`() async throws {
        let folder = try Scratch.folder().path
        #expect(await kind(.file(folder)) == .cannotOpen)
        #expect(await kind(.file(folder + "/none/a")) == .cannotOpen)
        for (name, text) in [("text", "not a database, but a text"), ("long", String(repeating: "x", count: 100_000))] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            #expect(await kind(.file("\(folder)/\(name)")) == .notADatabase)
            #expect(try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) == text)
        }
        var readOnly = GraphStore.Options()
        readOnly.isReadOnly = true
        #expect(await kind(.file(folder + "/none"), readOnly) == .cannotOpen)
        #expect(!FileManager.default.fileExists(atPath: folder + "/none"))
        // An empty file is a new one.
        try Data().write(to: URL(fileURLWithPath: folder + "/empty"))
        #expect(await kind(.file(folder + "/empty"), readOnly) == .schemaMismatch)
        try await open(.file(folder + "/empty")).write { try await $0.insert(Slip(id: 1, text: "")) }
    }

    @Test func `a file that nobody changes is read without a trace`() async throws {
        let path = try Scratch.folder().path + "/a%3f?&#ü"
        do { try await open(.file(path)).write { try await $0.insert(Slip(id: 1, text: "")) } }
        var options = GraphStore.Options()
        options.isImmutable = true
        let store = try await open(.file(path), options)
        #expect(try await store.count(Query(Slip.self)) == 1)
        for end in ["-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: path + end)) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(Slip(id: 2, text: "")) }
        }
        #expect(error?.kind == .readOnly)
    }

    @Test func `a store begins with its seed, once`() async throws {
        let folder = try Scratch.folder().path
        do { try await open(.file(folder + "/seed")).write { try await $0.insert(Slip(id: 1, text: "")) } }
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder + "/seed")
        var options = GraphStore.Options()
        options.seed = folder + "/seed"
        for count in [2, 3] {
            let store = try await open(.file(folder + "/a"), options)
            try await store.write { try await $0.insert(Slip(id: count, text: "")) }
            #expect(try await store.count(Query(Slip.self)) == count)
        }
        #expect(try rights(folder + "/a") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["a", "seed"])
        options.seed = folder + "/none"
        #expect(await kind(.file(folder + "/b"), options) == .cannotOpen)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["a", "seed"])
        // One that is open, with a log beside it, is a seed as it is.
        let live = try await open(.file(folder + "/live"))
        try await live.write { try await $0.insert(Slip(id: 7, text: "")) }
        options.seed = folder + "/live"
        #expect(try await open(.file(folder + "/c"), options).find(Slip.self, 7) != nil)
    }

    @Test func `a file is deleted with its log, unless somebody has it open`() async throws {
        let folder = try Scratch.folder().path
        let path = folder + "/a"
        try GraphStore.deleteFile(at: path)
        do {
            let store = try await open(.file(path))
            try await store.write { try await $0.insert(Slip(id: 1, text: "")) }
            let error = #expect(throws: StoreError.self) { try GraphStore.deleteFile(at: path) }
            #expect(error?.kind == .busy)
            #expect(try await store.count(Query(Slip.self)) == 1)
        }
        try Data("log".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
        try GraphStore.deleteFile(at: path)
        try Data("no database at all".utf8).write(to: URL(fileURLWithPath: path))
        try GraphStore.deleteFile(at: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `a suspended store holds no transaction, and begins none before it resumes`() async throws {
        let path = try Scratch.file()
        let store = try await open(.file(path))
        let order = Locked<[String]>([])
        func note(_ text: String) { order.withLock { $0.append(text) } }
        let list = store.toMany(Query(Slip.self), as: \.id) { _, _ in -1 }
        await store.resume()
        let isInside = AsyncSemaphore()
        await isInside.enter()
        let write = Task {
            try await store.write { tx in
                try await tx.insert(Slip(id: 1, text: ""))
                isInside.leave()
                try await Task.sleep(for: .milliseconds(30))
                note("written")
            }
        }
        await isInside.enter()
        try await store.suspend()
        try await store.suspend()
        note("suspended")
        #expect { try list.tryCount } throws: { ($0 as? StoreError)?.kind == .busy }
        let later = [
            Task { note("read \(try await store.count(Query(Slip.self)))") },
            Task {
                try await store.write { try await $0.insert(Slip(id: 2, text: "")) }
                note("write")
            },
        ]
        try await Task.sleep(for: .milliseconds(30))
        note("resumed")
        await store.resume()
        try await write.value
        for task in later { try await task.value }
        let seen = order.withLock { $0 }
        #expect(seen.prefix(3) == ["written", "suspended", "resumed"] && seen.count == 5, "\(seen)")
        #expect(try list.tryCount == 2)
        await #expect { try await store.read { _ in try await store.suspend() } } throws: {
            ($0 as? StoreError)?.kind == .misuse
        }
    }
}

@Suite struct `Several processes on one file` {
    private func open(_ path: String, _ timeout: Duration) async throws -> GraphStore {
        var options = GraphStore.Options()
        options.busyTimeout = timeout
        return try await GraphStore.open(.file(path), options: options, Slip.self)
    }

    @Test func `a new file is made once, whoever opens it at the same time`() async throws {
        for _ in 0..<times(5, soak: 200) {
            let path = try Scratch.file()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await self.open(path, .seconds(5)).write { try await $0.insert(Slip(id: number, text: "")) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await open(path, .seconds(5)).count(Query(Slip.self)) == 8)
        }
    }

    /// A process that opens and closes a file loses its locks on it. Then another, taking itself for the last, removes the log.
    @Test(.enabled(if: SQLiteShell.isThere)) func `a second store of the process leaves the locks of the first`()
        async throws
    {
        let path = try Scratch.file()
        let store = try await open(path, .seconds(5))
        try await store.write { try await $0.insert(Slip(id: 1, text: "")) }
        for id in 2...4 {
            do { _ = try await open(path, .seconds(5)).count(Query(Slip.self)) }
            _ = try await inBackground { try SQLiteShell.run("SELECT * FROM slip;\n", on: path) }
            #expect(FileManager.default.fileExists(atPath: path + "-wal"))
            try await store.write { try await $0.insert(Slip(id: id, text: "")) }
            #expect(try await store.count(Query(Slip.self)) == id)
        }
    }

    /// The shell is a process of its own.
    @Test(.enabled(if: SQLiteShell.isThere)) func `no write is lost`() async throws {
        let path = try Scratch.file()
        let (store, other) = (try await open(path, .seconds(1e9)), try await open(path, .seconds(1e9)))
        try await store.write { try await $0.insert(Slip(id: 0, text: "0")) }
        let count = times(50, soak: 2000)
        let add = "UPDATE slip SET text = text + 1 WHERE id = 0;\n"
        let shell = ".timeout 3600000\n" + String(repeating: "BEGIN IMMEDIATE;\n\(add)COMMIT;\n", count: count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { _ = try await inBackground { try SQLiteShell.run(shell, on: path) } }
            }
            for store in [store, other] {
                group.addTask {
                    for _ in 0..<count {
                        try await store.write { tx in
                            let row = try #require(try await tx.find(Slip.self, 0))
                            let next = "\((Int(row.text) ?? 0) + 1)"
                            _ = try await tx.apply(Patch(Slip.self, 0).set(\.text, next))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.find(Slip.self, 0)?.text == "\(4 * count)")
    }

    @Test(.enabled(if: SQLiteShell.isThere)) func `who waits too long is told, and can be cancelled`() async throws {
        let path = try Scratch.file()
        let (hasty, patient) = (try await open(path, .seconds(0.05)), try await open(path, .seconds(1e9)))
        let other = try Connection(path: path, readOnly: false, busyTimeout: .seconds(0))
        try other.execute("BEGIN IMMEDIATE")
        let error = await #expect(throws: StoreError.self) {
            try await hasty.write { try await $0.insert(Slip(id: 1, text: "")) }
        }
        #expect(error?.kind == .busy)
        let ran = Locked(false)
        let waiting = Task {
            try await patient.write { _ in ran.withLock { $0 = true } }
        }
        try await Task.sleep(for: .milliseconds(30))
        // Reads do not wait.
        #expect(try await patient.count(Query(Slip.self)) == 0)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(!ran.withLock { $0 })
        let next = Task { try await patient.write { try await $0.insert(Slip(id: 2, text: "")) } }
        try await Task.sleep(for: .milliseconds(10))
        try other.execute("COMMIT")
        try await next.value
        #expect(try await hasty.count(Query(Slip.self)) == 1)
    }
}

/// Off the threads of tasks, which must not wait for a process.
func inBackground<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
