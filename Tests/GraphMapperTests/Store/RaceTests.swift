import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Purse: StoredRecord, Equatable {
    let id: Int
    var money: Int
    var gifts: [Ref<Purse>]
    static let schema = Schema<Self>("purse") { row in
        try Self(id: row("id", \.id), money: row("money", \.money), gifts: row("gifts", \.gifts))
    }
    static let indexes: [Index<Self>] = [.on(\.money)]
}

/// Also run by `make races`, for a minute under the thread sanitizer.
@Suite struct `One writer and many readers` {
    private static let accounts = 50
    private static let total = accounts * 100

    private func open(readers: Int = 8) async throws -> GraphStore {
        var options = GraphStore.Options()
        options.readers = readers
        let store = try await GraphStore.open(.file(try Scratch.file()), options: options, Purse.self)
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (0..<Self.accounts).map { Purse(id: $0, money: 100, gifts: [Ref(($0 + 1) % 50)]) })
        }
        return store
    }

    private func pay(_ tx: WriteTransaction, _ choices: inout Choices) async throws {
        let (from, to) = (choices.index(below: Self.accounts), choices.index(below: Self.accounts))
        let amount = choices.index(below: 20)
        guard from != to, var payer = try await tx.find(Purse.self, from), var payee = try await tx.find(Purse.self, to)
        else { return }
        payer.money -= amount
        payee.money += amount
        payee.gifts = Array((payee.gifts + [Ref(from)]).suffix(5))
        try await tx.upsert(payer)
        if choices.index(below: 4) == 0 { await Task.yield() }
        try await tx.upsert(payee)
    }

    private struct Change: Error {}

    @Test func `no reader ever sees half a payment, and a snapshot stays one`() async throws {
        let store = try await open()
        let end = ContinuousClock.now + .milliseconds(times(300, soak: 60_000))
        let seed = UInt64.random(in: 0 ... .max)
        let payments = Locked(0)
        let reads = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var choices = Choices(seed: seed)
                while payments.withLock({ $0 }) < 20 || ContinuousClock.now < end {
                    let isUndone = choices.index(below: 10) == 0
                    do {
                        try await store.write { tx in
                            for _ in 0...choices.index(below: 3) { try await self.pay(tx, &choices) }
                            if isUndone { throw Change() }
                        }
                        payments.withLock { $0 += 1 }
                    } catch is Change {}
                }
            }
            for reader in 0..<8 {
                group.addTask {
                    repeat {
                        try await store.read { tx in
                            let first = try await tx.fetch(Query(Purse.self).sorted(by: \.id))
                            await Task.yield()
                            let sum = try await tx.fetch(Query(Purse.self).where { $0.money >= -1_000_000 }).map(
                                \.money
                            )
                            .reduce(0, +)
                            let again = try await tx.fetch(Query(Purse.self).sorted(by: \.id))
                            guard first.count == Self.accounts, sum == Self.total, first == again else {
                                throw Violation(description: "reader \(reader), seed \(seed): \(sum)")
                            }
                        }
                        reads.withLock { $0 += 1 }
                    } while ContinuousClock.now < end
                }
            }
            try await group.waitForAll()
        }
        #expect(payments.withLock { $0 } >= 20 && reads.withLock { $0 } >= 8)
        #expect(try await store.checkIntegrity().isSound)
    }

    @Test func `no reader keeps the writer waiting, and the log is folded in once they are gone`() async throws {
        let store = try await open(readers: 3)
        let writes = 200
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (inside, written) = (AsyncSemaphore(limit: 1), AsyncSemaphore(limit: 1))
            await inside.enter()
            await written.enter()
            group.addTask {
                try await store.read { tx in
                    let before = try await tx.fetch(Query(Purse.self).sorted(by: \.id))
                    inside.leave()
                    // Ends only once the writer has committed all it wants to.
                    await written.enter()
                    #expect(try await tx.fetch(Query(Purse.self).sorted(by: \.id)) == before)
                }
            }
            group.addTask {
                await inside.enter()
                for number in 0..<writes {
                    try await store.write { _ = try await $0.apply(Patch(Purse.self, 1).set(\.money, number)) }
                }
                written.leave()
            }
            try await group.waitForAll()
        }
        #expect(try await store.find(Purse.self, 1)?.money == writes - 1)
        #expect(try await store.checkpoint())
    }

    @Test func `writes go one after the other in the order of arrival, and those that are cancelled never run`()
        async throws
    {
        let store = try await open()
        let ran = Locked<[Int]>([])
        let (inside, leave) = (AsyncSemaphore(limit: 1), AsyncSemaphore(limit: 1))
        await inside.enter()
        await leave.enter()
        let first = Task {
            try await store.write { _ in
                inside.leave()
                await leave.enter()
            }
        }
        await inside.enter()
        var waiting: [Task<Void, any Error>] = []
        for number in 0..<40 {
            waiting.append(
                Task {
                    try await store.write { tx in
                        ran.withLock { $0.append(number) }
                        _ = try await tx.apply(Patch(Purse.self, 1).set(\.money, number))
                    }
                })
            // So that each has arrived before the next.
            while store.writing.waitingCount <= number { await Task.yield() }
        }
        for number in stride(from: 0, to: 40, by: 2) { waiting[number].cancel() }
        for number in stride(from: 0, to: 40, by: 2) {
            await #expect(throws: CancellationError.self) { try await waiting[number].value }
        }
        leave.leave()
        try await first.value
        for number in stride(from: 1, to: 40, by: 2) { try await waiting[number].value }
        #expect(ran.withLock { $0 } == Array(stride(from: 1, to: 40, by: 2)))
        #expect(try await store.find(Purse.self, 1)?.money == 39)
    }

    @Test func `sessions, sub-tasks and cancellations at random`() async throws {
        let store = try await open(readers: 2)
        let seed = UInt64.random(in: 0 ... .max)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<6 {
                group.addTask {
                    var choices = Choices(seed: seed &+ UInt64(worker))
                    for _ in 0..<times(30, soak: 2000) {
                        let kind = choices.index(below: 5)
                        let isCancelled = choices.index(below: 3) == 0
                        let inner = choices.draw(upTo: .max)
                        let task = Task {
                            var choices = Choices(seed: inner)
                            switch kind {
                            case 0: _ = try await store.fetch(Query(Purse.self))
                            case 1: _ = try await store.count(Query(Purse.self).where { $0.money > 100 })
                            case 2: _ = try store.toMany(Query(Purse.self), as: \.id) { _, _ in -1 }.element(at: 3)
                            case 3: try await store.checkpoint()
                            default: try await store.write { try await self.pay($0, &choices) }
                            }
                        }
                        if isCancelled {
                            await Task.yield()
                            task.cancel()
                        }
                        do { try await task.value } catch is CancellationError {
                            guard isCancelled else { throw Violation(description: "seed \(seed), worker \(worker)") }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let money = try await store.fetch(Query(Purse.self)).map(\.money)
        #expect(money.reduce(0, +) == Self.total, "seed \(seed)")
    }
}
