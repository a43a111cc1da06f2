import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

// MARK: A file with odd names

private struct OrderLine: StoredRecord, Equatable {
    let id: Int
    var group: String
    var price: Double
    var isPaid: Bool
    var note: String?
    static let isAdopted = true
    static let schema = Schema<Self>("Order Items") { row in
        try Self(
            id: row("Item No", \.id), group: row("GROUP", \.group), price: row("unit \"price\"", \.price),
            isPaid: row("select", \.isPaid), note: row("Notiz – ü", \.note))
    }
}
/// Rows by their numbers, of a table without a key.
private struct Numbered: StoredRecord, Equatable {
    let id: Int
    var word: String
    static let isAdopted = true
    static let schema = Schema<Self>("words") { row in try Self(id: row("rowid", \.id), word: row("word", \.word)) }
}
private struct Expensive: StoredRecord, Equatable {
    let id: Int
    var price: Double
    static let isAdopted = true
    static let schema = Schema<Self>("expensive") { row in try Self(id: row("id", \.id), price: row("price", \.price)) }
}

private let shop = """
    CREATE TABLE "Order Items" ("Item No" INTEGER PRIMARY KEY, "GROUP" VARCHAR(20) NOT NULL, "unit \"\"price\"\"\" REAL,
        "select" BOOLEAN NOT NULL DEFAULT 0, "Notiz – ü" TEXT, extra TEXT DEFAULT 'none', "made" DATETIME);
    INSERT INTO "Order Items" VALUES (3, 'cups', 2.5, 1, NULL, 'x', NULL), (7, 'plates', 4, 0, 'blue', NULL, NULL);
    CREATE TABLE words (word TEXT, "x" BLOB);
    INSERT INTO words VALUES ('one', NULL), ('two', x'00');
    CREATE VIEW expensive AS SELECT "Item No" AS id, "unit \"\"price\"\"\" AS price FROM "Order Items" WHERE "unit \"\"price\"\"\" > 3;
    CREATE TABLE unknown (a, b REFERENCES nowhere (b));
    INSERT INTO unknown VALUES (1, 2);
    CREATE TABLE "un known 2" (a INTEGER PRIMARY KEY, b INTEGER REFERENCES unknown (b), c INTEGER REFERENCES unknown (a));
    INSERT INTO "un known 2" VALUES (1, 5, 6);

    """

private func schema(_ file: String) throws -> [[StoredValue]] {
    try Connection(path: file, readOnly: true, busyTimeout: .seconds(1)).rows(
        "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
}

private func opening(_ script: String, _ record: any StoredRecord.Type) async -> StoreError? {
    await #expect(throws: StoreError.self) {
        _ = try await GraphStore.make(.file(try SQLiteShell.file(script)), GraphStore.Options(), [record])
    }
}

@Suite struct `Adopting what something else made` {
    private func open(_ file: String, readOnly: Bool = false) async throws -> GraphStore {
        var options = GraphStore.Options()
        options.isReadOnly = readOnly
        options.watchInterval = .seconds(0.01)
        return try await GraphStore.open(
            .file(file), options: options, OrderLine.self, Numbered.self, Expensive.self)
    }

