import Foundation

/// A two-way translation between a DTO's value and a model's.
public struct Conversion<Value, Target>: Sendable {
    /// From the DTO's value to the model's; throws if the value has no counterpart.
    public let decode: @Sendable (Value) throws -> Target
    /// From the model's value to the DTO's; throws if the value has no counterpart.
    public let encode: @Sendable (Target) throws -> Value

    /// A translation by two closures. They should undo each other; where they do not, what re-encodes to the same value
    /// counts as unchanged.
    public init(
        decode: @escaping @Sendable (Value) throws -> Target, encode: @escaping @Sendable (Target) throws -> Value
    ) {
        self.decode = decode
        self.encode = encode
    }

    /// This conversion, then `next`.
    public func then<Next>(_ next: Conversion<Target, Next>) -> Conversion<Value, Next> {
        Conversion<Value, Next> {
            try next.decode(decode($0))
        } encode: {
            try encode(next.encode($0))
        }
    }

    /// The other way round.
    public var reversed: Conversion<Target, Value> { Conversion<Target, Value>(decode: encode, encode: decode) }

    /// The same for optionals: nil stays nil.
    public var optional: Conversion<Value?, Target?> {
        Conversion<Value?, Target?> {
            try $0.map(decode)
        } encode: {
            try $0.map(encode)
        }
    }
}

private func failure(_ value: Any, _ type: Any.Type) -> GraphError {
    GraphError(.conversion, "\"\(value)\" is not a valid \(type)")
}

extension Conversion where Value == String, Target == URL {
    /// A URL as its text; text that is no URL, or is empty, is an error.
    public static var url: Self {
        Conversion {
            guard let url = URL(string: $0), !$0.isEmpty else { throw failure($0, URL.self) }
            return url
        } encode: {
            $0.absoluteString
        }
    }
}

extension Conversion where Value == String?, Target == URL? {
    /// A URL as its text; nil stays nil, and text that is no URL is an error.
    public static var url: Self { Conversion<String, URL>.url.optional }
}

extension Conversion where Value == String, Target == UUID {
    /// A UUID as its text, written in capitals.
    public static var uuid: Self {
        Conversion {
            guard let id = UUID(uuidString: $0) else { throw failure($0, UUID.self) }
            return id
        } encode: {
            $0.uuidString
        }
    }
}

extension Conversion where Value == String, Target == Decimal {
    /// Exact, with a point whatever the locale.
    public static var decimal: Self {
        Conversion {
            guard let value = Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX")) else {
                throw failure($0, Decimal.self)
            }
            return value
        } encode: {
            $0.description
        }
    }
}

extension Conversion where Value == String, Target == Date {
    /// `2024-02-29T12:34:56.789Z`, to the millisecond; fractions of a second may be missing.
    public static var iso8601: Self {
        Conversion {
            let plain = Date.ISO8601FormatStyle()
            let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            if let date = (try? fractional.parse($0)) ?? (try? plain.parse($0)) { return date }
            throw failure($0, Date.self)
        } encode: {
            // The format cuts off what is below a millisecond, and a number of milliseconds is most often a bit below.
            let milliseconds = ($0.timeIntervalSinceReferenceDate * 1000).rounded()
            let date = Date(timeIntervalSinceReferenceDate: milliseconds / 1000 + 0.0001)
            return Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
        }
    }
}

extension Conversion where Value == Double, Target == Date {
    /// Seconds since 1970.
    public static var epoch: Self {
        Conversion(decode: { Date(timeIntervalSince1970: $0) }, encode: { $0.timeIntervalSince1970 })
    }
}

extension Conversion where Target: RawRepresentable & Sendable, Value == Target.RawValue {
    /// An enum, or another raw-representable type, as its raw value; one that is unknown is an error.
    public static var rawValue: Self {
        Conversion {
            guard let value = Target(rawValue: $0) else { throw failure($0, Target.self) }
            return value
        } encode: {
            $0.rawValue
        }
    }
}
