import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

// Six versions of one app's records.
private struct Person1: StoredRecord {
    let id: Int
    var name: String
    static let schema = Schema<Self>("person") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    static let indexes: [Index<Self>] = [.on(\.name)]
}
private struct Person2: StoredRecord {
    let id: Int
    var name: String
    var age: Int
    var friends: [Ref<Person2>]
    static let schema = Schema<Self>("person") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), age: row("age", \.age), friends: row("friends", \.friends))
    }
    static let indexes: [Index<Self>] = [.on(\.name)]
}
private struct Person3: StoredRecord {
    let id: Int
    var fullName: String
    var age: Int
    var friends: [Ref<Person3>]
    static let schema = Schema<Self>("person") { row in
        try Self(
            id: row("id", \.id), fullName: row("full_name", \.fullName), age: row("age", \.age),
            friends: row("friends", \.friends))
    }
    static let indexes: [Index<Self>] = [.on(\.fullName)]
}
/// Another key, and two columns for one.
private struct Person4: StoredRecord {
    let id: String
    var first: String
    var last: String
    var age: Int
    var friends: [Ref<Person4>]
    static let schema = Schema<Self>("person") { row in
        try Self(
            id: row("id", \.id), first: row("first", \.first), last: row("last", \.last), age: row("age", \.age),
            friends: row("friends", \.friends))
    }
}
private struct Pet5: StoredRecord {
    let id: Int
    var owner: Ref<Person5>?
    static let schema = Schema<Self>("pet") { row in try Self(id: row("id", \.id), owner: row("owner", \.owner)) }
}
private struct Person5: StoredRecord {
    let id: String
    var first: String
    var last: String
    var age: Int
    var city: String?
    var friends: [Ref<Person5>]
    static let schema = Schema<Self>("person") { row in
        try Self(
            id: row("id", \.id), first: row("first", \.first), last: row("last", \.last), age: row("age", \.age),
            city: row("city", \.city), friends: row("friends", \.friends))
    }
}
private struct Pet6: StoredRecord {
    let id: Int
    var owner: Ref<Human6>?
    static let schema = Schema<Self>("pet") { row in try Self(id: row("id", \.id), owner: row("owner", \.owner)) }
}
private struct Human6: StoredRecord, Equatable {
    let id: String
    var first: String
    var last: String
    var age: String
    var friends: [Ref<Human6>]
    static let schema = Schema<Self>("human") { row in
        try Self(
            id: row("id", \.id), first: row("first", \.first), last: row("last", \.last), age: row("age", \.age),
            friends: row("friends", \.friends))
    }
    static let indexes: [Index<Self>] = [.on(\.last, \.first)]
}

private let migrations: [Migration] = [
    Migration("people have an age and friends") { try await $0.add("age", Int.self, to: "person", default: 0) },
    Migration("name is the full name") { try await $0.rename("name", to: "full_name", in: "person") },
    Migration("two names, and keys of text") { step in
        try await step.transform(Person3.self, to: Person4.self) { old in
            let parts = old.fullName.split(separator: " ", maxSplits: 1)
            return Person4(
                id: "p\(old.id)", first: parts.first.map(String.init) ?? "",
                last: parts.dropFirst().first.map(String.init) ?? "",
                age: old.age, friends: old.friends.map { Ref("p\($0.id)") })
        }
    },
    Migration("pets and cities") { step in
        try await step.add("city", String?.self, to: "person")
        try await step.create(Pet5.self)
        var number = 0
        var pets: [Pet5] = []
        try await step.each(Person5.self) { person in
            number += 1
            pets.append(Pet5(id: number, owner: Ref(person.id)))
        }
        for pet in pets { try await step.insert(pet) }
    },
    Migration("humans") { step in
        try await step.drop("city", from: "person")
        try await step.retype("age", in: "person", from: Int.self, to: String.self) { "\($0) years" }
        try await step.rename(table: "person", to: "human")
    },
]

@Suite struct `Migrations` {
    private func options(_ steps: [Migration]) -> GraphStore.Options {
        var options = GraphStore.Options()
        options.migrations = steps
        return options
    }

