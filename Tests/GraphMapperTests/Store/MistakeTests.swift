import Foundation
import Testing

@testable import GraphMapperStore

private struct Place: EmbeddedValue, Hashable {
    var x: Int
    var y: Int
    /// Not stored.
    var sum: Int { x + y }
    static let schema = Schema<Self> { row in try Self(x: row("x", \.x), y: row("y", \.y)) }
}

private struct Town: StoredRecord {
    let id: Int
    var name: String
    var place: Place
    var twin: Ref<Town>?
    var roads: [Ref<Town>]
    /// Not stored.
    var length: Int { name.count }
    static let schema = Schema<Self>("town") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), place: row("place", \.place), twin: row("twin", \.twin),
            roads: row("roads", \.roads))
    }
    init(id: Int, name: String = "", place: Place = Place(x: 0, y: 0), twin: Ref<Town>? = nil, roads: [Ref<Town>] = [])
    {
        self.id = id
        self.name = name
        self.place = place
        self.twin = twin
        self.roads = roads
    }
}

private struct ComputedIndex: StoredRecord {
    let id: Int
    var half: Int { id / 2 }
    static let schema = Schema<Self>("computed") { row in try Self(id: row("id", \.id)) }
    static let indexes: [Index<Self>] = [.on(\.half)]
}
private struct ListIndex: StoredRecord {
    let id: Int
    var peers: [Ref<ListIndex>]
    static let schema = Schema<Self>("listed") { row in try Self(id: row("id", \.id), peers: row("peers", \.peers)) }
    static let indexes: [Index<Self>] = [.unique(\.id, \.peers)]
}
private struct EmptyIndex: StoredRecord {
    let id: Int
    static let schema = Schema<Self>("empty") { row in try Self(id: row("id", \.id)) }
    static let indexes: [Index<Self>] = [.on()]
}

@Suite struct `Properties without a column` {
    private func opened() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { try await $0.insert(contentsOf: [Town(id: 1, name: "bb"), Town(id: 2, name: "a")]) }
        return store
    }

    /// With the type that the error names, and the property: computed ones may have lost their names to the compiler.
    private static var queries: [(Query<Town>, String, String)] {
        let all = Query(Town.self)
        return [
            (all.sorted(by: \.length), "town", "\\"),
            (all.sorted(by: \.name).sorted(by: \.roads), "town", "roads"),
            (all.where { $0.length == 1 }, "town", "\\"),
            (all.where { $0.name == "a" || !($0.length < 1) }, "town", "\\"),
            (all.where { $0.roads == [] }, "town", "roads"),
            (all.where { $0.length.isIn([]) && $0.name.contains("a") }, "town", "\\"),
            (all.where { $0.length.isNil }, "town", "\\"),
            (all.where { $0.twin.length == 1 }, "town", "\\"),
            (all.where { $0.twin.twin.length == 1 }, "town", "\\"),
            (all.where { $0.place.sum == 1 }, "Place", "\\"),
            (all.where { $0.twin.place.sum > 1 }, "Place", "\\"),
        ]
    }

    @Test(arguments: 0..<11) func `a query that names one is an error`(_ number: Int) async throws {
        let store = try await opened()
        let (query, type, property) = Self.queries[number]
        for run in [{ _ = try await store.fetch(query) }, { _ = try await store.count(query) }] {
            let error = await #expect(throws: GraphError.self) { try await run() }
            #expect(error?.kind == .misuse && error?.type == type)
            #expect(error?.property?.contains(property) == true, "\(String(describing: error))")
            #expect(error?.message.contains(type == "town" ? "id, name, place, twin" : "x, y") == true)
        }
    }

    @Test func `a query of columns is none`() async throws {
        let store = try await opened()
        let query = Query(Town.self).where { $0.place.x == 0 && $0.twin.place.isNil }
        #expect(try await store.fetch(query.sorted(by: \.place.y).sorted(by: \.name)).map(\.id) == [2, 1])
    }

    @Test func `a patch that sets one is an error`() async throws {
        let store = try await opened()
        for patch in [Patch(Town.self, 1).set(\.roads, []), Patch(Town.self, 1).set(\.length, 1)] {
            let error = await #expect(throws: GraphError.self) {
                try await store.write { _ = try await $0.apply(patch.set(\.name, "x")) }
            }
            #expect(error?.kind == .misuse && error?.type == "town")
        }
        #expect(try await store.find(Town.self, 1)?.name == "bb")
    }

    @Test func `an index on one is an error at opening`() async throws {
        let error = await #expect(throws: GraphError.self) {
            _ = try await GraphStore.open(.inMemory, ComputedIndex.self, ListIndex.self, EmptyIndex.self)
        }
        #expect(error?.kind == .invalidSchema)
        for text in ["computed.\\", "listed.\\ListIndex.peers", "names no property"] {
            #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        }
    }
}

