internal import CSQLite
import Foundation

/// Sums and averages that say what fetching the rows would: exact ones of decimals, and an error for what is no number,
/// which SQLite counts as 0.
enum SumFunctions {
    static let decimalSum = "graphmapper_decimal_sum"
    static let decimalAverage = "graphmapper_decimal_average"
    static let number = "graphmapper_number"

    static func install(in database: OpaquePointer) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
        func check(_ code: Int32) throws {
            guard code == SQLITE_OK else {
                throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: "functions")
            }
        }
        // NULL for NULL and for NaN, which do not count; whether there may be a NaN is the second argument.
        try check(
            sqlite3_create_function_v2(
                database, number, 2, flags, nil,
                { context, _, arguments in
                    let value = arguments?[0]
                    switch sqlite3_value_type(value) {
                    case SQLITE_INTEGER, SQLITE_FLOAT: sqlite3_result_value(context, value)
                    case SQLITE_NULL: sqlite3_result_null(context)
                    case SQLITE_TEXT
                    where sqlite3_value_int(arguments?[1]) != 0 && EngineFunctions.text(arguments, 0) == "nan":
                        sqlite3_result_null(context)
                    default: SumFunctions.refuse(context, arguments)
                    }
                }, nil, nil, nil))
        try check(
            sqlite3_create_function_v2(
                database, decimalSum, 1, flags, nil, nil, { SumFunctions.add($0, $2) },
                { context in
                    guard let (total, count) = SumFunctions.total(context) else { return }
                    if count == 0 {
                        sqlite3_result_null(context)
                    } else {
                        EngineFunctions.answer(context, total.description)
                    }
                }, nil))
        try check(
            sqlite3_create_function_v2(
                database, decimalAverage, 1, flags, nil, nil, { SumFunctions.add($0, $2) },
                { context in
                    guard let (total, count) = SumFunctions.total(context) else { return }
                    if count == 0 { return sqlite3_result_null(context) }
                    sqlite3_result_double(context, NSDecimalNumber(decimal: total / Decimal(count)).doubleValue)
                }, nil))
    }

    private static func refuse(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        let text = sqlite3_value_text(arguments?[0]).map { String(cString: $0) } ?? "it"
        sqlite3_result_error(context, "\"\(text)\" is no number of the column's; it cannot be added up", -1)
    }

    // MARK: Decimals

    private struct Total {
        var sum: Decimal
        var count: Int
    }

    private static func memory(_ context: OpaquePointer?, size: Int) -> UnsafeMutablePointer<Total>? {
        sqlite3_aggregate_context(context, Int32(size))?.assumingMemoryBound(to: Total.self)
    }

    private static func add(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        if sqlite3_value_type(arguments?[0]) == SQLITE_NULL { return }
        guard let text = EngineFunctions.text(arguments, 0), let value = Decimal(stored: text) else {
            return refuse(context, arguments)
        }
        if value.isNaN { return }
        // SQLite gives zeroed memory, which is a sum of nothing.
        guard let total = memory(context, size: MemoryLayout<Total>.size) else {
            return sqlite3_result_error_nomem(context)
        }
        total.pointee.sum += value
        total.pointee.count += 1
    }

    /// Nil if it is an error, which is said.
    private static func total(_ context: OpaquePointer?) -> (sum: Decimal, count: Int)? {
        guard let total = memory(context, size: 0) else { return (0, 0) }
        guard !total.pointee.sum.isNaN else {
            sqlite3_result_error(context, "the sum is beyond what a Decimal can be", -1)
            return nil
        }
        return (total.pointee.sum, total.pointee.count)
    }
}
