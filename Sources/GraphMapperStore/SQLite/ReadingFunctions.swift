internal import CSQLite

/// SQLite's table of reading functions, made once and never freed or changed: safe to share.
struct ReadingFunctions: @unchecked Sendable {
    let pointer: UnsafePointer<CursorFunctions>
    let empty: UnsafePointer<CChar>

    static let shared = ReadingFunctions()

    private init() {
        let functions = UnsafeMutablePointer<CursorFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: CursorFunctions { handle, column, wanted, raw in
                let out = raw.assumingMemoryBound(to: Cell.self)
                let value = sqlite3_column_value(handle, column)
                let found = sqlite3_value_type(value)
                if found != wanted { return found }
                switch found {
                case SQLITE_INTEGER: out.pointee.bits = UInt64(bitPattern: sqlite3_value_int64(value))
                case SQLITE_FLOAT: out.pointee.bits = sqlite3_value_double(value).bitPattern
                case SQLITE_TEXT:
                    out.pointee.bits = UInt64(UInt(bitPattern: sqlite3_value_text(value)))
                    out.pointee.count = Int(sqlite3_value_bytes(value))
                case SQLITE_BLOB:
                    out.pointee.bits = UInt64(UInt(bitPattern: sqlite3_value_blob(value)))
                    out.pointee.count = Int(sqlite3_value_bytes(value))
                default: break
                }
                return found
            })
        pointer = UnsafePointer(functions)
        let nothing = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        nothing.initialize(to: 0)
        empty = UnsafePointer(nothing)
    }
}

extension Statement {
    /// Reads the current row for schemas.
    func cursor(_ lists: LinkLists?) -> RowCursor {
        RowCursor(ReadingFunctions.shared.pointer, handle: handle, lists: lists)
    }
}