@Suite struct `Input that must not trap` {
    static let timeouts: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.min), .seconds(1e15), .seconds(-1), .zero, .nanoseconds(1),
        .milliseconds(50), .seconds(5),
    ]

    @Test(arguments: timeouts)
    func `busy timeouts`(_ timeout: Duration) async throws {
        var options = GraphStore.Options()
        options.busyTimeout = timeout
        let store = try await GraphStore.open(.file(try Scratch.file()), options: options, Town.self)
        try await store.write { try await $0.insert(Town(id: 1)) }
        let expected: StoredValue = .integer(
            timeout > .seconds(1_000_000)
                ? Int64(Int32.max) : timeout > .zero ? Int64(timeout / .milliseconds(1)) : 0)
        #expect(try store.writer.rows("PRAGMA busy_timeout") == [[expected]])
    }

    private static let key: [StoredValue] = [.integer(1)]
    static let crooked: [ChangeSet.Change] = [
        .insert(.init(table: "town", columns: ["id"], values: [], key: key)),
        .insert(.init(table: "town", columns: [], values: [], key: key)),
        .update(.init(table: "town", keyColumns: ["id"], key: key, columns: ["name"], values: [], expected: [.null])),
        .update(.init(table: "town", keyColumns: ["id"], key: key, columns: ["name"], values: [.null], expected: [])),
        .update(.init(table: "town", keyColumns: ["id"], key: key, columns: [], values: [], expected: [])),
        .update(.init(table: "town", keyColumns: [], key: [], columns: ["name"], values: [.null], expected: [.null])),
        .delete(.init(table: "town", keyColumns: ["id", "name"], key: key)),
        .delete(.init(table: "town", keyColumns: [], key: [])),
        .relink(.init(table: "town", property: "roads", key: key, base: [], targets: key, targetColumns: [])),
        .relink(.init(table: "town", property: "roads", key: key, base: [], targets: key, targetColumns: ["a", "b"])),
        .relink(.init(table: "town", property: "roads", key: key, base: key, targets: [], targetColumns: ["a", "b"])),
        .relink(.init(table: "town", property: "roads", key: [], base: [], targets: key)),
    ]

    @Test(arguments: crooked) func `change sets out of step`(_ change: ChangeSet.Change) async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { try await $0.insert(Town(id: 1)) }
        for changes in [[change], [change, change]] {
            let error = await #expect(throws: GraphError.self) {
                try await store.write { try await $0.apply(ChangeSet(changes)) }
            }
            #expect(error?.kind == .misuse)
        }
        #expect(try await store.count(Query(Town.self)) == 1)
    }

    @Test func `keys that do not fit the columns`() async throws {
        let store = try await GraphStore.open(.inMemory, Town.self, ResidentRow.self)
        let names = (0..<3).map { FullName(first: "\($0)", last: "") }
        await #expect(throws: GraphError.self) {
            try await store.read { _ = try await $0.fetch(Town.self, where: "roads", isIn: [1]) }
        }
        await #expect(throws: GraphError.self) {
            try await store.read { _ = try await $0.fetch(ResidentRow.self, where: "friend", isIn: [1]) }
        }
        let found = try await store.read { try await $0.fetch(ResidentRow.self, where: "friend", isIn: names) }
        #expect(found.isEmpty)
    }

    static let extremes: [Int64] = [.min, .min + 1, -(1 << 61) - 1, 1 << 61, .max - 1, .max]

    /// A file may hold any positions.
    @Test(arguments: extremes, [Int64(-1), 0, 1])
    func `positions at the ends of the range`(_ position: Int64, _ other: Int64) async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { tx in
            try await tx.insert(Town(id: 1))
            try await tx.insert(Town(id: 2))
            try await tx.execute(
                "INSERT INTO town_roads VALUES (1, ?, 1), (1, ?, 2)", [.integer(position), .integer(other)])
        }
        for roads in [[1, 2, 1], [2, 2, 1], [1, 1, 2, 2], [2], [2, 1, 1]] {
            try await store.write { tx in
                _ = try await tx.upsert(Town(id: 1, roads: roads.map { Ref($0) }))
            }
            #expect(try await store.find(Town.self, 1)?.roads == roads.map { Ref($0) })
        }
    }

    /// SQLite itself would run the first and say nothing of the rest.
    @Test(arguments: [
        "DELETE FROM town; DELETE FROM town_roads", "DELETE FROM town; nonsense", "", " ", "-- nothing",
    ]) func `text that is not one statement`(_ sql: String) async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { try await $0.insert(Town(id: 1)) }
        let error = await #expect(throws: StoreError.self) { try await store.write { try await $0.execute(sql) } }
        #expect(error?.kind == .misuse)
        try await store.write { try await $0.execute("UPDATE town SET name = 'x'; -- that is all\n ;") }
        #expect(try await store.find(Town.self, 1)?.name == "x")
    }

    @Test func `a position that is no number`() async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { tx in
            try await tx.insert(Town(id: 1))
            try await tx.execute("INSERT INTO town_roads VALUES (1, 'first', 1)")
        }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { _ = try await $0.upsert(Town(id: 1, roads: [Ref(1), Ref(1)])) }
        }
        #expect(error?.table == "town_roads" && error?.key == "1" && error?.column == "position")
    }
}

