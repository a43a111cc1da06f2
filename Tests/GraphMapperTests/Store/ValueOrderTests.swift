import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private enum Size: UInt64, CaseIterable, Storable {
    case small = 7
    case large = 0x8000_0000_0000_0000
    case most = 0xffff_ffff_ffff_ffff
}

private struct Gauge: StoredRecord {
    let id: UInt64
    var level: Double
    var rough: Float?
    var ticks: UInt64
    var word: UInt?
    var size: Size
    var peer: Ref<Gauge>?
    static let schema = Schema<Self>("gauge") { row in
        try Self(
            id: row("id", \.id), level: row("level", \.level), rough: row("rough", \.rough),
            ticks: row("ticks", \.ticks), word: row("word", \.word), size: row("size", \.size),
            peer: row("peer", \.peer))
    }
}

private struct Small: StoredRecord, Equatable {
    let id: Int
    var byte: Int8
    var large: Int
    var text: String
    static let schema = Schema<Self>("small") { row in
        try Self(
            id: row("id", \.id), byte: row("byte", \.byte), large: row("large", \.large),
            text: row("text", \.text))
    }
}

@Suite(.perEngine) struct `Comparisons answer as Swift's` {
    private static let levels: [Double] = [.nan, -.infinity, -1.5, -0.0, 0, 2, .infinity]
    private static let counts: [UInt64] = [0, 7, 1 << 62, 1 << 63, .max]

    private static let gauges = Gen<[Gauge]>.array(
        of: Gen { choices in
            Gauge(
                id: 0, level: levels[choices.index(below: 7)],
                rough: choices.bool() ? Float(levels[choices.index(below: 7)]) : nil,
                ticks: counts[choices.index(below: 5)],
                word: choices.bool() ? UInt(counts[choices.index(below: 5)]) : nil,
                size: Size.allCases[choices.index(below: 3)], peer: nil)
        }, count: 0...12)

    private typealias Filter = (Gauge) -> Bool

    private func opened(_ rows: [Gauge]) async throws -> (GraphStore, [Gauge]) {
        let store = try await Engine.open(Gauge.self)
        let rows = rows.enumerated().map { place, row in
            // Keys from the upper half, too.
            Gauge(
                id: UInt64(place) &* 0x3000_0000_0000_0000 | UInt64(place), level: row.level, rough: row.rough,
                ticks: row.ticks, word: row.word, size: row.size, peer: nil)
        }
        try await store.write { try await $0.insert(contentsOf: rows) }
        return (store, rows)
    }

    private func expect(
        _ store: GraphStore, _ rows: [Gauge], _ what: String, _ terms: (Columns<Gauge>) -> Condition, _ swift: Filter
    ) async throws {
        let found = try await store.fetch(Query(Gauge.self).where(terms))
        #expect(Set(found.map(\.id)) == Set(rows.filter(swift).map(\.id)), "\(what)")
    }

    @Test func `floating-point numbers, NaN among them`() async throws {
        try await check(Self.gauges, count: 20) { rows in
            let (store, rows) = try await opened(rows)
            for level in Self.levels {
                let rough = Float(level)
                try await expect(store, rows, ">", { $0.level > level }, { $0.level > level })
                try await expect(store, rows, ">=", { $0.level >= level }, { $0.level >= level })
                try await expect(store, rows, "<", { $0.level < level }, { $0.level < level })
                try await expect(store, rows, "<=", { $0.level <= level }, { $0.level <= level })
                try await expect(store, rows, "not >", { !($0.level > level) }, { !($0.level > level) })
                try await expect(
                    store, rows, "optional >", { $0.rough > rough }, { $0.rough.map { $0 > rough } ?? false })
                try await expect(
                    store, rows, "optional <", { $0.rough < rough }, { $0.rough.map { $0 < rough } ?? false })
            }
            try await expect(store, rows, "range", { $0.level.isIn(-1.5...2) }, { (-1.5...2).contains($0.level) })
            try await expect(store, rows, "columns", { $0.level < $0.level * 2 }, { $0.level < $0.level * 2 })
            // Equality is that of what is stored: one NaN is another.
            try await expect(store, rows, "==", { $0.level == .nan }, { $0.level.isNaN })
        }
    }

