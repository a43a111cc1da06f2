import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct LeafletRow: StoredRecord {
    let id: UUID
    var title: String
    var body: String?
    var deleted: Date?
    var number: Int
    static let schema = Schema<Self>("note") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), body: row("body", \.body),
            deleted: row("deleted", \.deleted), number: row("number", \.number))
    }
    static let indexes: [Index<Self>] = [
        .text(\.title, \.body), .unique(\.title).where { $0.deleted == nil },
        .on(\.number).where {
            $0.number > 5
            $0.title != "it's"
        },
    ]

    init(_ title: String, _ body: String? = nil, deleted: Date? = nil, number: Int = 0) {
        self.init(id: UUID(), title: title, body: body, deleted: deleted, number: number)
    }
    init(id: UUID, title: String, body: String?, deleted: Date?, number: Int) {
        (self.id, self.title, self.body, self.deleted, self.number) = (id, title, body, deleted, number)
    }
}
/// The same table, as another version of the app has it.
private struct OtherLeafletRow: StoredRecord {
    let id: UUID
    var title: String
    var body: String?
    var deleted: Date?
    var number: Int
    static let schema = Schema<Self>("note") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), body: row("body", \.body),
            deleted: row("deleted", \.deleted), number: row("number", \.number))
    }
    static let indexes: [Index<Self>] = [.text(\.body), .on(\.number).where { $0.number > 6 }]
}
private struct PlainLeafletRow: StoredRecord {
    let id: UUID
    var title: String
    var body: String?
    var deleted: Date?
    var number: Int
    static let schema = Schema<Self>("note") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), body: row("body", \.body),
            deleted: row("deleted", \.deleted), number: row("number", \.number))
    }
}
private struct WrongNote: StoredRecord {
    let id: UUID
    static let schema = Schema<Self>("wrong") { row in try Self(id: row("id", \.id)) }
    static let indexes: [Index<Self>] = [
        .on(\.id).where { $0.many(WrongLink.self, by: \.note).count > 1 }, .text(\.id).where { $0.id != UUID() },
    ]
}
private struct WrongLink: StoredRecord {
    let id: Int8
    let note: Ref<WrongNote>
    static let schema = Schema<Self>("link") { row in try Self(id: row("id", \.id), note: row("note", \.note)) }
}

