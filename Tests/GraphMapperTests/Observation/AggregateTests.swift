import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `Observed aggregates` {
    private let all = Query(WareRecord.self)

    private func store(_ prices: [Double]) async throws -> GraphStore {
        let store = try await openWares()
        try await store.write { tx in
            for (id, price) in prices.enumerated() { try await tx.insert(WareRecord(id: id, price: price)) }
        }
        return store
    }

    @Test func `count, sum, least, greatest, average`() async throws {
        let store = try await store([])
        var count = store.values(of: all) { $0.count() }.makeAsyncIterator()
        var sum = store.values(of: all) { $0.price.sum() }.makeAsyncIterator()
        var least = store.values(of: all) { $0.price.min() }.makeAsyncIterator()
        var greatest = store.values(of: all) { $0.price.max() }.makeAsyncIterator()
        var average = store.values(of: all) { $0.price.average() }.makeAsyncIterator()
        #expect(try await count.next() == 0)
        #expect(try await sum.next() == 0)
        #expect(try await least.next() == .some(.some(nil)))
        #expect(try await average.next() == .some(.some(nil)))
        #expect(try await greatest.next() == .some(.some(nil)))
        try await store.write { tx in
            for id in 1...3 { try await tx.insert(WareRecord(id: id, price: Double(id))) }
        }
        #expect(try await count.next() == 3)
        #expect(try await sum.next() == 6)
        #expect(try await average.next() == 2)
        #expect(try await least.next() == 1)
        #expect(try await greatest.next() == 3)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 5)) }
        #expect(try await sum.next() == 9)
        #expect(try await greatest.next() == 5)
        #expect(try await average.next() == 3)
        // The others have not been told of that.
        try await store.write { _ = try await $0.delete(WareRecord.self, 1) }
        #expect(try await count.next() == 2)
        #expect(try await least.next() == 3)
    }

    @Test func `what leaves the value is not told, what cannot matter is not looked at`() async throws {
        let store = try await store([1, 2])
        var sums = store.values(of: all.where { $0.group == 0 }) { $0.price.sum() }.makeAsyncIterator()
        var counts = store.counts(of: all.where { $0.group == 0 }).makeAsyncIterator()
        #expect(try await sums.next() == 3)
        #expect(try await counts.next() == 2)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 0).set(\.name, "other")) }
        try await store.write { try await $0.insert(WareRecord(id: 7, price: 8, group: 1)) }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 7).set(\.price, 9)) }
        #expect(store.broadcaster.pendingCount == 0)
        try await store.write { tx in
            _ = try await tx.apply(Patch(WareRecord.self, 0).set(\.price, 2))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.price, 1))
        }
        #expect(store.broadcaster.pendingCount == 1)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 7).set(\.group, 0)) }
        #expect(try await sums.next() == 12)
        #expect(try await counts.next() == 3)
    }

    @Test func `NaN is a value like others`() async throws {
        let store = try await store([.nan])
        var first = store.values(of: all) { $0.price }.makeAsyncIterator()
        #expect(try await first.next()??.isNaN == true)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 0).set(\.price, .nan)) }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 0).set(\.price, 1)) }
        #expect(try await first.next() == 1)
    }

    @Test func `law: the last value told is the one that the query has`() async throws {
        try await check(WareStory.gen, count: times(60, soak: 3000)) { scenario in
            let query = scenario.asked.query
            let reading: @Sendable (ReadTransaction) async throws -> [StoredValue] = { tx in
                let sum = try await tx.value(query) { $0.group.sum() }
                let name = try await tx.value(query) { $0.name.max() }
                return [sum.map { .integer(Int64($0)) } ?? .null, name??.stored ?? .null]
            }
            var changes: Stepper<LiveValue<[StoredValue]>>?
            var old: [StoredValue] = []
            try await scenario.run { store, round in
                let expected = try await store.read { try await reading($0) }
                defer { old = expected }
                guard round != nil else {
                    let live = LiveValue<[StoredValue]>(isSame: ==, reading)
                    changes = try await Stepper(store, live)
                    return
                }
                let told = try await changes?.step()
                try ensure(told == (old == expected ? nil : expected), "told \(told ?? []), expected \(expected)")
            }
        }
    }

    @Test func `a property without a column is an error`() async throws {
        let store = try await store([])
        var wrong = store.values(of: all) { $0.parts.count() }.makeAsyncIterator()
        await #expect(throws: GraphError.self) { try await wrong.next() }
        var mistaken = store.values(of: all.where { $0.parts.isNil }) { $0.count() }.makeAsyncIterator()
        await #expect(throws: GraphError.self) { try await mistaken.next() }
        #expect(store.broadcaster.count == 0)
    }
}
