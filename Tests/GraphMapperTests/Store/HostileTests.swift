import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Leaf: StoredRecord, Equatable {
    let id: Int
    var text: String
    var next: Ref<Leaf>?
    var links: [Ref<Leaf>]
    static let schema = Schema<Self>("page") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), next: row("next", \.next), links: row("links", \.links))
    }
    static let indexes: [Index<Self>] = [.on(\.text)]
}
private struct TextLeaf: StoredRecord {
    let id: UUID
    var text: String
    static let schema = Schema<Self>("note") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    static let indexes: [Index<Self>] = [.text(\.text)]
}
private struct LeafHolder: StoredRecord {
    let id: Int
    var words: [String]
    var tree: JSONColumn<LeafTree>
    static let schema = Schema<Self>("holder") { row in
        try Self(id: row("id", \.id), words: row("words", \.words), tree: row("tree", \.tree))
    }
}
private struct LeafTree: Codable, Sendable {
    var children: [LeafTree] = []
}
private struct ShownLeaf: StoredRecord {
    let id: Int
    static let isAdopted = true
    static let schema = Schema<Self>("shown") { row in try Self(id: row("id", \.id)) }
}

/// FileDamage to a file: bytes of it, or its end.
private struct FileDamage: CustomStringConvertible {
    var flips: [(place: Int, byte: UInt8)]
    /// What part is left, in percent.
    var rest: Int

    var description: String { "rest \(rest) %, flips \(flips)" }

    func done(to bytes: Data) -> Data {
        var bytes = bytes.prefix(bytes.count * rest / 100)
        for (place, byte) in flips where !bytes.isEmpty { bytes[place % bytes.count] ^= byte }
        return bytes
    }

    static let gen = Gen<FileDamage> { choices in
        // Half of them in the first pages, where the schema and the roots are.
        let near = choices.bool()
        let flips = (0...choices.index(below: 20)).map { _ in
            (place: choices.index(below: near ? 8192 : 1 << 20), byte: UInt8(1 + choices.index(below: 255)))
        }
        return FileDamage(flips: flips, rest: choices.index(below: 4) == 0 ? choices.index(below: 100) : 100)
    }
}

private struct NamedLeaf: StoredRecord {
    let id: Int
    let title: String
    static let schema = Schema<Self>("leaf") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
}

@Suite struct `Hostile files` {
    private func page(_ id: Int, _ count: Int) -> Leaf {
        Leaf(
            id: id, text: String(repeating: "x\(id) ", count: 1 + id % 60), next: id > 0 ? Ref(id - 1) : nil,
            links: [Ref((id * 7) % count), Ref((id * 13) % count)])
    }

