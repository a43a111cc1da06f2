internal import CSQLite
import Foundation

/// A prepared statement. Belongs to its connection.
final class Statement {
    private let database: OpaquePointer
    let handle: OpaquePointer
    let sql: String
    private let parameterCount: Int
    /// Whether values are bound whose memory is not to be kept.
    private var holdsMuch = false

    init(_ database: OpaquePointer, _ sql: String) throws {
        var prepared: OpaquePointer?
        var rest = ""
        let code = sql.withCString { start in
            var end: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v3(database, start, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, &end)
            if let end { rest = String(cString: end) }
            return code
        }
        guard code == SQLITE_OK else {
            throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: sql)
        }
        guard let prepared, rest.isEmpty || !Self.isStatement(rest, database) else {
            sqlite3_finalize(prepared)
            throw StoreError(.misuse, "this is not one statement; run each by itself", sql: sql)
        }
        self.database = database
        self.sql = sql
        handle = prepared
        parameterCount = Int(sqlite3_bind_parameter_count(prepared))
    }

    deinit { sqlite3_finalize(handle) }

    /// Whether it is more than white space and comments.
    private static func isStatement(_ sql: String, _ database: OpaquePointer) -> Bool {
        var prepared: OpaquePointer?
        defer { sqlite3_finalize(prepared) }
        return sqlite3_prepare_v3(database, sql, -1, 0, &prepared, nil) != SQLITE_OK || prepared != nil
    }

    /// Binds the values, and NULL to parameters beyond them.
    ///
    /// - Parameter first: the index of the value that comes first; those before it come last.
    func bind(_ values: [StoredValue], from first: Int = 0) throws {
        if values.count < parameterCount { sqlite3_clear_bindings(handle) }
        for index in first..<values.count { try bind(values[index], at: index - first) }
        for index in 0..<first { try bind(values[index], at: values.count - first + index) }
    }

    /// Binds values one after the other, the first one to the parameter of this number, counted from 0.
    func bind(_ values: ArraySlice<StoredValue>, at first: Int) throws {
        for index in values.indices { try bind(values[index], at: first + index - values.startIndex) }
    }

    func bind(_ value: StoredValue, at index: Int) throws {
        let parameter = Int32(truncatingIfNeeded: index + 1)
        let code: Int32
        switch value {
        case .null: code = sqlite3_bind_null(handle, parameter)
        case .integer(let value): code = sqlite3_bind_int64(handle, parameter, value)
        case .real(let value):
            guard !value.isNaN else { throw notANumber(parameter) }
            code = sqlite3_bind_double(handle, parameter, value)
        case .text(let text): code = bind(text, parameter)
        case .blob(let bytes): code = bytes.withUnsafeBytes { bind($0, parameter) }
        }
        try check(code)
    }

    func bind(_ bytes: UnsafeRawBufferPointer, at index: Int) throws {
        try check(bind(bytes, Int32(truncatingIfNeeded: index + 1)))
    }

    private func bind(_ text: String, _ parameter: Int32) -> Int32 {
        var text = text
        return text.withUTF8 {
            if $0.count > Self.much { holdsMuch = true }
            return sqlite3_bind_text64(
                handle, parameter, UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self) ?? empty,
                UInt64($0.count), copied, UInt8(SQLITE_UTF8))
        }
    }

    private func bind(_ bytes: UnsafeRawBufferPointer, _ parameter: Int32) -> Int32 {
        if bytes.isEmpty { return sqlite3_bind_zeroblob(handle, parameter, 0) }
        if bytes.count > Self.much { holdsMuch = true }
        return sqlite3_bind_blob64(handle, parameter, bytes.baseAddress, UInt64(bytes.count), copied)
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else {
            throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: sql)
        }
    }

    /// SQLite would take it for NULL.
    private func notANumber(_ parameter: Int32) -> StoreError {
        StoreError(
            .misuse, "value \(parameter) is not a number, as a Date of NaN is not; nothing was written", sql: sql)
    }

    func step() throws -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case SQLITE_INTERRUPT: throw CancellationError()
        default: throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: sql)
        }
    }

    /// Steps to the end.
    func finish() throws {
        defer { reset() }
        while try step() {}
    }

    /// Readies it for the next run with what is bound.
    func rewind() { sqlite3_reset(handle) }

    /// Makes it ready to run again. Small values stay bound, so that the next ones take their memory.
    func reset() {
        sqlite3_reset(handle)
        guard holdsMuch else { return }
        sqlite3_clear_bindings(handle)
        holdsMuch = false
    }

    /// Bytes from which on a value's memory is given back.
    private static let much = 4096

    var columnCount: Int32 { sqlite3_column_count(handle) }

    /// Whether it leaves the file as it is.
    var isReading: Bool { sqlite3_stmt_readonly(handle) != 0 }

    /// The current row's values.
    var values: [StoredValue] { (0..<columnCount).map(value) }

    func value(_ column: Int32) -> StoredValue { Self.value(handle, column) }

    /// The value in a column of the row that a statement of SQLite's stands on.
    static func value(_ handle: OpaquePointer, _ column: Int32) -> StoredValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            let start = sqlite3_column_text(handle, column)
            let count = Int(sqlite3_column_bytes(handle, column))
            return .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(handle, column)
            return .blob(
                Bytes(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))))
        default: return .null
        }
    }

    /// What most keys are.
    enum ShortKey: Equatable {
        case integer(Int64)
        case sixteen(UInt64, UInt64)
        case other
    }

    /// The key in a column of the current row.
    func shortKey(_ column: Int32) -> ShortKey {
        let value = sqlite3_column_value(handle, column)
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
        case SQLITE_BLOB:
            guard let start = sqlite3_value_blob(value), sqlite3_value_bytes(value) == 16 else { return .other }
            let words = start.loadUnaligned(as: (UInt64, UInt64).self)
            return .sixteen(words.0, words.1)
        default: return .other
        }
    }

    /// Whether the current row starts with these values, bit for bit.
    func starts(with values: [StoredValue]) -> Bool {
        holds(values[...], from: 0)
    }

    /// Whether the current row has these values from this column on, bit for bit.
    func holds(_ values: ArraySlice<StoredValue>, from column: Int) -> Bool {
        for index in values.indices
        where !holds(values[index], Int32(column + index - values.startIndex)) { return false }
        return true
    }

    private func holds(_ value: StoredValue, _ column: Int32) -> Bool {
        let type = sqlite3_column_type(handle, column)
        switch value {
        case .null: return type == SQLITE_NULL
        case .integer(let number): return type == SQLITE_INTEGER && sqlite3_column_int64(handle, column) == number
        case .real(let number):
            return type == SQLITE_FLOAT && sqlite3_column_double(handle, column).bitPattern == number.bitPattern
        case .text(var text):
            guard type == SQLITE_TEXT else { return false }
            return text.withUTF8 { isSame(UnsafeRawBufferPointer($0), sqlite3_column_text(handle, column), column) }
        case .blob(let bytes):
            guard type == SQLITE_BLOB else { return false }
            return bytes.withUnsafeBytes { isSame($0, sqlite3_column_blob(handle, column), column) }
        }
    }

    private func isSame(_ bytes: UnsafeRawBufferPointer, _ start: UnsafeRawPointer?, _ column: Int32) -> Bool {
        guard Int(sqlite3_column_bytes(handle, column)) == bytes.count else { return false }
        guard let start, let own = bytes.baseAddress else { return bytes.isEmpty }
        return memcmp(own, start, bytes.count) == 0
    }

}

/// A text of no bytes: SQLite takes a null address for NULL.
private var empty: UnsafePointer<CChar>? { ReadingFunctions.shared.empty }

/// SQLite copies what is bound.
private var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
