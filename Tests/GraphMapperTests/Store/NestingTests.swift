import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private final class Slip {
    let id: Int
    var text: String
    init(_ id: Int, _ text: String) {
        self.id = id
        self.text = text
    }
}

private struct SlipRow: StoredRecord {
    typealias Model = Slip
    let id: Int
    var text: String
    static let schema = Schema<Self>("slip") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    static var mapping: Mapping<Self> {
        Mapping<Self> { row in
            Slip(row.id, row.text)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
        }
    }
}

@Suite struct `Transactions inside transactions and cancelled waits` {
    private func stores(readers: Int = 4) async throws -> [GraphStore] {
        var options = GraphStore.Options()
        options.readers = readers
        let stores = [
            try await GraphStore.open(.file(try Scratch.file()), options: options, SlipRow.self),
            try await GraphStore.open(.inMemory, options: options, SlipRow.self),
        ]
        for store in stores { try await store.write { try await $0.insert(SlipRow(id: 1, text: "a")) } }
        return stores
    }

    private func expectMisuse(_ body: () async throws -> Void) async {
        let error = await #expect(throws: StoreError.self) { try await body() }
        #expect(error?.kind == .misuse)
    }

    @Test func `a nested read is an error, in a file as in memory, and the store goes on`() async throws {
        for store in try await stores(readers: 1) {
            await expectMisuse { try await store.read { _ in _ = try await store.find(SlipRow.self, 1) } }
            await expectMisuse { try await store.write { _ in _ = try await store.find(SlipRow.self, 1) } }
            await expectMisuse { try await store.write { _ in try await store.write { _ in } } }
            #expect(try await store.find(SlipRow.self, 1)?.text == "a")
            try await store.write { try await $0.insert(SlipRow(id: 2, text: "b")) }
        }
    }

    @Test func `a session's load inside a read is the same error`() async throws {
        for store in try await stores(readers: 1) {
            let session = GraphSession(store, SlipRow.mapping)
            await expectMisuse { try await store.read { _ in _ = try await session.models(Query(SlipRow.self)) } }
            #expect(try await session.models(Query(SlipRow.self)).count == 1)
        }
    }

    @Test func `as many nested reads at once as there are readers all end`() async throws {
        for store in try await stores() {
            let errors = await withTaskGroup(of: (any Error)?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            try await store.read { tx in
                                _ = try await tx.count(Query(SlipRow.self))
                                await Task.yield()
                                _ = try await store.find(SlipRow.self, 1)
                            }
                            return nil
                        } catch { return error }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.count == 8)
            #expect(errors.allSatisfy { ($0 as? StoreError)?.kind == .misuse })
        }
    }

    @Test func `another store may be read inside a read`() async throws {
        let stores = try await stores(readers: 1)
        let found = try await stores[0].read { _ in
            try await stores[1].read { _ in 1 } + stores[1].count(Query(SlipRow.self))
        }
        #expect(found == 2)
    }

    @Test func `a transaction that has ended is of no use`() async throws {
        for store in try await stores() {
            nonisolated(unsafe) var kept: WriteTransaction?
            nonisolated(unsafe) var read: ReadTransaction?
            try await store.write { kept = $0 }
            try await store.read { read = $0 }
            let (tx, other) = (try #require(kept), try #require(read))
            await expectMisuse { try await tx.insert(SlipRow(id: 2, text: "b")) }
            await expectMisuse { _ = try await tx.upsert(SlipRow(id: 1, text: "b")) }
            await expectMisuse { _ = try await tx.upsert(contentsOf: [SlipRow(id: 1, text: "b")]) }
            await expectMisuse { _ = try await tx.apply(Patch(SlipRow.self, 1).set(\.text, "b")) }
            await expectMisuse { _ = try await tx.delete(SlipRow.self, 1) }
            await expectMisuse { _ = try await tx.delete(SlipRow.self) { $0.id == 1 } }
            await expectMisuse {
                _ = try await tx.update(SlipRow.self, where: { $0.id == 1 }, set: { $0.text.set(to: "b") })
            }
            await expectMisuse { try await tx.execute("DELETE FROM slip") }
            await expectMisuse { try await tx.savepoint {} }
            for one in [tx, other] {
                await expectMisuse { _ = try await one.find(SlipRow.self, 1) }
                await expectMisuse { _ = try await one.fetch(Query(SlipRow.self)) }
                await expectMisuse { _ = try await one.count(Query(SlipRow.self)) }
                await expectMisuse { _ = try await one.rows("SELECT 1") }
                await expectMisuse { _ = try await one.index(of: 1, in: Query(SlipRow.self)) }
                await expectMisuse { _ = try await one.select(Query(SlipRow.self)) { $0.text } }
            }
            #expect(try await store.fetch(Query(SlipRow.self)).map(\.text) == ["a"])
        }
    }

    @Test func `what a finished transaction has started may read`() async throws {
        for store in try await stores(readers: 1) {
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let task = try await store.read { _ in
                Task {
                    for await _ in gate {}
                    return try await store.count(Query(SlipRow.self))
                }
            }
            open.finish()
            #expect(try await task.value == 1)
        }
    }

    @Test func `who waits for a reader or the writer is let go when cancelled`() async throws {
        for store in try await stores(readers: 1) {
            try await store.read { _ in
                let reads = (0..<5).map { _ in Task.detached { _ = try await store.find(SlipRow.self, 1) } }
                for task in reads { task.cancel() }
                for task in reads { await #expect(throws: CancellationError.self) { try await task.value } }
            }
            try await store.write { _ in
                let writes = (0..<5).map { _ in Task.detached { try await store.write { _ in } } }
                for task in writes { task.cancel() }
                for task in writes { await #expect(throws: CancellationError.self) { try await task.value } }
            }
            #expect(try await store.find(SlipRow.self, 1)?.text == "a")
            try await store.write { try await $0.insert(SlipRow(id: 2, text: "b")) }
        }
    }
}

@Suite struct `A semaphore` {
    @Test func `whoever is cancelled leaves no place taken, and nobody waits for ever`() async throws {
        try await check(Gen.int(in: 1...3).zip(.array(of: .bool, count: 1...24)), count: 30) { limit, plans in
            let semaphore = AsyncSemaphore(limit: limit)
            let inside = Locked((now: 0, most: 0))
            let tasks = plans.map { _ in
                Task.detached {
                    try await semaphore.enterUnlessCancelled()
                    defer { semaphore.leave() }
                    inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await Task.yield()
                    inside.withLock { $0.now -= 1 }
                }
            }
            for (task, isCancelled) in zip(tasks, plans) where isCancelled { task.cancel() }
            for (task, isCancelled) in zip(tasks, plans) {
                let result = await task.result
                if case .failure(let error) = result { #expect(isCancelled && error is CancellationError) }
            }
            #expect(inside.withLock { $0.most } <= limit)
            for _ in 0..<limit { #expect(semaphore.enterNow()) }
            #expect(!semaphore.enterNow())
        }
    }

    @Test func `who waits is let in, in the order of arrival`() async throws {
        let semaphore = AsyncSemaphore()
        #expect(semaphore.enterNow())
        let order = Locked<[Int]>([])
        let waiting = Task.detached {
            try await semaphore.enterUnlessCancelled()
            order.withLock { $0.append(1) }
            semaphore.leave()
        }
        order.withLock { $0.append(0) }
        semaphore.leave()
        try await waiting.value
        await semaphore.enter()
        #expect(order.withLock { $0 } == [0, 1])
        #expect(!semaphore.enterNow())
    }
}
