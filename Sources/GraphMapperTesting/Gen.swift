import Foundation

/// A recipe for random values of one type.
///
/// Every decision comes from ``Choices``, which makes generators reproducible and shrinkable, also after
/// ``map(_:)`` and ``flatMap(_:)``.
public struct Gen<Value>: Sendable {
    /// Makes one value from the choices given.
    public let generate: @Sendable (inout Choices) -> Value

    /// Creates a generator from a function over choices.
    public init(_ generate: @escaping @Sendable (inout Choices) -> Value) {
        self.generate = generate
    }

    /// The value for one seed.
    public func sample(seed: UInt64) -> Value {
        var choices = Choices(seed: seed)
        return generate(&choices)
    }

    /// Values of this generator, transformed.
    public func map<Result>(_ transform: @escaping @Sendable (Value) -> Result) -> Gen<Result> {
        Gen<Result> { [generate] in transform(generate(&$0)) }
    }

    /// Values of a generator that depends on a value of this one.
    public func flatMap<Result>(_ transform: @escaping @Sendable (Value) -> Gen<Result>) -> Gen<Result> {
        Gen<Result> { [generate] in transform(generate(&$0)).generate(&$0) }
    }

    /// Pairs of a value of this generator and one of `other`.
    public func zip<Other>(_ other: Gen<Other>) -> Gen<(Value, Other)> {
        Gen<(Value, Other)> { [generate] in (generate(&$0), other.generate(&$0)) }
    }

    /// One of the generators, all equally likely. Shrinks towards the first.
    public static func oneOf(_ generators: [Gen<Value>]) -> Gen<Value> {
        precondition(!generators.isEmpty, "oneOf needs at least one generator")
        return Gen { generators[$0.index(below: generators.count)].generate(&$0) }
    }

    /// One of the generators, all equally likely. Shrinks towards the first.
    public static func oneOf(_ generators: Gen<Value>...) -> Gen<Value> {
        oneOf(generators)
    }

    /// One of the generators, each as likely as its weight. Shrinks towards the first.
    public static func frequency(_ weighted: (weight: Int, gen: Gen<Value>)...) -> Gen<Value> {
        precondition(!weighted.isEmpty, "frequency needs at least one generator")
        precondition(weighted.allSatisfy { $0.weight > 0 }, "weights are positive")
        let generators = weighted.map(\.gen)
        let slots = weighted.indices.flatMap { Array(repeating: UInt64($0), count: weighted[$0].weight) }
        return Gen { choices in
            let slot = choices.draw(upTo: UInt64(generators.count - 1)) { random in
                slots[Int.random(in: slots.indices, using: &random)]
            }
            return generators[Int(slot)].generate(&choices)
        }
    }

    /// `nil` about one time in four, otherwise a value of `gen`. Shrinks towards `nil`.
    public static func optional<Wrapped>(_ gen: Gen<Wrapped>) -> Gen<Wrapped?> where Value == Wrapped? {
        Gen<Wrapped?> { choices in
            let present = choices.draw(upTo: 1) { $0.next() % 4 == 0 ? 0 : 1 }
            return present == 1 ? gen.generate(&choices) : nil
        }
    }

    /// Arrays of values of `gen`, with a number of elements within `count`.
    public static func array<Element>(of gen: Gen<Element>, count: ClosedRange<Int> = 0...20) -> Gen<[Element]>
    where Value == [Element] {
        Gen<[Element]> { choices in
            var elements: [Element] = []
            choices.rounds(count) { choices, _ in elements.append(gen.generate(&choices)) }
            return elements
        }
    }
}

extension Gen where Value: Sendable {
    /// Always the same value.
    public static func always(_ value: Value) -> Gen<Value> {
        Gen { _ in value }
    }

    /// One of the elements, all equally likely. Shrinks towards the first.
    public static func element(of elements: [Value]) -> Gen<Value> {
        precondition(!elements.isEmpty, "element(of:) needs at least one element")
        return Gen { elements[$0.index(below: elements.count)] }
    }
}

extension Gen where Value == Int {
    /// Integers within `range`, its ends included often. Shrinks towards zero, or the end nearest to it.
    public static func int(in range: ClosedRange<Int> = Int.min...Int.max) -> Gen<Int> {
        Gen { choices in
            let (low, high) = (range.lowerBound, range.upperBound)
            if low >= 0 { return low + Int(choices.draw(upTo: UInt64(high - low))) }
            if high <= 0 {
                let distance = choices.draw(upTo: UInt64(bitPattern: Int64(high &- low)))
                return Int(truncatingIfNeeded: Int64(high) &- Int64(bitPattern: distance))
            }
            if choices.bool() {
                return Int(truncatingIfNeeded: 0 &- Int64(bitPattern: choices.draw(upTo: UInt64(low.magnitude))))
            }
            return Int(choices.draw(upTo: UInt64(high)))
        }
    }
}

