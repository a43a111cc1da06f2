/// What SQLite makes of values on their way into a column (https://sqlite.org/datatype3.html, 3.1).
enum Affinity: String, CustomStringConvertible {
    case integer, text, blob, real, numeric

    /// - Parameter type: as declared, in capitals.
    init(_ type: String) {
        func has(_ words: String...) -> Bool { words.contains { type.contains($0) } }
        if has("INT") {
            self = .integer
        } else if has("CHAR", "CLOB", "TEXT") {
            self = .text
        } else if has("BLOB") || type.isEmpty || type == "ANY" {
            self = .blob
        } else if has("REAL", "FLOA", "DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }

    var description: String { self == .numeric ? "a number" : rawValue }

    /// Whether such a value can be read as it was written. Text in a numeric column can, unless it is that of a number:
    /// dates are kept so.
    func keeps(_ storage: StorageClass) -> Bool {
        switch (self, storage) {
        case (.blob, _), (_, .blob), (_, .null), (.numeric, _): true
        case (.text, .text), (.integer, .integer), (.integer, .real), (.real, .real): true
        default: false
        }
    }
}
