import Foundation
import Testing

@testable import GraphMapperStore

private struct Paper: StoredRecord {
    let id: Int
    var text: String
    var scan: Lazy<String?>
    var links: [Ref<Paper>]
    static let schema = Schema<Self>("paper") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), scan: row("scan", \.scan), links: row("links", \.links))
    }
    static let indexes: [Index<Self>] = [.text(\.text)]
    init(id: Int, text: String = "", scan: Lazy<String?> = Lazy(nil), links: [Ref<Paper>] = []) {
        (self.id, self.text, self.scan, self.links) = (id, text, scan, links)
    }
}

/// Everything that a transaction can be asked.
private let uses: [@Sendable (WriteTransaction) async throws -> Void] = [
    { _ = try await $0.fetch(Query(Paper.self)) }, { _ = try $0.fetchNow(Query(Paper.self)) },
    { _ = try await $0.count(Query(Paper.self)) }, { _ = try await $0.find(Paper.self, 1) },
    { _ = try await $0.fetch(Paper.self, ids: [1]) }, { _ = try $0.fetchNow(Paper.self, ids: [1]) },
    { _ = try await $0.rows("SELECT 1") }, { _ = try await $0.changeRecords() },
    { _ = try await $0.search(Query(Paper.self), for: .words("a")) },
    { _ = try await $0.page(Query(Paper.self), size: 1) },
    { _ = try await $0.lazyValues(Paper.self, \.scan, ids: [1]) }, { try await $0.insert(Paper(id: 7)) },
    { try await $0.insert(contentsOf: [Paper(id: 7)]) }, { try await $0.insert(Paper.self) { Paper(id: $0) } },
    { try await $0.upsert(Paper(id: 7)) }, { try await $0.upsert(contentsOf: [Paper(id: 7)]) },
    { try await $0.apply(Patch(Paper.self, 1).set(\.text, "x")) }, { try await $0.delete(Paper.self, 1) },
    { try await $0.delete(Paper.self) { $0.id == 1 } },
    { try await $0.update(Paper.self, where: { $0.id == 1 }, set: { $0.text.set(to: "x") }) },
    { try await $0.execute("DELETE FROM paper") }, { try await $0.savepoint {} },
    { try await $0.apply(.delete(.init(table: "paper", keyColumns: ["id"], key: [.integer(1)]))) },
]

/// What Swift 6 refuses to send, sent all the same: as code in Swift 5 may.
private final class Smuggled: @unchecked Sendable {
    // The test waits for the other task before it goes on: one at a time uses it.
    var transaction: WriteTransaction?
}

@Suite struct `Transactions that are used where they may not be` {
    private func open(_ location: GraphStore.Location) async throws -> GraphStore {
        let store = try await GraphStore.open(location, Paper.self)
        try await store.write { try await $0.insert(Paper(id: 1, text: "a")) }
        return store
    }

    private func expectMisuse(_ number: Int, _ body: () async throws -> Void) async {
        let error = await #expect(throws: StoreError.self, "\(number)") { try await body() }
        #expect(error?.kind == .misuse, "\(number): \(String(describing: error))")
    }

    @Test func `after its end a transaction does nothing`() async throws {
        for location in [GraphStore.Location.inMemory, .file(try Scratch.file())] {
            let store = try await open(location)
            var kept: WriteTransaction?
            try await store.write { kept = $0 }
            let ended = try #require(kept)
            for (number, use) in uses.enumerated() { await expectMisuse(number, { try await use(ended) }) }
            // Also while another is open on the same connection.
            try await store.write { tx in
                for (number, use) in uses.enumerated() { await expectMisuse(number, { try await use(ended) }) }
                let count = try await tx.count(Query(Paper.self))
                #expect(count == 1)
            }
            #expect(try await store.find(Paper.self, 1)?.text == "a")
        }
    }

    @Test func `on another task it does nothing`() async throws {
        for location in [GraphStore.Location.inMemory, .file(try Scratch.file())] {
            let store = try await open(location)
            try await store.write { tx in
                let smuggled = Smuggled()
                smuggled.transaction = tx
                await Task {
                    for (number, use) in uses.enumerated() {
                        await expectMisuse(number) { if let tx = smuggled.transaction { try await use(tx) } }
                    }
                }.value
                // In its own it goes on.
                try await tx.insert(Paper(id: 2))
            }
            #expect(try await store.count(Query(Paper.self)) == 2)
        }
    }

    @Test func `in its own task each of them works`() async throws {
        let store = try await open(.inMemory)
        for use in uses {
            do {
                try await store.write { tx in
                    try await use(tx)
                    throw CancellationError()
                }
            } catch is CancellationError {}
        }
        #expect(try await store.count(Query(Paper.self)) == 1)
    }

    @Test(arguments: [
        ("Task { try await tx.delete(ThingRecord.self, 1) }", "risks causing data races"),
        ("async let gone = tx.delete(ThingRecord.self, 1); _ = try await gone", "data races"),
        ("await withTaskGroup(of: Void.self) { group in group.addTask { _ = tx.statementCount } }", "data race"),
        ("DispatchQueue.global().async { _ = tx.statementCount }", "non-Sendable"),
    ])
    func `a transaction does not leave its task`(code: String, message: String) throws {
        func compile(_ code: String) throws -> String {
            try Compiler.compile(
                """
                import Dispatch
                import GraphMapperStore
                struct ThingRecord: StoredRecord {
                    let id: Int
                    static let schema = Schema<Self>("thing") { row in try Self(id: row("id", \\.id)) }
                }
                func use(_ store: GraphStore) async throws {
                    try await store.write { tx in
                        \(code)
                    }
                }
                """)
        }
        #expect(try compile("_ = try await tx.delete(ThingRecord.self, 1); _ = tx.statementCount") == "")
        let text = try compile(code)
        #expect(text.contains("error: ") && text.contains(message), "\(text)")
    }
}
