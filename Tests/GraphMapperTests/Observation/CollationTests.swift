import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Guest: StoredRecord, Equatable {
    let id: String
    var name: String
    var host: Ref<Host>?
    static let isAdopted = true
    static let schema = Schema<Self>("guest") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), host: row("host", \.host))
    }
}
private struct Host: StoredRecord, Equatable {
    let id: Int
    var title: String
    static let isAdopted = true
    static let schema = Schema<Self>("host") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
}

@Suite struct `Observers of columns with a collation of the file's` {
    private static func open(_ name: String = "NOCASE", id: String = "BINARY") async throws -> GraphStore {
        let path = try Scratch.file()
        let connection = try Connection(path: path, readOnly: false, busyTimeout: .seconds(5))
        try connection.execute("CREATE TABLE host (id INTEGER PRIMARY KEY, title TEXT COLLATE \(name) NOT NULL)")
        try connection.execute(
            "CREATE TABLE guest (id TEXT COLLATE \(id) PRIMARY KEY NOT NULL, name TEXT COLLATE \(name) NOT NULL, "
                + "host INTEGER REFERENCES host (id)) WITHOUT ROWID")
        return try await GraphStore.open(.file(path), Guest.self, Host.self)
    }

    /// Writes at random, and has the observer's list be that of the query after each commit.
    private static func same(_ store: GraphStore, _ query: Query<Guest>, _ what: String) async throws {
        try await store.write { tx in
            try await tx.execute("DELETE FROM guest")
            try await tx.execute("INSERT OR REPLACE INTO host VALUES (1, 'x'), (2, 'X'), (3, 'y')")
        }
        let list = Locked<[Guest]?>(nil)
        let following = Task {
            for try await change in store.changes(of: query) {
                switch change {
                case .initial(let records), .update(let records, _, _, _): list.withLock { $0 = Array(records) }
                }
            }
        }
        defer { following.cancel() }
        var random = SystemRandomNumberGenerator()
        let names = ["a", "A", "b", "B", "a ", "ab"]
        for step in 0..<60 {
            let (id, name) = ("k\(Int.random(in: 0..<12, using: &random))", names.randomElement(using: &random) ?? "")
            let host = Int.random(in: 1...3, using: &random)
            try await store.write { tx in
                try await tx.execute(
                    "INSERT INTO guest VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET name = excluded.name, host = excluded.host",
                    [.text(id), .text(name), .integer(Int64(host))])
                if step % 5 == 0 {
                    try await tx.execute("DELETE FROM guest WHERE id = ?", [.text("k\(step % 12)")])
                }
            }
            let wanted = try await store.fetch(query.sorted(by: \.id))
            let end = ContinuousClock.now + .seconds(120)
            while list.withLock({ $0 }) != wanted, ContinuousClock.now < end {
                try await Task.sleep(for: .microseconds(200))
            }
            guard list.withLock({ $0 }) == wanted else {
                Issue.record("\(what): \(String(describing: list.withLock { $0 })), not \(wanted)")
                return
            }
        }
    }

    @Test func `sort and choose as the query does`() async throws {
        for collation in ["NOCASE", "RTRIM", "BINARY"] {
            let store = try await Self.open(collation)
            try await Self.same(store, Query(Guest.self).where { $0.name == "a" }, "\(collation) ==")
            try await Self.same(store, Query(Guest.self).sorted(by: \.name), "\(collation) sorted")
            try await Self.same(
                store, Query(Guest.self).where { $0.name == "A" }.sorted(by: \.name), "\(collation) both")
            try await Self.same(
                store, Query(Guest.self).sorted(by: { $0.host.title }), "\(collation) through a link")
        }
    }

    @Test func `find rows by a key with a collation`() async throws {
        let store = try await Self.open("BINARY", id: "NOCASE")
        try await Self.same(store, Query(Guest.self).where { $0.id == "K1" }, "key")
        try await Self.same(store, Query(Guest.self).sorted(by: \.name), "order by key")
    }
}
