import Testing

/// Compiles snippets against the built modules: what must compile does, and what must not says why.
@Suite struct `What the compiler says` {
    @Test(arguments: try Compiler.guides())
    func `the samples of the documentation compile as printed`(path: String) throws {
        let sample = try Compiler.sample(path)
        if path == "README.md" { #expect(!sample.isEmpty) }
        #expect(try Compiler.compile(sample) == "")
    }

    @Test func `the samples of mappings compile also where the main actor is the default`() throws {
        let sample = try Compiler.sample("docs/mapping.md")
        #expect(try Compiler.compile(sample, flags: ["-default-isolation", "MainActor"]) == "")
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

    @Test func `a session's model does not leave its actor`() throws {
        let text = try Compiler.compile(
            """
            import GraphMapper
            final class Thing { var name = "" }
            @MainActor func misuse(_ session: GraphSession, _ thing: Thing) {
                Task.detached { thing.name = "other"; _ = try session.changes() }
            }
            """)
        #expect(text.contains("error:"), "\(text)")
    }
}
