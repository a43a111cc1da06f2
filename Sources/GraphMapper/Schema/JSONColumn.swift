import Foundation

/// A `Codable` value in one column, as JSON text.
///
/// The text is written with sorted keys, so that equal values have equal texts; that is also what `==` compares. A
/// text that another writer spelt differently is kept until the value changes.
public struct JSONColumn<Value: Codable & Sendable>: Storable {
    /// The JSON text.
    public let text: String
    private let decoded: Value?

    /// Writes the value as JSON; throws what its `encode(to:)` throws. Infinities and NaN are the texts `inf`, `-inf`
    /// and `nan`.
    public init(_ value: Value) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
        decoded = value
    }

    /// Reads JSON text; throws if it is not that of such a value.
    public init(text: String) throws {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        do {
            decoded = try decoder.decode(Value.self, from: Data(text.utf8))
        } catch {
            throw GraphError(.conversion, "the text is not the JSON of a \(Value.self): \(error)")
        }
        self.text = text
    }

    private init(probe text: String) {
        self.text = text
        decoded = nil
    }

    /// The value. Throws only in the trial run of a schema, for which there is none.
    public var value: Value {
        get throws {
            if let decoded { return decoded }
            throw GraphError(.misuse, "a schema is tried with JSON columns that have no value; do not ask for it there")
        }
    }

    public static func == (left: Self, right: Self) -> Bool { String.isSame(left.text, right.text) }
    public static var columns: [Column] { [Column(.text)] }
    public static func probe(_ n: Int) -> Self { Self(probe: String(n)) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        try Self(text: try String.read(cursor, at: &position))
    }
    public func encode(into values: inout [StoredValue]) { values.append(.text(text)) }
}

extension Conversion where Target: Codable & Sendable, Value == JSONColumn<Target> {
    /// A `Codable` value as a column of JSON.
    public static var json: Self { Conversion(decode: { try $0.value }, encode: { try JSONColumn($0) }) }
}
