import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

@Suite struct `Two writers at once` {
    /// How many edits each of them makes.
    private static let count = times(100, soak: 1000)

    /// What one of them has done: how much it has added to each counter, and what it has put into each list.
    private struct Work: Sendable {
        var sums: [Int: Int] = [:]
        var added: Set<Int> = []
        var removed: Set<Int> = []
    }

    @Test func `what is stored in the end is the sum of both`() async throws {
        let file = try Scratch.file()
        defer { try? FileManager.default.removeItem(atPath: file) }
        let store = try await GraphStore.open(.file(file), TallyRow.self, MarkRow.self)
        let marks = 40
        try await store.write { tx in
            for id in 0..<marks { try await tx.insert(MarkRow(id: id)) }
            for id in 0..<4 { try await tx.insert(TallyRow(id: id, count: 0, name: "", marks: [])) }
        }
        let works = try await withThrowingTaskGroup(of: Work.self) { group in
            for writer in 0..<2 {
                group.addTask { try await Self.work(writer, store, marks) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let rows = try await store.fetch(Query(TallyRow.self).sorted(by: \.id))
        for row in rows {
            #expect(row.count == works.reduce(0) { $0 + ($1.sums[row.id] ?? 0) }, "counter \(row.id)")
        }
        for work in works {
            let mine = Set(rows.flatMap { row in row.marks.map { row.id * 1000 + $0.id } })
            #expect(work.added.subtracting(work.removed).isSubset(of: mine))
            #expect(work.removed.subtracting(work.added).isDisjoint(with: mine))
        }
        // Nothing of anybody else.
        let all = works.reduce(into: Set<Int>()) { $0.formUnion($1.added.subtracting($1.removed)) }
        #expect(Set(rows.flatMap { row in row.marks.map { row.id * 1000 + $0.id } }) == all)
    }

    /// Edits counters, and lists by marks of its own: even ones or odd ones.
    private static func work(_ writer: Int, _ store: GraphStore, _ marks: Int) async throws -> Work {
        var random = SystemRandomNumberGenerator()
        var work = Work()
        let session = GraphSession(store, TallyRow.mapping, MarkRow.mapping)
        let tallies = try await session.models(Query(TallyRow.self).sorted(by: \.id))
        let all = try await session.models(Query(MarkRow.self).sorted(by: \.id))
        for _ in 0..<count {
            let tally = tallies[Int.random(in: 0..<4, using: &random)]
            let mark = all[Int.random(in: 0..<marks / 2, using: &random) * 2 + writer]
            switch Int.random(in: 0...3, using: &random) {
            case 0, 1:
                let change = Int.random(in: -5...5, using: &random)
                tally.count += change
                work.sums[tally.id, default: 0] += change
            case 2 where !tally.marks.contains { $0 === mark }:
                tally.marks.insert(mark, at: Int.random(in: 0...tally.marks.count, using: &random))
                work.added.insert(tally.id * 1000 + mark.id)
                work.removed.remove(tally.id * 1000 + mark.id)
            default:
                guard let place = tally.marks.firstIndex(where: { $0 === mark }) else { continue }
                tally.marks.remove(at: place)
                work.removed.insert(tally.id * 1000 + mark.id)
                work.added.remove(tally.id * 1000 + mark.id)
            }
            try await session.save(
                onConflict: .merge { conflict in
                    guard
                        case (.integer(let base)?, .integer(let mine)?, .integer(let theirs)?) =
                            (conflict.base.first, conflict.mine.first, conflict.theirs.first), conflict.kind == .value
                    else { return .mine }
                    return .merged([.integer(theirs + mine - base)])
                })
            if Int.random(in: 0...9, using: &random) == 0 { try await session.refresh() }
            await Task.yield()
        }
        return work
    }
}

final class Tally {
    let id: Int
    var count = 0
    var name = ""
    var marks: [Mark] = []
    init(id: Int) { self.id = id }
}
final class Mark {
    let id: Int
    init(id: Int) { self.id = id }
}
struct TallyRow: StoredRecord {
    typealias Model = Tally
    let id: Int
    let count: Int
    let name: String
    let marks: [Ref<MarkRow>]
    static let schema = Schema<Self>("tally") { row in
        try Self(
            id: row("id", \.id), count: row("count", \.count), name: row("name", \.name), marks: row("marks", \.marks))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Tally(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.count, \.count)
            Field(\.name, \.name)
            Many(\.marks, \.marks)
        }
    }
}
struct MarkRow: StoredRecord {
    typealias Model = Mark
    let id: Int
    static let schema = Schema<Self>("mark") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Mark(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
