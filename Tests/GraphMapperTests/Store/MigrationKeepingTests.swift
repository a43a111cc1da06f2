import Foundation
import GraphMapperStore
import Testing

/// What steps leave as it was, and what they say where they cannot.
@Suite struct `What migrations keep` {
    struct Word: StoredRecord, Equatable {
        let id: Int
        var text: String
        static let schema = Schema<Self>("word") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
    }
    struct Term: StoredRecord, Equatable {
        let id: Int
        var text: String
        static let schema = Schema<Self>("te\u{301}rm") { row in
            try Self(id: row("id", \.id), text: row("text", \.text))
        }
    }
    struct Listed: StoredRecord, Equatable {
        let id: Int
        var text: String
        var similar: [Ref<Listed>]
        static let schema = Schema<Self>("word") { row in
            try Self(id: row("id", \.id), text: row("text", \.text), similar: row("similar", \.similar))
        }
    }
    struct Related: StoredRecord, Equatable {
        let id: Int
        var text: String
        var related: [Ref<Related>]
        static let schema = Schema<Self>("Word") { row in
            try Self(id: row("id", \.id), text: row("text", \.text), related: row("related", \.related))
        }
    }
    struct Use0: StoredRecord, Equatable {
        let id: Int
        var word: Int
        static let schema = Schema<Self>("use") { row in try Self(id: row("id", \.id), word: row("word", \.word)) }
    }
    struct Use: StoredRecord, Equatable {
        let id: Int
        var word: Ref<Word>
        static let schema = Schema<Self>("use") { row in try Self(id: row("id", \.id), word: row("word", \.word)) }
    }

    private func open(
        _ path: String, _ steps: [Migration], _ type: any StoredRecord.Type, _ other: (any StoredRecord.Type)? = nil
    ) async throws -> GraphStore {
        var options = GraphStore.Options()
        options.migrations = steps
        // A step that sleeps waits for all other tests' tasks.
        options.busyTimeout = .seconds(120)
        guard let other else { return try await GraphStore.open(.file(path), options: options, type) }
        return try await GraphStore.open(.file(path), options: options, type, other)
    }

    private func words(_ count: Int = 3) async throws -> String {
        let path = try Scratch.file()
        try await open(path, [], Word.self).write { tx in
            for id in 1...count { try await tx.insert(Word(id: id, text: "w\(id)")) }
        }
        return path
    }

    @Test func `two that open a file at once take each step once`() async throws {
        let path = try await words()
        let steps = ["a", "b"].map { name in
            Migration(name) { step in
                try await step.execute("UPDATE word SET text = text || ?", [.text(name)])
                try await Task.sleep(nanoseconds: 10_000_000)
            }
        }
        async let first = Task { try await open(path, steps, Word.self) }.value
        async let second = Task { try await open(path, steps, Word.self) }.value
        let stores = try await [first, second]
        for store in stores {
            #expect(try await store.fetch(Query(Word.self).sorted(by: \.id)).map(\.text) == ["w1ab", "w2ab", "w3ab"])
        }
    }

    static let changes = [
        Migration("retype") { try await $0.retype("text", in: "word", from: String.self, to: String.self) { $0 } },
        Migration("rename a column") {
            try await $0.rename("text", to: "x", in: "word")
            try await $0.rename("x", to: "text", in: "word")
        },
        Migration("transform") { try await $0.transform(Word.self, to: Word.self) { $0 } },
        Migration("rename a table") {
            try await $0.rename(table: "word", to: "x")
            try await $0.rename(table: "x", to: "word")
        },
        Migration("add and drop") {
            try await $0.add("x", Int.self, to: "word", default: 1)
            try await $0.drop("x", from: "word")
        },
    ]

    @Test(arguments: 0..<5)
    func `views, triggers and indexes of somebody else's stay`(change: Int) async throws {
        let path = try await words()
        try SQLiteShell.run(
            """
            CREATE VIEW long AS SELECT text FROM word WHERE length(text) > 3;
            CREATE TABLE log (text);
            CREATE INDEX folded ON word (text COLLATE NOCASE);
            CREATE TRIGGER noted AFTER INSERT ON word BEGIN INSERT INTO log VALUES (new.text); END;

            """, on: path)
        let store = try await open(path, [Self.changes[change]], Word.self)
        try await store.write { try await $0.insert(Word(id: 9, text: "nine")) }
        let found = try await store.read { tx in
            [
                try await tx.rows("SELECT text FROM log"), try await tx.rows("SELECT text FROM long"),
                try await tx.rows("SELECT name FROM sqlite_schema WHERE name = 'folded'"),
            ]
        }
        #expect(found == [[[.text("nine")]], [[.text("nine")]], [[.text("folded")]]])
    }

