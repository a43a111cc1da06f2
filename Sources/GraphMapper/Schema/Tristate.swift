/// A property of a payload that may be missing: unset, null or a value.
///
/// ```swift
/// struct UserDTO: DTO, Identifiable, Codable {
///     let id: Int
///     let name: Tristate<String>        // {"id": 7} unset, {"id": 7, "name": null} null
/// }
/// ```
///
/// In the synthesized `Codable` of a DTO a missing key decodes to unset, and unset writes no key. A file that relies on
/// this imports GraphMapper.
public enum Tristate<Value> {
    /// Nothing is said: the model's property stays as it is.
    case unset
    /// There is none: the model's property is cleared.
    case null
    /// The model's property becomes this.
    case value(Value)

    /// The value, or null for nil.
    @inlinable public init(_ value: Value?) {
        if let value { self = .value(value) } else { self = .null }
    }

    /// The value; nil if it is unset or null.
    @inlinable public var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    /// Whether nothing is said.
    @inlinable public var isUnset: Bool {
        if case .unset = self { true } else { false }
    }

    /// A transformed value; unset and null stay as they are.
    @inlinable public func map<Result>(_ transform: (Value) throws -> Result) rethrows -> Tristate<Result> {
        switch self {
        case .unset: .unset
        case .null: .null
        case .value(let value): .value(try transform(value))
        }
    }
}

extension Tristate: Sendable where Value: Sendable {}
extension Tristate: Equatable where Value: Equatable {}
extension Tristate: Hashable where Value: Hashable {}

extension Tristate: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unset: "unset"
        case .null: "null"
        case .value(let value): "\(value)"
        }
    }
}

/// ``Tristate`` of whatever value.
protocol Unsettable {
    var isUnset: Bool { get }
    var anyValue: Any? { get }
}

extension Tristate: Unsettable {
    var anyValue: Any? { value }
}

// MARK: Codable

extension Tristate: Decodable where Value: Decodable {
    /// Null, or a value. Whether a key is missing only its container knows.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .null : .value(try container.decode(Value.self))
    }
}

extension Tristate: Encodable where Value: Encodable {
    /// Null, or a value. Throws `EncodingError` for unset where there is no key to leave out, as in an array.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .value(let value): try container.encode(value)
        case .unset:
            let text = "an unset value can only be left out of an object; set it, or make it null"
            throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: text))
        }
    }
}

extension KeyedDecodingContainer {
    /// Unset if the key is missing.
    public func decode<Value: Decodable>(_ type: Tristate<Value>.Type, forKey key: Key) throws -> Tristate<Value> {
        guard contains(key) else { return .unset }
        return try decodeNil(forKey: key) ? .null : .value(decode(Value.self, forKey: key))
    }
}

extension KeyedEncodingContainer {
    /// Writes no key for unset.
    public mutating func encode<Value: Encodable>(_ value: Tristate<Value>, forKey key: Key) throws {
        switch value {
        case .unset: break
        case .null: try encodeNil(forKey: key)
        case .value(let value): try encode(value, forKey: key)
        }
    }
}

// MARK: In schemas

/// In a table it takes the columns of an optional. A row has no unset values: an insert stores NULL for one, an update
/// or upsert leaves the column as it is.
extension Tristate: Storable where Value: Storable {
    public static var columns: [Column] { Value?.columns }
    public static var link: LinkTarget? { Value.link }
    public static var schemaMistakes: [String] { Value.schemaMistakes }
    public static func probe(_ n: Int) throws -> Self { .value(try .probe(n)) }
    public var isStoredAsNull: Bool { value?.isStoredAsNull ?? !isUnset }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        Self(try Value.readOptional(cursor, at: &position))
    }
    public func encode(into values: inout [StoredValue]) { value.encode(into: &values) }
    @inlinable public static func isSame(_ left: Self, _ right: Self) -> Bool {
        left.isUnset == right.isUnset && Value?.isSame(left.value, right.value)
    }
}

extension Tristate {
    /// Whether copies of one object may say these: what one of them does not say, the other may.
    @inlinable static func agree(_ left: Self, _ right: Self, _ isSame: (Value?, Value?) -> Bool) -> Bool {
        left.isUnset || right.isUnset || isSame(left.value, right.value)
    }
}
