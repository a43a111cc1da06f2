import Foundation

@testable import GraphMapperStore

/// The `sqlite3` shell, as something else that makes files and writes to them.
enum SQLiteShell {
    static let isThere = path != nil
    private static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/sqlite3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a script on a file. Without a shell, which `make deps` installs, a bare connection does it.
    @discardableResult
    static func run(_ script: String, on file: String) throws -> String {
        guard let path else {
            let connection = try Connection(path: file, readOnly: false, busyTimeout: .seconds(5))
            for statement in script.components(separatedBy: ";\n") where !statement.allSatisfy(\.isWhitespace) {
                try connection.execute(statement)
            }
            return ""
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-bail", "-batch", file]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(script.utf8))
        try input.fileHandleForWriting.close()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: text) }
        return text
    }

    /// A new file that a script makes.
    static func file(_ script: String) throws -> String {
        let file = try Scratch.file()
        try run(script, on: file)
        return file
    }
}
