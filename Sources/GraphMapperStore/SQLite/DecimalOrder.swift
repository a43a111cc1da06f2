import Foundation

/// Bytes that are ordered as decimal numbers are, and the way back.
enum DecimalOrder {
    /// Nil for what is no number, NaN among it.
    static func key(_ text: String) -> [UInt8]? {
        var digits: [UInt8] = []
        // How many digits stand before the point.
        var whole: Int?
        var isNegative = false
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "-") where index == 0: isNegative = true
            case UInt8(ascii: ".") where whole == nil: whole = digits.count
            case 48...57: digits.append(byte - 48)
            default: return nil
            }
        }
        guard !digits.isEmpty else { return nil }
        var exponent = whole ?? digits.count
        let zeros = digits.prefix { $0 == 0 }.count
        digits.removeFirst(zeros)
        exponent -= zeros
        while digits.last == 0 { digits.removeLast() }
        if digits.isEmpty { return [1] }
        // Decimals have exponents from -128 to 165; digits are put above 0, which ends them.
        let rank = UInt16(clamping: exponent + 1024)
        let magnitude = [UInt8(rank >> 8), UInt8(rank & 255)] + digits.map { $0 + 1 } + [0]
        return isNegative ? [0] + magnitude.map { 255 - $0 } : [2] + magnitude
    }

    static func text(_ key: [UInt8]) -> String? {
        guard key.first != 1 else { return "0" }
        guard let sign = key.first, key.count > 3 else { return nil }
        let bytes = sign == 0 ? key.dropFirst().map { 255 - $0 } : Array(key.dropFirst())
        let exponent = (Int(bytes[0]) << 8 | Int(bytes[1])) - 1024
        let digits = bytes.dropFirst(2).dropLast().map { String($0 - 1) }.joined()
        let number = "\(sign == 0 ? "-" : "")0.\(digits)e\(exponent)"
        return Decimal(string: number, locale: Locale(identifier: "en_US_POSIX"))?.description
    }
}
