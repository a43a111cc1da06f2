/// Types that a query can calculate with: whole numbers that the engine's fit, and floating-point ones.
///
/// NULL, NaN and a division by zero give NULL. A whole number beyond 64 bits becomes a floating-point one. Whole numbers
/// divide as in Swift, towards zero.
public protocol ArithmeticColumn: SummableColumn {}

extension Int: ArithmeticColumn {}
extension Int8: ArithmeticColumn {}
extension Int16: ArithmeticColumn {}
extension Int32: ArithmeticColumn {}
extension Int64: ArithmeticColumn {}
extension UInt8: ArithmeticColumn {}
extension UInt16: ArithmeticColumn {}
extension UInt32: ArithmeticColumn {}
extension Double: ArithmeticColumn {}
extension Float: ArithmeticColumn {}

extension ColumnExpression where V: ArithmeticColumn {
    private static func calculate(_ left: Self, _ sign: SQLOperator, _ right: Self) -> Self {
        Self([.binary(left.number, sign, right.number)], left.diagnostic ?? right.diagnostic)
    }

    private static func value(_ value: V) -> Self { Self([.value(value.stored)]) }

    /// The sum.
    public static func + (left: Self, right: V) -> Self { calculate(left, .plus, value(right)) }
    /// The sum.
    public static func + (left: Self, right: Self) -> Self { calculate(left, .plus, right) }
    /// The difference.
    public static func - (left: Self, right: V) -> Self { calculate(left, .minus, value(right)) }
    /// The difference.
    public static func - (left: Self, right: Self) -> Self { calculate(left, .minus, right) }
    /// The product.
    public static func * (left: Self, right: V) -> Self { calculate(left, .times, value(right)) }
    /// The product.
    public static func * (left: Self, right: Self) -> Self { calculate(left, .times, right) }
    /// The quotient; NULL if the divisor is 0.
    public static func / (left: Self, right: V) -> Self { calculate(left, .over, value(right)) }
    /// The quotient; NULL if the divisor is 0.
    public static func / (left: Self, right: Self) -> Self { calculate(left, .over, right) }

    /// The distance from zero.
    public var magnitude: Self { Self([.call(.absolute, [number, number])], diagnostic) }

    /// NaN, which is stored as a text, is no number to calculate with.
    private var number: SQLExpression {
        guard V.ordering == .number else { return expression }
        return .call(.nullIfSame, [expression, .value(.text("nan"))])
    }
}

/// With columns that may be NULL, which gives NULL.
extension ColumnExpression {
    private static func calculate<N: ArithmeticColumn>(_ left: Self, _ sign: SQLOperator, _ right: Self) -> Self
    where V == N? {
        func known(_ column: Self) -> ColumnExpression<N> { ColumnExpression<N>(column.parts, column.diagnostic) }
        let result = ColumnExpression<N>.calculate(known(left), sign, known(right))
        return Self(result.parts, result.diagnostic)
    }

    private static func value<N: ArithmeticColumn>(_ value: N) -> Self where V == N? { Self([.value(value.stored)]) }

    /// The sum.
    public static func + <N: ArithmeticColumn>(left: Self, right: N) -> Self where V == N? {
        calculate(left, .plus, value(right))
    }
    /// The sum.
    public static func + <N: ArithmeticColumn>(left: Self, right: Self) -> Self where V == N? {
        calculate(left, .plus, right)
    }
    /// The difference.
    public static func - <N: ArithmeticColumn>(left: Self, right: N) -> Self where V == N? {
        calculate(left, .minus, value(right))
    }
    /// The difference.
    public static func - <N: ArithmeticColumn>(left: Self, right: Self) -> Self where V == N? {
        calculate(left, .minus, right)
    }
    /// The product.
    public static func * <N: ArithmeticColumn>(left: Self, right: N) -> Self where V == N? {
        calculate(left, .times, value(right))
    }
    /// The product.
    public static func * <N: ArithmeticColumn>(left: Self, right: Self) -> Self where V == N? {
        calculate(left, .times, right)
    }
    /// The quotient; NULL if the divisor is 0.
    public static func / <N: ArithmeticColumn>(left: Self, right: N) -> Self where V == N? {
        calculate(left, .over, value(right))
    }
    /// The quotient; NULL if the divisor is 0.
    public static func / <N: ArithmeticColumn>(left: Self, right: Self) -> Self where V == N? {
        calculate(left, .over, right)
    }
}

extension ColumnExpression where V: ArithmeticColumn & BinaryInteger {
    /// The remainder, with the sign of the dividend; NULL if the divisor is 0.
    public static func % (left: Self, right: V) -> Self {
        Self([.binary(left.expression, .modulo, .value(right.stored))], left.diagnostic)
    }
    /// The remainder, with the sign of the dividend; NULL if the divisor is 0.
    public static func % (left: Self, right: Self) -> Self {
        Self([.binary(left.expression, .modulo, right.expression)], left.diagnostic ?? right.diagnostic)
    }
}
