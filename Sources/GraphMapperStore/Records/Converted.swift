import Foundation

/// How a column holds values of a type, where that is not how the store would.
///
/// ```swift
/// enum YesNo: ColumnForm {
///     static let conversion = Conversion<String, Bool> { $0 == "yes" } encode: { $0 ? "yes" : "no" }
/// }
/// ```
public protocol ColumnForm: SendableMetatype {
    /// What is in the column.
    associatedtype Stored: Storable
    /// What it means.
    associatedtype Value: Storable
    /// From the one to the other, and back.
    static var conversion: Conversion<Stored, Value> { get }
}

/// A value in a column that has another form of it: `let created: Converted<SQLiteDate>`.
///
/// What another program wrote is kept as it is until the value changes. Queries compare and sort what is stored.
public struct Converted<Form: ColumnForm>: Storable {
    /// The value.
    public let value: Form.Value
    /// What is in the column.
    public let stored: Form.Stored

    /// - Throws: what the form's conversion throws for a value that it has no counterpart for.
    public init(_ value: Form.Value) throws {
        self.value = value
        stored = try Form.conversion.encode(value)
    }

    /// - Throws: what the form's conversion throws for what is no value of it.
    public init(stored: Form.Stored) throws {
        self.stored = stored
        value = try Form.conversion.decode(stored)
    }

    /// To what a model has: `Field(\.created, \.created, using: Converted<SQLiteDate>.conversion)`.
    public static var conversion: Conversion<Self, Form.Value> {
        Conversion {
            $0.value
        } encode: {
            try Self($0)
        }
    }

    /// Whether the values are the same, however they are spelt.
    public static func == (left: Self, right: Self) -> Bool { left.value == right.value }
    public static var columns: [Column] { Form.Stored.columns }
    public static var schemaMistakes: [String] { Form.Stored.schemaMistakes }
    public static func probe(_ n: Int) throws -> Self { try Self(Form.Value.probe(n)) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        try Self(stored: Form.Stored.read(cursor, at: &position))
    }
    public func encode(into values: inout [StoredValue]) { stored.encode(into: &values) }
    /// Whether the spellings are the same, too.
    public static func isSame(_ left: Self, _ right: Self) -> Bool { Form.Stored.isSame(left.stored, right.stored) }
}

extension Converted: Hashable where Form.Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// The order of the values; queries have that of what is stored.
extension Converted: Comparable where Form.Value: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

// MARK: Forms

/// Dates as SQLite's own functions have them: `2024-02-29 12:34:56.789`, in UTC. Reads all its forms with a date: without
/// the fraction, the seconds or the time, with a `T`, and with a zone (https://sqlite.org/lang_datefunc.html).
public enum SQLiteDate: ColumnForm {
    /// From the text to the date; what is no date is an error.
    public static var conversion: Conversion<String, Date> {
        Conversion { text in
            do { return try Conversion<String, Date>.iso8601.decode(standard(text)) } catch {
                throw GraphError(.conversion, "\"\(text)\" is no date, as 2024-02-29 12:34:56.789 is one")
            }
        } encode: { date in
            String(try Conversion<String, Date>.iso8601.encode(date).map { $0 == "T" ? " " : $0 }.dropLast())
        }
    }

    /// The same with all its parts.
    private static func standard(_ text: String) -> String {
        let day = text.prefix(10)
        var time = text.dropFirst(11)
        let zone = time.firstIndex { "+-Z".contains($0) }.map { time[$0...] } ?? "Z"
        if let end = time.firstIndex(where: { "+-Z".contains($0) }) { time = time[..<end] }
        while time.last == " " { time.removeLast() }
        let isDay = text.utf8.count == 10
        guard isDay || [" ", "T"].contains(text.dropFirst(10).first) else { return text }
        return "\(day)T\(isDay ? "00:00:00" : time.utf8.count == 5 ? "\(time):00" : "\(time)")\(zone)"
    }
}

/// Dates as seconds since 1970, whole or not.
public enum UnixDate: ColumnForm {
    /// From the seconds to the date; infinities and NaN are errors.
    public static var conversion: Conversion<Double, Date> { .epoch }
}

/// Dates as seconds since 2001, as Core Data stores them.
public enum CocoaDate: ColumnForm {
    /// From the seconds to the date; infinities and NaN are errors.
    public static var conversion: Conversion<Double, Date> {
        let seconds = Date(timeIntervalSinceReferenceDate: 0).timeIntervalSince1970
        return Conversion { (stored: Double) in
            _ = try Conversion<Double, Date>.epoch.decode(stored + seconds)
            return Date(timeIntervalSinceReferenceDate: stored)
        } encode: { (date: Date) in
            _ = try Conversion<Double, Date>.epoch.encode(date)
            return date.timeIntervalSinceReferenceDate
        }
    }
}

/// UUIDs as text. Written in capitals, read in either case.
public enum TextUUID: ColumnForm {
    /// From the text to the UUID; what is no UUID is an error.
    public static var conversion: Conversion<String, UUID> { .uuid }
}

/// UUIDs as text in small letters, as other languages write them. Read in either case.
public enum LowercaseUUID: ColumnForm {
    /// From the text to the UUID; what is no UUID is an error.
    public static var conversion: Conversion<String, UUID> {
        let capitals = Conversion<String, UUID>.uuid
        return Conversion(decode: capitals.decode) { try capitals.encode($0).lowercased() }
    }
}

/// Decimals in a column of numbers, `DECIMAL(10, 2)` or `REAL`: read as the shortest decimal that is this number.
public enum NumericDecimal: ColumnForm {
    /// From the number to the decimal; infinities, NaN, and decimals of more digits than a number holds are errors.
    public static var conversion: Conversion<Double, Decimal> {
        Conversion { (number: Double) in
            guard number.isFinite else { throw GraphError(.conversion, "\(number) is no decimal") }
            return try Conversion<String, Decimal>.decimal.decode("\(number)")
        } encode: { (decimal: Decimal) in
            guard let number = Double(decimal.description),
                try Conversion<String, Decimal>.decimal.decode("\(number)") == decimal
            else {
                throw GraphError(.conversion, "\(decimal) has more digits than a number holds; store it as text")
            }
            return number
        }
    }
}
