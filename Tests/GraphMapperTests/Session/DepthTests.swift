import Foundation
import GraphMapper
import Testing

struct ChainRecord: DTO, Identifiable {
    typealias Model = ChainLink
    let id: Int
    let value: Int
    let next: Ref<ChainRecord>?
    static let schema = Schema<Self>("chain") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), next: row("next", \.next))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ChainLink(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.next, \.next)
        }
    }
}

final class ChainLink {
    let id: Int
    var value = 0
    var next: ChainLink?
    init(id: Int) { self.id = id }
}

@Suite struct `Depth` {
    /// Runs `body` on a thread with a stack of 512 KB.
    static func onSmallStack(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let thread = Thread { continuation.resume(with: Result { try body() }) }
            thread.stackSize = 512 * 1024
            thread.start()
        }
    }

    @Test func `a chain of a million maps and writes back on a small stack`() async throws {
        try await Self.onSmallStack {
            let count = 1_000_000
            let session = GraphSession(ChainRecord.mapping)
            let models = try session.map(
                (0..<count).map { ChainRecord(id: $0, value: $0, next: $0 + 1 < count ? Ref($0 + 1) : nil) })
            #expect(try session.changes().isEmpty)
            models[count - 1].value = -1
            #expect(try session.changes().changes.count == 1)
            // Releasing a strong chain is the app's recursion; break it first.
            for model in models { model.next = nil }
        }
    }

    @Test func `a chain of new objects is found from its first`() async throws {
        try await Self.onSmallStack {
            let models = (0..<100_000).map { ChainLink(id: $0) }
            for (model, next) in zip(models, models.dropFirst()) { model.next = next }
            let session = GraphSession(ChainRecord.mapping)
            try session.add(models[0])
            #expect(try session.changes().changes.count == models.count)
            for model in models { model.next = nil }
        }
    }
}
