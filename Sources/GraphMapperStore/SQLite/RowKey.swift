internal import CSQLite

/// A key as a row has it, to look up in a table of keys. Integers and up to sixteen bytes need no allocation.
enum RowKey: Hashable {
    case short(UInt64, UInt64, kind: Int32)
    case long(StoredValue)
    /// A key of several columns.
    indirect case several([RowKey])

    init(_ values: ArraySlice<StoredValue>) {
        self = values.count == 1 ? Self(values[values.startIndex]) : .several(values.map { Self($0) })
    }

    init(_ value: StoredValue) {
        switch value {
        case .integer(let value): self = .short(UInt64(bitPattern: value), 0, kind: -1)
        case .blob(let bytes) where bytes.count <= 16: self = bytes.withUnsafeBytes { Self($0, isText: false) }
        case .text(var text) where text.utf8.count <= 16:
            self = text.withUTF8 { Self(UnsafeRawBufferPointer($0), isText: true) }
        default: self = .long(value)
        }
    }

    /// - Parameter bytes: at most sixteen.
    private init(_ bytes: UnsafeRawBufferPointer, isText: Bool) {
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
        self = .short(words.0, words.1, kind: Int32(bytes.count) | (isText ? 32 : 64))
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .short(let a, let b, _): hasher.combine(a ^ b &* 0x9e37_79b9_7f4a_7c15)
        case .long(let value): hasher.combine(value)
        case .several(let parts): hasher.combine(parts)
        }
    }

    /// The key in these columns of the current row.
    init(_ statement: Statement, _ columns: Range<Int32>) {
        self = columns.count == 1 ? Self(statement, columns.lowerBound) : .several(columns.map { Self(statement, $0) })
    }

    /// The key in a column of the current row.
    init(_ statement: Statement, _ column: Int32) {
        let handle = statement.handle
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER:
            self = .short(UInt64(bitPattern: sqlite3_column_int64(handle, column)), 0, kind: -1)
        case SQLITE_BLOB where sqlite3_column_bytes(handle, column) <= 16:
            let start = sqlite3_column_blob(handle, column)
            self.init(
                UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))), isText: false)
        case SQLITE_TEXT where sqlite3_column_bytes(handle, column) <= 16:
            let start = sqlite3_column_text(handle, column)
            self.init(
                UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))), isText: true)
        default: self = .long(statement.value(column))
        }
    }
}
