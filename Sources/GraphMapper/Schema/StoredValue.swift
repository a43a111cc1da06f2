/// The storage classes that an engine knows. Raw values are SQLite's own type codes.
public enum StorageClass: Int32, Sendable, Hashable {
    /// Integers of 64 bits.
    case integer = 1
    /// Floating-point numbers.
    case real = 2
    /// Text in UTF-8.
    case text = 3
    /// Bytes.
    case blob = 4
    /// No value.
    case null = 5
}

/// One value as it goes to an engine: what a change set, a bound parameter and a key are made of.
///
/// Equality is that of the stored representation, bit for bit: `-0.0` differs from `0.0`, and two spellings of
/// one accented letter differ.
public enum StoredValue: Sendable {
    /// No value.
    case null
    /// An integer of 64 bits.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// Text.
    case text(String)
    /// Bytes.
    case blob(Bytes)

    /// Bytes.
    public static func blob(_ bytes: [UInt8]) -> StoredValue { .blob(Bytes(bytes)) }
}

extension StoredValue: Hashable {
    public static func == (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
        case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
        case (.blob(let a), .blob(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value.bitPattern)
        case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
        case .blob(let value): hasher.combine(value)
        }
    }
}

extension StoredValue {
    /// The order of engines: NULL, numbers, texts by their bytes, bytes.
    func precedes(_ other: StoredValue) -> Bool {
        switch (self, other) {
        case (.null, .null): false
        case (.null, _): true
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b || a == b && a.sign == .minus && b.sign == .plus
        case (.integer(let a), .real(let b)): Double(a) < b
        case (.real(let a), .integer(let b)): a < Double(b)
        case (.integer, .text), (.integer, .blob), (.real, .text), (.real, .blob), (.text, .blob): true
        case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.blob(let a), .blob(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }
}

extension StoredValue: CustomStringConvertible {
    /// Readable: text in quotes, sixteen bytes as a UUID, other bytes by their number.
    public var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): "\"\(value)\""
        case .blob(let bytes):
            bytes.count == 16 ? Self.uuidText(bytes) : "<\(bytes.count) bytes>"
        }
    }

    private static func uuidText(_ bytes: Bytes) -> String {
        [bytes[..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10...]].map { Hex.text($0) }
            .joined(separator: "-")
    }
}
