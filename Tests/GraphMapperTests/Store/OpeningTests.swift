import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Rack: StoredRecord {
    let id: Int
    var label: String
    static let schema = Schema<Self>("shelf") { row in try Self(id: row("id", \.id), label: row("label", \.label)) }
}

private struct Book: StoredRecord {
    let id: Int
    var title: String
    var year: Int?
    var shelf: Ref<Rack>?
    var related: [Ref<Rack>]
    static let schema = Schema<Self>("book") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), year: row("year", \.year), shelf: row("shelf", \.shelf),
            related: row("related", \.related))
    }
}

/// The same table with other indexes: which, each test says.
private protocol Indexed: StoredRecord {
    init(id: Int, title: String, year: Int?, shelf: Ref<Rack>?)
}
private struct PlainBook: Indexed {
    let id: Int
    var title: String
    var year: Int?
    var shelf: Ref<Rack>?
    static let schema = Schema<Self>("tome") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), year: row("year", \.year), shelf: row("shelf", \.shelf))
    }
    static let indexes: [Index<Self>] = [.on(\.title), .on(\.title, \.year)]
}
private struct UniqueBook: Indexed {
    let id: Int
    var title: String
    var year: Int?
    var shelf: Ref<Rack>?
    static let schema = Schema<Self>("tome") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), year: row("year", \.year), shelf: row("shelf", \.shelf))
    }
    static let indexes: [Index<Self>] = [.unique(\.title), .unique(\.shelf)]
}
private struct BareBook: Indexed {
    let id: Int
    var title: String
    var year: Int?
    var shelf: Ref<Rack>?
    static let schema = Schema<Self>("tome") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), year: row("year", \.year), shelf: row("shelf", \.shelf))
    }
}

/// Two tables whose indexes would have one name.
private struct NameClash: StoredRecord {
    let id: Int
    var both: Int
    static let schema = Schema<Self>("a") { row in try Self(id: row("id", \.id), both: row("b_c", \.both)) }
    static let indexes: [Index<Self>] = [.unique(\.both)]
}
private struct OtherClash: StoredRecord {
    let id: Int
    var c: Int
    static let schema = Schema<Self>("a_b") { row in try Self(id: row("id", \.id), c: row("c", \.c)) }
    static let indexes: [Index<Self>] = [.unique(\.c)]
}

private func indexes(_ file: String, _ table: String) throws -> Set<String> {
    let connection = try Connection(path: file, readOnly: true, busyTimeout: .seconds(1))
    return Set(
        try StoredTable.indexes(of: table, connection).filter { !$0.isKey }.map {
            ($0.isUnique ? "unique " : "") + ($0.columns ?? ["?"]).joined(separator: ",")
        })
}

private func made(_ statements: [String]) throws -> String {
    let file = try Scratch.file()
    let connection = try Connection(path: file, readOnly: false, busyTimeout: .seconds(1))
    for statement in statements { try connection.execute(statement) }
    return file
}

private func refusal(_ file: String, readOnly: Bool = false) async -> StoreError? {
    var options = GraphStore.Options()
    options.isReadOnly = readOnly
    return await #expect(throws: StoreError.self) {
        _ = try await GraphStore.open(.file(file), options: options, Rack.self, Book.self)
    }
}

@Suite struct `Opening a file that differs` {
    static let shelf = "CREATE TABLE shelf (id INTEGER NOT NULL PRIMARY KEY, label TEXT NOT NULL)"
    static let book =
        "CREATE TABLE book (id INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, year INTEGER, "
        + "shelf INTEGER REFERENCES shelf DEFERRABLE INITIALLY DEFERRED)"
    static let related =
        "CREATE TABLE book_related (owner INTEGER NOT NULL REFERENCES book ON DELETE CASCADE, position INTEGER NOT NULL, "
        + "target INTEGER NOT NULL REFERENCES shelf(id), PRIMARY KEY (owner, position)) WITHOUT ROWID"

    @Test func `tables made by hand that are the same are taken, and get their indexes`() async throws {
        let file = try made([Self.shelf, Self.book, Self.related, "CREATE INDEX mine ON book (shelf)"])
        let store = try await GraphStore.open(.file(file), Rack.self, Book.self)
        try await store.write { tx in
            try await tx.insert(Rack(id: 1, label: "a"))
            try await tx.insert(Book(id: 1, title: "b", year: nil, shelf: Ref(1), related: [Ref(1), Ref(1)]))
        }
        #expect(try await store.find(Book.self, 1)?.related.count == 2)
        // The one made by hand serves the link.
        #expect(try indexes(file, "book") == ["shelf"])
        #expect(try indexes(file, "book_related") == ["target"])
    }

    /// A table that differs, and what the error says of it.
    struct Odd: Sendable {
        var sql: String
        var table: String
        var column: String?
        var text: String

