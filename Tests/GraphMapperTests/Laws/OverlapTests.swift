import GraphMapper
import GraphMapperStore
import GraphMapperTesting
import Testing

/// Whatever overlaps, an app loses nothing: two sessions and other writers do what they like, also while one of them waits, and
/// the models and the rows are what a reader of a few lines of rules expects.
@Suite @MainActor struct `What overlaps` {
    private func check<K: OverlapKey>(_: K.Type, _ retention: Retention, count: Int) async throws {
        try await GraphMapperTesting.check(
            .array(of: OverlapCommand.any, count: 0...12), name: "what overlaps, \(K.self), \(retention)", count: count
        ) { commands in
            let world = try await OverlapWorld<K>(retention)
            try await world.run(commands)
        }
    }

    @Test func `law: nothing is lost`() async throws {
        try await check(Int.self, .strong, count: times(200, soak: 60_000))
    }

    @Test func `law: nothing is lost of models that are held weakly`() async throws {
        try await check(Int.self, .weak, count: times(100, soak: 20_000))
    }

    @Test func `law: nothing is lost of objects with keys of two columns`() async throws {
        try await check(OverlapPair.self, .strong, count: times(100, soak: 20_000))
    }
}
