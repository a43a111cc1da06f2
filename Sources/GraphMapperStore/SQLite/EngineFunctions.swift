internal import CSQLite
import Foundation

/// What queries ask for that SQLite has not: functions of texts and decimals, and the order of a locale.
enum EngineFunctions {
    static let fold = "graphmapper_fold"
    static let like = "graphmapper_like"
    static let scalarCount = "graphmapper_scalar_count"
    static let start = "graphmapper_start"
    static let integerInRange = "graphmapper_whole"
    static let decimalOrder = "graphmapper_decimal_order"
    static let decimalText = "graphmapper_decimal_text"

    /// The name of a locale's collation.
    static func collation(_ locale: String) -> String { collationPrefix + locale }
    private static let collationPrefix = "graphmapper "

    /// Adds them to a fresh connection.
    static func install(in database: OpaquePointer) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        func check(_ code: Int32) throws {
            guard code == SQLITE_OK else {
                throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: "functions")
            }
        }
        try check(
            sqlite3_create_function_v2(
                database, fold, 2, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0) else { return sqlite3_result_null(context) }
                    let options = TextOptions(rawValue: Int(sqlite3_value_int64(arguments?[1])))
                    EngineFunctions.answer(context, options.folded(text))
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, like, 2, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0),
                        let pattern = EngineFunctions.text(arguments, 1)
                    else { return sqlite3_result_null(context) }
                    sqlite3_result_int(context, TextPattern.fits(text, pattern) ? 1 : 0)
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, decimalOrder, 1, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0), let key = DecimalOrder.key(text) else {
                        return sqlite3_result_null(context)
                    }
                    key.withUnsafeBytes { bytes in
                        sqlite3_result_blob64(context, bytes.baseAddress, UInt64(bytes.count), copied)
                    }
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, decimalText, 1, flags, nil,
                { context, _, arguments in
                    guard let bytes = EngineFunctions.bytes(arguments, 0), let text = DecimalOrder.text(bytes) else {
                        return sqlite3_result_null(context)
                    }
                    EngineFunctions.answer(context, text)
                }, nil, nil, nil))
        // For texts with a NUL, at which SQLite's own functions stop.
        try check(
            sqlite3_create_function_v2(
                database, scalarCount, 1, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0) else { return sqlite3_result_null(context) }
                    sqlite3_result_int64(context, Int64(text.unicodeScalars.count))
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, start, 2, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0) else { return sqlite3_result_null(context) }
                    let count = max(0, Int(sqlite3_value_int64(arguments?[1])))
                    EngineFunctions.answer(context, String(text.unicodeScalars.prefix(count)))
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, integerInRange, 3, flags, nil,
                { context, _, arguments in
                    let value = arguments?[0]
                    let (least, most) = (sqlite3_value_int64(arguments?[1]), sqlite3_value_int64(arguments?[2]))
                    switch sqlite3_value_type(value) {
                    case SQLITE_NULL: sqlite3_result_null(context)
                    case SQLITE_INTEGER where (least...most).contains(sqlite3_value_int64(value)):
                        sqlite3_result_int64(context, sqlite3_value_int64(value))
                    default:
                        let text = sqlite3_value_text(value).map { String(cString: $0) } ?? "it"
                        let message = "\(text) is not among the column's numbers, from \(least) to \(most)"
                        sqlite3_result_error(context, message, -1)
                    }
                }, nil, nil, nil))
        try SumFunctions.install(in: database)
        try ElementRows.install(in: database)
        try TextFunctions.install(in: database)
        try check(
            sqlite3_collation_needed(database, nil) { _, database, _, name in
                guard let database, let name else { return }
                EngineFunctions.addCollation(String(cString: name), to: database)
            })
    }

    private static func addCollation(_ name: String, to database: OpaquePointer) {
        guard name.hasPrefix(collationPrefix) else { return }
        let locale = LocaleOrder(Locale(identifier: String(name.dropFirst(collationPrefix.count))))
        sqlite3_create_collation_v2(
            database, name, SQLITE_UTF8, Unmanaged.passRetained(locale).toOpaque(),
            { context, leftCount, left, rightCount, right in
                guard let context else { return 0 }
                let locale = Unmanaged<LocaleOrder>.fromOpaque(context).takeUnretainedValue().locale
                func text(_ start: UnsafeRawPointer?, _ count: Int32) -> String {
                    String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
                }
                let (left, right) = (text(left, leftCount), text(right, rightCount))
                return Int32(left.compare(right, options: [], range: nil, locale: locale).rawValue)
            }, { if let locale = $0 { Unmanaged<LocaleOrder>.fromOpaque(locale).release() } })
    }

    static func text(_ arguments: UnsafeMutablePointer<OpaquePointer?>?, _ index: Int) -> String? {
        guard let value = arguments?[index], sqlite3_value_type(value) == SQLITE_TEXT else { return nil }
        let start = sqlite3_value_text(value)
        return String(
            decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
    }

    private static func bytes(_ arguments: UnsafeMutablePointer<OpaquePointer?>?, _ index: Int) -> [UInt8]? {
        guard let value = arguments?[index], sqlite3_value_type(value) == SQLITE_BLOB else { return nil }
        let start = sqlite3_value_blob(value)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
    }

    static func answer(_ context: OpaquePointer?, _ value: StoredValue) {
        switch value {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number): sqlite3_result_double(context, number)
        case .text(let text): answer(context, text)
        case .blob(let bytes):
            [UInt8](bytes).withUnsafeBytes { bytes in
                // No bytes at no address would be NULL.
                if bytes.isEmpty { return sqlite3_result_zeroblob(context, 0) }
                sqlite3_result_blob64(context, bytes.baseAddress, UInt64(bytes.count), copied)
            }
        }
    }

    static func answer(_ context: OpaquePointer?, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // No bytes at no address would be NULL.
                var empty: CChar = 0
                withUnsafePointer(to: &empty) { empty in
                    sqlite3_result_text64(
                        context, bytes.baseAddress ?? empty, UInt64(bytes.count), copied, UInt8(SQLITE_UTF8))
                }
            }
        }
    }
}

/// A collation's locale, which SQLite keeps.
private final class LocaleOrder: Sendable {
    let locale: Locale
    init(_ locale: Locale) { self.locale = locale }
}

/// SQLite copies what it is given.
private var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
