import Foundation

/// How long a record takes to compile for release, and how much code it becomes: a package of many generated records of
/// ten properties, with their models and mappings, against one of few. Run in the repository's folder.
func measureCompileTime(_ count: Int) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let repository = FileManager.default.currentDirectoryPath
    let sources = folder.appendingPathComponent("Sources/App")
    try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
    let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(
            name: "App", platforms: [.macOS(.v13)],
            dependencies: [.package(name: "GraphMapper", path: "\(repository)")],
            targets: [
                .executableTarget(
                    name: "App", dependencies: [.product(name: "GraphMapperStore", package: "GraphMapper")])
            ])
        """
    try manifest.write(to: folder.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
    var results: [(count: Int, seconds: Double, bytes: Int)] = []
    // The first build is that of the libraries.
    for count in [1, 2, count] {
        for index in 0..<count {
            try record(index).write(
                to: sources.appendingPathComponent("Record\(index).swift"), atomically: true, encoding: .utf8)
        }
        try main(count).write(to: sources.appendingPathComponent("main.swift"), atomically: true, encoding: .utf8)
        let start = ContinuousClock.now
        try swiftBuild(folder)
        let elapsed = (ContinuousClock.now - start).components
        let app = folder.appendingPathComponent(".build/release/App").resolvingSymlinksInPath()
        let size = try FileManager.default.attributesOfItem(atPath: app.path)[.size] as? Int ?? 0
        results.append((count, Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18, size))
    }
    let (few, many) = (results[1], results[2])
    let more = Double(many.count - few.count)
    print(
        String(
            format: "%d records of ten properties: %.1f s; with %d: %.1f s", many.count, many.seconds, few.count,
            few.seconds))
    print(String(format: "%.3f s a record (target 0.3)", (many.seconds - few.seconds) / more))
    print(String(format: "%.0f kB of program a record", Double(many.bytes - few.bytes) / more / 1000))
}

private func swiftBuild(_ folder: URL) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "build", "-c", "release", "--package-path", folder.path]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError("the generated package does not build") }
}

private func main(_ count: Int) -> String {
    let records = (0..<count).map { "Record\($0).self" }.joined(separator: ", ")
    let mappings = (0..<count).map { "Record\($0).mapping" }.joined(separator: ", ")
    return """
        import GraphMapperStore
        let store = try await GraphStore.open(.inMemory, \(records))
        let session = GraphSession(store, \(mappings))
        print(try await session.models(Query(Record0.self)).count)
        """
}

private func record(_ index: Int) -> String {
    """
    import Foundation
    import GraphMapperStore

    final class Model\(index) {
        let id: UUID
        var name = ""
        var note: String?
        var count = 0
        var price = 0.0
        var isDone = false
        var date = Date.distantPast
        var site: URL?
        weak var parent: Model\(index)?
        var children: [Model\(index)] = []
        init(id: UUID) { self.id = id }
    }

    struct Record\(index): StoredRecord {
        typealias Model = Model\(index)
        let id: UUID
        let name: String
        let note: String?
        let count: Int
        let price: Double
        let isDone: Bool
        let date: Date
        let site: String?
        let parent: Ref<Record\(index)>?
        let children: [Ref<Record\(index)>]
        static let schema = Schema<Self>("record\(index)") { row in
            try Self(
                id: row("id", \\.id), name: row("name", \\.name), note: row("note", \\.note),
                count: row("count", \\.count), price: row("price", \\.price), isDone: row("is_done", \\.isDone),
                date: row("date", \\.date), site: row("site", \\.site), parent: row("parent", \\.parent),
                children: row("children", \\.children))
        }
        static var mapping: Mapping<Self> {
            Mapping {
                Model\(index)(id: $0.id)
            } properties: {
                Field(\\.id, \\.id)
                Field(\\.name, \\.name)
                Field(\\.note, \\.note)
                Field(\\.count, \\.count)
                Field(\\.price, \\.price)
                Field(\\.isDone, \\.isDone)
                Field(\\.date, \\.date)
                Field(\\.site, \\.site, using: .url)
                One(\\.parent, \\.parent)
                Many(\\.children, \\.children)
            }
        }
    }

    """
}
