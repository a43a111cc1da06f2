import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

/// Lists of one scalar type, and dictionaries of it.
private struct Listed<E: ListElement & Hashable>: StoredRecord {
    let id: Int
    let items: [E]
    let named: [String: E]
    static var schema: Schema<Self> {
        Schema("listed") { row in
            try Self(id: row("id", \.id), items: row("items", \.items), named: row("named", \.named))
        }
    }
}

private enum Temper: String, Storable, CaseIterable, ListElement { case low, high }

/// Lists of values of one type, and conditions on their elements that Swift answers too.
private struct Trial<E: ListElement & Hashable & Sendable> {
    let values: [E]
    let isSame: (E, E) -> Bool
    let store: GraphStore
    let rows: [Listed<E>]

    /// Every list of at most two of the values, and one of all.
    init(_ values: [E], isSame: @escaping (E, E) -> Bool = { E.isSame($0, $1) }) async throws {
        self.values = values
        self.isSame = isSame
        var lists: [[E]] = [[], values]
        lists += values.map { [$0] }
        for first in values { lists += values.map { [first, $0] } }
        let keys = ["", "a", "a\u{0}b", "a\u{0}c", "\"", "é"]
        rows = lists.enumerated().map { index, list in
            let named = list.enumerated().map { (keys[($0.offset + index) % keys.count], $0.element) }
            return Listed(id: index, items: list, named: Dictionary(named) { $1 })
        }
        store = try await GraphStore.open(.inMemory, Listed<E>.self)
        let rows = rows
        try await store.write { try await $0.insert(contentsOf: rows) }
    }

    func same(
        _ what: String, _ expected: (Listed<E>) throws -> Bool, _ condition: (Columns<Listed<E>>) -> Condition
    ) async throws {
        let found = try await store.fetch(Query(Listed<E>.self).where(condition).sorted(by: \.id)).map(\.id)
        let wanted = try rows.filter(expected).map(\.id)
        #expect(found == wanted, "\(E.self): \(what)")
    }

    func sameForAll() async throws {
        for value in values {
            try await same(
                "contains \(value)", { $0.items.contains { isSame($0, value) } },
                {
                    $0.items.contains(value)
                })
            try await same(
                "any == \(value)", { $0.items.contains { isSame($0, value) } },
                {
                    $0.items.any { $0 == value }
                })
            try await same(
                "all == \(value)", { $0.items.allSatisfy { isSame($0, value) } },
                {
                    $0.items.all { $0 == value }
                })
            try await same(
                "none == \(value)", { !$0.items.contains { isSame($0, value) } },
                {
                    $0.items.none { $0 == value }
                })
            try await same(
                "a value \(value)", { $0.named.values.contains { isSame($0, value) } },
                {
                    $0.named.any { _, found in found == value }
                })
            for key in ["a", "a\u{0}b", "a\u{0}", ""] {
                try await same(
                    "\(key) is \(value)", { $0.named[key].map { isSame($0, value) } ?? false },
                    {
                        $0.named[key] == value
                    })
                try await same("there is \(key)", { $0.named[key] != nil }, { $0.named.containsKey(key) })
            }
        }
    }

    func sameOrder(_ isLess: @escaping (E, E) -> Bool) async throws {
        for value in values {
            try await same(
                "any < \(value)", { $0.items.contains { isLess($0, value) } },
                {
                    $0.items.any { $0 < value }
                })
            try await same(
                "any >= \(value)", { $0.items.contains { isLess(value, $0) || isSame($0, value) } },
                {
                    $0.items.any { $0 >= value }
                })
            try await same(
                "the least is \(value)", { $0.items.min(by: isLess).map { isSame($0, value) } ?? false },
                {
                    $0.items.leastElement() == value
                })
            try await same(
                "the greatest is \(value)", { $0.items.max(by: isLess).map { isSame($0, value) } ?? false },
                {
                    $0.items.greatestElement() == value
                })
        }
    }
}

