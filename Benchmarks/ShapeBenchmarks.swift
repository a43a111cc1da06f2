import CSQLite
import Foundation
import GraphMapperStore

/// An object that holds others by their foreign key.
final class Branch {
    let id: Int
    var value: Int
    weak var parent: Branch?
    var children: [Branch] = []
    init(id: Int, value: Int) { (self.id, self.value) = (id, value) }
}

struct BranchRecord: StoredRecord {
    typealias Model = Branch
    let id: Int
    let value: Int
    let parent: Ref<BranchRecord>?
    static let schema = Schema<Self>("branch") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), parent: row("parent", \.parent))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Branch(id: $0.id, value: $0.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Back(\.parent, \.parent)
            Many(BranchRecord.self, by: \.parent, \.children)
        }
    }
}

/// A graph of an uncommon shape, as large as memory bears: it is loaded from one root, one object is edited and saved.
///
/// By hand are prepared statements, a dictionary to find objects, and the rows that were read to compare them with.
struct Shape: Sendable {
    let name: String
    /// How many objects or, where these are few, links there are at a size.
    let count: @Sendable (Int) -> Int
    let fill: @Sendable (String, Int) async throws -> Void
    let ours: @Sendable (String, Int) async throws -> Void
    let byHand: @Sendable (String, Int) throws -> Void

    static let all: [Shape] = [chain, chainAtOnce, children, list, full, repeated]
}

/// Times and peaks of memory of each shape, ours beside by hand: every run is a process of its own.
func benchmarkShapes(_ harness: Harness, size: Int) async throws {
    for shape in Shape.all where harness.wants("scale.\(shape.name)", "scale.\(shape.name).memory") {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sqlite").path
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        try await shape.fill(file, size)
        let count = shape.count(size)
        let runs = try (0..<3).map { _ in
            (try spawn("ours.\(shape.name)", file, size), try spawn("byhand.\(shape.name)", file, size))
        }
        let (ours, byHand) = (medians(runs.map(\.0)), medians(runs.map(\.1)))
        harness.note(
            "scale.\(shape.name)", unit: "s", ours: ours.seconds, baseline: byHand.seconds, n: count, target: nil,
            remark: String(format: "%.0f ns each", ours.seconds / Double(count) * 1e9))
        harness.note(
            "scale.\(shape.name).memory", unit: "B", ours: ours.bytes / Double(count),
            baseline: byHand.bytes / Double(count), n: count, target: nil)
    }
}

/// What a spawned process does for a shape; false if the name is none of one.
func runShape(_ name: String, _ path: String, _ size: Int) async throws -> Bool {
    for shape in Shape.all {
        if name == "ours.\(shape.name)" {
            try await shape.ours(path, size)
            return true
        }
        if name == "byhand.\(shape.name)" {
            try shape.byHand(path, size)
            return true
        }
    }
    return false
}

private func require(_ isRight: Bool) throws {
    guard isRight else { throw BenchmarkError("the graph is not as it was stored") }
}

// MARK: A chain

extension Shape {
    /// A chain of a million, from its first link: a level, and so a query, for each.
    static let chain = Shape(
        name: "chain", count: { $0 }, fill: fillChain,
        ours: { path, size in
            let session = try await openChain(path)
            let first = try await session.find(LinkDTO.self, chainID(0))
            try await editChain(session, first, size)
        },
        byHand: { path, size in
            let database = try Database(path)
            let find = try database.prepare("SELECT id, value, next FROM link WHERE id = ?")
            defer { sqlite3_finalize(find) }
            var (links, rows): ([UUID: BLink], [LinkDTO]) = ([:], [])
            var next: Ref<LinkDTO>? = Ref(chainID(0))
            var last: BLink?
            while let ref = next {
                bind(find, 1, ref.id)
                try require(sqlite3_step(find) == SQLITE_ROW)
                let row = try link(find)
                sqlite3_reset(find)
                let model = BLink(id: row.id, value: row.value)
                rows.append(row)
                links[row.id] = model
                last?.next = model
                last = model
                next = row.next
            }
            try editChain(database, rows, links, size)
        })

