import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `How changes are delivered` {
    private let all = Query(WareRecord.self)

    @Test func `a cancelled task ends the loop, and nothing is left`() async throws {
        weak var weakStore: GraphStore?
        do {
            let store = try await openWares()
            weakStore = store
            let (started, start) = AsyncStream<Void>.makeStream()
            let task = Task { [all] in
                var count = 0
                for try await _ in store.changes(of: all) {
                    count += 1
                    start.yield()
                }
                return count
            }
            for await _ in started { break }
            #expect(store.broadcaster.count == 1)
            task.cancel()
            #expect(try await task.value == 1)
            #expect(store.broadcaster.count == 0)
            // One that is cancelled before it begins.
            let late = Task { [all] in
                withUnsafeCurrentTask { $0?.cancel() }
                var iterator = store.changes(of: all).makeAsyncIterator()
                return try await iterator.next() == nil
            }
            #expect(try await late.value)
            #expect(store.broadcaster.count == 0)
            // An iterator that is let go of.
            do {
                var iterator = store.changes(of: all).makeAsyncIterator()
                _ = try await iterator.next()
                #expect(store.broadcaster.count == 1)
            }
            #expect(store.broadcaster.count == 0)
        }
        #expect(weakStore == nil)
    }

    @Test func `an error ends the sequence`() async throws {
        let store = try await openWares()
        var changes = store.changes(of: all.sorted(by: \.name)).makeAsyncIterator()
        _ = try await changes.next()
        try await store.write { try await $0.execute("DROP TABLE ware_parts") }
        try await store.write { try await $0.execute("INSERT INTO ware (id, price, \"group\") VALUES (1, 0, 0)") }
        await #expect(throws: StoreError.self) { try await changes.next() }
        #expect(try await changes.next() == nil)
        #expect(store.broadcaster.count == 0)
        var wrong = store.changes(of: all.where { $0.parts.isNil }).makeAsyncIterator()
        await #expect(throws: GraphError.self) { try await wrong.next() }
        #expect(store.broadcaster.count == 0)
    }

    @Test func `a slow observer gets what it has missed at once, and holds up nobody`() async throws {
        let store = try await openWares()
        var changes = store.changes(of: all.sorted(by: \.price)).makeAsyncIterator()
        _ = try await changes.next()
        let last = RowChange.most + 10
        let single = 300
        for id in 1...single { try await store.write { try await $0.insert(WareRecord(id: id)) } }
        for start in stride(from: single + 1, through: last, by: 4000) {
            let ids = start...min(start + 3999, last)
            try await store.write { try await $0.insert(contentsOf: ids.map { WareRecord(id: $0) }) }
        }
        guard case .update(let collection, let deletions, let insertions, _)? = try await changes.next() else {
            throw Violation(description: "not an update")
        }
        #expect(collection.count == last)
        #expect(deletions.isEmpty && insertions == Array(0..<last))
        #expect(store.broadcaster.pendingCount == 0)
    }

    @Test func `a write inside the loop`() async throws {
        let store = try await openWares()
        var seen: [Int] = []
        for try await change in store.changes(of: all) {
            seen.append(change.collection.count)
            if change.collection.count == 4 { break }
            let id = change.collection.count
            try await store.write { try await $0.insert(WareRecord(id: id)) }
        }
        #expect(seen == [0, 1, 2, 3, 4])
    }

    /// Realm 20.
    @Test func `a result is walked to its end while each of its rows stops matching`() async throws {
        let store = try await openWares()
        try await store.write { try await $0.insert(contentsOf: (1...40).map { WareRecord(id: $0) }) }
        var changes = store.changes(of: all.where { $0.group == 0 }).makeAsyncIterator()
        let first = try #require(try await changes.next()?.collection)
        var visited = 0
        for ware in first {
            try await store.write { _ = try await $0.apply(Patch(WareRecord.self, ware.id).set(\.group, 1)) }
            visited += 1
        }
        #expect(visited == 40 && first.count == 40)
        guard case .update(let last, let deletions, [], [])? = try await changes.next() else {
            throw Violation(description: "not an update")
        }
        #expect(last.isEmpty && deletions == Array(0..<40))
    }

    @Test @MainActor func `an observation may begin inside a transaction, and sees what it has committed`()
        async throws
    {
        for location in [GraphStore.Location.inMemory, .file(try Scratch.file())] {
            let store = try await openWares(location)
            let (heard, hear) = AsyncStream<Int>.makeStream()
            let token = try await store.write { [all] tx in
                let token = store.observe(
                    all, onError: { _ in hear.finish() }, { hear.yield($0.collection.count) })
                // Others may run meanwhile.
                try await Task.sleep(nanoseconds: 20_000_000)
                try await tx.insert(WareRecord(id: 1))
                return token
            }
            for await count in heard where count == 1 { break }
            #expect(token.error == nil)
            token.cancel()
            await #expect(throws: StoreError.self) {
                try await store.write { [all] _ in
                    for try await _ in store.changes(of: all) { break }
                }
            }
        }
    }

    @Test @MainActor func `a token's observer runs on the main actor until it is gone`() async throws {
        final class Owner {
            var token: ObservationToken?
            var counts: [Int] = []
        }
        let store = try await openWares()
        let (heard, hear) = AsyncStream<Int>.makeStream()
        var owner: Owner? = Owner()
        owner?.token = store.observe(all) { [weak owner] change in
            MainActor.assertIsolated()
            owner?.counts.append(change.collection.count)
            hear.yield(change.collection.count)
        }
        var iterator = heard.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        try await store.write { try await $0.insert(WareRecord(id: 1)) }
        #expect(await iterator.next() == 1)
        try await store.write { try await $0.insert(WareRecord(id: 2)) }
        let counts = owner?.counts
        owner = nil
        #expect(counts == [0, 1])
        // Whatever is under way comes to nothing: a second observer sees the write, the first is silent.
        let (seen, see) = AsyncStream<Int>.makeStream()
        let other = store.observe(all) { change in see.yield(change.collection.count) }
        for await count in seen where count == 2 { break }
        other.cancel()
        hear.yield(-1)
        #expect(await iterator.next() == -1)
        while store.broadcaster.count > 0 { try await Task.sleep(nanoseconds: 200_000) }
    }

    @Test @MainActor func `nothing is kept of an observer that is cancelled`() async throws {
        final class Kept: Sendable {}
        weak var weakStore: GraphStore?
        weak var weakKept: Kept?
        do {
            let store = try await openWares()
            let kept = Kept()
            (weakStore, weakKept) = (store, kept)
            let (heard, hear) = AsyncStream<Void>.makeStream()
            let call: @MainActor () -> Void = { withExtendedLifetime(kept) { _ = hear.yield() } }
            let first = store.observe(all) { _ in call() }
            let second = store.changes(of: all, sectionedBy: { $0.group }).observe { _ in call() }
            let third = store.counts(of: all).observe { _ in call() }
            var calls = heard.makeAsyncIterator()
            for _ in 0..<3 { await calls.next() }
            for token in [first, second, third] { token.cancel() }
        }
        while weakKept != nil || weakStore != nil { try await Task.sleep(nanoseconds: 200_000) }
    }

    @Test @MainActor func `a token says what has ended it`() async throws {
        let store = try await openWares()
        let (failed, fail) = AsyncStream<Void>.makeStream()
        let token = store.observe(all.where { $0.parts.isNil }, onError: { _ in fail.yield() }, { _ in })
        for await _ in failed { break }
        #expect(token.error is GraphError)
    }

    /// Each event is of one moment: what two rows have in common in every transaction, they have in every event.
    @Test func `no event is torn, in the order of commits`() async throws {
        let store = try await openWares(.file(try Scratch.file()))
        try await store.write { tx in for id in 1...2 { try await tx.insert(WareRecord(id: id)) } }
        let last = 400
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [all] in
                    var before = -1
                    for try await change in store.changes(of: all) {
                        let groups = change.collection.map(\.group)
                        guard groups[0] == groups[1], groups[0] > before else {
                            throw Violation(description: "\(groups) after \(before)")
                        }
                        before = groups[0]
                        if before == last { break }
                    }
                }
            }
            group.addTask {
                for number in 1...last {
                    try await store.write { tx in
                        for id in 1...2 { _ = try await tx.apply(Patch(WareRecord.self, id).set(\.group, number)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.broadcaster.count == 0)
    }
}