    @Test func `what else a table's definition says is not lost without a word`() async throws {
        struct Adopted: StoredRecord {
            let id: Int
            var text: String
            static let isAdopted = true
            static let schema = Schema<Self>("word") { row in try Self(id: row("id", \.id), text: row("text", \.text)) }
        }
        for word in ["UNIQUE", "COLLATE NOCASE", "CHECK (text <> '')"] {
            let path = try SQLiteShell.file(
                "CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT \(word), \"unique\" TEXT /* check */);\n")
            let drop = Migration("drop") { try await $0.drop("unique", from: "word") }
            await #expect { _ = try await open(path, [drop], Adopted.self) } throws: {
                "\($0)".contains("declared otherwise")
            }
        }
        let path = try SQLiteShell.file(
            "CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL DEFAULT 'it''s', \"unique\" TEXT);\n")
        let store = try await open(
            path, [Migration("drop") { try await $0.drop("unique", from: "word") }], Adopted.self)
        try await store.write { try await $0.execute("INSERT INTO word (id) VALUES (1)") }
        #expect(try await store.fetch(Query(Adopted.self)).map(\.text) == ["it's"])
    }

    @Test func `keys that a table has given are not given again under its new name`() async throws {
        for step in [
            Migration("rename") { try await $0.rename(table: "word", to: Term.schema.name) },
            Migration("transform") { step in
                try await step.transform(Word.self, to: Term.self) { Term(id: $0.id, text: $0.text) }
            },
        ] {
            let path = try await words()
            let store = try await open(path, [], Word.self)
            try await store.write { try await $0.insert(Word.self) { Word(id: $0, text: "") } }
            try await store.write { _ = try await $0.delete(Word.self, 4) }
            let next = try await open(path, [step], Term.self)
            let new = try await next.write { try await $0.insert(Term.self) { Term(id: $0, text: "") } }
            #expect(new.id == 5)
        }
    }

    private func lists() async throws -> String {
        let path = try Scratch.file()
        try await open(path, [], Listed.self).write { tx in
            try await tx.insert(Listed(id: 1, text: "", similar: []))
            try await tx.insert(Listed(id: 2, text: "", similar: [Ref(1), Ref(2)]))
        }
        return path
    }

    @Test func `a list that the record no longer has is not kept out of sight`() async throws {
        let path = try await lists()
        await #expect { _ = try await open(path, [], Word.self) } throws: {
            "\($0)".contains("$0.drop(\"similar\", from: \"word\")")
        }
        let store = try await open(path, [Migration("drop") { try await $0.drop("similar", from: "word") }], Word.self)
        try await store.write { _ = try await $0.delete(Word.self, 1) }
        #expect(try await store.count(Query(Word.self)) == 1)
    }

    @Test func `a list is renamed like a column, a table by case alone`() async throws {
        let path = try await lists()
        let steps = [
            Migration("names") { step in
                try await step.rename("similar", to: "related", in: "word")
                try await step.rename(table: "word", to: "Word")
            }
        ]
        let store = try await open(path, steps, Related.self)
        #expect(try await store.fetch(Query(Related.self).sorted(by: \.id)).map(\.related) == [[], [Ref(1), Ref(2)]])
        #expect(try await store.checkIntegrity().isSound)
    }

    @Test func `a list goes with its table, whatever that is called`() async throws {
        struct Odd: StoredRecord {
            let id: Int
            var all: [Ref<Odd>]
            static let schema = Schema<Self>("cafe\u{301} \"👨‍👩‍👧\"") { row in
                try Self(id: row("id", \.id), all: row("all", \.all))
            }
        }
        struct Plain: StoredRecord {
            let id: Int
            var all: [Ref<Plain>]
            static let schema = Schema<Self>("plain") { row in try Self(id: row("id", \.id), all: row("all", \.all)) }
        }
        let path = try Scratch.file()
        try await open(path, [], Odd.self).write { try await $0.insert(Odd(id: 1, all: [Ref(1)])) }
        let store = try await open(
            path, [Migration("plain") { try await $0.rename(table: Odd.schema.name, to: "plain") }], Plain.self)
        #expect(try await store.fetch(Query(Plain.self)).map(\.all) == [[Ref(1)]])
    }

    @Test func `an id becomes a link, and a link an id`() async throws {
        let path = try await words()
        try await open(path, [], Word.self, Use0.self).write { try await $0.insert(Use0(id: 1, word: 2)) }
        let there = Migration("link") { step in
            try await step.retype("word", in: "use", from: Int.self, to: Ref<Word>.self) { Ref($0) }
        }
        let linked = try await open(path, [there], Word.self, Use.self)
        #expect(try await linked.fetch(Query(Use.self)) == [Use(id: 1, word: Ref(2))])
        await #expect { try await linked.write { try await $0.insert(Use(id: 2, word: Ref(99))) } } throws: {
            ($0 as? StoreError)?.kind == .foreignKey
        }
        let back = Migration("id") { step in
            try await step.retype("word", in: "use", from: Ref<Word>.self, to: Int.self) { $0.id }
        }
        let plain = try await open(path, [there, back], Word.self, Use0.self)
        #expect(try await plain.fetch(Query(Use0.self)) == [Use0(id: 1, word: 2)])
    }

    @Test func `a step may go on after an error of its own`() async throws {
        let path = try await words()
        let step = Migration("numbers, if they are") { step in
            do {
                try await step.retype("text", in: "word", from: String.self, to: Int.self) { text in
                    guard let number = Int(text) else { throw GraphError(.conversion, "\(text) is no number") }
                    return number
                }
            } catch let error as GraphError {
                #expect(error.id == "1" && error.property == "text")
                try await step.retype("text", in: "word", from: String.self, to: String.self) { $0 + "!" }
            }
            do {
                try await step.transform(Word.self, to: Word.self) { word in
                    guard word.id < 3 else { throw GraphError(.conversion, "too many") }
                    return nil
                }
            } catch is GraphError {}
        }
        let store = try await open(path, [step], Word.self)
        #expect(try await store.fetch(Query(Word.self).sorted(by: \.id)).map(\.text) == ["w1!", "w2!", "w3!"])
    }

    @Test func `a table that is there is not transformed into`() async throws {
        let path = try await words()
        _ = try await open(path, [], Word.self, Term.self)
        let step = Migration("merge") { step in
            try await step.transform(Word.self, to: Term.self) { Term(id: $0.id, text: $0.text) }
        }
        await #expect { _ = try await open(path, [step], Term.self) } throws: { "\($0)".contains("already; read word") }
    }
}
