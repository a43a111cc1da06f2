import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite @MainActor struct `Writes that an observer knows of` {
    /// A list that shows what it is told, and what it does itself.
    private final class Shown {
        var wares: [WareRecord] = []
        var token: ObservationToken?
        var failure: (any Error)?

        func apply(_ change: CollectionChange<WareRecord>) {
            var table = TableModel(wares)
            do { try table.apply(change) { $0 } } catch { failure = failure ?? error }
            wares = table.rows
        }

        func set(_ ware: WareRecord) {
            wares.removeAll { $0.id == ware.id }
            guard ware.price < 8 else { return }
            let place = wares.firstIndex { ($0.price, $0.id) > (ware.price, ware.id) } ?? wares.count
            wares.insert(ware, at: place)
        }
    }

    @Test func `law: it is not told of them, and what it is told later fits`() async throws {
        let edits = Gen<Int>.int(in: 0...5).zip(.int(in: 0...9)).zip(.bool)
        try await check(Gen<[((Int, Int), Bool)]>.array(of: edits, count: 1...12), count: 60) { edits in
            let store = try await openWares()
            let query = Query(WareRecord.self).where { $0.price < 8 }.sorted(by: \.price)
            let shown = Shown()
            let (told, tell) = AsyncStream<Void>.makeStream()
            shown.token = store.observe(query) { [unowned shown] change in
                shown.apply(change)
                tell.yield()
            }
            for await _ in told { break }
            for ((id, price), isOwn) in edits {
                let ware = WareRecord(id: id, price: Double(price))
                guard isOwn, let token = shown.token else {
                    try await store.write { _ = try await $0.upsert(ware) }
                    continue
                }
                let outcome = try await store.write(withoutNotifying: [token]) { try await $0.upsert(ware) }
                // A row that somebody else has made so is for them to tell.
                if outcome != .unchanged { shown.set(ware) }
            }
            // What comes last is told of.
            try await store.write { try await $0.insert(WareRecord(id: 99, price: -5)) }
            while shown.wares.first?.id != 99, shown.failure == nil, shown.token?.error == nil {
                try await Task.sleep(nanoseconds: 200_000)
            }
            if let failure = shown.failure ?? shown.token?.error { throw failure }
            let expected = try await store.fetch(query.sorted(by: \.id))
            try ensure(shown.wares == expected, "it shows \(shown.wares), not \(expected)")
        }
    }

    @Test func `nothing is told`() async throws {
        let store = try await openWares()
        var counts: [Int] = []
        let (told, tell) = AsyncStream<Void>.makeStream()
        let token = store.observe(Query(WareRecord.self)) { change in
            counts.append(change.collection.count)
            tell.yield()
        }
        for await _ in told { break }
        try await store.write(withoutNotifying: [token]) { try await $0.insert(WareRecord(id: 1)) }
        try await store.write { try await $0.insert(contentsOf: [WareRecord(id: 2), WareRecord(id: 3)]) }
        for await _ in told { break }
        #expect(counts == [0, 3])
    }

    @Test func `who has to run its query again cannot be left out`() async throws {
        let store = try await openWares()
        let (told, tell) = AsyncStream<Void>.makeStream()
        let token = store.observe(Query(WareRecord.self).limit(3)) { _ in tell.yield() }
        for await _ in told { break }
        await #expect(throws: StoreError.self) {
            try await store.write(withoutNotifying: [token]) { try await $0.insert(WareRecord(id: 1)) }
        }
        #expect(try await store.count(Query(WareRecord.self)) == 0)
        let whole = store.observe(Query(WareRecord.self)) { _ in tell.yield() }
        for await _ in told { break }
        await #expect(throws: StoreError.self) {
            try await store.write(withoutNotifying: [whole]) {
                try await $0.execute("INSERT INTO ware (id, price, \"group\") VALUES (1, 0, 0)")
            }
        }
        // It is told of what others write, as before.
        try await store.write { try await $0.insert(WareRecord(id: 1)) }
        for await _ in told { break }
        token.cancel()
        whole.cancel()
    }
}