        static func book(_ column: String?, _ old: String, _ new: String, _ text: String) -> Odd {
            Odd(
                sql: `Opening a file that differs`.book.replacing(old, with: new), table: "book", column: column,
                text: text)
        }
        static func related(_ column: String, _ old: String, _ new: String, _ text: String) -> Odd {
            let sql = `Opening a file that differs`.related.replacing(old, with: new)
            return Odd(sql: sql, table: "book_related", column: column, text: text)
        }
    }

    static let odd: [Odd] = [
        .book("shelf", " REFERENCES shelf DEFERRABLE INITIALLY DEFERRED", "", "points to nothing"),
        .book("shelf", "REFERENCES shelf", "REFERENCES book", "points to book in"),
        .book("shelf", "shelf DEFERRABLE", "shelf ON DELETE SET NULL DEFERRABLE", "SET NULL"),
        .book("shelf", "REFERENCES shelf", "REFERENCES shelf(label)", "shelf(label)"),
        .book("year", "year INTEGER", "year INTEGER REFERENCES shelf", "nothing in the record"),
        .book("id", " PRIMARY KEY", "", "nothing for its primary key"),
        .book("year", "year INTEGER", "year INTEGER NOT NULL", "NOT NULL"),
        .book("year", "year INTEGER,", "", "$0.add(\"year\", Int?.self, to: \"book\")"),
        .book("age", "year", "age INTEGER, year", "not in the record"),
        .book(nil, "DEFERRED)", "DEFERRED) WITHOUT ROWID", "WITHOUT ROWID"),
        .related("owner", " ON DELETE CASCADE", "", "ON DELETE CASCADE in the record"),
        .related("owner", "(owner, position)", "(owner, target)", "owner, target"),
        .related("target", "target INTEGER", "target TEXT", "TEXT"),
    ]

    @Test(arguments: odd) func `what cannot be repaired is refused by name, and nothing is written`(
        _ odd: Odd
    ) async throws {
        let tables = odd.table == "book" ? [odd.sql, Self.related] : [Self.book, odd.sql]
        let file = try made([Self.shelf] + tables)
        for readOnly in [false, true] {
            let error = await refusal(file, readOnly: readOnly)
            #expect(error?.kind == .schemaMismatch)
            #expect(error?.table == odd.table && error?.column == odd.column, "\(String(describing: error))")
            #expect(error?.message.contains(odd.text) == true, "\(String(describing: error))")
        }
        let connection = try Connection(path: file, readOnly: true, busyTimeout: .seconds(1))
        #expect(try StoredTable(FileHeader.table, connection) == nil)
    }

    @Test func `a view is no table`() async throws {
        let file = try made([
            "CREATE TABLE x (id INTEGER, label TEXT)", "CREATE VIEW shelf AS SELECT * FROM x", Self.book,
        ])
        #expect(await refusal(file)?.kind == .schemaMismatch)
    }

    @Test func `a file that may only be read and lacks a table says so`() async throws {
        let file = try made([Self.shelf])
        let error = await refusal(file, readOnly: true)
        #expect(error?.kind == .schemaMismatch && error?.table == "book")
        #expect(error?.message.contains("no table book, which Book needs") == true)
    }

    @Test func `who changed it is said`() async throws {
        let file = try Scratch.file()
        _ = try await GraphStore.open(.file(file), Rack.self, Book.self)
        try Connection(path: file, readOnly: false, busyTimeout: .seconds(1)).execute("ALTER TABLE shelf ADD COLUMN x")
        #expect(await refusal(file)?.message.hasPrefix("something other than the store has changed") == true)
        try Connection(path: file, readOnly: false, busyTimeout: .seconds(1)).execute(
            "UPDATE graphmapper SET value = 'old' WHERE name = 'fingerprint shelf'")
        #expect(await refusal(file)?.message.hasPrefix("the records have changed") == true)
    }
}

extension String {
    fileprivate func replacing(_ text: String, with other: String) -> String {
        replacingOccurrences(of: text, with: other)
    }
}

@Suite struct `Indexes follow the records` {
    private func open<R: Indexed>(_ file: String, _ type: R.Type) async throws -> GraphStore {
        try await GraphStore.open(.file(file), Rack.self, type)
    }

    private func wanted(_ kind: Int) -> Set<String> {
        [["title", "title,year", "shelf"], ["unique title", "unique shelf"], ["shelf"]][kind]
    }

    /// Whatever kinds of index a file had, it has those of the records that opened it last, and all its rows.
    @Test func `any order of openings`() async throws {
        try await check(
            "the indexes are those of the last opening", Gen.array(of: .int(in: 0...2), count: 1...6), count: 25
        ) { kinds in
            let file = try Scratch.file()
            for (id, kind): (Int, Int) in kinds.enumerated() {
                let store: GraphStore
                switch kind {
                case 0: store = try await open(file, PlainBook.self)
                case 1: store = try await open(file, UniqueBook.self)
                default: store = try await open(file, BareBook.self)
                }
                try await store.write { try await $0.insert(BareBook(id: id, title: "\(id)", year: nil, shelf: nil)) }
                let found = try indexes(file, "tome")
                try ensure(found == wanted(kind), "\(found)")
                try ensure(try await store.count(Query(BareBook.self)) == id + 1)
            }
        }
    }

