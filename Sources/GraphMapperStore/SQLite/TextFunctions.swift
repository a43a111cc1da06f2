internal import CSQLite
import Foundation

/// Texts as Swift compares them: by characters, of which different spellings are one. SQLite knows bytes.
enum TextFunctions {
    static let canonical = "graphmapper_canonical"
    static let contains = "graphmapper_contains"
    static let starts = "graphmapper_starts"

    static func install(in database: OpaquePointer) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        func check(_ code: Int32) throws {
            guard code == SQLITE_OK else {
                throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: "functions")
            }
        }
        try check(
            sqlite3_create_function_v2(
                database, canonical, 1, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0) else {
                        return sqlite3_result_value(context, arguments?[0])
                    }
                    EngineFunctions.answer(context, text.canonical)
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, contains, 2, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0), let part = EngineFunctions.text(arguments, 1)
                    else { return sqlite3_result_null(context) }
                    sqlite3_result_int(context, TextFunctions.holds(text, part) ? 1 : 0)
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, starts, 2, flags, nil,
                { context, _, arguments in
                    guard let text = EngineFunctions.text(arguments, 0), let start = EngineFunctions.text(arguments, 1)
                    else { return sqlite3_result_null(context) }
                    sqlite3_result_int(context, text.starts(with: start) ? 1 : 0)
                }, nil, nil, nil))
    }

    /// By characters: Foundation has a `contains` of its own for texts, which a predicate does not ask.
    private static func holds<A: Collection, B: Collection>(_ all: A, _ part: B) -> Bool
    where A.Element == B.Element, A.Element: Equatable { all.contains(part) }
}
