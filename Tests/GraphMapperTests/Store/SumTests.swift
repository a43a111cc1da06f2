import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Amount: StoredRecord {
    let id: Int
    let price: Decimal?
    let number: Int?
    let weight: Double?
    static let schema = Schema<Self>("amount") { row in
        try Self(
            id: row("id", \.id), price: row("price", \.price), number: row("number", \.number),
            weight: row("weight", \.weight))
    }
}

/// The sums and averages of all three columns, as far as they are asked for.
private func totals(_ values: String) async throws -> GraphStore {
    let store = try await GraphStore.open(.inMemory, Amount.self)
    try await store.write { try await $0.execute("INSERT INTO amount (id, price, number, weight) VALUES \(values)") }
    return store
}

@Suite struct `Sums say what fetching says` {
    @Test func `a decimal sum out of range is an error, as that of whole numbers is`() async throws {
        let store = try await GraphStore.open(.inMemory, Amount.self)
        let most = Decimal.greatestFiniteMagnitude
        try await store.write { tx in
            try await tx.insert(contentsOf: [
                Amount(id: 1, price: most, number: .max, weight: nil),
                Amount(id: 2, price: most, number: 1, weight: nil),
            ])
        }
        await #expect(throws: StoreError.self) { try await store.select(Query(Amount.self)) { $0.price.sum() } }
        await #expect(throws: StoreError.self) { try await store.select(Query(Amount.self)) { $0.price.average() } }
        await #expect(throws: StoreError.self) { try await store.select(Query(Amount.self)) { $0.number.sum() } }
    }

    @Test func `what is no number is an error in sums and averages`() async throws {
        for values in [
            "(1, 'x', 1, 1.5)", "(1, '1', 'x', 1.5)", "(1, '1', 1, 'x')", "(1, '1', 1, x'00')", "(1, ' 1', 1, 1)",
        ] {
            let store = try await totals(values)
            await #expect(throws: (any Error).self, "\(values)") { try await store.fetch(Query(Amount.self)) }
            await #expect(throws: StoreError.self, "sum: \(values)") {
                try await store.select(Query(Amount.self)) { ($0.price.sum(), $0.number.sum(), $0.weight.sum()) }
            }
            await #expect(throws: StoreError.self, "average: \(values)") {
                try await store.select(Query(Amount.self)) {
                    ($0.price.average(), $0.number.average(), $0.weight.average())
                }
            }
        }
    }

    @Test func `NULL and NaN do not count`() async throws {
        let store = try await totals(
            "(1, 'NaN', NULL, 'nan'), (2, '1.5', 3, 2.5), (3, NULL, 4, NULL), (4, '2.5', NULL, 1)")
        let found = try await store.select(Query(Amount.self)) {
            ($0.price.sum(), $0.price.average(), $0.number.sum(), $0.number.average(), $0.weight.sum())
        }
        #expect(found.count == 1 && found[0].0 == 4 && found[0].1 == 2 && found[0].2 == 7 && found[0].3 == 3.5)
        #expect(found[0].4 == 3.5)
    }

    @Test func `infinities add up as in Swift`() async throws {
        let store = try await totals("(1, '1', 1, 9e999), (2, '1', 1, -9e999), (3, '1', 1, 1)")
        let both = try await store.select(Query(Amount.self)) { ($0.weight.sum(), $0.weight.average()) }
        #expect(both[0].0.isNaN && both[0].1?.isNaN == true)
        let one = try await store.select(Query(Amount.self).where { $0.id != 2 }) {
            ($0.weight.sum(), $0.weight.average())
        }
        #expect(one[0].0 == .infinity && one[0].1 == .infinity)
    }
}
