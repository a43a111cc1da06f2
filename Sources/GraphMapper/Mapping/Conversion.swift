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

extension Conversion where Value == String, Target == UUID {
    /// A UUID as its text, written in capitals.
    public static var uuid: Self {
        Conversion {
            // Foundation reads no further than a NUL.
            guard let id = UUID(uuidString: $0), $0.utf8.count == 36 else { throw failure($0, UUID.self) }
            return id
        } encode: {
            $0.uuidString
        }
    }
}

extension Conversion where Value == String, Target == Decimal {
    /// Exact, with a point whatever the locale: `12.50`, `-1e3`. Text that is not wholly a number, or has more digits than
    /// a `Decimal`, is an error.
    public static var decimal: Self {
        Conversion {
            guard let value = Decimal(wholly: $0) else { throw failure($0, Decimal.self) }
            return value
        } encode: {
            $0.description
        }
    }
}

extension Conversion where Value == String, Target == Date {
    /// `2024-02-29T12:34:56.789Z`. When read, the fraction may be missing, and the zone be another one: `+02:00`. What is
    /// written is rounded to milliseconds. Years have four digits; dates of other years are an error.
    public static var iso8601: Self {
        Conversion {
            guard let date = ISO8601.date($0) else { throw failure($0, Date.self) }
            return date
        } encode: {
            guard let text = ISO8601.text($0) else {
                throw GraphError(
                    .conversion, "a date \($0.timeIntervalSince1970) seconds after 1970 has no year of four digits")
            }
            return text
        }
    }
}

extension Conversion where Value == Double, Target == Date {
    /// Seconds since 1970; infinities and NaN are errors.
    public static var epoch: Self {
        Conversion {
            guard $0.isFinite else { throw failure($0, Date.self) }
            return Date(timeIntervalSince1970: $0)
        } encode: {
            let seconds = $0.timeIntervalSince1970
            guard seconds.isFinite else { throw failure(seconds, Date.self) }
            return seconds
        }
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

// The same for optionals, by the same names. For conversions that are generic, name the type:
// `Conversion<String, Kind>.rawValue.optional`.

extension Conversion where Value == String?, Target == URL? {
    /// A URL as its text; nil stays nil, and text that is no URL is an error.
    public static var url: Self { Conversion<String, URL>.url.optional }
}

extension Conversion where Value == String?, Target == UUID? {
    /// A UUID as its text, written in capitals; nil stays nil.
    public static var uuid: Self { Conversion<String, UUID>.uuid.optional }
}

extension Conversion where Value == String?, Target == Decimal? {
    /// Exact, with a point whatever the locale; nil stays nil.
    public static var decimal: Self { Conversion<String, Decimal>.decimal.optional }
}

extension Conversion where Value == String?, Target == Date? {
    /// `2024-02-29T12:34:56.789Z`; nil stays nil.
    public static var iso8601: Self { Conversion<String, Date>.iso8601.optional }
}

extension Conversion where Value == Double?, Target == Date? {
    /// Seconds since 1970; nil stays nil.
    public static var epoch: Self { Conversion<Double, Date>.epoch.optional }
}
