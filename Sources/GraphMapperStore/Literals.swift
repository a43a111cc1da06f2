/// Values and names in one text that a person can read and that is read back to the bit: `7, 'it''s', X'00ff'` and
/// `"name", "age"`.
enum Literals {
    static func text(_ values: [StoredValue]) -> String { values.map(text).joined(separator: ", ") }
    static func text(names: [String]) -> String { names.map { quoted($0, "\"") }.joined(separator: ", ") }

    private static func text(_ value: StoredValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        // A description always has a point, an exponent or letters, and is read back to the same bits. NaN is stored as text.
        case .real(let number): "\(number)"
        case .text(let text): quoted(text, "'")
        case .blob(let bytes):
            "X'\(String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self))'"
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func quoted(_ text: String, _ quote: Unicode.Scalar) -> String {
        var result = String.UnicodeScalarView()
        result.append(quote)
        for scalar in text.unicodeScalars {
            if scalar == quote { result.append(quote) }
            result.append(scalar)
        }
        result.append(quote)
        return String(result)
    }

    /// Nil if the text is not of this form.
    static func values(_ text: String) -> [StoredValue]? { parsed(text, next: value) }
    static func names(_ text: String) -> [String]? { parsed(text) { unquoted(&$0, UInt8(ascii: "\"")) } }

    private static func parsed<T>(_ text: String, next: (inout ArraySlice<UInt8>) -> T?) -> [T]? {
        var rest = Array(text.utf8)[...]
        var found: [T] = []
        while let value = next(&rest) {
            found.append(value)
            if rest.isEmpty { return found }
            guard rest.starts(with: ", ".utf8) else { return nil }
            rest = rest.dropFirst(2)
        }
        return nil
    }

    private static func value(_ rest: inout ArraySlice<UInt8>) -> StoredValue? {
        switch rest.first {
        case UInt8(ascii: "'"): return unquoted(&rest, UInt8(ascii: "'")).map { .text($0) }
        case UInt8(ascii: "X"):
            rest = rest.dropFirst()
            return unquoted(&rest, UInt8(ascii: "'")).flatMap(bytes).map { .blob($0) }
        default:
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            let word = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[end...]
            return word == "NULL" ? .null : Int64(word).map { .integer($0) } ?? Double(word).map { .real($0) }
        }
    }

    /// What stands between two quotes, the first of which begins `rest`.
    private static func unquoted(_ rest: inout ArraySlice<UInt8>, _ quote: UInt8) -> String? {
        guard rest.popFirst() == quote else { return nil }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote {
                guard rest.first == quote else { return String(decoding: bytes, as: UTF8.self) }
                rest = rest.dropFirst()
            }
            bytes.append(byte)
        }
        return nil
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = number(digits[index]), let low = number(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func number(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