    @Test func `rows that a new unique index forbids are named`() async throws {
        let file = try Scratch.file()
        do {
            let store = try await open(file, PlainBook.self)
            try await store.write { tx in
                for id in 0..<3 { try await tx.insert(PlainBook(id: id, title: "twice", year: id, shelf: nil)) }
            }
        }
        let error = await #expect(throws: StoreError.self) { _ = try await open(file, UniqueBook.self) }
        #expect(error?.kind == .schemaMismatch && error?.table == "tome" && error?.column == "title")
        #expect(error?.message.contains("3 rows have \"twice\"") == true)
        // Nothing of the opening is left.
        #expect(try indexes(file, "tome") == wanted(0))
        #expect(try await open(file, PlainBook.self).count(Query(PlainBook.self)) == 3)
    }

    @Test func `indexes made by hand stay`() async throws {
        let file = try Scratch.file()
        _ = try await open(file, PlainBook.self)
        let connection = try Connection(path: file, readOnly: false, busyTimeout: .seconds(1))
        try connection.execute("CREATE INDEX mine ON tome (year, id DESC)")
        try connection.execute("CREATE UNIQUE INDEX tome_year ON tome (year) WHERE year > 0")
        try connection.execute("CREATE INDEX low ON tome (lower(title))")
        _ = try await open(file, BareBook.self)
        #expect(try indexes(file, "tome") == ["shelf", "year,id", "unique year", "?"])
    }

    @Test func `two indexes that would have one name`() async throws {
        let file = try Scratch.file()
        for _ in 0..<2 { _ = try await GraphStore.open(.file(file), NameClash.self, OtherClash.self) }
        #expect(try indexes(file, "a") == ["unique b_c"] && indexes(file, "a_b") == ["unique c"])
    }

    @Test func `a file that is as it should be is not written`() async throws {
        let file = try Scratch.file()
        let store = try await open(file, UniqueBook.self)
        try await store.write { _ in
            // Another writer would have to wait.
            var options = GraphStore.Options()
            options.busyTimeout = .seconds(0)
            _ = try await GraphStore.open(.file(file), options: options, Rack.self, UniqueBook.self)
        }
    }
}

@Suite struct `The file's header` {
    private func header(_ file: String) throws -> [String: StoredValue] {
        let connection = try Connection(path: file, readOnly: true, busyTimeout: .seconds(1))
        var values: [String: StoredValue] = [:]
        for row in try connection.rows("SELECT name, value FROM graphmapper") { values[row[0].description] = row[1] }
        return values
    }

    @Test func `fewer record types leave what it says of the others`() async throws {
        let file = try Scratch.file()
        _ = try await GraphStore.open(.file(file), Rack.self, Book.self)
        let all = try header(file)
        #expect(all["\"format\""] == .integer(1) && all["\"version\""] == .integer(0))
        #expect(all.keys.filter { $0.contains("fingerprint") }.count == 3)
        _ = try await GraphStore.open(.file(file), Rack.self)
        #expect(try header(file) == all)
        _ = try await GraphStore.open(.file(file), Rack.self, PlainBook.self)
        let more = try header(file)
        #expect(more.count == all.count + 1 && more.merging(all) { $1 } == more)
        _ = try await GraphStore.open(.file(file), Rack.self, UniqueBook.self)
        #expect(try header(file).filter { more[$0.key] != $0.value }.count == 1)
    }

    @Test(arguments: ["format", "version"], [false, true])
    func `a file of a newer program is refused`(_ name: String, _ readOnly: Bool) async throws {
        let file = try Scratch.file()
        _ = try await GraphStore.open(.file(file), Rack.self, Book.self)
        try Connection(path: file, readOnly: false, busyTimeout: .seconds(1)).execute(
            "UPDATE graphmapper SET value = 99 WHERE name = ?", [.text(name)])
        let before = try header(file)
        let error = await refusal(file, readOnly: readOnly)
        #expect(error?.kind == .newerFile && error?.message.contains("\(name) 99") == true)
        #expect(try header(file) == before)
    }

    @Test(arguments: [
        "CREATE TABLE graphmapper (x)", "CREATE TABLE graphmapper AS SELECT 'format' AS name, 'one' AS value",
    ])
    func `a table of that name that is something else`(_ sql: String) async throws {
        let error = await refusal(try made([sql]))
        #expect(error?.kind == .schemaMismatch && error?.table == "graphmapper")
    }
}