private func bytesAreLess(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

@Suite struct `Elements of JSON columns are what Swift says they are` {
    private static let doubles = [
        0, 1, -1.5, .infinity, -.infinity, 1e300, Double.leastNonzeroMagnitude, 0.1, 1.7976931348623157e308,
        9_007_199_254_740_992,
        Double.leastNormalMagnitude.nextDown, 123456789.12345679e10,
    ]

    @Test func `floating-point numbers`() async throws {
        // In a condition -0.0 is 0.0, as in Swift.
        let trial = try await Trial(Self.doubles, isSame: ==)
        try await trial.sameForAll()
        try await trial.sameOrder(<)
        let floats = try await Trial(
            [0, 1.5, .infinity, -.infinity, 0.1, 3.4028235e38, Float.leastNonzeroMagnitude] as [Float], isSame: ==)
        try await floats.sameForAll()
        try await floats.sameOrder(<)
    }

    @Test func `sums and averages of infinities`() async throws {
        let trial = try await Trial([0, 1, -1.5, .infinity, -.infinity, 0.25], isSame: ==)
        let found = try await trial.store.select(Query(Listed<Double>.self).sorted(by: \.id)) {
            ($0.id, $0.items.elementSum(), $0.items.elementAverage())
        }
        for (id, sum, average) in found {
            let items = trial.rows[id].items
            let wanted = items.reduce(0, +)
            #expect(Double.isSame(sum, wanted) || sum == wanted, "\(items): \(sum)")
            if items.isEmpty {
                #expect(average == nil)
            } else {
                let mean = wanted / Double(items.count)
                #expect(
                    average.map { Double.isSame($0, mean) || $0 == mean } == true,
                    "\(items): \(String(describing: average))")
            }
        }
    }

    @Test func `texts with a NUL, and of all kinds`() async throws {
        let trial = try await Trial(
            [
                "", "a", "a\u{0}b", "a\u{0}", "\u{0}", "\"\\", "é", "e\u{301}", "inf", "null", "1", "\u{10FFFF}",
                "\n\u{7f}",
            ])
        try await trial.sameForAll()
        try await trial.sameOrder(bytesAreLess)
        let urls = try await Trial(["a:b", "https://example.com/%C3%A9"].compactMap { URL(string: $0) })
        try await urls.sameForAll()
        try await Trial(Temper.allCases).sameForAll()
    }

    @Test func `bytes`() async throws {
        let trial = try await Trial([Data(), Data([0]), Data([0, 255]), Data([171]), Data("ab".utf8)])
        try await trial.sameForAll()
        try await trial.sameOrder { $0.lexicographicallyPrecedes($1) }
        let uuids = try await Trial((0..<4).map { UUID.probe($0) })
        try await uuids.sameForAll()
    }

    @Test func `whole numbers, decimals, dates and truth`() async throws {
        func whole<I: FixedWidthInteger & ListElement & Hashable>(_ type: I.Type) async throws {
            let trial = try await Trial([I.min, I.min + 1, 0, 1, I.max - 1, I.max])
            try await trial.sameForAll()
            try await trial.sameOrder(<)
        }
        try await whole(Int.self)
        try await whole(Int8.self)
        try await whole(Int16.self)
        try await whole(Int32.self)
        try await whole(Int64.self)
        try await whole(UInt8.self)
        try await whole(UInt16.self)
        try await whole(UInt32.self)
        try await whole(UInt64.self)
        try await whole(UInt.self)
        let decimals = try await Trial([0, 1.5, -20, 100, Decimal(sign: .plus, exponent: -3, significand: 1)])
        try await decimals.sameForAll()
        try await decimals.sameOrder(<)
        let dates = try await Trial([-1, 0, 0.000001, 1e9].map { Date(timeIntervalSince1970: $0) })
        try await dates.sameForAll()
        try await dates.sameOrder(<)
        try await Trial([true, false]).sameForAll()
    }

    @Test func `what others have written reads as the record does`() async throws {
        let store = try await GraphStore.open(.inMemory, Listed<Double>.self)
        try await store.write { tx in
            try await tx.execute(
                "INSERT INTO listed VALUES (1, '[ 1 , 2.50, \"inf\"]', '{\"k\": 1, \"k\": 2}'), (2, '[]', '{}')")
        }
        func ids(_ condition: (Columns<Listed<Double>>) -> Condition) async throws -> [Int] {
            try await store.fetch(Query(Listed<Double>.self).where(condition)).map(\.id)
        }
        #expect(try await ids { $0.items.contains(1) && $0.items.contains(2.5) && $0.items.contains(.infinity) } == [1])
        #expect(try await ids { $0.named["k"] == 2 } == [1])
        #expect(try await ids { $0.named["k"] == 1 } == [])
        try await store.write { try await $0.execute("UPDATE listed SET items = '[\"a\"]' WHERE id = 2") }
        await #expect(throws: (any Error).self) { try await ids { $0.items.contains(1) } }
        await #expect(throws: (any Error).self) { try await ids { _ in .always } }
    }
}
