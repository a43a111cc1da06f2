/// The path of a file as SQLite takes it: to it some names are no files.
enum FilePath {
    /// - Throws: ``StoreError`` of kind `cannotOpen` for what names no file.
    static func checked(_ path: String) throws -> String {
        func wrong(_ text: String) -> StoreError { StoreError(.cannotOpen, text) }
        guard !path.isEmpty else { throw wrong("the path is empty; name a file, or open the store with .inMemory") }
        guard path != memory else {
            throw wrong("\(memory) is no file; open the store with .inMemory, or put ./ before the name")
        }
        guard !path.utf8.contains(0) else {
            throw wrong("the path \(path.debugDescription) has a NUL, which no file's name has; remove it")
        }
        // Some builds of SQLite take it for a URI, with parameters (https://sqlite.org/uri.html).
        return path.hasPrefix("file:") ? "./" + path : path
    }

    /// What SQLite calls a database in memory.
    static let memory = ":memory:"
}