    private func sound(_ count: Int) async throws -> Data {
        let path = try Scratch.file()
        do {
            let store = try await GraphStore.open(.file(path), Leaf.self, TextLeaf.self)
            try await store.write { tx in
                try await tx.insert(contentsOf: (0..<count).map { page($0, count) })
                for number in 0..<50 { try await tx.insert(TextLeaf(id: UUID(), text: "note number \(number)")) }
            }
        }
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// All that a store does. Answers errors that are neither of SQLite's nor of the graph's.
    private func errorsUsing(_ path: String, _ count: Int) async -> [any Error] {
        var odd: [any Error] = []
        func attempt(_ body: () async throws -> Void) async {
            do { try await body() } catch is StoreError {} catch is GraphError {} catch { odd.append(error) }
        }
        await attempt {
            let store = try await GraphStore.open(.file(path), Leaf.self, TextLeaf.self)
            await attempt {
                for page in try await store.fetch(Query(Leaf.self).sorted(by: \.text)) where page.id == 3 { _ = page }
            }
            await attempt { _ = try await store.find(Leaf.self, 5) }
            await attempt { _ = try await store.search(Query(TextLeaf.self), for: .words("number 7")) }
            await attempt { _ = try await store.checkIntegrity() }
            await attempt {
                try await store.write { tx in
                    try await tx.upsert(Leaf(id: 3, text: "new", next: nil, links: []))
                    try await tx.insert(Leaf(id: count + 5, text: "new", next: Ref(1), links: [Ref(1)]))
                    try await tx.delete(Leaf.self, 9)
                    try await tx.insert(TextLeaf(id: UUID(), text: "one more"))
                }
            }
            await attempt { try await store.backup(to: path + ".copy") }
            await attempt { try await store.compact() }
        }
        for end in ["", "-wal", "-shm", ".copy"] { try? FileManager.default.removeItem(atPath: path + end) }
        return odd
    }

    @Test func `a damaged file is an error or an answer, never a crash`() async throws {
        let count = 400
        let bytes = try await sound(count)
        try await check(FileDamage.gen, count: times(60, soak: 5000)) { (damage: FileDamage) in
            let path = try Scratch.file()
            try damage.done(to: bytes).write(to: URL(fileURLWithPath: path))
            let odd = await errorsUsing(path, count)
            try ensure(odd.isEmpty, "\(odd)")
        }
    }

    @Test func `a damaged log is no more than a shorter one`() async throws {
        let path = try Scratch.file()
        let store = try await GraphStore.open(.file(path), Leaf.self, TextLeaf.self)
        for part in 0..<20 {
            try await store.write { tx in
                try await tx.insert(
                    contentsOf: (0..<20).map { Leaf(id: part * 20 + $0, text: "t", next: nil, links: []) })
            }
        }
        let (file, log) = (URL(fileURLWithPath: path), URL(fileURLWithPath: path + "-wal"))
        let (bytes, logged) = (try Data(contentsOf: file), try Data(contentsOf: log))
        try await check(FileDamage.gen, count: times(40, soak: 2000)) { (damage: FileDamage) in
            let copy = try Scratch.file()
            try bytes.write(to: URL(fileURLWithPath: copy))
            try damage.done(to: logged).write(to: URL(fileURLWithPath: copy + "-wal"))
            defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + end) } }
            let other = try await GraphStore.open(.file(copy), Leaf.self, TextLeaf.self)
            // The checksums tell how far it is whole: whole transactions are there.
            let count = try await other.count(Query(Leaf.self))
            try ensure(count.isMultiple(of: 20), "\(count)")
            try ensure(try await other.checkIntegrity().isSound)
        }
    }

    // MARK: Schemas

    private func hostile(_ statements: [String]) async throws -> String {
        let path = try Scratch.file()
        do { _ = try await GraphStore.open(.file(path), Leaf.self, LeafHolder.self) }
        let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(1))
        for statement in statements { try connection.execute(statement) }
        return path
    }

    @Test(arguments: [
        "SELECT load_extension('/tmp/evil')", "SELECT fts3_tokenizer('a', x'00')",
        "INSERT INTO shadow VALUES (readfile('/etc/passwd'))", "SELECT writefile('/tmp/evil', 'x')",
        "SELECT edit('x')", "INSERT INTO page SELECT * FROM page_none",
    ])
    func `a trigger cannot do more than compute`(_ body: String) async throws {
        let path = try await hostile([
            "CREATE TABLE shadow (x)", "CREATE TRIGGER evil AFTER INSERT ON page BEGIN \(body); END",
        ])
        let store = try await GraphStore.open(.file(path), Leaf.self, LeafHolder.self)
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(Leaf(id: 1, text: "", next: nil, links: [])) }
        }
        #expect(error?.kind == .database, "\(String(describing: error))")
        #expect(try await store.count(Query(Leaf.self)) == 0)
    }

    @Test func `triggers that call each other come to an end`() async throws {
        let path = try await hostile([
            "CREATE TABLE a (x)", "CREATE TABLE b (x)",
            "CREATE TRIGGER t AFTER INSERT ON page BEGIN INSERT INTO a VALUES (1); END",
            "CREATE TRIGGER ab AFTER INSERT ON a BEGIN INSERT INTO b VALUES (1); END",
            "CREATE TRIGGER ba AFTER INSERT ON b BEGIN INSERT INTO a VALUES (1); INSERT INTO a VALUES (1); END",
        ])
        var options = GraphStore.Options()
        options.prepare = { try $0.execute("PRAGMA recursive_triggers = ON") }
        let store = try await GraphStore.open(.file(path), options: options, Leaf.self, LeafHolder.self)
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.insert(Leaf(id: 1, text: "", next: nil, links: [])) }
        }
        #expect(error?.message.contains("too many levels of trigger recursion") == true, "\(String(describing: error))")
    }

    @Test func `a column that another program renames is an error, and not its name in every row`() async throws {
        let path = try Scratch.file()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try await GraphStore.open(.file(path), NamedLeaf.self)
        try await store.write { try await $0.insert(NamedLeaf(id: 1, title: "a")) }
        #expect(try await store.find(NamedLeaf.self, 1)?.title == "a")
        _ = try SQLiteShell.run("ALTER TABLE leaf RENAME COLUMN title TO name;", on: path)
        for query in [Query(NamedLeaf.self), Query(NamedLeaf.self).where { $0.title == "title" }.sorted(by: \.title)] {
            let error = await #expect(throws: StoreError.self) { _ = try await store.fetch(query) }
            #expect(error?.message.contains("title") == true, "\(String(describing: error))")
        }
        await #expect(throws: StoreError.self) { _ = try await store.find(NamedLeaf.self, 1) }
    }

    @Test func `a view in the place of a table is refused, and one without an end can be cancelled`() async throws {
        let endless = "AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
        let path = try await hostile(["CREATE VIEW shown \(endless)", "DROP TABLE page_links", "DROP TABLE page"])
        do {
            let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(1))
            try connection.execute("CREATE VIEW page \(endless)")
        }
        let error = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(path), Leaf.self, LeafHolder.self)
        }
        #expect(error?.kind == .schemaMismatch)
        let store = try await GraphStore.open(.file(path), ShownLeaf.self)
        let task = Task { try await store.count(Query(ShownLeaf.self)) }
        // From a thread of its own: the statement and other tests may have taken all that tasks run on.
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 0.03)
            task.cancel()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        // The connection is as good as before.
        #expect(try await store.read { try await $0.rows("SELECT id FROM shown LIMIT 2") }.count == 2)
    }

    @Test func `what would make the file inconsistent is refused`() async throws {
        let path = try Scratch.file()
        let store = try await GraphStore.open(.file(path), TextLeaf.self)
        try await store.write { try await $0.insert(TextLeaf(id: UUID(), text: "a word")) }
        for statement in [
            "PRAGMA writable_schema = ON", "DELETE FROM note_text_data", "UPDATE sqlite_schema SET sql = 'x'",
        ] {
            try? await store.write { try await $0.execute(statement) }
        }
        try? await store.write { try await $0.execute("DELETE FROM sqlite_schema") }
        #expect(try await store.search(Query(TextLeaf.self), for: .words("word")).count == 1)
        #expect(try await store.checkIntegrity().isSound)
    }

    @Test func `a schema that is no SQL is an error`() async throws {
        let path = try await hostile([])
        // A bare connection of the shell's kind could do that.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let marker = Data("CREATE TABLE \"page\"".utf8)
        let range = try #require(bytes.range(of: marker))
        var other = bytes
        other.replaceSubrange(range, with: Data("CREATE TABBE \"page\"".utf8))
        try other.write(to: URL(fileURLWithPath: path))
        let error = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(path), Leaf.self, LeafHolder.self)
        }
        #expect(error?.kind == .notADatabase, "\(String(describing: error))")
    }

    // MARK: Values

    @Test func `deep JSON and what is none are errors that name the row`() async throws {
        let path = try Scratch.file()
        let store = try await GraphStore.open(.file(path), Leaf.self, LeafHolder.self)
        let deep = 100_000
        let tree = String(repeating: "{\"children\":[", count: deep) + String(repeating: "]}", count: deep)
        let list = String(repeating: "[", count: deep) + String(repeating: "]", count: deep)
        let rows: [(words: String, tree: String)] = [
            ("[]", tree), (list, "{\"children\":[]}"), ("[\"a\"", "{\"children\":[]}"), ("{}", "{\"children\":[]}"),
            ("[1]", "{\"children\":[]}"), ("[\"\\u12\"]", "{\"children\":[]}"), ("[]", "[]"), ("", ""),
            ("[\"\\ud800\"]", "{\"children\":[]}"),
        ]
        for (id, row) in rows.enumerated() {
            try await store.write {
                try await $0.execute(
                    "INSERT INTO holder VALUES (?, ?, ?)", [.integer(Int64(id)), .text(row.words), .text(row.tree)])
            }
            do {
                let holder = try #require(try await store.find(LeafHolder.self, id))
                #expect(id == 8 && holder.words.count == 1, "\(id): \(holder)")
            } catch let error as GraphError {
                #expect(error.type == "holder" && ["words", "tree"].contains(error.property), "\(id): \(error)")
            }
        }
        for query in [
            Query(LeafHolder.self).where { $0.words.contains("a") },
            Query(LeafHolder.self).where { $0.words.count() > 0 },
        ] {
            do { _ = try await store.count(query) } catch let error as StoreError { #expect(error.kind == .database) }
        }
    }
}