    /// The same chain by a query of all its rows.
    static let chainAtOnce = Shape(
        name: "chain.atonce", count: { $0 }, fill: fillChain,
        ours: { path, size in
            let session = try await openChain(path)
            let all = try await session.models(Query(LinkDTO.self))
            try await editChain(session, all.first { $0.id == chainID(0) }, size)
        },
        byHand: { path, size in
            let database = try Database(path)
            let all = try database.prepare("SELECT id, value, next FROM link")
            defer { sqlite3_finalize(all) }
            var (links, rows): ([UUID: BLink], [LinkDTO]) = ([:], [])
            while sqlite3_step(all) == SQLITE_ROW {
                let row = try link(all)
                rows.append(row)
                links[row.id] = BLink(id: row.id, value: row.value)
            }
            for row in rows { links[row.id]?.next = row.next.flatMap { links[$0.id] } }
            try editChain(database, rows, links, size)
        })
}

/// An id that its number can be told from, and that lies where numbers do not.
private func chainID(_ number: Int) -> UUID {
    var random = Random(state: UInt64(number))
    return random.uuid()
}

/// The last links come first, so that each batch links to what is there.
private func fillChain(_ path: String, _ size: Int) async throws {
    let store = try await GraphStore.open(.file(path), LinkDTO.self)
    for start in stride(from: 0, to: size, by: 100_000).reversed() {
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (start..<min(start + 100_000, size)).map {
                    LinkDTO(id: chainID($0), value: $0, next: $0 + 1 < size ? Ref(chainID($0 + 1)) : nil)
                })
        }
    }
}

private func openChain(_ path: String) async throws -> GraphSession {
    GraphSession(try await GraphStore.open(.file(path), LinkDTO.self), LinkDTO.mapping)
}

/// Walks the chain, edits its last link and saves.
private func editChain(_ session: GraphSession, _ first: BLink?, _ size: Int) async throws {
    var (count, last) = (0, first)
    while let link = last {
        count += 1
        guard let next = link.next else { break }
        last = next
    }
    last?.value += 1
    try require(count == size)
    try require(try await session.save().changes.count == 1)
    // Released whole, it would recurse a million deep.
    try session.dismantle()
}

private func link(_ statement: OpaquePointer) throws -> LinkDTO {
    LinkDTO(
        id: try id(statement, 0), value: Int(sqlite3_column_int64(statement, 1)),
        next: sqlite3_column_type(statement, 2) == SQLITE_NULL ? nil : Ref(try id(statement, 2)))
}

private func editChain(
    _ database: Database, _ rows: [LinkDTO], _ links: [UUID: BLink], _ size: Int
) throws {
    try require(rows.count == size && links.count == size)
    links[chainID(size - 1)]?.value += 1
    let update = try database.prepare("UPDATE link SET value = ? WHERE id = ?")
    defer { sqlite3_finalize(update) }
    for row in rows {
        guard let link = links[row.id], link.value != row.value || link.next?.id != row.next?.id else { continue }
        sqlite3_bind_int64(update, 1, Int64(link.value))
        bind(update, 2, link.id)
        try database.run(update)
    }
    for link in links.values { link.next = nil }
}

// MARK: Children

extension Shape {
    /// One object with a million children, by their foreign key.
    static let children = Shape(
        name: "children", count: { $0 },
        fill: { path, size in
            let store = try await GraphStore.open(.file(path), BranchRecord.self)
            try await store.write { try await $0.insert(BranchRecord(id: 0, value: 0, parent: nil)) }
            for start in stride(from: 1, through: size, by: 100_000) {
                try await store.write { tx in
                    try await tx.insert(
                        contentsOf: (start..<min(start + 100_000, size + 1)).map {
                            BranchRecord(id: $0, value: $0, parent: Ref(0))
                        })
                }
            }
        },
        ours: { path, size in
            let store = try await GraphStore.open(.file(path), BranchRecord.self)
            let session = GraphSession(store, BranchRecord.mapping)
            let root = try await session.find(BranchRecord.self, 0)
            try require(root?.children.count == size)
            root?.children[size / 2].value += 1
            try require(try await session.save().changes.count == 1)
        },
        byHand: { path, size in
            let database = try Database(path)
            let root = Branch(id: 0, value: 0)
            var (known, rows): ([Int: Branch], [BranchRecord]) = ([0: root], [])
            let all = try database.prepare("SELECT id, value FROM branch WHERE parent = 0")
            while sqlite3_step(all) == SQLITE_ROW {
                let row = BranchRecord(
                    id: Int(sqlite3_column_int64(all, 0)), value: Int(sqlite3_column_int64(all, 1)), parent: Ref(0))
                let child = Branch(id: row.id, value: row.value)
                child.parent = root
                rows.append(row)
                known[row.id] = child
                root.children.append(child)
            }
            sqlite3_finalize(all)
            try require(root.children.count == size)
            root.children[size / 2].value += 1
            let update = try database.prepare("UPDATE branch SET value = ? WHERE id = ?")
            defer { sqlite3_finalize(update) }
            for row in rows {
                guard let child = known[row.id], child.value != row.value || child.parent?.id != row.parent?.id else {
                    continue
                }
                sqlite3_bind_int64(update, 1, Int64(child.value))
                sqlite3_bind_int64(update, 2, Int64(child.id))
                try database.run(update)
            }
        })
}

