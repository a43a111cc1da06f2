import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `Care of files` {
    private func open(_ path: String) async throws -> GraphStore {
        try await GraphStore.open(.file(path), SquadRow.self, PlayerRow.self)
    }
    private func fill(_ store: GraphStore, _ ids: Range<Int>) async throws {
        try await store.write { tx in
            try await tx.insert(
                contentsOf: ids.map { SquadRow(id: $0, name: String(repeating: "x", count: 500), city: nil) })
        }
    }

    @Test func `a backup is the store as it was, while it is written on`() async throws {
        let folder = try Scratch.folder().path
        let store = try await open(folder + "/a")
        try await fill(store, 0..<20_000)
        let parts = Locked<[Double]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for start in 1...20 { try await fill(store, start * 20_000..<start * 20_000 + 10) } }
            group.addTask { try await store.backup(to: folder + "/b") { part in parts.withLock { $0.append(part) } } }
            try await group.waitForAll()
        }
        let copy = try await open(folder + "/b")
        let count = try await copy.count(Query(SquadRow.self))
        #expect(count >= 20_000 && count.isMultiple(of: 10))
        #expect(try await copy.checkIntegrity().isSound)
        let seen = parts.withLock { $0 }
        #expect(seen.count > 1 && seen.last == 1 && seen == seen.sorted())
        await #expect { try await store.backup(to: folder + "/b") } throws: { ($0 as? StoreError)?.kind == .cannotOpen }
    }

    @Test func `a backup that is cancelled leaves nothing`() async throws {
        let folder = try Scratch.folder().path
        let store = try await open(folder + "/a")
        try await fill(store, 0..<20_000)
        let task = Task { try await store.backup(to: folder + "/b") { _ in withUnsafeCurrentTask { $0?.cancel() } } }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("b") } == [])
    }

    @Test func `a store in memory can be backed up`() async throws {
        let folder = try Scratch.folder().path
        let store = try await GraphStore.open(.inMemory, SquadRow.self, PlayerRow.self)
        try await fill(store, 0..<10)
        try await store.backup(to: folder + "/b")
        #expect(try await open(folder + "/b").count(Query(SquadRow.self)) == 10)
    }

    @Test func `compaction gives space back, and a checkpoint empties the log`() async throws {
        let path = try Scratch.folder().path + "/a"
        func size(_ end: String = "") throws -> Int {
            try FileManager.default.attributesOfItem(atPath: path + end)[.size] as? Int ?? 0
        }
        let store = try await open(path)
        try await fill(store, 0..<20_000)
        #expect(try await store.checkpoint())
        #expect(try size("-wal") == 0)
        let before = try size()
        try await store.write { tx in try await tx.delete(SquadRow.self) { $0.id > 10 } }
        try await store.compact()
        #expect(try size() < before / 10)
        #expect(try await store.count(Query(SquadRow.self)) == 11)
        await #expect { try await store.write { _ in try await store.compact() } } throws: {
            ($0 as? StoreError)?.kind == .misuse
        }
    }

    @Test func `the log is cut after a large transaction`() async throws {
        let path = try Scratch.folder().path + "/a"
        let store = try await open(path)
        try await fill(store, 0..<60_000)
        for start in 1...20 { try await fill(store, start * 100_000..<start * 100_000 + 10) }
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0
        #expect(log <= Dialect.logLimit)
    }

    @Test func `damage and dangling links are found`() async throws {
        let path = try Scratch.folder().path + "/a"
        do {
            let store = try await open(path)
            try await fill(store, 0..<2000)
            #expect(try await store.checkIntegrity() == IntegrityReport(damages: [], danglingLinks: []))
            try store.writer.execute("PRAGMA foreign_keys = OFF")
            try await store.write { tx in
                try await tx.insert(
                    PlayerRow(
                        id: 1, name: "", nick: nil, age: 0, score: 0, rank: nil, price: 0, serial: 0, isActive: true,
                        team: Ref(99_999), friends: [Ref(7)], tags: []))
            }
            let links = try await store.checkIntegrity().danglingLinks
            #expect(links.count == 2 && links.contains("player.team of row 1 points to no squad"), "\(links)")
        }
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try handle.seek(toOffset: 4096 * 20)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 4096 * 10))
        try handle.close()
        let damaged = try await open(path)
        do {
            #expect(try await !damaged.checkIntegrity().damages.isEmpty)
        } catch let error as StoreError { #expect(error.kind == .notADatabase) }
    }

    @Test func `a new file is its owner's alone`() async throws {
        let path = try Scratch.folder().path + "/a"
        let store = try await open(path)
        try await fill(store, 0..<1)
        for end in ["", "-wal"] {
            let rights = try FileManager.default.attributesOfItem(atPath: path + end)[.posixPermissions] as? Int
            #expect(rights == 0o600, "\(end)")
        }
    }

    @Test func `blocking forms work on a thread, and refuse a task`() async throws {
        let store = try await GraphStore.open(.inMemory, SquadRow.self, PlayerRow.self)
        #expect { try store.readBlocking { try await $0.count(Query(SquadRow.self)) } } throws: {
            ($0 as? StoreError)?.kind == .misuse
        }
        let results = Locked<[Result<Int, any Error>]>([])
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let result = Result {
                    let store = try GraphStore.openBlocking(.inMemory, SquadRow.self, PlayerRow.self)
                    try store.writeBlocking { try await $0.insert(SquadRow(id: 1, name: "a", city: nil)) }
                    let first = Result {
                        try store.writeBlocking { try await $0.insert(SquadRow(id: 1, name: "b", city: nil)) }
                    }
                    guard case .failure(let error as StoreError) = first, error.kind == .duplicateKey else { return -1 }
                    return try store.readBlocking { try await $0.count(Query(SquadRow.self)) }
                }
                results.withLock { $0.append(result) }
                continuation.resume()
            }
        }
        #expect(try results.withLock { try $0[0].get() } == 1)
    }

    @Test func `a store in memory that is being written is an error, not a deadlock`() async throws {
        var options = GraphStore.Options()
        options.busyTimeout = .seconds(0.05)
        let store = try await GraphStore.open(.inMemory, options: options, SquadRow.self, PlayerRow.self)
        let list = store.toMany(Query(SquadRow.self), as: \.id) { _, _ in -1 }
        await #expect { try await store.write { _ in _ = try list.tryCount } } throws: {
            ($0 as? StoreError)?.kind == .misuse
        }
        #expect(try list.tryCount == 0)
        let limited = store.toMany(Query(SquadRow.self).limit(3), as: \.id) { _, _ in -1 }
        #expect(throws: GraphError.self) { try limited.tryCount }
    }
}