@Suite struct `Links to nothing` {
    private func failure(_ body: (WriteTransaction) async throws -> Void) async throws -> StoreError {
        let store = try await GraphStore.open(.inMemory, Town.self, ResidentRow.self)
        try await store.write { try await $0.insert(contentsOf: [Town(id: 1), Town(id: 2, twin: Ref(1))]) }
        let error = try #require(
            await #expect(throws: StoreError.self) { try await store.write { try await body($0) } })
        #expect(error.kind == .foreignKey && error.code == 787)
        #expect(try await store.count(Query(Town.self)) == 2)
        // The store goes on.
        try await store.write { try await $0.insert(Town(id: 3)) }
        return error
    }

    @Test func `a link in the row`() async throws {
        let error = try await failure { try await $0.insert(Town(id: 7, twin: Ref(99))) }
        #expect(error.table == "town" && error.key == "7" && error.column == "twin")
        #expect(error.message.hasPrefix("town(7).twin points to town(99), which is not there; insert it"))
    }

    @Test func `a link in a list`() async throws {
        let error = try await failure { try await $0.insert(Town(id: 7, roads: [Ref(1), Ref(98), Ref(99)])) }
        #expect(error.table == "town" && error.key == "7" && error.column == "roads")
        #expect(error.message.contains("town(7).roads points to town(98)") && error.message.contains("2 links are so"))
    }

    @Test func `a target that was deleted`() async throws {
        let error = try await failure { _ = try await $0.delete(Town.self, 1) }
        #expect(error.message.hasPrefix("town(2).twin points to town(1)"))
    }