    @Test func `odd names, extra columns, rows by number, views`() async throws {
        let file = try SQLiteShell.file(shop)
        let before = try schema(file)
        let store = try await open(file)
        let cups = OrderLine(id: 3, group: "cups", price: 2.5, isPaid: true, note: nil)
        #expect(try await store.find(OrderLine.self, 3) == cups)
        #expect(
            try await store.fetch(Query(OrderLine.self).where { !($0.isPaid == true) && $0.price < 5 }).map(\.id) == [7]
        )
        #expect(
            try await store.fetch(Query(Numbered.self).sorted(by: \.word, descending: true)).map(\.word) == [
                "two", "one",
            ])
        #expect(try await store.fetch(Query(Expensive.self)) == [Expensive(id: 7, price: 4)])
        #expect(try await store.first(Query(OrderLine.self).where { $0.note == "blue" })?.group == "plates")
        try await store.write { tx in
            try await tx.upsert(OrderLine(id: 3, group: "cups", price: 30, isPaid: false, note: "n"))
            try await tx.insert(OrderLine(id: 9, group: "x", price: 1, isPaid: false, note: nil))
            _ = try await tx.apply(Patch(OrderLine.self, 7).set(\.note, nil))
            try await tx.insert(Numbered(id: 9, word: "nine"))
            try await tx.delete(Numbered.self, 1)
            try await tx.insert(OrderLine.self) { OrderLine(id: $0, group: "new", price: 0, isPaid: false, note: nil) }
        }
        #expect(try await store.fetch(Query(Expensive.self).sorted(by: \.price)).map(\.id) == [7, 3])
        #expect(try await store.fetch(Query(Numbered.self).sorted(by: \.id)).map(\.id) == [2, 9])
        // The rest of the rows and of the file is as it was, and has no books of ours.
        let rest = try store.writer.rows("SELECT extra FROM \"Order Items\" ORDER BY 1 NULLS FIRST")
        #expect(rest == [[.null], [.text("none")], [.text("none")], [.text("x")]])
        #expect(try schema(file) == before)
        #expect(try await store.find(OrderLine.self, 10)?.group == "new")
        #expect(try await store.checkIntegrity().isSound)
        #expect(try await store.changeRecords().isEmpty)
    }

    @Test func `a view is read only, and says so`() async throws {
        let store = try await open(try SQLiteShell.file(shop))
        for write: @Sendable (WriteTransaction) async throws -> Void in [
            { try await $0.insert(Expensive(id: 1, price: 2)) }, { try await $0.delete(Expensive.self, 7) },
            { _ = try await $0.apply(Patch(Expensive.self, 7).set(\.price, 1)) },
        ] {
            let error = await #expect(throws: StoreError.self) { try await store.write(write) }
            #expect(error?.kind == .readOnly, "\(String(describing: error))")
        }
    }

    @Test func `a file that may only be read is not touched`() async throws {
        let file = try SQLiteShell.file(shop)
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        do {
            let store = try await open(file, readOnly: true)
            #expect(try await store.count(Query(OrderLine.self)) == 2)
            let error = await #expect(throws: StoreError.self) {
                try await store.write { try await $0.insert(Numbered(id: 5, word: "")) }
            }
            #expect(error?.kind == .readOnly, "\(String(describing: error))")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
        for end in ["-wal", "-shm", "-journal"] { #expect(!FileManager.default.fileExists(atPath: file + end)) }
    }

    @Test func `what is written is observed, through a view too, and what others write`() async throws {
        let file = try SQLiteShell.file(shop)
        let store = try await open(file)
        var changes = store.changes(of: Query(Expensive.self).sorted(by: \.id)).makeAsyncIterator()
        #expect(try await changes.next()?.collection.map(\.id) == [7])
        try await store.write { _ = try await $0.apply(Patch(OrderLine.self, 3).set(\.price, 10)) }
        #expect(try await changes.next()?.collection.map(\.id) == [3, 7])
        try await store.write { try await $0.execute("DELETE FROM \"Order Items\" WHERE \"Item No\" = 7") }
        #expect(try await changes.next()?.collection.map(\.id) == [3])
        try SQLiteShell.run("UPDATE \"Order Items\" SET \"unit \"\"price\"\"\" = 0;\n", on: file)
        #expect(try await changes.next()?.collection.map(\.id) == [])
    }

    @Test func `many rows by key, also where rows have no number`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE tags (name TEXT PRIMARY KEY, uses INTEGER) WITHOUT ROWID;\n"
                + "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                + "INSERT INTO tags SELECT 'tag ' || i, i FROM n;\n")
        let store = try await GraphStore.open(.file(file), Tag.self)
        for count in [10, 300, 2900] {
            let ids = (1...count).map { "tag \($0)" } + ["none"]
            let found = try await store.read { try await $0.fetch(Tag.self, ids: ids) }
            #expect(found.map(\.uses).reduce(0, +) == count * (count + 1) / 2)
        }
        try await store.write { tx in
            try await tx.insert(Tag(id: "new", uses: 1))
            #expect(try await tx.update(Tag.self, where: { $0.id == "new" }, set: { $0.uses.set(to: 5) }) == 1)
        }
        #expect(try await store.find(Tag.self, "new")?.uses == 5)
    }

    private struct Tag: StoredRecord {
        let id: String
        var uses: Int
        static let isAdopted = true
        static let schema = Schema<Self>("tags") { row in try Self(id: row("name", \.id), uses: row("uses", \.uses)) }
    }

    // MARK: What does not fit

    @Test func `what does not fit is said by name`() async throws {
        func refused(_ script: String, _ record: any StoredRecord.Type, _ column: String?, _ text: String) async {
            let error = await opening(script, record)
            #expect(error?.kind == .schemaMismatch && error?.column == column, "\(String(describing: error))")
            #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        }
        await refused("CREATE TABLE x (a);\n", Tag.self, nil, "no table or view tags, which Tag adopts")
        await refused("CREATE TABLE Tags (name TEXT PRIMARY KEY, uses);\n", Tag.self, nil, "is called Tags")
        await refused("CREATE TABLE tags (Name TEXT PRIMARY KEY, uses);\n", Tag.self, "name", "is called Name")
        await refused("CREATE TABLE tags (name TEXT PRIMARY KEY, us);\n", Tag.self, "uses", "the columns are name, us")
        await refused("CREATE TABLE tags (name TEXT, uses INT);\n", Tag.self, "name", "the table has rowid for a key")
        await refused("CREATE TABLE tags (name TEXT, uses INT PRIMARY KEY);\n", Tag.self, "name", "has uses for a key")
        await refused("CREATE TABLE tags (name INT PRIMARY KEY, uses INT);\n", Tag.self, "name", "declared INT")
        await refused("CREATE TABLE tags (name TEXT PRIMARY KEY, uses TEXT);\n", Tag.self, "uses", "declared TEXT")
        await refused("CREATE TABLE tags (name TEXT PRIMARY KEY, uses REAL);\n", Tag.self, "uses", "stored as real")
        // A unique index is as good as a key.
        let file = try? SQLiteShell.file(
            "CREATE TABLE tags (name TEXT NOT NULL, uses INT);\nCREATE UNIQUE INDEX u ON tags (name);\n")
        await #expect(throws: Never.self) { _ = try await GraphStore.open(.file(try #require(file)), Tag.self) }
    }

    private struct Indexed: StoredRecord {
        let id: Int
        var word: String
        static let isAdopted = true
        static let schema = Schema<Self>("words") { row in try Self(id: row("rowid", \.id), word: row("word", \.word)) }
        static let indexes: [Index<Self>] = [.on(\.word)]
    }
    private struct OwnWords: StoredRecord {
        let id: Int
        static let schema = Schema<Self>("words") { row in try Self(id: row("rowid", \.id)) }
    }
    private struct Listed: StoredRecord {
        let id: Int
        var peers: [Ref<Listed>]
        static let isAdopted = true
        static let schema = Schema<Self>("words") { row in
            try Self(id: row("rowid", \.id), peers: row("peers", \.peers))
        }
    }

    @Test func `an adopted record has no indexes, and shares its table with adopted ones only`() async throws {
        let file = try SQLiteShell.file(shop)
        for records: [any StoredRecord.Type] in [[Indexed.self], [Numbered.self, OwnWords.self]] {
            let error = await #expect(throws: GraphError.self) {
                _ = try await GraphStore.make(.file(file), GraphStore.Options(), records)
            }
            #expect(error?.kind == .invalidSchema)
        }
        let error = await #expect(throws: StoreError.self) { _ = try await GraphStore.open(.file(file), Listed.self) }
        #expect(error?.message.contains("declare a record over the table that has the links") == true)
    }

    @Test func `a value that is not the property's names the row`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE tags (name TEXT PRIMARY KEY, uses INT);\nINSERT INTO tags VALUES ('a', 1), ('b', 'many'), "
                + "('c', NULL);\n")
        let store = try await GraphStore.open(.file(file), Tag.self)
        #expect(try await store.find(Tag.self, "a")?.uses == 1)
        for id in ["b", "c"] {
            let error = await #expect(throws: GraphError.self) { _ = try await store.find(Tag.self, id) }
            #expect(error?.type == "tags" && error?.property == "uses", "\(String(describing: error))")
        }
    }

    // MARK: Beside the store's own

    private struct Bookmark: StoredRecord, Equatable {
        let id: Int
        var line: Ref<OrderLine>
        static let schema = Schema<Self>("bookmark") { row in try Self(id: row("id", \.id), line: row("line", \.line)) }
    }
    private struct Bookmark2: StoredRecord {
        let id: Int
        var line: Ref<OrderLine>
        var stars: Int
        static let schema = Schema<Self>("bookmark") { row in
            try Self(id: row("id", \.id), line: row("line", \.line), stars: row("stars", \.stars))
        }
    }

    @Test func `own records stand beside them, with links to them, and migrate`() async throws {
        let file = try SQLiteShell.file(shop)
        let before = try schema(file)
        do {
            let store = try await GraphStore.open(.file(file), OrderLine.self, Bookmark.self)
            try await store.write { try await $0.insert(Bookmark(id: 1, line: Ref(3))) }
            let error = await #expect(throws: StoreError.self) {
                try await store.write { try await $0.insert(Bookmark(id: 2, line: Ref(99))) }
            }
            #expect(error?.kind == .foreignKey && error?.table == "bookmark", "\(String(describing: error))")
            let query = Query(Bookmark.self).where { $0.line.group == "cups" }
            #expect(try await store.fetch(query).map(\.id) == [1])
            #expect(try await store.changeRecords().map(\.table) == ["bookmark"])
        }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("stars") { try await $0.add("stars", Int.self, to: "bookmark", default: 3) }
        ]
        let store = try await GraphStore.open(.file(file), options: options, OrderLine.self, Bookmark2.self)
        #expect(try await store.find(Bookmark2.self, 1)?.stars == 3)
        // Tables that nobody declares have dangling links, and some that cannot be checked. That is not our business.
        #expect(try await store.checkIntegrity().isSound)
        let ours = ["bookmark", "graphmapper", "graphmapper_change", "bookmark_line_link"]
        let others = try schema(file).filter { row in !ours.contains { row[1] == .text($0) } }
        #expect(others == before)
        try await store.compact()
        #expect(try store.writer.rows("SELECT * FROM unknown") == [[.integer(1), .integer(2)]])
    }

    @Test func `migration steps change what was adopted, once, and not by halves`() async throws {
        let file = try SQLiteShell.file(shop)
        var options = GraphStore.Options()
        options.migrations = [
            Migration("no plates") { try await $0.execute("DELETE FROM \"Order Items\" WHERE \"GROUP\" = 'plates'") }
        ]
        for _ in 0..<2 {
            let store = try await GraphStore.open(.file(file), options: options, OrderLine.self)
            #expect(try await store.fetch(Query(OrderLine.self)).map(\.id) == [3])
            try SQLiteShell.run("UPDATE \"Order Items\" SET \"GROUP\" = 'plates';\n", on: file)
        }
        let before = try schema(file)
        options.migrations.append(Migration("no notes") { try await $0.drop("Notiz – ü", from: "Order Items") })
        let error = await #expect(throws: StoreError.self) {
            _ = try await GraphStore.open(.file(file), options: options, OrderLine.self)
        }
        #expect(error?.message.contains("change it with execute") == true, "\(String(describing: error))")
        #expect(try schema(file) == before)
    }

    @Test func `migration steps move rows into own tables`() async throws {
        let file = try SQLiteShell.file(shop)
        do { _ = try await GraphStore.open(.file(file), Bookmark0.self) }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("own words") { step in
                try await step.transform(Numbered.self, to: OwnNumbered.self) {
                    OwnNumbered(id: $0.id, word: $0.word + "!")
                }
            }
        ]
        let store = try await GraphStore.open(.file(file), options: options, Bookmark0.self, OwnNumbered.self)
        #expect(try await store.fetch(Query(OwnNumbered.self).sorted(by: \.id)).map(\.word) == ["one!", "two!"])
    }

    private struct Bookmark0: StoredRecord {
        let id: Int
        static let schema = Schema<Self>("bookmark") { row in try Self(id: row("id", \.id)) }
    }
    private struct OwnNumbered: StoredRecord {
        let id: Int
        var word: String
        static let schema = Schema<Self>("words") { row in try Self(id: row("id", \.id), word: row("word", \.word)) }
    }

    @Test func `a temporary view adapts what cannot be read as it is`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE log (line INT, price TEXT);\nINSERT INTO log VALUES (1, '2,50'), (2, '7');\n")
        var options = GraphStore.Options()
        options.isReadOnly = true
        options.prepare = {
            try $0.execute(
                "CREATE TEMP VIEW expensive AS SELECT line AS id, CAST(replace(price, ',', '.') AS REAL) AS price FROM log"
            )
        }
        let store = try await GraphStore.open(.file(file), options: options, Expensive.self)
        #expect(try await store.fetch(Query(Expensive.self).sorted(by: \.id)).map(\.price) == [2.5, 7])
    }

    @Test func `keys that a table gives itself are never given twice`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT);\nINSERT INTO auto (word) VALUES ('a');\n"
                + "INSERT INTO auto (id, word) VALUES (9, 'b');\nDELETE FROM auto WHERE id = 9;\n")
        let store = try await GraphStore.open(.file(file), Auto.self)
        for expected in [10, 11] {
            let made = try await store.write { tx in
                let made = try await tx.insert(Auto.self) { Auto(id: $0, word: "c") }
                try await tx.delete(Auto.self, made.id)
                return made
            }
            #expect(made.id == expected)
        }
    }

    private struct Auto: StoredRecord {
        let id: Int
        var word: String
        static let isAdopted = true
        static let schema = Schema<Self>("auto") { row in try Self(id: row("id", \.id), word: row("word", \.word)) }
    }

    // MARK: Foreign keys of others

    private struct Node: StoredRecord, Equatable {
        let id: Int
        var next: Ref<Node>?
        var owner: Ref<Node>?
        static let isAdopted = true
        static let schema = Schema<Self>("node") { row in
            try Self(id: row("id", \.id), next: row("next", \.next), owner: row("owner", \.owner))
        }
    }

    @Test func `foreign keys that are checked at once are checked at commit`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE node (id INTEGER PRIMARY KEY, next INT REFERENCES node, owner INT REFERENCES node);\n")
        let store = try await GraphStore.open(.file(file), Node.self)
        for _ in 0..<2 {
            try await store.write { tx in
                try await tx.upsert(Node(id: 1, next: Ref(2), owner: nil))
                try await tx.upsert(Node(id: 2, next: Ref(1), owner: Ref(1)))
            }
        }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try await $0.delete(Node.self, 1) }
        }
        #expect(error?.kind == .foreignKey && error?.table == "node")
        #expect(try await store.count(Query(Node.self)) == 2)
    }

    @Test func `what foreign keys do is observed`() async throws {
        let file = try SQLiteShell.file(
            "CREATE TABLE node (id INTEGER PRIMARY KEY, next INT REFERENCES node ON DELETE SET NULL, "
                + "owner INT REFERENCES node ON DELETE CASCADE);\n"
                + "INSERT INTO node VALUES (1, NULL, NULL), (2, 1, NULL), (3, NULL, 1), (4, NULL, NULL);\n")
        let store = try await GraphStore.open(.file(file), Node.self)
        var changes = store.changes(of: Query(Node.self).sorted(by: \.id)).makeAsyncIterator()
        #expect(try await changes.next()?.collection.count == 4)
        try await store.write { try await $0.delete(Node.self, 1) }
        #expect(
            try await changes.next()?.collection.map(\.self)
                == [Node(id: 2, next: nil, owner: nil), Node(id: 4, next: nil, owner: nil)])
    }
}
