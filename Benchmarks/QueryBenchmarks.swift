import CSQLite
import Foundation
import GraphMapperStore

private struct TagRecord: StoredRecord {
    let id: Int
    let name: String
    let rank: Int
    static let schema = Schema<Self>("tag") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), rank: row("rank", \.rank))
    }
    static let indexes: [Index<Self>] = [.on(\.rank)]
}

private struct NoteRecord: StoredRecord {
    let id: Int
    let text: String
    let shelf: Int
    let tags: [Ref<TagRecord>]
    static let schema = Schema<Self>("note") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), shelf: row("shelf", \.shelf), tags: row("tags", \.tags))
    }
    static let indexes: [Index<Self>] = [.on(\.shelf), .on(\.text)]
}

/// A hundred thousand notes of three tags each, ten on a shelf.
func benchmarkQueries(_ harness: Harness) async throws {
    guard harness.wants("store.query.indexed", "store.query.any", "tomany.scroll") else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("notes.sqlite").path
    let store = try await GraphStore.open(.file(path), TagRecord.self, NoteRecord.self)
    let count = 100_000
    var random = Random(state: 3)
    try await store.write { tx in
        try await tx.insert(contentsOf: (0..<1000).map { TagRecord(id: $0, name: "tag \($0)", rank: $0) })
        try await tx.insert(
            contentsOf: (0..<count).map { id in
                let tags = (0..<3).map { _ in Ref<TagRecord>(Int(random.next() % 1000)) }
                return NoteRecord(id: id, text: "note \(id * 7919 % count)", shelf: id % (count / 10), tags: tags)
            })
    }
    let database = try Database(path)
    try await benchmarkIndexed(harness, store, database)
    try await benchmarkAny(harness, store, database)
    try await benchmarkScroll(harness, store, database, count)
}

/// Ten rows of an index, a thousand times in one transaction; tags alone, whose rows have no lists.
private func benchmarkIndexed(_ harness: Harness, _ store: GraphStore, _ database: Database) async throws {
    let rounds = 1000
    try await harness.compare("store.query.indexed", n: rounds) {
        try await store.read { tx in
            var sum = 0
            for round in 0..<rounds {
                let rank = round % 990
                let query = Query(TagRecord.self).where { $0.rank >= rank && $0.rank < rank + 10 }.sorted(by: \.rank)
                for tag in try await tx.fetch(query) { sum += tag.id &+ tag.name.utf8.count }
            }
            return sum
        }
    } baseline: {
        try database.execute("BEGIN")
        let find = try database.prepare("SELECT id, name, rank FROM tag WHERE rank >= ? AND rank < ? ORDER BY rank")
        defer { sqlite3_finalize(find) }
        var sum = 0
        for round in 0..<rounds {
            let rank = Int64(round % 990)
            sqlite3_bind_int64(find, 1, rank)
            sqlite3_bind_int64(find, 2, rank + 10)
            var tags: [TagRecord] = []
            while sqlite3_step(find) == SQLITE_ROW {
                tags.append(
                    TagRecord(
                        id: Int(sqlite3_column_int64(find, 0)), name: text(find, 1),
                        rank: Int(sqlite3_column_int64(find, 2))))
            }
            sqlite3_reset(find)
            for tag in tags { sum += tag.id &+ tag.name.utf8.count }
        }
        try database.execute("COMMIT")
        return sum
    }
}

/// The notes that have a tag of the first ranks, with all their tags.
private func benchmarkAny(_ harness: Harness, _ store: GraphStore, _ database: Database) async throws {
    try await harness.compare("store.query.any", n: 100_000) {
        let notes = try await store.fetch(Query(NoteRecord.self).where { $0.tags.any { $0.rank < 20 } })
        return notes.reduce(0) { $0 &+ $1.id &+ $1.tags.count }
    } baseline: {
        let ids = "SELECT o.owner FROM note_tags o JOIN tag t ON t.id = o.target WHERE t.rank < ?"
        try database.execute("BEGIN")
        let lists = try database.prepare(
            "SELECT owner, target FROM note_tags WHERE owner IN (\(ids)) ORDER BY owner, position")
        let find = try database.prepare("SELECT id, text, shelf FROM note WHERE id IN (\(ids))")
        defer { for statement in [lists, find] { sqlite3_finalize(statement) } }
        sqlite3_bind_int64(lists, 1, 20)
        var tags: [Int: [Ref<TagRecord>]] = [:]
        while sqlite3_step(lists) == SQLITE_ROW {
            tags[Int(sqlite3_column_int64(lists, 0)), default: []].append(Ref(Int(sqlite3_column_int64(lists, 1))))
        }
        sqlite3_bind_int64(find, 1, 20)
        var notes: [NoteRecord] = []
        while sqlite3_step(find) == SQLITE_ROW {
            let id = Int(sqlite3_column_int64(find, 0))
            notes.append(
                NoteRecord(
                    id: id, text: text(find, 1), shelf: Int(sqlite3_column_int64(find, 2)), tags: tags[id] ?? []))
        }
        try database.execute("COMMIT")
        return notes.reduce(0) { $0 &+ $1.id &+ $1.tags.count }
    }
}

/// From the top of a sorted list to its end, a page at a time; by hand, each page after the last row of the one before.
private func benchmarkScroll(
    _ harness: Harness, _ store: GraphStore, _ database: Database, _ count: Int
) async throws {
    let size = 64
    try await harness.compare("tomany.scroll", n: count) {
        let notes = store.toMany(
            Query(NoteRecord.self).sorted(by: \.text), pageSize: size, as: { $0.text.utf8.count },
            otherwise: { _, _ in 0 })
        return notes.reduce(0, +)
    } baseline: {
        let page = try database.prepare(
            "SELECT id, text, shelf FROM note WHERE (text, id) > (?, ?) ORDER BY text, id LIMIT \(size)")
        let lists = try database.prepare(
            "SELECT owner, target FROM note_tags WHERE owner IN "
                + "(SELECT id FROM note WHERE (text, id) > (?, ?) ORDER BY text, id LIMIT \(size)) ORDER BY owner, position"
        )
        defer { for statement in [page, lists] { sqlite3_finalize(statement) } }
        var (last, sum) = (("", -1), 0)
        while true {
            try database.execute("BEGIN")
            var tags: [Int: [Ref<TagRecord>]] = [:]
            bind(lists, 1, last.0)
            sqlite3_bind_int64(lists, 2, Int64(last.1))
            while sqlite3_step(lists) == SQLITE_ROW {
                tags[Int(sqlite3_column_int64(lists, 0)), default: []].append(Ref(Int(sqlite3_column_int64(lists, 1))))
            }
            sqlite3_reset(lists)
            bind(page, 1, last.0)
            sqlite3_bind_int64(page, 2, Int64(last.1))
            var notes: [NoteRecord] = []
            notes.reserveCapacity(size)
            while sqlite3_step(page) == SQLITE_ROW {
                let id = Int(sqlite3_column_int64(page, 0))
                notes.append(
                    NoteRecord(
                        id: id, text: text(page, 1), shelf: Int(sqlite3_column_int64(page, 2)), tags: tags[id] ?? []))
            }
            sqlite3_reset(page)
            try database.execute("COMMIT")
            guard let end = notes.last else { return sum }
            last = (end.text, end.id)
            for note in notes { sum += note.text.utf8.count }
        }
    }
}