extension Gen where Value == Bool {
    /// `false` and `true`, equally likely.
    public static var bool: Gen<Bool> { Gen { $0.bool() } }
}

extension Gen where Value == Double {
    /// Any double: whole numbers, fractions, raw bit patterns, extremes, `-0.0`, infinities and NaN.
    public static var double: Gen<Double> {
        let special: [Double] = [
            0, -0.0, 1, -1, 0.1, .infinity, -.infinity, .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, .ulpOfOne, .pi,
            9_007_199_254_740_992, 1e15, 1e16, 1e-7, 9.223372036854776e18,
        ]
        return .frequency(
            (3, Gen<Int>.int(in: -1000...1000).map { Double($0) }),
            (2, Gen<Int>.int(in: -1_000_000...1_000_000).map { Double($0) / 1000 }),
            (3, .element(of: special)),
            (2, Gen { Double(bitPattern: $0.draw(upTo: .max)) }))
    }

    /// Doubles that are neither infinite nor NaN.
    public static var finiteDouble: Gen<Double> {
        Gen<Double>.double.map { $0.isFinite ? $0 : 0 }
    }
}

extension Gen where Value == Date {
    /// Dates, also before 1970, with fractions of a second, and at the extremes.
    public static var date: Gen<Date> {
        let special: [Date] = [
            Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: -0.5), Date(timeIntervalSince1970: -1),
            Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSince1970: -2_208_988_800),
            Date(timeIntervalSince1970: 2_147_483_647), Date(timeIntervalSince1970: 2_147_483_648),
            Date(timeIntervalSince1970: 253_402_300_799.999), .distantPast, .distantFuture,
        ]
        return .frequency(
            (3, Gen<Int>.int(in: -4_000_000_000...4_000_000_000).map { Date(timeIntervalSince1970: Double($0)) }),
            (
                2,
                Gen<Int>.int(in: -4_000_000_000_000...4_000_000_000_000)
                    .map { Date(timeIntervalSince1970: Double($0) / 1000) }
            ),
            (2, .element(of: special)))
    }
}

extension Gen where Value == UUID {
    /// UUIDs of any sixteen bytes. Shrinks towards all zeros.
    public static var uuid: Gen<UUID> {
        Gen { choices in
            let high = choices.draw(upTo: .max)
            let low = choices.draw(upTo: .max)
            func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
            return UUID(
                uuid: (
                    byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                    byte(high, 6), byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
                    byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
                ))
        }
    }
}

extension Gen where Value == Data {
    /// Byte strings: empty, short, and now and then several thousand bytes.
    public static var data: Gen<Data> {
        let byte = Gen<Int>.int(in: 0...255).map { UInt8($0) }
        return .frequency(
            (9, Gen<[UInt8]>.array(of: byte, count: 0...32).map { Data($0) }),
            (1, byte.zip(.int(in: 0...10_000)).map { Data(repeating: $0.0, count: $0.1) }))
    }
}

extension Gen where Value == String {
    /// Strings that tend to break things: empty, with NUL, quotes, emoji, both normal forms of accented letters,
    /// right-to-left text, and now and then several thousand characters long.
    public static var string: Gen<String> {
        let odd = [
            " ", "\0", "'", "\"", "\\", "%", "_", ";", "\n", "\r\n", "\t", "\u{00E9}", "e\u{0301}", "\u{0301}",
            "\u{212B}", "A\u{030A}", "😀", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "ß", "İ", "\u{FB01}", "שלום", "مرحبا", "漢字",
            "\u{200B}", "\u{200D}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "\u{7F}", "\u{1}", "NULL",
        ]
        let plain = (0..<26).map { String(UnicodeScalar(UInt8(97 + $0))) } + (0...9).map { String($0) }
        let piece = Gen.frequency((3, .element(of: plain)), (2, .element(of: odd)))
        return .frequency(
            (19, Gen<[String]>.array(of: piece, count: 0...12).map { $0.joined() }),
            (1, piece.zip(.int(in: 0...5000)).map { String(repeating: $0.0, count: $0.1) }))
    }
}
