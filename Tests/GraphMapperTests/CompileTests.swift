import Foundation
import Testing

/// Compiles snippets against the built modules: what must compile does, and what must not says why.
@Suite struct `What the compiler says` {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The build folder that this test runs from.
    static var modules: URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let modules = folder.appendingPathComponent("Modules")
            if FileManager.default.fileExists(atPath: modules.appendingPathComponent("GraphMapper.swiftmodule").path) {
                return modules
            }
        }
        return root.appendingPathComponent(".build/debug/Modules")
    }

    /// What the compiler prints for a snippet; empty if it compiles without a word.
    func compile(_ source: String, _ name: String = "snippet") throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("\(name).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swiftc", "-emit-sil", "-o", folder.appendingPathComponent("out.sil").path, "-swift-version", "6",
            "-parse-as-library", "-I", Self.modules.path,
            "-I", Self.root.appendingPathComponent("Sources/CSQLite").path, file.path,
        ]
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        return try String(contentsOf: output, encoding: .utf8)
    }

    func blocks(_ path: String) throws -> [String] {
        let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    @Test(arguments: [
        "README.md", "docs/architecture.md", "docs/mapping.md", "docs/cycles.md", "docs/write-back.md",
    ])
    func `the samples of the documentation compile as printed`(path: String) throws {
        let blocks = try blocks(path)
        if path == "README.md" { #expect(!blocks.isEmpty) }
        for block in blocks { #expect(try compile(block) == "") }
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
        #expect(try compile(whole) == "")
        #expect(try compile(record("id: row(\"id\", \\.id)")).contains("missing argument for parameter 'name'"))
    }

    @Test func `a misspelt property is named on its line`() throws {
        let text = try compile(
            record("id: row(\"id\", \\.id), name: row(\"name\", \\.name)", "Field(\\.nmae, \\.name)"))
        #expect(text.contains("has no member 'nmae'"), "\(text)")
    }

    @Test func `a session's model does not leave its actor`() throws {
        let text = try compile(
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
