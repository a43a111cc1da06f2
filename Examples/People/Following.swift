import Foundation
import GraphMapperStore

/// The people of the list: scenario 2's query.
let hoons = Query(PersonRecord.self).where { $0.name == "hoon" }.sorted(by: \.name)

/// What a task writes while the list is shown: inserts, edits and deletes, some of them in large commits.
struct Writer: Sendable {
    let store: GraphStore
    let commits: Int
    let people: Int

    func run() async throws {
        var random = SystemRandomNumberGenerator()
        for commit in 0..<commits {
            try await store.write { transaction in
                let edits = commit % 50 == 49 ? max(10, people / 100) : 1 + commit % 4
                for _ in 0..<edits { try await edit(transaction, &random) }
            }
            try await Task.sleep(nanoseconds: 500_000)
        }
        // Its key is the greatest, so it is the last: who sees it has seen everything.
        try await store.write {
            try await $0.insert(PersonRecord.self) { PersonRecord(id: $0, name: "hoon", age: 999) }
        }
    }

    private func edit(_ transaction: WriteTransaction, _ random: inout SystemRandomNumberGenerator) async throws {
        let id = Int.random(in: 1...people, using: &random)
        let age = Int.random(in: 0...99, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: _ = try await transaction.upsert(PersonRecord(id: id, name: "hoon", age: age))
        case 2: try await transaction.delete(PersonRecord.self, id)
        case 3: try await transaction.apply(Patch(PersonRecord.self, id).set(\.name, age % 2 == 0 ? "ann" : "hoon"))
        default: try await transaction.apply(Patch(PersonRecord.self, id).set(\.age, age))
        }
    }
}

/// Measures how long the main actor keeps others waiting.
struct StallMeter: Sendable {
    /// The longest wait in milliseconds, until the task is cancelled.
    func run() async -> Double {
        let clock = ContinuousClock()
        var longest = Duration.zero
        while !Task.isCancelled {
            let start = clock.now
            await MainActor.run {}
            longest = max(longest, clock.now - start)
            await Task.yield()
            do { try await Task.sleep(nanoseconds: 500_000) } catch { break }
        }
        return Double(longest.components.attoseconds) / 1e15 + Double(longest.components.seconds) * 1e3
    }
}

/// The list while somebody writes; says whether it was right all the time.
///
/// - Parameter people: how many there are at the beginning.
@MainActor func follow(_ store: GraphStore, people: Int, commits: Int) async throws {
    title("The list, while another task writes")
    try await Task.detached {
        try await store.write { transaction in
            try await transaction.delete(BadgeRecord.self) { $0.owner > Ref(0) }
            try await transaction.delete(PersonRecord.self) { $0.id > 0 }
            for id in 1...people {
                try await transaction.insert(PersonRecord(id: id, name: id % 10 == 0 ? "bob" : "hoon", age: id % 90))
            }
        }
    }.value
    var calls = 0
    let meter = Task.detached { await StallMeter().run() }
    var screen: ListScreen? = ListScreen(store, hoons) { calls += 1 }
    try await Task.detached { try await Writer(store: store, commits: commits, people: people).run() }.value
    while screen?.table.cells.last?.age != 999, screen?.table.violations.isEmpty == true {
        try await Task.sleep(nanoseconds: 1_000_000)
    }
    meter.cancel()
    let stall = await meter.value
    let expected = try await store.fetch(hoons.sorted(by: \.id))
    let shown = screen?.table.cells ?? []
    let isSame = shown.elementsEqual(expected) { $0.id == $1.id && $0.name == $1.name && $0.age == $1.age }
    print("  \(commits + 1) commits, \(screen?.changeSets ?? 0) change sets, \(shown.count) rows")
    print("  shows what the query has: \(isSame)")
    print("  violations: \(screen?.table.violations.count ?? -1)")
    for violation in screen?.table.violations ?? [] { print("    \(violation)") }
    print("  longest stall of the main actor: \(String(format: "%.1f", stall)) ms")

    let before = calls
    screen = nil
    try await Task.detached { try await Writer(store: store, commits: 20, people: people).run() }.value
    var late = store.changes(of: hoons).makeAsyncIterator()
    _ = try await late.next()
    print("  callbacks after release: \(calls - before)")
}

/// What an observer gets for a row that does not fit: another program has written it.
@MainActor func fail(_ store: GraphStore) async throws {
    title("An error is delivered, and ends the observation")
    let (errors, deliver) = AsyncStream<any Error>.makeStream()
    let (starts, start) = AsyncStream<Void>.makeStream()
    let token = store.observe(hoons, onError: { deliver.yield($0) }, { _ in start.yield() })
    for await _ in starts { break }
    try await store.write { try await $0.execute("UPDATE person SET age = 'old' WHERE age = 999") }
    for await error in errors {
        print("  delivered error: \(error)")
        break
    }
    print("  the token knows it: \(token.error != nil)")
    try await store.write { try await $0.execute("UPDATE person SET age = 999 WHERE age = 'old'") }
}
