import Foundation

/// Stored as text, exactly, with a point whatever the locale: `0.1`. Queries tell equal ones exactly, and order them as
/// floating-point numbers; NaN is neither less nor greater.
extension Decimal: Storable {
    public static var columns: [Column] { [Column(.text)] }
    public static func probe(_ n: Int) -> Decimal { Decimal(n) }
    /// Reads a number; text that is none, or has more digits than a `Decimal`, is an error. So is another spelling than
    /// the one that is written, since queries compare texts.
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Decimal {
        let text = try String.read(cursor, at: &position)
        guard let value = Decimal(stored: text) else {
            throw GraphError(.conversion, "\"\(text)\" is no decimal number as it stands")
        }
        return value
    }
    public func encode(into values: inout [StoredValue]) { values.append(.text(description)) }
    public static func isSame(_ left: Decimal, _ right: Decimal) -> Bool {
        left == right || left.isNaN && right.isNaN
    }
}

extension Decimal {
    /// The number of a text as it is written; nil for any other.
    package init?(stored text: String) {
        guard let value = Decimal(wholly: text), text == value.description else { return nil }
        self = value
    }

    /// The number that the whole text is, with a point whatever the locale; nil if the text is anything else, or has
    /// more digits than a `Decimal`. Foundation's reader stops at the first character that it does not know, and rounds.
    init?(wholly text: String) {
        if text == "NaN" {
            self = .nan
            return
        }
        guard let digits = SignificantDigits(text),
            let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")),
            SignificantDigits(value.description) == digits
        else { return nil }
        self = value
    }
}

/// A number's text taken apart, so that other spellings of the number are equal: `12.50`, `+125e-1`.
private struct SignificantDigits: Equatable {
    private var isNegative: Bool
    /// Without zeros at either end.
    private var digits: [UInt8]
    /// The power of ten of the last digit.
    private var exponent: Int

    /// nil if the text is no number: a sign, digits with or without a point, an exponent; all but a digit may be missing.
    init?(_ text: String) {
        var rest = text.utf8[...]
        isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        let whole = rest.prefix(while: Self.isDigit)
        rest = rest.dropFirst(whole.count)
        var fraction = rest.prefix(0)
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: Self.isDigit)
            rest = rest.dropFirst(1 + fraction.count)
        }
        digits = Array(whole) + Array(fraction)
        guard !digits.isEmpty else { return nil }
        exponent = -fraction.count
        if let mark = rest.first {
            // Sixteen bits hold more than a Decimal's powers.
            guard mark | 0x20 == UInt8(ascii: "e"), let power = Int16(Substring(rest.dropFirst())) else { return nil }
            exponent += Int(power)
        }
        dropZeros()
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private mutating func dropZeros() {
        while digits.last == 48 {
            digits.removeLast()
            exponent += 1
        }
        digits = Array(digits.drop { $0 == 48 })
        if digits.isEmpty { (isNegative, exponent) = (false, 0) }
    }
}