    /// A file as that version of the app left it.
    private func file(_ version: Int, people: Int = 3) async throws -> String {
        let path = try Scratch.file()
        let options = options(Array(migrations.prefix(version - 1)))
        func friends(_ id: Int) -> [Int] { [id, (id + 1) % people] }
        let ids = 0..<people
        switch version {
        case 1:
            let store = try await GraphStore.open(.file(path), options: options, Person1.self)
            try await store.write {
                try await $0.insert(contentsOf: ids.map { Person1(id: $0, name: "first\($0) last") })
            }
        case 2:
            let store = try await GraphStore.open(.file(path), options: options, Person2.self)
            try await store.write {
                try await $0.insert(
                    contentsOf: ids.map {
                        Person2(id: $0, name: "first\($0) last", age: $0, friends: friends($0).map { Ref($0) })
                    })
            }
        case 3:
            let store = try await GraphStore.open(.file(path), options: options, Person3.self)
            try await store.write {
                try await $0.insert(
                    contentsOf: ids.map {
                        Person3(id: $0, fullName: "first\($0) last", age: $0, friends: friends($0).map { Ref($0) })
                    })
            }
        case 4:
            let store = try await GraphStore.open(.file(path), options: options, Person4.self)
            try await store.write {
                try await $0.insert(
                    contentsOf: ids.map {
                        Person4(
                            id: "p\($0)", first: "first\($0)", last: "last", age: $0,
                            friends: friends($0).map { Ref("p\($0)") })
                    })
            }
        case 5:
            let store = try await GraphStore.open(.file(path), options: options, Person5.self, Pet5.self)
            try await store.write {
                try await $0.insert(
                    contentsOf: ids.map {
                        Person5(
                            id: "p\($0)", first: "first\($0)", last: "last", age: $0, city: "x",
                            friends: friends($0).map { Ref("p\($0)") })
                    })
                try await $0.insert(contentsOf: ids.map { Pet5(id: $0 + 1, owner: Ref("p\($0)")) })
            }
        default: _ = try await GraphStore.open(.file(path), options: options, Human6.self, Pet6.self)
        }
        return path
    }

    private func openNewest(_ path: String, _ steps: [Migration] = migrations) async throws -> GraphStore {
        try await GraphStore.open(.file(path), options: options(steps), Human6.self, Pet6.self)
    }

    private func version(_ path: String) throws -> Int {
        try FileHeader(Connection(path: path, readOnly: false, busyTimeout: .seconds(1)), newest: 99).version
    }

    @Test(arguments: 1...5)
    func `every version comes to the newest with what is in it`(from: Int) async throws {
        let path = try await file(from)
        #expect(try version(path) == from - 1)
        let store = try await openNewest(path)
        let expected = (0..<3).map { id in
            Human6(
                id: "p\(id)", first: "first\(id)", last: "last", age: "\(from == 1 ? 0 : id) years",
                friends: from == 1 ? [] : [Ref("p\(id)"), Ref("p\((id + 1) % 3)")])
        }
        #expect(try await store.fetch(Query(Human6.self).sorted(by: \.id)) == expected)
        let pets = try await store.fetch(Query(Pet6.self).sorted(by: \.id))
        #expect(pets.map(\.owner) == [Ref("p0"), Ref("p1"), Ref("p2")])
        #expect(try await store.checkIntegrity().isSound)
        #expect(try version(path) == 5)
        // The same as a new file, and links are checked again.
        let new = try await openNewest(try Scratch.file())
        func tables(_ store: GraphStore) throws -> [[StoredValue]] {
            try store.writer.rows("SELECT name, type FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
        }
        #expect(try tables(store) == tables(new))
        await #expect { try await store.write { try await $0.insert(Pet6(id: 9, owner: Ref("nobody"))) } } throws: {
            ($0 as? StoreError)?.kind == .foreignKey
        }
        _ = try await openNewest(path)
    }

    @Test(arguments: 0..<5)
    func `a step that throws leaves the version before, and can be tried again`(position: Int) async throws {
        struct Stop: Error {}
        let path = try await file(1)
        var broken = migrations
        let step = migrations[position]
        broken[position] = Migration(step.name) { transaction in
            try await step.body(transaction)
            throw Stop()
        }
        await #expect(throws: Stop.self) { try await openNewest(path, broken) }
        #expect(try version(path) == position)
        #expect(try await openNewest(path).count(Query(Human6.self)) == 3)
    }

    @Test func `a dry run shows the statements and changes nothing`() async throws {
        let path = try await file(1)
        let plan = try await GraphStore.dryRun(.file(path), options: options(migrations), Human6.self, Pet6.self)
        #expect(plan.version == 0 && plan.steps.map(\.name) == migrations.map(\.name) + [""])
        #expect(plan.steps[0].statements == ["ALTER TABLE \"person\" ADD COLUMN \"age\" INTEGER NOT NULL DEFAULT 0"])
        #expect(plan.steps[4].statements.contains { $0.hasSuffix("RENAME TO \"human\"") })
        #expect(plan.steps[5].statements.contains { $0.contains("CREATE INDEX \"human_last_first\"") }, "\(plan)")
        #expect(try version(path) == 0)
        #expect(try await GraphStore.open(.file(path), Person1.self).count(Query(Person1.self)) == 3)
        _ = try await openNewest(path)
        let after = try await GraphStore.dryRun(.file(path), options: options(migrations), Human6.self, Pet6.self)
        #expect(after.version == 5 && after.steps.isEmpty)
    }

