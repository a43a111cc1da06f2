import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `Many observers and writers` {
    /// What each observer shows by applying changes, in the end, is its query's result. 8 observers and 4 writers: for a
    /// minute in `make soak` and `make races`.
    @Test func `end with what the queries have`() async throws {
        let file = try Scratch.file()
        let store = try await openWares(.file(file))
        let other = try await openWares(.file(file))
        try await store.write { tx in
            for id in 1...3 { try await tx.insert(DepotRecord(id: id, name: "a")) }
        }
        let all = Query(WareRecord.self)
        let queries = [
            all, all.sorted(by: \.price, descending: true), all.where { $0.group == 1 },
            all.where { $0.price < 50 }.sorted(by: \.name), all.sorted(by: \.price).limit(10),
            all.sorted(by: \.group).limit(10).offset(5), all.where { $0.depot.name == "a" },
            all.sorted(by: \.name, as: .caseInsensitive).distinct(by: \.group),
        ]
        let shown = queries.map { _ in Locked<(rows: [WareRecord], error: (any Error)?)>(([], nil)) }
        let observers = queries.indices.map { place in
            Task {
                var table = TableModel<WareRecord>([])
                do {
                    for try await change in store.changes(of: queries[place]) {
                        try table.apply(change) { $0 }
                        shown[place].withLock { [rows = table.rows] in $0.rows = rows }
                    }
                } catch {
                    shown[place].withLock { $0.error = error }
                }
            }
        }
        let seed = UInt64.random(in: 0 ... .max)
        let start = ContinuousClock.now
        let rounds = times(100, soak: .max)
        let time = Duration.seconds(times(600, soak: 60))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    var choices = Choices(seed: seed &+ UInt64(writer))
                    var round = 0
                    while round < rounds, ContinuousClock.now - start < time {
                        round += 1
                        let edits = (0...choices.index(below: 4)).map { _ in
                            (choices.index(below: 40), choices.index(below: 100), choices.index(below: 10))
                        }
                        try await (writer == 3 ? other : store).write { tx in
                            for (id, value, kind) in edits { try await edit(tx, id, value, kind) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for place in queries.indices {
            let expected = try await store.fetch(queries[place].sorted(by: \.id))
            let end = ContinuousClock.now + .seconds(600)
            while shown[place].withLock({ $0.rows != expected && $0.error == nil }) {
                guard ContinuousClock.now < end else { throw Violation(description: "query \(place), seed \(seed)") }
                try await Task.sleep(nanoseconds: 1_000_000)
            }
            if let error = shown[place].withLock({ $0.error }) { throw error }
        }
        for observer in observers { observer.cancel() }
        for observer in observers { await observer.value }
        #expect(store.broadcaster.count == 0)
    }

    private func edit(_ tx: WriteTransaction, _ id: Int, _ value: Int, _ kind: Int) async throws {
        switch kind {
        case 0...4:
            try await tx.upsert(
                WareRecord(
                    id: id, name: "\(value)", price: Double(value), group: value % 3,
                    depot: value % 4 == 0 ? nil : Ref(value % 4)))
        case 5: _ = try await tx.delete(WareRecord.self, id)
        case 6: _ = try await tx.apply(Patch(DepotRecord.self, 1 + id % 3).set(\.name, value % 2 == 0 ? "a" : "b"))
        case 7: try await tx.execute("UPDATE ware SET price = price + 1 WHERE id < ?", [.integer(Int64(id))])
        default: _ = try await tx.apply(Patch(WareRecord.self, id).set(\.price, Double(value)))
        }
    }
}
