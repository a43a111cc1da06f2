import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private final class Purse {
    let id: Int
    var balance = 0
    init(id: Int) { self.id = id }
}
private struct PurseRow: StoredRecord {
    typealias Model = Purse
    let id: Int
    let balance: Int
    static let schema = Schema<Self>("purse") { row in
        try Self(id: row("id", \.id), balance: row("balance", \.balance))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Purse(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.balance, \.balance)
        }
    }
}

@Suite struct `A query that a session follows` {
    @Test @MainActor func `shows one moment: the list and its models`() async throws {
        let store = try await GraphStore.open(.file(try Scratch.file()), PurseRow.self)
        let count = 6
        try await store.write { tx in
            try await tx.insert(contentsOf: (0..<count).map { PurseRow(id: $0, balance: 100) })
        }
        let writer = Task.detached {
            for step in 0..<400 {
                let (from, to) = (step * 7 % count, (step * 5 + 1) % count)
                try await store.write { tx in
                    try await tx.execute(
                        "UPDATE purse SET balance = balance - 1 WHERE id = ?", [.integer(Int64(from))])
                    try await tx.execute("UPDATE purse SET balance = balance + 1 WHERE id = ?", [.integer(Int64(to))])
                    // Rows come and go; what they have goes with them.
                    if step % 3 == 0 {
                        try await tx.execute(
                            "UPDATE purse SET balance = balance + (SELECT balance FROM purse WHERE id = 5) WHERE id = 0"
                        )
                        try await tx.execute("UPDATE purse SET balance = 0 WHERE id = 5")
                    }
                }
            }
            try await store.write { try await $0.execute("INSERT INTO purse VALUES (99, 0)") }
        }
        let session = GraphSession(store, PurseRow.mapping)
        var wrong = 0
        var events = 0
        struct Done: Error {}
        await #expect(throws: Done.self) {
            try await session.follow(Query(PurseRow.self).sorted { $0.balance }) { change in
                events += 1
                let models = change.models
                if models.reduce(0, { $0 + $1.balance }) != count * 100 { wrong += 1 }
                // The list is in the order of what the models have.
                if !zip(models, models.dropFirst()).allSatisfy({ $0.balance <= $1.balance }) { wrong += 1 }
                if models.contains(where: { $0.id == 99 }) { throw Done() }
            }
        }
        try await writer.value
        #expect(wrong == 0, "of \(events)")
    }
}