// MARK: Ordered lists

extension Shape {
    /// One object with a list of a million others.
    static let list = Shape(
        name: "list", count: { $0 },
        fill: { path, size in
            try await fillTicks(path, size + 1) { id in id == 0 ? 1...size : nil }
        },
        ours: { path, size in
            try await editTick(path, size) { $0.others[size / 2].value += 1 }
        },
        byHand: { path, size in
            try editTickByHand(path, links: size) { $0.others[size / 2].value += 1 }
        })

    /// Each of two thousand objects linked to all.
    static let full = Shape(
        name: "full", count: { side($0) * side($0) },
        fill: { path, size in
            try await fillTicks(path, side(size)) { _ in 0...side(size) - 1 }
        },
        ours: { path, size in
            try await editTick(path, side(size)) { $0.others[side(size) / 2].value += 1 }
        },
        byHand: { path, size in
            try editTickByHand(path, links: side(size) * side(size)) { $0.others[side(size) / 2].value += 1 }
        })

    /// A list that has one object a million times.
    static let repeated = Shape(
        name: "repeated", count: { $0 },
        fill: { path, size in
            try await fillTicks(path, 2) { _ in nil }
            let database = try Database(path)
            try database.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(size))
                INSERT INTO tick_others (owner, position, target) SELECT 0, i << 20, 1 FROM n
                """)
        },
        ours: { path, size in
            try await editTick(path, size) { $0.others[size / 2].value += 1 }
        },
        byHand: { path, size in
            try editTickByHand(path, links: size) { $0.others[size / 2].value += 1 }
        })
}

private func side(_ size: Int) -> Int { Int(Double(size * 4).squareRoot()) }

/// The first object comes last, behind those that it links to.
private func fillTicks(_ path: String, _ count: Int, _ others: (Int) -> ClosedRange<Int>?) async throws {
    let store = try await GraphStore.open(.file(path), TickRecord.self)
    for start in stride(from: 0, to: count, by: 100_000).reversed() {
        try await store.write { tx in
            for id in start..<min(start + 100_000, count) {
                let others = (others(id).map(Array.init) ?? []).map { Ref<TickRecord>($0) }
                try await tx.insert(TickRecord(id: id, value: id, name: "tick \(id)", others: others))
            }
        }
    }
}

/// Loads the graph from its first object, edits and saves.
private func editTick(_ path: String, _ links: Int, _ edit: (Tick) -> Void) async throws {
    let store = try await GraphStore.open(.file(path), TickRecord.self)
    let session = GraphSession(store, TickRecord.mapping)
    guard let root = try await session.find(TickRecord.self, 0) else { throw BenchmarkError("no root") }
    try require(root.others.count == links)
    edit(root)
    try require(try await session.save().changes.count == 1)
}

private func editTickByHand(_ path: String, links: Int, _ edit: (Tick) -> Void) throws {
    let database = try Database(path)
    let (ticks, rows) = try loadTicksByHand(database)
    guard let root = ticks[0] else { throw BenchmarkError("no root") }
    try require(rows.reduce(0) { $0 + $1.others.count } == links)
    edit(root)
    let update = try database.prepare("UPDATE tick SET value = ? WHERE id = ?")
    defer { sqlite3_finalize(update) }
    for row in rows {
        guard let tick = ticks[row.id] else { continue }
        var isClean = tick.value == row.value && tick.name == row.name && tick.others.count == row.others.count
        for (other, ref) in zip(tick.others, row.others) where other.id != ref.id { isClean = false }
        guard !isClean else { continue }
        sqlite3_bind_int64(update, 1, Int64(tick.value))
        sqlite3_bind_int64(update, 2, Int64(tick.id))
        try database.run(update)
    }
}
