import Foundation
import ShopModels
import Testing

@testable import GraphMapperStore
@testable import ShoppingCart

@Suite struct `Files and transactions` {
    @Test func `what was saved is there when the file is opened again`() async throws {
        let path = try Scratch.folder().appendingPathComponent("shop.sqlite").path
        _ = try await seed(openShop(.file(path)), carts: [[0, 0]], items: 1)
        let cart = try await shopSession(openShop(.file(path))).first(Query(CartRecord.self))
        #expect(cart?.items.count == 2)
    }

    @Test func `the tables are those that the guide shows`() async throws {
        let store = try await openShop()
        let rows = try store.writer.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        let made = rows.map { if case .text(let sql) = $0[0] { sql } else { "" } }
        let guide = try Compiler.text("docs/store.md").split { $0.isWhitespace }.joined(separator: " ")
            .replacingOccurrences(of: "CREATE TABLE IF NOT EXISTS", with: "CREATE TABLE")
        #expect(made.count == 8)
        for sql in made { #expect(guide.contains(sql + ";")) }
    }

    @Test func `a store that is closed leaves one file`() async throws {
        let folder = try Scratch.folder()
        let path = folder.appendingPathComponent("shop.sqlite").path
        do {
            let store = try await openShop(.file(path))
            _ = try await seed(store, carts: [[0]], items: 1)
            #expect(try await store.count(Query(ItemRecord.self)) == 1)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["shop.sqlite"])
    }

    @Test func `a file that is no database, and a folder that is not there`() async throws {
        let folder = try Scratch.folder()
        let file = folder.appendingPathComponent("text.sqlite")
        try String(repeating: "not a database ", count: 100).write(to: file, atomically: true, encoding: .utf8)
        await #expect { try await openShop(.file(file.path)) } throws: { ($0 as? StoreError)?.kind == .notADatabase }
        let missing = folder.appendingPathComponent("no/shop.sqlite").path
        await #expect { try await openShop(.file(missing)) } throws: { ($0 as? StoreError)?.kind == .cannotOpen }
    }

    @Test func `a throw undoes the transaction, and a savepoint its part`() async throws {
        struct Stop: Error {}
        let store = try await openShop()
        let item = ItemRecord(id: UUID(), name: "a", price: 1, picture: nil)
        await #expect(throws: Stop.self) {
            try await store.write { tx in
                try await tx.insert(item)
                throw Stop()
            }
        }
        #expect(try await store.count(Query(ItemRecord.self)) == 0)
        try await store.write { tx in
            try await tx.insert(item)
            do {
                try await tx.savepoint {
                    try await tx.apply(Patch(ItemRecord.self, item.id).set(\.price, 9))
                    throw Stop()
                }
            } catch is Stop {}
        }
        #expect(try await store.find(ItemRecord.self, item.id)?.price == 1)
    }

    @Test func `misuse of transactions is an error`() async throws {
        let store = try await openShop()
        var kept: WriteTransaction?
        try await store.write { kept = $0 }
        let ended = try #require(kept)
        await #expect { try await ended.count(Query(ItemRecord.self)) } throws: { ($0 as? StoreError)?.kind == .misuse }
        await #expect { try await store.write { _ in try await store.write { _ in } } } throws: {
            ($0 as? StoreError)?.kind == .misuse
        }
    }

    @Test func `a duplicate key and a dangling link are typed errors`() async throws {
        let store = try await openShop()
        let item = ItemRecord(id: UUID(), name: "a", price: 1, picture: nil)
        try await store.write { try await $0.insert(item) }
        await #expect { try await store.write { try await $0.insert(item) } } throws: {
            ($0 as? StoreError)?.kind == .duplicateKey
        }
        let cart = CartRecord(id: UUID(), user: Ref(UUID()), items: [])
        await #expect { try await store.write { try await $0.insert(cart) } } throws: {
            ($0 as? StoreError)?.kind == .foreignKey
        }
    }

    @Test func `queries filter, through links too`() async throws {
        let store = try await openShop()
        _ = try await seed(store, carts: [[0], [1], []], items: 12)
        let names = try await store.fetch(
            Query(ItemRecord.self).where {
                $0.price >= 252
                $0.name.hasPrefix("item 1") || $0.name == "item 5"
                $0.picture == nil
            }.sorted(by: \.price, descending: true)
        ).map(\.name)
        #expect(names == ["item 11", "item 10", "item 5"])
        #expect(try await store.count(Query(CartRecord.self).where { $0.user.name == "user 1" }) == 1)
        #expect(
            try await store.fetch(Query(ItemRecord.self).sorted(by: \.price).limit(2).offset(3)).map(\.price) == [
                253, 254,
            ])
        #expect(try await store.count(Query(ItemRecord.self).where { !($0.price < 255) }) == 7)
        #expect(try await store.count(Query(ItemRecord.self).where { $0.price.isIn([250, 251, 9]) }) == 2)
    }

    @Test func `odd values come back bit for bit`() async throws {
        let store = try await GraphStore.open(.inMemory, OddRecord.self)
        let texts = ["", "a\u{0}b", "e\u{301}", "é", "👩‍👩‍👧", String(repeating: "x", count: 1_000_000)]
        let numbers = [-0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, 1e308]
        for (index, text) in texts.enumerated() {
            let odd = OddRecord(
                id: index, text: text, number: numbers[index], small: index % 2 == 0 ? .min : .max,
                big: index % 2 == 0 ? .max : 0, date: Date(timeIntervalSince1970: -1.000_001), bytes: Data(text.utf8))
            try await store.write { try await $0.insert(odd) }
            let back = try #require(try await store.find(OddRecord.self, index))
            for property in OddRecord.schema.properties {
                #expect(property.isSame(odd, back), "\(index).\(property.name): \(odd) \(back)")
            }
        }
    }
}

struct OddRecord: StoredRecord {
    let id: Int
    let text: String
    let number: Double
    let small: Int8
    let big: UInt64
    let date: Date
    let bytes: Data
    static let schema = Schema<Self>("odd") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), number: row("number", \.number),
            small: row("small", \.small), big: row("big", \.big), date: row("date", \.date),
            bytes: row("bytes", \.bytes))
    }
}
