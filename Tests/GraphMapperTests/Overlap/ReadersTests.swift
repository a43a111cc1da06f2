import Foundation
import GraphMapperStore
import Testing

/// Waiting for every place of a great number never ends, and does not let itself be cancelled: what does not end is ended
/// with its process.
private enum Suspending {
    static func run(readers: Int) async throws {
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 30)
            print("a store of \(readers) readers is not suspended")
            exit(1)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("readers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = GraphStore.Options()
        options.readers = readers
        let store = try await GraphStore.open(
            .file(folder.appendingPathComponent("songs.sqlite").path), options: options, SongRow<Int>.self)
        for _ in 0..<2 {
            #expect(try await store.fetch(Query(SongRow<Int>.self)).count <= 1)
            try await store.suspend()
            await store.resume()
            try await store.write { _ = try await $0.upsert(SongRow(id: 7)) }
        }
    }
}

@Suite struct `A store of any number of readers is suspended and goes on` {
    @Test func `the greatest number`() async {
        await #expect(processExitsWith: .success) { try await Suspending.run(readers: .max) }
    }
    @Test func `a great number`() async {
        await #expect(processExitsWith: .success) { try await Suspending.run(readers: 1 << 40) }
    }
    @Test func `one`() async {
        await #expect(processExitsWith: .success) { try await Suspending.run(readers: 1) }
    }
    @Test func `none, which is one`() async {
        await #expect(processExitsWith: .success) { try await Suspending.run(readers: 0) }
    }
    @Test func `less than none, which is one`() async {
        await #expect(processExitsWith: .success) { try await Suspending.run(readers: -1) }
    }
}
