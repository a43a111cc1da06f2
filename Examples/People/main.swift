import Foundation
import GraphMapperStore

func title(_ text: String) { print("\n── \(text)") }

func line(_ person: PersonRecord) -> String { "\(person.id) \(person.name), \(person.age)" }

/// A list of people: the schema's change, the list, and every way of writing, each as a person would see it.
func run(_ path: String) async throws -> GraphStore {
    title("The first version of the app")
    do {
        let store = try await GraphStore.open(.file(path), FirstPerson.self)
        try await store.write { transaction in
            for name in ["hoon", "ann", "bob"] {
                try await transaction.insert(FirstPerson.self) { FirstPerson(id: $0, name: name) }
            }
        }
        print("  \(try await store.count(Query(FirstPerson.self))) people, without an age")
    }

    title("The second: without a step the file is refused, with one it is changed")
    do {
        _ = try await GraphStore.open(.file(path), PersonRecord.self, BadgeRecord.self)
    } catch let error as StoreError { print("  \(error.kind): \(error.message)") }
    var options = GraphStore.Options()
    options.migrations = migrations
    for step in try await GraphStore.dryRun(.file(path), options: options, PersonRecord.self, BadgeRecord.self).steps {
        print("  \(step.name.isEmpty ? "then" : step.name): \(step.statements.count) statements")
    }
    let store = try await GraphStore.open(.file(path), options: options, PersonRecord.self, BadgeRecord.self)

    title("The list")
    let list = Query(PersonRecord.self).sorted(by: \.name)
    for person in try await store.fetch(list) { print("  \(line(person))") }
    print("  called hoon: \(try await store.count(list.where { $0.name == "hoon" }))")

    title("Writing")
    try await store.write { transaction in
        print("  \(try await transaction.upsert(PersonRecord(id: 1, name: "hoon", age: 25)))")
        print("  \(try await transaction.upsert(PersonRecord(id: 1, name: "hoon", age: 25)))")
        print("  \(try await transaction.upsert(PersonRecord(id: 7, name: "hoon", age: 25)))")
        let older = try await transaction.update(PersonRecord.self, where: { $0.age > 0 }) {
            $0.age.set(to: $0.age + 1)
        }
        print("  \(older) people are a year older")
        print("  \(try await transaction.delete(PersonRecord.self) { $0.name == "bob" }) gone")
    }
    for person in try await store.fetch(list) { print("  \(line(person))") }

    title("A key of two properties")
    try await store.write { transaction in
        try await transaction.insert(BadgeRecord(id: BadgeKey(club: "a_b", number: "c"), owner: Ref(1)))
        try await transaction.insert(BadgeRecord(id: BadgeKey(club: "a", number: "b_c"), owner: Ref(1)))
    }
    print("  \(try await store.count(Query(BadgeRecord.self))) badges")

    title("Outside of a transaction, and after a throw")
    let known = try await store.fetch(list).count
    do {
        try await store.write { transaction in
            try await transaction.delete(PersonRecord.self) { $0.id > 0 }
            _ = try await transaction.find(PersonRecord.self, 1)
        }
    } catch let error as StoreError { print("  \(error.kind): \(error.message)") }
    print("  still \(try await store.fetch(list).count) of \(known) people")
    return store
}

let usage = "usage: People [--large] [FILE]   --large shows a list of 100 000 rows"
let arguments = CommandLine.arguments.dropFirst()
if arguments.contains("--help") {
    print(usage)
    exit(0)
}
let isLarge = arguments.contains("--large")
let files = arguments.filter { $0 != "--large" }
guard files.count <= 1, files.allSatisfy({ !$0.hasPrefix("-") }) else {
    FileHandle.standardError.write(Data("\(usage)\n".utf8))
    exit(2)
}
let path =
    files.first
    ?? FileManager.default.temporaryDirectory.appendingPathComponent("people-\(UUID().uuidString).sqlite").path
do {
    print("The people's file: \(path)")
    let store = try await run(path)
    try await follow(store, people: isLarge ? 100_000 : 1000, commits: 400)
    try await fail(store)
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
