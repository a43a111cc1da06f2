import Testing

/// The folders of a module, those that know least first. A file uses its own folder and those before it.
private struct Layering: CustomTestStringConvertible {
    let module: String
    /// Folders that stand side by side may use each other.
    let layers: [[String]]
    /// Folders that may use any other, and that no other uses.
    var beside: [String] = []
    /// Whether the module keeps to it.
    let isOn: Bool

    var testDescription: String { module }

    static let all = [
        Layering(
            module: "GraphMapperStore",
            layers: [
                ["Engine"], ["SQLite"], ["Access"], ["Expressions"], ["Records"], ["Query"], ["Changes"],
                ["Installation"], ["Transactions"], ["Migration"], ["Broadcast"], ["Store"], ["Observation"],
                ["Session"],
            ], isOn: true),
        Layering(
            module: "GraphMapper",
            layers: [["Schema"], ["Mapping"], ["Identity"], ["Loading", "Saving", "Payloads"], ["Session"]],
            beside: ["Objects"], isOn: false),
    ]
    static let on = all.filter(\.isOn)

    /// How far up a folder stands.
    private func height(_ folder: String) -> Int? {
        beside.contains(folder) ? layers.count : layers.firstIndex { $0.contains(folder) }
    }

    /// What is wrong with the module's arrows, in sentences.
    func faults(_ graph: SourceGraph) -> [String] {
        let lost = graph.files.filter { height($0.folder) == nil }.map {
            "\($0.path) stands in no folder of the table of layers"
        }
        let upward = graph.arrows.compactMap { from, to -> String? in
            guard let start = height(from.folder), let end = height(to.folder), from.folder != to.folder,
                end > start || beside.contains(to.folder)
            else { return nil }
            return "\(from.path) uses \(to.path), and \(to.folder) stands above \(from.folder)"
        }
        return lost + upward
    }
}

@Suite struct `Folders are layers` {
    /// A type whose extensions stand in more files than that is a place for everything.
    static let mostExtensions = 12
    /// In percent of the module's files.
    static let largestCycle = 12

    @Test(arguments: Layering.on)
    fileprivate func `no file uses one of a folder above its own`(_ layering: Layering) throws {
        let faults = layering.faults(try SourceGraph.of(layering.module))
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
    }

    @Test(arguments: Layering.on)
    fileprivate func `no type is extended in more than a dozen files`(_ layering: Layering) throws {
        let counts = try SourceGraph.of(layering.module).extensionCounts
        let most = counts.filter { $0.value > Self.mostExtensions }
        #expect(most.isEmpty, "\(most)")
    }

    @Test(arguments: Layering.on)
    fileprivate func `files that use each other in a circle are few`(_ layering: Layering) throws {
        let graph = try SourceGraph.of(layering.module)
        let cycle = graph.largestCycle
        #expect(cycle.count * 100 <= graph.files.count * Self.largestCycle, "\(cycle.joined(separator: "\n"))")
    }

    @Test func `the core does not know the store`() throws {
        for file in try SourceGraph.of("GraphMapper").files {
            #expect(!file.imports.contains { $0.hasPrefix("GraphMapperStore") || $0 == "CSQLite" }, "\(file.path)")
        }
    }

    /// Words that only SQLite's own SQL has.
    static let engineWords = [
        "PRAGMA", "pragma_", "sqlite_", "rowid", "VACUUM", "EXPLAIN QUERY PLAN", "json_each", "bm25(", "fts5",
        "AUTOINCREMENT", "WITHOUT ROWID",
    ]

    @Test func `what is SQLite's stands in its folder alone`() throws {
        for file in try SourceGraph.of("GraphMapperStore").files where file.folder != "SQLite" {
            #expect(!file.imports.contains("CSQLite"), "\(file.path) imports the C library")
            for text in file.texts {
                let word = Self.engineWords.first { text.contains($0) }
                #expect(word == nil, "\(file.path) has SQL of SQLite's: \(text)")
            }
        }
    }

    // MARK: That faults are found

    private func file(_ path: String, _ text: String) -> SourceGraph.File { SourceGraph.File(path: path, text: text) }

    @Test func `an arrow that runs up is told with both files`() {
        let layering = Layering(module: "", layers: [["Low"], ["High"]], beside: ["Aside"], isOn: true)
        let graph = SourceGraph([
            file("Low/Cup.swift", "struct Cup { let text = \"of \\(Tray.name)\" }"),
            file("High/Tray.swift", "public final class Tray { let cup: Cup }"),
            file("Low/Spoon.swift", "/// Lies on a Tray.\nstruct Spoon { let text = \"Tray\" /* Tray */ }"),
            file("Low/Fork.swift", "enum Fork { typealias Aside = Napkin }"),
            file("Aside/Napkin.swift", "struct Napkin { let tray: Tray }"),
            file("Lid.swift", "struct Lid {}"),
        ])
        #expect(
            layering.faults(graph).sorted() == [
                "Lid.swift stands in no folder of the table of layers",
                "Low/Cup.swift uses High/Tray.swift, and High stands above Low",
                "Low/Fork.swift uses Aside/Napkin.swift, and Aside stands above Low",
            ])
    }

    @Test func `circles and extensions are counted`() {
        let graph = SourceGraph([
            file("A.swift", "struct A { let b: B }\nextension X.E {}"), file("B.swift", "struct B { func c() -> C }"),
            file("C.swift", "enum C { case a(A) }\nextension X.E {\n}\nextension A {}"),
            file("D.swift", "struct D { let a: A\n    struct E {} }\nprivate struct Hidden {}"),
            file("F.swift", "struct F { let hidden: Hidden, e: E }"),
        ])
        #expect(graph.largestCycle == ["A.swift", "B.swift", "C.swift"])
        #expect(graph.extensionCounts == ["X.E": 2, "A": 1])
        #expect(graph.files[4].declared == ["F"] && graph.arrows.allSatisfy { $0.from.path != "F.swift" })
    }
}
