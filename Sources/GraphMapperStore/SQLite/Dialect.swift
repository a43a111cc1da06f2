import Foundation

/// How SQLite spells what the store asks for: names, types, parameters and conditions. The rest of the store makes its
/// statements of these pieces and of SQL that PostgreSQL has too.
enum Dialect {
    /// A name of a table or column.
    static func quoted(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
        return "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
    }
    /// Names, separated by commas.
    static func list(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

    // MARK: Values

    /// One column, or several as a row value.
    static func row(_ columns: [String]) -> String {
        columns.count == 1 ? columns[0] : "(\(columns.joined(separator: ", ")))"
    }
    /// `?` for each of so many columns, as a row value if there are several.
    static func marks(_ width: Int) -> String { width == 1 ? "?" : "(\(parameters(width)))" }
    /// So many parameters, separated by commas.
    static func parameters(_ count: Int) -> String { String(repeating: "?, ", count: max(0, count - 1)) + "?" }
    /// The right side of an IN that chooses among so many values of so many columns.
    static func choice(_ count: Int, width: Int) -> String {
        let marks = String(repeating: marks(width) + ",", count: max(0, count - 1)) + marks(width)
        guard count > 0 else {
            return width == 1 ? "()" : "(SELECT \(String(repeating: "0, ", count: width - 1))0 LIMIT 0)"
        }
        return width == 1 ? "(\(marks))" : "(VALUES \(marks))"
    }
    /// The columns of a key as a condition.
    static func match(_ columns: [String]) -> String {
        columns.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
    }
    /// The same for columns that may be NULL, which is a value like any other here.
    static func same(_ columns: [String]) -> String {
        columns.map { "\(quoted($0)) IS ?" }.joined(separator: " AND ")
    }
    /// The assignments of an update.
    static func assignments(_ columns: [String]) -> String {
        columns.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
    }
    /// Says about how many rows a table has, at the cost of a look-up.
    static func roughCount(_ table: String) -> String { "SELECT max(rowid) FROM \(quoted(table))" }
    /// Says how many rows there are, but for more than `most`; they need no number.
    static func count(_ table: String, most: Int) -> String {
        "SELECT count(*) FROM (SELECT 1 FROM \(quoted(table)) LIMIT \(most))"
    }

    // MARK: Conditions

    static func sign(_ sign: SQLOperator) -> String {
        switch sign {
        case .isSame: "IS"
        case .isOther: "IS NOT"
        case .equal: "="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .and: "AND"
        case .or: "OR"
        case .plus: "+"
        case .minus: "-"
        case .times: "*"
        case .over: "/"
        case .modulo: "%"
        }
    }

    /// A function's text around its arguments: before the first, between two, after the last.
    static func spelling(_ function: SQLFunction, _ count: Int) -> [String] {
        switch function {
        case .contains: return ["(instr(", ", ", ") > 0)"]
        // By bytes, since `length` of a text stops at its first NUL.
        case .endsWith: return ["(substr(CAST(", " AS BLOB), ", ") = CAST(", " AS BLOB))"]
        case .whereTrue: return ["CASE WHEN ", " THEN ", " END"]
        case .choose: return ["CASE WHEN ", " THEN ", " ELSE ", " END"]
        // SQLite's functions of texts stop at a NUL.
        case .start:
            return [
                "CASE WHEN instr(", ", char(0)) THEN \(EngineFunctions.start)(", ", ", ") ELSE substr(", ", 1, ",
                ") END",
            ]
        case .scalarCount:
            return [
                "CASE WHEN instr(", ", char(0)) THEN \(EngineFunctions.scalarCount)(", ") ELSE length(", ") END",
            ]
        // The least whole number has no counterpart.
        case .absolute:
            return ["CASE WHEN ", " = -9223372036854775808 THEN 9223372036854775808.0 ELSE abs(", ") END"]
        // Most are numbers, for which nothing is called.
        case .checkedNumber:
            return [
                "CASE WHEN typeof(", ") IN ('text', 'blob') THEN \(SumFunctions.number)(", ", ", ") ELSE ", " END",
            ]
        case .count where count == 0: return ["count(*)"]
        default:
            return ["\(name(function))("] + Array(repeating: ", ", count: max(0, count - 1)) + [")"]
        }
    }

    private static func name(_ function: SQLFunction) -> String {
        switch function {
        case .fold: EngineFunctions.fold
        case .like: EngineFunctions.like
        case .decimalOrder: EngineFunctions.decimalOrder
        case .decimalText: EngineFunctions.decimalText
        case .decimalSum: SumFunctions.decimalSum
        case .decimalAverage: SumFunctions.decimalAverage
        case .number: SumFunctions.number
        case .canonical: TextFunctions.canonical
        case .containsCharacters: TextFunctions.contains
        case .startsWithCharacters: TextFunctions.starts
        case .coalesce: "coalesce"
        case .nullIfSame: "nullif"
        case .elementCount: "json_array_length"
        case .integerInRange: EngineFunctions.integerInRange
        case .count: "count"
        case .sum: "sum"
        case .average: "avg"
        case .minimum: "min"
        case .maximum: "max"
        case .contains, .endsWith, .whereTrue, .choose, .start, .scalarCount, .absolute, .checkedNumber: ""
        }
    }

    static func collate(_ locale: String) -> String { "COLLATE \(quoted(EngineFunctions.collation(locale)))" }
    static func nulls(areFirst: Bool) -> String { areFirst ? " NULLS FIRST" : " NULLS LAST" }

    /// What makes rows of an array's elements, and an object's, around it.
    ///
    /// - Parameter storage: how an element is stored.
    static func elements(_ storage: StorageClass) -> (String, String) {
        ("\(ElementRows.name)(", ", \(storage.rawValue))")
    }
    static let elementTable = ElementRows.name
    static let elementValue = "value"
    static let elementKey = "key"

    /// So many rows, after so many.
    static let page = "LIMIT ? OFFSET ?"
    /// The parameters of a page.
    static func page(_ limit: Int?, _ offset: Int?) -> [StoredValue] {
        [.integer(limit.map(Int64.init) ?? -1), .integer(Int64(offset ?? 0))]
    }

    // MARK: Transactions

    static let beginReading = "BEGIN"
    static let beginWriting = "BEGIN IMMEDIATE"

    /// What every fresh connection is told.
    static func settings(readOnly: Bool) -> [String] {
        // A file that somebody else made may have triggers and views: they may not call functions that do more than
        // compute. The log is cut to its usual size after a large transaction.
        [
            "PRAGMA foreign_keys = ON", "PRAGMA cache_size = -65536", "PRAGMA trusted_schema = OFF",
            "PRAGMA cell_size_check = ON",
        ]
            + (readOnly
                ? []
                : [
                    "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
                    "PRAGMA journal_size_limit = \(logLimit)",
                ])
    }

    /// Bytes that the log keeps on disk once its pages are in the file.
    static let logLimit = 8_388_608

    /// What holds for every row.
    static let always = "1"

    /// What runs an update of a table whose unique values make room by deleting other rows.
    static let updateOrReplace = "UPDATE OR REPLACE"

    /// What a table without a column of that name calls the number of a row.
    static let rowNumber = "rowid"

    /// Whether a statement is of no interest to who asks what changes a file: it reads, sets, or is about a savepoint.
    static func changesNothing(_ sql: String) -> Bool {
        ["SELECT", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK TO"].contains { sql.hasPrefix($0) }
    }
}