    @Test func `what does not fit is not written`() async throws {
        let store = try await Engine.open(Small.self)
        try await store.write { try await $0.insert(Small(id: 1, byte: 120, large: .max, text: "")) }
        let query = Query(Small.self)
        #expect(try await store.count(query.where { $0.byte + 9 > 127 }) == 1)
        let error = await #expect(throws: StoreError.self) {
            try await store.write {
                try await $0.update(Small.self, where: { _ in Condition.always }) { $0.byte.set(to: $0.byte + 9) }
            }
        }
        #expect(error?.message.contains("129") == true && error?.message.contains("-128 to 127") == true)
        await #expect(throws: StoreError.self) {
            try await store.write {
                try await $0.update(Small.self, where: { _ in Condition.always }) { $0.large.set(to: $0.large + 1) }
            }
        }
        try await store.write { tx in
            try await tx.update(Small.self, where: { _ in Condition.always }) {
                $0.byte.set(to: $0.byte - 124 - 124)
                $0.large.set(to: $0.large * -1 - 1)
            }
        }
        #expect(try await store.find(Small.self, 1) == Small(id: 1, byte: -128, large: .min, text: ""))
        // The least number has no counterpart.
        #expect(try await store.count(query.where { $0.large.magnitude > 7 }) == 1)
    }

    @Test func `texts with a NUL have all their scalars`() async throws {
        let store = try await Engine.open(Small.self)
        try await store.write { tx in
            for (id, text) in ["a\0bc", "a\0bd", "aé", ""].enumerated() {
                try await tx.insert(Small(id: id, byte: 0, large: 0, text: text))
            }
        }
        let query = Query(Small.self).sorted(by: \.id)
        #expect(try await store.select(query) { $0.text.scalarCount } == [4, 4, 2, 0])
        #expect(try await store.select(query) { $0.text.prefix(3) } == ["a\0b", "a\0b", "aé", ""])
        #expect(try await store.sections(query) { $0.text.prefix(3) }.map(\.records.count) == [1, 2, 1])
    }

    @Test func `unsigned numbers of 64 bits`() async throws {
        try await check(Self.gauges, count: 20) { rows in
            let (store, rows) = try await opened(rows)
            for count in Self.counts {
                let word = UInt(count)
                try await expect(store, rows, ">", { $0.ticks > count }, { $0.ticks > count })
                try await expect(store, rows, "<=", { $0.ticks <= count }, { $0.ticks <= count })
                try await expect(store, rows, "optional", { $0.word >= word }, { $0.word.map { $0 >= word } ?? false })
                try await expect(store, rows, "key", { $0.id < count }, { $0.id < count })
                try await expect(
                    store, rows, "range", { $0.ticks.isIn(7...count | 7) }, { (7...count | 7).contains($0.ticks) })
            }
            for size in Size.allCases {
                try await expect(store, rows, "raw", { $0.size > size }, { $0.size.rawValue > size.rawValue })
            }
        }
    }

    @Test func `unsigned numbers are sorted as such, links and enums by their keys`() async throws {
        try await check(Self.gauges, count: 20) { rows in
            let (store, rows) = try await opened(rows)
            let ids = rows.map(\.id)
            try await store.write { tx in
                for id in ids { _ = try await tx.apply(Patch(Gauge.self, id).set(\.peer, Ref(id))) }
            }
            let all = Query(Gauge.self)
            #expect(try await store.fetch(all.sorted(by: \.id)).map(\.id) == ids.sorted())
            #expect(try await store.fetch(all.sorted(by: \.peer)).map(\.id) == ids.sorted())
            #expect(try await store.fetch(all.sorted(by: \.peer, descending: true)).map(\.id) == ids.sorted(by: >))
            #expect(try await store.fetch(all.sorted(by: \.ticks)).map(\.ticks) == rows.map(\.ticks).sorted())
            let sizes = try await store.fetch(all.sorted(by: \.size)).map(\.size.rawValue)
            #expect(sizes == rows.map(\.size.rawValue).sorted())
            let numbers = try await store.fetch(all.sorted(by: \.level)).map(\.level)
            #expect(numbers.filter { !$0.isNaN } == rows.map(\.level).filter { !$0.isNaN }.sorted())
            let rest = numbers.drop { !$0.isNaN }
            #expect(rest.filter { !$0.isNaN } == [])
        }
    }
}

private struct Diary: StoredRecord {
    let id: Int
    var day: Date
    var other: Date?
    var days: [Date]
    static let schema = Schema<Self>("diary") { row in
        try Self(id: row("id", \.id), day: row("day", \.day), other: row("other", \.other), days: row("days", \.days))
    }
}

@Suite(.perEngine) struct `Dates that are not numbers` {
    @Test func `they are errors and not other dates`() async throws {
        let nan = Date(timeIntervalSince1970: .nan)
        let day = Date(timeIntervalSince1970: 86_400)
        let store = try await Engine.open(Diary.self)
        for row in [
            Diary(id: 1, day: nan, other: nil, days: []), Diary(id: 1, day: day, other: nan, days: []),
            Diary(id: 1, day: day, other: nil, days: [day, nan]),
        ] {
            let error = await #expect(throws: StoreError.self) { try await store.write { try await $0.insert(row) } }
            #expect(error?.kind == .misuse)
        }
        #expect(try await store.count(Query(Diary.self)) == 0)
        #expect(
            Date.isSame(nan, nan) && !Date.isSame(nan, .distantFuture)
                && !Date.isSame(nan, Date(timeIntervalSince1970: .infinity)))
        // What is too far becomes the nearest that fits.
        let far = Diary(id: 2, day: Date(timeIntervalSince1970: .infinity), other: nil, days: [day])
        try await store.write { try await $0.insert(far) }
        #expect(try await store.find(Diary.self, 2)?.days == [day])
    }
}

@Suite(.perEngine) struct `Long conditions` {
    @Test func `thousands of terms are one condition`() async throws {
        let store = try await Engine.open(Diary.self)
        let day = Date(timeIntervalSince1970: 0)
        try await store.write { tx in
            for id in 0..<10 { try await tx.insert(Diary(id: id, day: day, other: nil, days: [])) }
        }
        for count in [1, 2, 3, 7, 8, 9, 10, 17, 33, 2000, 9999] {
            let any = Query(Diary.self).where { row in
                (1..<count).reduce(row.id == 3) { $0 || row.id == 3 + 2 * $1 }
            }
            #expect(
                try await store.fetch(any).map(\.id) == (0..<10).filter { $0 >= 3 && $0 % 2 == 1 && $0 < 3 + 2 * count }
            )
            let right = Query(Diary.self).where { row in
                (1..<count).reduce(row.id == 3) { row.id == 3 + 2 * $1 || $0 }
            }
            let found = try await store.count(right)
            #expect(try await store.count(any) == found)
            var all = Query(Diary.self)
            for number in 0..<count { all = all.where { $0.id != number * 3 } }
            #expect(try await store.fetch(all).map(\.id) == (0..<10).filter { $0 % 3 != 0 || $0 >= count * 3 })
        }
    }
}