@Suite struct `Keys and indexes` {
    @Test func `a key that was given is never given again`() async throws {
        struct Stop: Error {}
        let path = try Scratch.file()
        func add(_ store: GraphStore) async throws -> Int {
            try await store.write { try await $0.insert(SquadRow.self) { SquadRow(id: $0, name: "", city: nil) }.id }
        }
        do {
            let store = try await GraphStore.open(.file(path), SquadRow.self)
            #expect(try await add(store) == 1)
            #expect(try await add(store) == 2)
            try await store.write { tx in
                try await tx.insert(SquadRow(id: 10, name: "", city: nil))
                #expect(try await tx.insert(SquadRow.self) { SquadRow(id: $0, name: "", city: nil) }.id == 11)
                #expect(try await tx.insert(SquadRow.self) { SquadRow(id: $0, name: "", city: nil) }.id == 12)
                try await tx.delete(SquadRow.self) { $0.id > 1 }
            }
            await #expect(throws: Stop.self) {
                try await store.write { tx in
                    try await tx.insert(SquadRow.self) { SquadRow(id: $0, name: "", city: nil) }
                    throw Stop()
                }
            }
        }
        let store = try await GraphStore.open(.file(path), SquadRow.self)
        #expect(try await add(store) == 13)
        await #expect {
            try await store.write { try await $0.insert(SquadRow.self) { _ in SquadRow(id: 7, name: "", city: nil) } }
        } throws: { ($0 as? GraphError)?.kind == .misuse }
    }

    @Test func `keys of a small type run out with an error`() async throws {
        let store = try await GraphStore.open(.inMemory, NumberedRow.self)
        try await store.write { try await $0.insert(NumberedRow(id: 126)) }
        try await store.write { try await $0.insert(NumberedRow.self) { NumberedRow(id: $0) } }
        await #expect {
            try await store.write { try await $0.insert(NumberedRow.self) { NumberedRow(id: $0) } }
        } throws: {
            ($0 as? StoreError)?.kind == .full
        }
    }

    @Test func `a partial index is of those rows alone`() async throws {
        let store = try await GraphStore.open(.inMemory, LeafletRow.self)
        let now = Date(timeIntervalSince1970: 1)
        try await store.write {
            try await $0.insert(contentsOf: [
                LeafletRow("a", deleted: now), LeafletRow("a", deleted: now), LeafletRow("a"),
            ])
        }
        await #expect { try await store.write { try await $0.insert(LeafletRow("a")) } } throws: {
            ($0 as? StoreError)?.kind == .duplicateKey
        }
        let plan = try await store.explain(
            Query(LeafletRow.self).where {
                $0.title == "a"
                $0.deleted == nil
            })
        #expect(plan.description.contains("note_title_where") && plan.warnings == [], "\(plan)")
    }

    @Test func `indexes become what the records declare, in any order`() async throws {
        let path = try Scratch.file()
        func definitions(_ store: GraphStore) throws -> Set<StoredValue> {
            Set(
                try store.writer.rows(
                    "SELECT coalesce(sql, name) FROM sqlite_schema WHERE tbl_name IN ('note', 'note_text')"
                ).map { $0[0] })
        }
        func fresh(_ type: any StoredRecord.Type) async throws -> Set<StoredValue> {
            try definitions(try await GraphStore.make(.inMemory, .init(), [type]))
        }
        for type in [
            LeafletRow.self, OtherLeafletRow.self, PlainLeafletRow.self, LeafletRow.self, LeafletRow.self,
            PlainLeafletRow.self,
        ] as [any StoredRecord.Type] {
            let store = try await GraphStore.make(.file(path), .init(), [type])
            let expected = try await fresh(type)
            #expect(try definitions(store) == expected)
        }
    }

    @Test func `an index that asks for more than columns is a mistake`() async throws {
        let error = await #expect(throws: GraphError.self) {
            try await GraphStore.open(.inMemory, WrongNote.self, WrongLink.self)
        }
        #expect(error?.message.contains("comparing columns with values") == true)
        #expect(error?.message.contains("a full-text index is of all rows") == true)
    }

    @Test func `a search ranks, and shows where`() async throws {
        let store = try await GraphStore.open(.inMemory, LeafletRow.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: [
                LeafletRow("The sea", "Ships sail the sea, and the sea is wide."),
                LeafletRow("Lakes", "A lake is no sea."),
                LeafletRow("Café", "Crème brûlée"), LeafletRow("Nothing", nil),
            ])
        }
        let notes = Query(LeafletRow.self)
        let hits = try await store.search(notes, for: .words("SEA"))
        #expect(hits.map(\.record.title) == ["The sea", "Lakes"] && hits[0].score > hits[1].score)
        #expect(hits[1].snippet == "A lake is no «sea».")
        #expect(try await store.search(notes, for: .words("creme BRULEE")).map(\.record.title) == ["Café"])
        #expect(try await store.search(notes, for: .starting("the s")).map(\.record.title) == ["The sea"])
        #expect(try await store.search(notes.where { $0.title == "Lakes" }, for: .words("sea")).count == 1)
        #expect(try await store.search(notes, for: .query("sea NOT lake")).count == 1)
        #expect(try await store.search(notes, for: .words("sea"), limit: 1).count == 1)
        #expect(
            try await store.fetch(notes.matching(.words("sea")).sorted(by: \.title)).map(\.title) == [
                "Lakes", "The sea",
            ])
        await #expect(throws: StoreError.self) { try await store.search(notes, for: .query("sea NOT")) }
        let plain = try await GraphStore.open(.inMemory, PlainLeafletRow.self)
        await #expect(throws: GraphError.self) { try await plain.search(Query(PlainLeafletRow.self), for: .words("a")) }
    }

    @Test func `an index is right after somebody else has compacted the file, and after keys have changed`()
        async throws
    {
        let file = try Scratch.file()
        let store = try await GraphStore.open(.file(file), LeafletRow.self)
        let rows = (0..<30).map { number in
            LeafletRow("leaf \(number)", "word\(number)", number: number)
        }
        try await store.write { tx in
            for row in rows { try await tx.insert(row) }
            for row in rows.prefix(20) { try await tx.delete(LeafletRow.self, row.id) }
        }
        try SQLiteShell.run("VACUUM;\n", on: file)
        func isRight(_ row: LeafletRow, _ id: UUID) async throws -> Bool {
            let query = Query(LeafletRow.self)
            let hits = try await store.search(query, for: .words(row.body ?? ""))
            let found = try await store.fetch(query.matching(.words(row.body ?? "")))
            return hits.map(\.record.id) == [id] && hits[0].snippet.contains("«") && found.map(\.id) == [id]
        }
        for row in rows.dropFirst(20) { #expect(try await isRight(row, row.id)) }
        let id = UUID()
        try await store.write {
            try await $0.execute(
                "UPDATE note SET id = ?, body = body || ' more' WHERE id = ?",
                id.storedValues + rows[25].id.storedValues)
        }
        #expect(try await isRight(rows[25], id))
        #expect(try await store.search(Query(LeafletRow.self), for: .words("more")).map(\.record.id) == [id])
        #expect(try await store.changeRecords().allSatisfy { $0.table == "note" })
        #expect(try await store.checkIntegrity().isSound)
    }

    @Test func `whatever a person types is no mistake`() async throws {
        let store = try await GraphStore.open(.inMemory, LeafletRow.self)
        try await store.write { try await $0.insert(LeafletRow("a b c", "ab")) }
        try await check(Gen<String>.string) { text in
            _ = try await store.search(Query(LeafletRow.self), for: .words(text))
            _ = try await store.search(Query(LeafletRow.self), for: .starting(text))
            _ = try await store.count(Query(LeafletRow.self).matching(.starting(text)))
        }
    }

    @Test func `an index follows its rows, whatever changes them`() async throws {
        let path = try Scratch.file()
        func found(_ store: GraphStore, _ word: String) async throws -> [String] {
            try await store.search(Query(LeafletRow.self), for: .words(word)).map(\.record.title).sorted()
        }
        let ids = (0..<50).map { _ in UUID() }
        do {
            let store = try await GraphStore.open(.file(path), LeafletRow.self)
            try await store.write { tx in
                for (number, id) in ids.enumerated() {
                    try await tx.insert(
                        LeafletRow(id: id, title: "t\(number)", body: "word\(number)", deleted: nil, number: 0))
                }
            }
            try await store.write { tx in
                try await tx.apply(Patch(LeafletRow.self, ids[1]).set(\.body, "changed"))
                try await tx.delete(LeafletRow.self) { $0.title.isIn(["t0", "t2"]) }
                try await tx.execute("UPDATE note SET body = 'raw' WHERE title = 't3'")
            }
            #expect(try await found(store, "word0") == [])
            #expect(try await found(store, "changed") == ["t1"])
            #expect(try await found(store, "raw") == ["t3"])
            #expect(try await store.changeRecords().allSatisfy { $0.table == "note" })
            try await store.compact()
            #expect(try await found(store, "word49") == ["t49"])
            #expect(try await store.checkIntegrity().isSound)
        }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("away and back") { step in
                try await step.rename(table: "note", to: "letter")
                try await step.rename(table: "letter", to: "note")
                try await step.transform(LeafletRow.self, to: LeafletRow.self) { $0 }
                try await step.execute("UPDATE note SET body = 'new' WHERE title = 't4'")
            }
        ]
        let store = try await GraphStore.open(.file(path), options: options, LeafletRow.self)
        #expect(try await found(store, "new") == ["t4"])
        #expect(try await found(store, "word4") == [])
        #expect(try await found(store, "word5") == ["t5"])
    }
}

private struct NumberedRow: StoredRecord {
    let id: Int8
    static let schema = Schema<Self>("numbered") { row in try Self(id: row("id", \.id)) }
}