    @Test func `links to nothing that were there before are not to blame`() async throws {
        let file = try Scratch.file()
        do {
            let store = try await GraphStore.open(.file(file), Town.self)
            try await store.write { try await $0.insert(contentsOf: [Town(id: 1), Town(id: 2), Town(id: 3)]) }
        }
        let connection = try Connection(path: file, readOnly: false, busyTimeout: .seconds(1))
        try connection.execute("PRAGMA foreign_keys = OFF")
        try connection.execute("UPDATE town SET twin = 90 WHERE id = 1")
        try connection.execute("INSERT INTO town_roads VALUES (1, 5, 91)")
        let store = try await GraphStore.open(.file(file), Town.self)
        for (town, column) in [(Town(id: 3, twin: Ref(99)), "twin"), (Town(id: 3, roads: [Ref(99)]), "roads")] {
            let error = await #expect(throws: StoreError.self) {
                try await store.write { _ = try await $0.upsert(town) }
            }
            #expect(error?.key == "3" && error?.column == column)
            #expect(error?.message.contains("points to town(99)") == true && error?.message.contains("3 links") == true)
        }
        try await store.write { _ = try await $0.apply(Patch(Town.self, 2).set(\.twin, Ref(3))) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { _ = try await $0.delete(Town.self, 3) }
        }
        #expect(error?.key == "2" && error?.column == "twin")
    }

    @Test func `keys of several columns`() async throws {
        let nobody = Ref<ResidentRow>(FullName(first: "no", last: "body"))
        let error = try await failure { tx in
            try await tx.insert(ResidentRow(id: FullName(first: "a", last: "b"), age: 1, friend: nobody))
        }
        #expect(error.table == "resident" && error.column == "friend_first, friend_last")
        #expect(
            error.message.contains(#"resident("a", "b").friend_first, friend_last points to resident("no", "body")"#))
        let listed = try await failure { tx in
            try await tx.insert(ResidentRow(id: FullName(first: "a", last: "b"), age: 1, line: [nobody]))
        }
        #expect(listed.table == "resident" && listed.column == "line" && listed.key == #""a", "b""#)
    }

    /// Somebody wrote to the file without the rules on.
    @Test(arguments: [
        ("UPDATE person SET boss = 99 WHERE id = 2", "person(2).boss"),
        ("INSERT INTO medal (id, owner, title) VALUES (5, 99, '')", "medal(5).owner"),
    ]) func `a link to nothing that a load finds names who has it`(_ sql: String, _ path: String) async throws {
        var options = GraphStore.Options()
        options.prepare = { try $0.execute("PRAGMA foreign_keys = OFF") }
        let store = try await openTown(.inMemory, options: options)
        let session = townSession(store)
        for id in 1...3 { try session.add(Person(id: id, name: "")) }
        try await session.save()
        try await store.write { try await $0.execute(sql) }
        let other = townSession(store)
        let error = await #expect(throws: GraphError.self) {
            _ = try await other.models(Query(PersonRow.self))
            _ = try await other.models(Query(MedalRow.self))
        }
        #expect(error?.kind == .dangling && error?.type == "person" && error?.id == "99" && error?.path == path)
    }

    @Test func `an owner of a list that is not there`() async throws {
        let error = try await failure { try await $0.execute("INSERT INTO town_roads VALUES (55, 1, 1)") }
        #expect(error.table == "town_roads" && error.column == "owner")
    }
}

@Suite struct `The hook on a fresh connection` {
    /// What the hook was given, kept longer than it may be.
    private final class Kept: @unchecked Sendable {
        // Sendable because a test's hook and its body run one after the other.
        var connection: FreshConnection?
        var statements: [String] = []
    }

    @Test func `what it is given is good until it returns`() async throws {
        let kept = Kept()
        var options = GraphStore.Options()
        options.prepare = { connection in
            try connection.execute("PRAGMA user_version = 7")
            #expect(try connection.rows("PRAGMA user_version") == [[.integer(7)]])
            try connection.onStatement { kept.statements.append($0) }
            kept.connection = connection
        }
        let store = try await GraphStore.open(.inMemory, options: options, Town.self)
        let old = try #require(kept.connection)
        for use in [
            { try old.execute("PRAGMA user_version = 8") }, { _ = try old.rows("SELECT 1") },
            { try old.onStatement { _ in } },
        ] {
            let error = #expect(throws: StoreError.self) { try use() }
            #expect(error?.kind == .misuse)
        }
        kept.statements = []
        try await store.write { try await $0.insert(Town(id: 1)) }
        #expect(kept.statements.count == 3)
    }

    @Test func `a hook that throws keeps the store from opening`() async throws {
        struct Stop: Error {}
        let kept = Kept()
        var options = GraphStore.Options()
        options.prepare = { connection in
            kept.connection = connection
            throw Stop()
        }
        await #expect(throws: Stop.self) { _ = try await GraphStore.open(.inMemory, options: options, Town.self) }
        #expect(throws: StoreError.self) { try kept.connection?.execute("SELECT 1") }
    }
}
