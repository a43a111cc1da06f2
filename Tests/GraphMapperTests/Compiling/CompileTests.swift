import Testing

/// Compiles snippets against the built modules: what must compile does, and what must not says why.
@Suite struct `What the compiler says` {
    @Test(arguments: try Compiler.guides())
    func `the samples of the documentation compile as printed`(path: String) throws {
        let sample = try Compiler.sample(path) + Compiler.classes(for: path)
        let text = try Compiler.withShapes { try Compiler.compile(sample, flags: $0) }
        #expect(text == "")
    }

    @Test(arguments: try Compiler.guides())
    func `no block of the documentation is in a language that the tests do not know`(path: String) throws {
        let fences = try Compiler.text(path).split(separator: "\n").filter { $0.contains("```") }
        let languages = Set(fences.enumerated().filter { $0.offset % 2 == 0 }.map(\.element))
        #expect(languages.isSubset(of: ["```swift", "```sh", "```console", "```"]))
        if path != "docs/architecture.md" { #expect(languages.contains("```swift")) }
    }

    @Test(arguments: ["docs/mapping.md", "docs/observation.md"])
    func `samples for apps compile also where the main actor is the default`(path: String) throws {
        let sample = try Compiler.sample(path)
        let text = try Compiler.withShapes {
            try Compiler.compile(sample, flags: $0 + ["-default-isolation", "MainActor"])
        }
        #expect(text == "")
    }

    /// Each line of the table with what Realm has is a sample of ours, or a heading.
    @Test func `every sample for who comes from Realm compiles`() throws {
        let rows = try Compiler.table("docs/store.md", below: "For who comes from Realm")
        #expect(rows.count > 80)
        var source = try Compiler.sample("docs/store.md")
        for (place, row) in rows.enumerated() {
            try #require(row.count == 3, "\(row)")
            guard !row[2].isEmpty else {
                let isHeading = row[0].hasPrefix("**") && row[0].hasSuffix("**")
                #expect(isHeading || row[1].hasPrefix("none: "), "\(row[0]) has no sample, and no reason")
                continue
            }
            try #require(row[2].hasPrefix("`") && row[2].hasSuffix("`"), "\(row[2])")
            source += """

                func sample\(place)(
                    _ store: GraphStore, _ tx: WriteTransaction, _ session: GraphSession, _ people: Query<PersonRecord>,
                    _ ann: PersonRecord, _ ulm: CityRecord, _ model: City, _ path: String
                ) async throws {
                    \(row[2].dropFirst().dropLast())
                }
                """
        }
        #expect(try Compiler.compile(source, flags: ["-suppress-warnings"]) == "")
    }

    func record(_ reads: String, _ entries: String = "") -> String {
        """
        import Foundation
        import GraphMapper
        final class Thing { let id: Int; var name = ""; init(id: Int) { self.id = id } }
        struct ThingRecord: DTO, Identifiable {
            typealias Model = Thing
            let id: Int
            let name: String
            static let schema = Schema<Self>("thing") { row in try Self(\(reads)) }
            static var mapping: Mapping<Self> {
                Mapping { Thing(id: $0.id) } properties: {
                    Field(\\.id, \\.id)
                    \(entries)
                }
            }
        }
        """
    }

    @Test func `a schema that forgets a property does not compile`() throws {
        let whole = record("id: row(\"id\", \\.id), name: row(\"name\", \\.name)", "Field(\\.name, \\.name)")
        #expect(try Compiler.compile(whole) == "")
        #expect(
            try Compiler.compile(record("id: row(\"id\", \\.id)")).contains("missing argument for parameter 'name'"))
    }

    @Test func `a misspelt property is named on its line`() throws {
        let text = try Compiler.compile(
            record("id: row(\"id\", \\.id), name: row(\"name\", \\.name)", "Field(\\.nmae, \\.name)"))
        #expect(text.contains("has no member 'nmae'"), "\(text)")
    }

    struct Misuse: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: String
        let message: String
        /// The same on the actor that the session belongs to.
        let control: String
    }

    /// Each beside what is right.
    @Test(arguments: [
        ("try await store.insert(row)", "has no member 'insert'", "try await store.write { try await $0.insert(row) }"),
        (
            "try await store.read { try await $0.insert(row) }", "has no member 'insert'",
            "_ = try await store.read { try await $0.find(Row.self, 1) }"
        ),
        (
            "try await store.write { tx in Task.detached { try await tx.insert(row) } }", "risks causing data races",
            "try await store.write { tx in try await tx.insert(row) }"
        ),
        ("try await store.write { $0.insert(row) }", "async", "try await store.write { try await $0.insert(row) }"),
    ])
    func `a write outside a transaction, or on another task, does not compile`(
        wrong: String, message: String, right: String
    ) throws {
        func compile(_ code: String) throws -> String {
            try Compiler.compile(
                """
                import GraphMapperStore
                struct Row: StoredRecord {
                    let id: Int
                    static let schema = Schema<Self>("row") { row in try Self(id: row("id", \\.id)) }
                }
                func use(_ store: GraphStore, _ row: Row) async throws {
                    \(code)
                }
                """, flags: ["-enable-upcoming-feature", "NonisolatedNonsendingByDefault"])
        }
        #expect(try compile(right) == "")
        let text = try compile(wrong)
        #expect(text.contains(message) && text.contains(".swift:7:"), "\(text)")
    }

    private static let sending = "passing closure as a 'sending' parameter risks causing data races"

    @Test(arguments: [
        Misuse(
            testDescription: "a model in a detached task", code: "Task.detached { thing.name = \"other\" }",
            message: sending, control: "Task { thing.name = \"other\" }"),
        Misuse(
            testDescription: "a session in a detached task", code: "Task.detached { _ = try session.changes() }",
            message: sending, control: "Task { _ = try session.changes() }"),
        Misuse(
            testDescription: "a model passed to another executor", code: "await elsewhere(thing)",
            message: "sending 'thing' risks causing data races", control: "await here(thing)"),
        Misuse(
            testDescription: "a session captured by a queue",
            code: "DispatchQueue.global().async { _ = try? session.changes() }",
            message: "capture of 'session' with non-Sendable type 'GraphSession' in a '@Sendable' closure",
            control: "DispatchQueue.main.async { _ = try? session.changes() }"),
    ])
    func `sessions and models do not leave their actor`(misuse: Misuse) throws {
        func compile(_ code: String) throws -> String {
            try Compiler.compile(
                """
                import Dispatch
                import GraphMapper
                final class Thing { var name = "" }
                @concurrent func elsewhere(_ thing: Thing) async {}
                nonisolated(nonsending) func here(_ thing: Thing) async {}
                @MainActor func use(_ session: GraphSession, _ thing: Thing) async throws {
                    \(code)
                }
                """)
        }
        #expect(try compile(misuse.control) == "")
        let text = try compile(misuse.code)
        let errors = text.split(separator: "\n").filter { $0.hasPrefix("/") && $0.contains(": error: ") }
        #expect(errors.count == 1 && errors[0].contains(".swift:7:"), "\(text)")
        #expect(errors.first?.contains(misuse.message) == true, "\(text)")
    }
}
