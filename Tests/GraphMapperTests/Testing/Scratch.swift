import Foundation

/// Folders for files of tests. They go when the process ends, whatever the tests do.
enum Scratch {
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Scratch.root) }
        return FileManager.default.temporaryDirectory.appendingPathComponent("graphmapper-tests-\(UUID().uuidString)")
    }()

    /// A new folder.
    static func folder() throws -> URL {
        let folder = root.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// The path of a file in a new folder; the file is not there yet.
    static func file(_ name: String = "a") throws -> String { try folder().appendingPathComponent(name).path }
}
