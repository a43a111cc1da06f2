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

    /// The same file, which nobody changes: nothing is locked, and no log looked for.
    static func immutable(_ path: String) -> String { "file:\(escaped(path))?immutable=1" }

    /// A database in memory that all connections of the process share which ask for that name.
    static func sharedMemory(_ name: String) -> String { "file:/\(escaped(name))?vfs=memdb" }

    private static func escaped(_ name: String) -> String {
        name.utf8.map { byte in
            let isPlain = byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            if isPlain || Unicode.Scalar(byte).properties.isAlphabetic && byte < 0x80 || (48...57).contains(byte) {
                return String(Unicode.Scalar(byte))
            }
            let hex = String(byte, radix: 16)
            return "%" + (hex.count == 1 ? "0" : "") + hex
        }.joined()
    }
}
