import Foundation
import Testing

@testable import GraphMapperStore

private struct Sheet: StoredRecord, Equatable {
    let id: Int
    var title: String
    static let schema = Schema<Self>("page") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
    static let indexes: [Index<Self>] = [.text(\.title)]
}
private struct Leaf: StoredRecord, Equatable {
    let id: String
    var title: String
    static let schema = Schema<Self>("leaf") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
    static let indexes: [Index<Self>] = [.text(\.title)]
}

@Suite struct `Files that others have altered` {
    /// A closed file with pages and leaves, after some statements of somebody else's.
    private static func file(_ statements: [String]) async throws -> String {
        let path = try Scratch.file()
        let store = try await GraphStore.open(.file(path), Sheet.self, Leaf.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: (1...3).map { Sheet(id: $0, title: "word \($0)") })
            try await tx.insert(contentsOf: (1...3).map { Leaf(id: "\($0)", title: "word \($0)") })
        }
        let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(5))
        try connection.trustTriggers()
        for statement in statements { try connection.execute(statement) }
        return path
    }

    @Test(.enabled(if: SQLiteShell.isThere)) func `a file in UTF-16 is refused`() async throws {
        let path = try SQLiteShell.file("PRAGMA encoding = 'UTF-16';\nCREATE TABLE other (id INTEGER PRIMARY KEY);\n")
        let error = await #expect(throws: StoreError.self) { try await GraphStore.open(.file(path), Sheet.self) }
        #expect(error?.description.contains("UTF-16") == true)
        var options = GraphStore.Options()
        options.isReadOnly = true
        await #expect(throws: StoreError.self) { try await GraphStore.open(.file(path), options: options, Sheet.self) }
    }

    @Test func `a table of the store's that means something else is refused`() async throws {
        for table in [
            "CREATE TABLE page (id INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL COLLATE NOCASE)",
            "CREATE TABLE page (id INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL CHECK (title <> 'a'))",
            "CREATE TABLE page (id INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL AS ('a'))",
        ] {
            let path = try Scratch.file()
            let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(5))
            try connection.execute(table)
            let error = await #expect(throws: StoreError.self, "\(table)") {
                try await GraphStore.open(.file(path), Sheet.self)
            }
            #expect(error?.kind == .schemaMismatch, "\(table)")
        }
    }

    @Test func `words of a definition in names and defaults are none`() async throws {
        let path = try Scratch.file()
        let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(5))
        try connection.execute(
            "CREATE TABLE page (id INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL DEFAULT ('CHECK COLLATE')) /* CHECK */"
        )
        _ = try await GraphStore.open(.file(path), Sheet.self)
    }

    @Test func `a full-text index that has lost its entries is not sound`() async throws {
        for table in ["page", "leaf"] {
            for statement in [
                "INSERT INTO \(table)_text (\(table)_text) VALUES ('delete-all')",
                "INSERT INTO \(table)_text (\(table)_text, rowid, title) VALUES ('delete', 2, 'word 2')",
                "INSERT INTO \(table)_text (rowid, title) VALUES (2, 'more')",
            ] {
                let path = try await Self.file([statement])
                let store = try await GraphStore.open(.file(path), Sheet.self, Leaf.self)
                let report = try await store.checkIntegrity()
                #expect(!report.isSound && report.damages.contains { $0.contains("\(table)_text") }, "\(statement)")
                #expect(try await store.fetch(Query(Sheet.self)).count == 3)
                var options = GraphStore.Options()
                options.isReadOnly = true
                let reader = try await GraphStore.open(.file(path), options: options, Sheet.self, Leaf.self)
                #expect(try await !reader.checkIntegrity().isSound, "read-only: \(statement)")
            }
        }
        let whole = try await GraphStore.open(.file(try await Self.file([])), Sheet.self, Leaf.self)
        #expect(try await whole.checkIntegrity().isSound)
    }

    @Test func `what keeps a full-text index is made anew with its entries`() async throws {
        for table in ["page", "leaf"] {
            for event in ["insert", "delete", "update"] {
                let path = try await Self.file([
                    "DROP TRIGGER \(table)_text_\(event)", "UPDATE \(table) SET title = 'changed' WHERE id = 2",
                    "DELETE FROM \(table) WHERE id = 1", "INSERT INTO \(table) VALUES (4, 'added')",
                ])
                let store = try await GraphStore.open(.file(path), Sheet.self, Leaf.self)
                #expect(try await store.checkIntegrity().isSound, "\(table) \(event)")
                if table == "page" {
                    #expect(try await store.fetch(Query(Sheet.self).matching(.words("added"))).map(\.id) == [4])
                    #expect(try await store.fetch(Query(Sheet.self).matching(.words("changed"))).map(\.id) == [2])
                }
            }
        }
    }
}
