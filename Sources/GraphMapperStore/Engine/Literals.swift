/// Values and names in one text that a person can read and that is read back to the bit: `7, 'it''s', X'00ff'` and
/// `"name", "age"`.
enum Literals {
    static func text(_ values: [StoredValue]) -> String { values.map(text).joined(separator: ", ") }
    static func text(names: [String]) -> String { names.map { quoted($0, "\"") }.joined(separator: ", ") }

    private static func text(_ value: StoredValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        // SQL has no word for infinity, but numbers that are none other. NaN is stored as text.
        case .real(let number) where number.isInfinite: number < 0 ? "-9e999" : "9e999"
        // A description always has a point or an exponent, and Swift reads it back to the same bits.
        case .real(let number): "\(number)"
        case .text(let text): quoted(text, "'")
        case .blob(let bytes): "X'\(Hex.text(bytes))'"
        }
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
            return unquoted(&rest, UInt8(ascii: "'")).flatMap(Hex.bytes).map { .blob($0) }
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
}
