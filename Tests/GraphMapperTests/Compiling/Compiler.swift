import Foundation

/// Compiles snippets against the built modules.
enum Compiler {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

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

    /// The compiler did not run to its end.
    struct Failure: Error {
        let output: String
    }

    /// Calls `body` with the flags that let a snippet import the modules in `Tests/Shapes`: declarations of the shape of
    /// modules that are not here.
    static func withShapes<R>(_ body: ([String]) throws -> R) throws -> R {
        let folder = try Scratch.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let shapes = root.appendingPathComponent("Tests/Shapes")
        let files = try FileManager.default.contentsOfDirectory(at: shapes, includingPropertiesForKeys: nil)
        for file in files where file.pathExtension == "swift" {
            let name = file.deletingPathExtension().lastPathComponent
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "swiftc", "-emit-module", "-parse-as-library", "-module-name", name, file.path, "-o",
                folder.appendingPathComponent("\(name).swiftmodule").path,
            ]
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Failure(output: "\(file.path) does not compile") }
        }
        return try body(["-I", folder.path])
    }

    /// Classes that a guide takes for granted, as they are not written by hand.
    static func classes(for path: String) throws -> String {
        let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        let file = root.appendingPathComponent("Tests/Shapes/Classes/\(name).swift")
        guard FileManager.default.fileExists(atPath: file.path) else { return "" }
        return try "\n" + String(contentsOf: file, encoding: .utf8)
    }

    /// What the compiler prints for a snippet; empty if it compiles without a word.
    ///
    /// - Throws: ``Failure`` if it fails without naming an error in the snippet: then it says nothing about the snippet.
    static func compile(_ source: String, _ name: String = "snippet", flags: [String] = []) throws -> String {
        let folder = try Scratch.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("\(name).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "swiftc", "-emit-sil", "-o", folder.appendingPathComponent("out.sil").path, "-swift-version", "6",
                "-parse-as-library", "-I", modules.path,
                "-I", root.appendingPathComponent("Sources/CSQLite").path,
            ] + flags + [file.path]
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        guard (process.terminationStatus != 0) == text.contains("\(name).swift:"), !text.contains("<unknown>:0:")
        else { throw Failure(output: text) }
        return text
    }

    /// The README and every guide in `docs`, as paths from the root.
    static func guides() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("docs").path)
        return ["README.md"] + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The rows of the table below a heading of a Markdown file, as the texts of their cells, without those of its head.
    static func table(_ path: String, below heading: String) throws -> [[String]] {
        let section = try text(path).components(separatedBy: "\n## \(heading)\n").dropFirst().first ?? ""
        let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("|") }
        return lines.dropFirst(2).map { line in
            line.dropFirst().dropLast().components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The Swift blocks of a Markdown file, as one source: later blocks build on earlier ones.
    static func sample(_ path: String) throws -> String {
        try text(path).components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }.joined(separator: "\n")
    }
}
