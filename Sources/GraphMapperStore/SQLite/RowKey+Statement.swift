internal import CSQLite

extension RowKey {
    /// The key in these columns of the current row.
    init(_ statement: Statement, _ columns: Range<Int32>) {
        let handle = statement.handle
        self = columns.count == 1 ? Self(handle, columns.lowerBound) : .several(columns.map { Self(handle, $0) })
    }

    /// The key in a column of the row that a statement of SQLite's stands on.
    private init(_ handle: OpaquePointer, _ column: Int32) {
        let value = sqlite3_column_value(handle, column)
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: self = .short(UInt64(bitPattern: sqlite3_value_int64(value)), 0, kind: -1)
        case SQLITE_BLOB:
            // The address first, then the length, as SQLite's documentation of the two asks for.
            let start = sqlite3_value_blob(value)
            let count = Int(sqlite3_value_bytes(value))
            if count <= 16 {
                self.init(UnsafeRawBufferPointer(start: start, count: count), isText: false)
            } else {
                self = .long(Statement.value(handle, column))
            }
        case SQLITE_TEXT:
            let start = sqlite3_value_text(value)
            let count = Int(sqlite3_value_bytes(value))
            if count <= 16 {
                self.init(UnsafeRawBufferPointer(start: start, count: count), isText: true)
            } else {
                self = .long(Statement.value(handle, column))
            }
        default: self = .long(Statement.value(handle, column))
        }
    }
}