    @Test func `a file that differs lists the steps that would do`() async throws {
        let path = try await file(3)
        let error = await #expect(throws: StoreError.self) {
            try await GraphStore.open(.file(path), options: options(Array(migrations.prefix(2))), Person2.self)
        }
        let text = "\(try #require(error))"
        #expect(text.contains("$0.rename(\"full_name\", to: \"name\", in: \"person\")"), "\(text)")
        #expect(text.contains("$0.drop(\"full_name\", from: \"person\")"), "\(text)")
        let old = try await file(1)
        let missing = await #expect(throws: StoreError.self) { try await GraphStore.open(.file(old), Person2.self) }
        #expect("\(try #require(missing))".contains("$0.add(\"age\", Int.self, to: \"person\", default:"))
    }

    @Test func `steps keep their names and order; a newer file is refused`() async throws {
        let path = try await file(4)
        let swapped = [migrations[1], migrations[0]] + migrations[2...]
        let error = await #expect(throws: StoreError.self) { try await openNewest(path, swapped) }
        #expect(error?.message.contains("name is the full name") == true)
        let newer = await #expect(throws: StoreError.self) {
            try await GraphStore.open(.file(path), options: options(Array(migrations.prefix(1))), Person2.self)
        }
        #expect(newer?.kind == .newerFile)
        await #expect(throws: GraphError.self) { try await openNewest(path, migrations + [migrations[0]]) }
        var readOnly = options(migrations)
        readOnly.isReadOnly = true
        let unread = await #expect(throws: StoreError.self) {
            try await GraphStore.open(.file(path), options: readOnly, Human6.self, Pet6.self)
        }
        #expect(unread?.message.contains("3 of 5") == true)
    }

    @Test func `a mistake in a step is an error that says where`() async throws {
        func fails(_ contains: String, _ body: @escaping @Sendable (MigrationStep) async throws -> Void) async throws {
            let path = try await file(2)
            let steps = [migrations[0], Migration("mistaken", body)]
            do {
                _ = try await GraphStore.open(.file(path), options: options(steps), Person2.self)
                Issue.record("no error: \(contains)")
            } catch {
                #expect("\(error)".contains("\"mistaken\"") && "\(error)".contains(contains), "\(error)")
            }
            #expect(try version(path) == 1)
            #expect(
                try await GraphStore.open(.file(path), options: options([migrations[0]]), Person2.self).count(
                    Query(Person2.self)) == 3)
        }
        try await fails("no column nmae, but id, name, age") { try await $0.rename("nmae", to: "x", in: "person") }
        try await fails("no table persons") { try await $0.drop("age", from: "persons") }
        try await fails("in the table's key") { try await $0.drop("id", from: "person") }
        try await fails("is there already") { try await $0.add("age", Int.self, to: "person", default: 1) }
        try await fails("links point to nothing") { try await $0.execute("DELETE FROM person WHERE id = 1") }
        try await fails("the property needs") {
            try await $0.retype("name", in: "person", from: Int.self, to: String.self) { "\($0)" }
        }
        // What the records do not have either is found before the step is committed.
        try await fails("person.age is not in the file") { try await $0.drop("age", from: "person") }
        try await fails("duplicate key") { step in
            try await step.transform(Person2.self, to: Person2.self) { _ in
                Person2(id: 1, name: "", age: 0, friends: [])
            }
        }
    }

    @Test func `nullable becomes required, and links come and go`() async throws {
        let path = try await file(5)
        try await GraphStore.open(.file(path), options: options(Array(migrations.prefix(4))), Person5.self, Pet5.self)
            .write {
                try await $0.execute("UPDATE person SET city = NULL WHERE id = 'p1'")
            }
        let steps =
            Array(migrations.prefix(4)) + [
                Migration("required") { step in
                    try await step.retype("city", in: "person", from: String?.self, to: String.self) { $0 ?? "nowhere" }
                    try await step.drop("owner", from: "pet")
                    try await step.add("owner", Ref<Person5>?.self, to: "pet")
                }
            ]
        await #expect {
            try await GraphStore.open(.file(path), options: options(steps), Person5.self, Pet5.self)
        } throws: {
            // The record says that it is optional: only that is wrong.
            "\($0)".contains("person.city is TEXT NOT NULL in the file") && !"\($0)".contains("pet")
        }
        let plan = try await GraphStore.dryRun(
            .file(path), options: options(Array(steps.prefix(4))), Person5.self, Pet5.self)
        #expect(plan.steps.isEmpty)
    }

    @Test func `progress goes up, and a cancelled migration is as it was`() async throws {
        let path = try await file(4, people: 5000)
        let parts = Locked<[Double]>([])
        var options = options(migrations)
        options.migrationProgress = { name, part in if name == "humans" { parts.withLock { $0.append(part) } } }
        let slow = options
        let task = Task {
            try await GraphStore.open(.file(path), options: slow, Human6.self, Pet6.self)
        }
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(try version(path) < 5)
        #expect(
            try await GraphStore.open(.file(path), options: slow, Human6.self, Pet6.self).count(Query(Human6.self))
                == 5000)
        #expect(parts.withLock { $0.contains { $0 > 0 && $0 < 1 } && $0.last == 1 })
    }
}
