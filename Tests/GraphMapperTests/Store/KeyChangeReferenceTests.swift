import Foundation
import Testing

@testable import GraphMapperStore

private struct Owner: StoredRecord, Equatable {
    let id: Int
    var code: Int
    static let isAdopted = true
    static let schema = Schema<Self>("owner") { row in try Self(id: row("id", \.id), code: row("code", \.code)) }
}

@Suite struct `A key that changes in an adopted file` {
    private static func open(_ child: String) async throws -> GraphStore {
        let path = try Scratch.file()
        let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(5))
        try connection.execute(
            "CREATE TABLE owner (id INTEGER PRIMARY KEY, code INTEGER NOT NULL UNIQUE, UNIQUE (code, id))")
        try connection.execute("INSERT INTO owner VALUES (1, 2), (2, 1)")
        try connection.execute(child)
        return try await GraphStore.open(.file(path), Owner.self)
    }
    private static func move(_ store: GraphStore) async throws {
        try await store.write { tx in
            try await tx.apply(KeyChange(table: "owner", keyColumns: ["id"], old: [.integer(1)], new: [.integer(9)]))
        }
    }

    @Test func `leaves alone what refers to another unique column`() async throws {
        let store = try await Self.open(
            "CREATE TABLE child (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner (code) DEFERRABLE INITIALLY DEFERRED)"
        )
        try await store.write { try await $0.execute("INSERT INTO child VALUES (1, 1), (2, 2)") }
        try await Self.move(store)
        let rows = try await store.read { try await $0.rows("SELECT id, owner FROM child ORDER BY id") }
        #expect(rows == [[.integer(1), .integer(1)], [.integer(2), .integer(2)]])
    }

    @Test func `is followed by what refers to it, however that is written`() async throws {
        for reference in ["owner", "OWNER", "owner (id)", "Owner (ID)"] {
            let store = try await Self.open(
                "CREATE TABLE child (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES \(reference) "
                    + "DEFERRABLE INITIALLY DEFERRED)")
            try await store.write { try await $0.execute("INSERT INTO child VALUES (1, 1), (2, 2)") }
            try await Self.move(store)
            let rows = try await store.read { try await $0.rows("SELECT id, owner FROM child ORDER BY id") }
            #expect(rows == [[.integer(1), .integer(9)], [.integer(2), .integer(2)]], "\(reference)")
        }
    }

    @Test func `is followed by what refers to it among other columns, in any order`() async throws {
        let store = try await Self.open(
            "CREATE TABLE child (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES owner (code, id) "
                + "DEFERRABLE INITIALLY DEFERRED)")
        try await store.write { try await $0.execute("INSERT INTO child VALUES (1, 2, 1), (2, 1, 2)") }
        try await Self.move(store)
        let rows = try await store.read { try await $0.rows("SELECT a, b FROM child ORDER BY id") }
        #expect(rows == [[.integer(2), .integer(9)], [.integer(1), .integer(2)]])
    }
}
