import Foundation
import GraphMapperStore
import Testing

private struct ClosedRow: StoredRecord, Equatable {
    let id: Int
    var text = ""
    static let schema = Schema<Self>("page") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
}

@Suite struct `Stores that are closed` {
    private func open(_ location: GraphStore.Location) async throws -> GraphStore {
        try await GraphStore.open(location, ClosedRow.self)
    }

    @Test(arguments: [true, false]) func `refuse whatever is asked of them`(isFile: Bool) async throws {
        let store = try await open(isFile ? .file(Scratch.file()) : .inMemory)
        try await store.write { try await $0.insert(ClosedRow(id: 1)) }
        try await store.close()
        try await store.close()
        func refused(_ body: () async throws -> Void) async {
            let error = await #expect(throws: StoreError.self) { try await body() }
            #expect(error?.kind == .misuse && error?.message.contains("closed") == true, "\(error as Any)")
        }
        await refused { _ = try await store.find(ClosedRow.self, 1) }
        await refused { try await store.write { try await $0.insert(ClosedRow(id: 2)) } }
        await refused { try await store.compact() }
        await refused { _ = try await store.checkIntegrity() }
        await refused { _ = try store.toMany(Query(ClosedRow.self), as: \.text) { _, _ in "" }.element(at: 0) }
        await refused { for try await _ in store.changes(of: Query(ClosedRow.self)) {} }
        try await store.suspend()
        await store.resume()
    }

    @Test func `wait for what is open, and end what is observed`() async throws {
        let path = try Scratch.file()
        let store = try await open(.file(path))
        let begun = AsyncStream<Void>.makeStream()
        let go = AsyncStream<Void>.makeStream()
        let writing = Task {
            try await store.write { tx in
                try await tx.insert(ClosedRow(id: 1))
                begun.continuation.finish()
                for await _ in go.stream {}
                try await tx.insert(ClosedRow(id: 2))
            }
        }
        let first = AsyncStream<Void>.makeStream()
        let observing = Task {
            var count = 0
            for try await _ in store.changes(of: Query(ClosedRow.self)) {
                count += 1
                first.continuation.finish()
            }
            return count
        }
        for await _ in begun.stream {}
        for await _ in first.stream {}
        let closing = Task { try await store.close() }
        go.continuation.finish()
        try await writing.value
        try await closing.value
        #expect(try await observing.value >= 1)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(try await open(.file(path)).count(Query(ClosedRow.self)) == 2)
    }

    @Test func `cannot be closed inside their own transactions`() async throws {
        let store = try await open(.inMemory)
        let error = await #expect(throws: StoreError.self) { try await store.write { _ in try await store.close() } }
        #expect(error?.kind == .misuse)
        #expect(try await store.isEmpty(Query(ClosedRow.self)))
    }

    @Test func `a suspended one is closed as well`() async throws {
        let store = try await open(.file(Scratch.file()))
        try await store.suspend()
        let waiting = Task { try await store.count(Query(ClosedRow.self)) }
        try await store.close()
        // It was let in before, or is refused.
        if case .failure(let error) = await waiting.result { #expect((error as? StoreError)?.kind == .misuse) }
    }

    @Test func `a file that is deleted while stores have it open says how many`() async throws {
        let path = try Scratch.file()
        let first = try await open(.file(path))
        let second = try await open(.file(path))
        for (number, store) in [(2, first), (1, second)] {
            let error = #expect(throws: StoreError.self) { try GraphStore.deleteFile(at: path) }
            #expect(error?.kind == .busy)
            #expect(error?.message.hasPrefix("\(number) stores of this process") == true, "\(error as Any)")
            try await store.close()
        }
        try GraphStore.deleteFile(at: path)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
