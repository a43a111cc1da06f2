import Foundation

/// Types of which a query can tell the sum and the average.
public protocol SummableColumn: Storable, AdditiveArithmetic {}

/// Added up exactly.
extension Decimal: SummableColumn {}

/// Over the rows of a group, or of the whole query, in what is selected. NULL does not count, nor does NaN.
extension ColumnExpression where V: Storable {
    private func aggregated<W>(_ function: SQLFunction) -> ColumnExpression<W> {
        guard parts.count == 1 else {
            return ColumnExpression<W>(
                [.value(.null)],
                diagnostic
                    ?? GraphError(
                        .misuse, "a value of \(parts.count) columns cannot be added up or compared; name a part of it"))
        }
        let ordering = V.ordering
        let value =
            ordering == .number ? SQLExpression.call(.nullIfSame, [expression, .value(.text("nan"))]) : expression
        let result: SQLExpression
        switch (ordering, function) {
        case (.decimal, .minimum), (.decimal, .maximum):
            result = .call(.decimalText, [.call(function, [.call(.decimalOrder, [value])])])
        case (.decimal, .sum): result = .call(.decimalSum, [value])
        case (.decimal, .average): result = .call(.decimalAverage, [value])
        case (_, .sum), (_, .average): result = added(function, isFloating: ordering == .number)
        case (.unsigned, .minimum), (.unsigned, .maximum): result = unsigned(value, function)
        default: result = .call(function, [value])
        }
        return ColumnExpression<W>([result], diagnostic)
    }

    /// Numbers added up, of which what is none is an error.
    private func added(_ function: SQLFunction, isFloating: Bool) -> SQLExpression {
        let mark = SQLExpression.value(.integer(isFloating ? 1 : 0))
        let number: SQLExpression
        // What is more than a column is computed once.
        if case .column = expression {
            number = .call(.checkedNumber, [expression, expression, mark, expression])
        } else {
            number = .call(.number, [expression, mark])
        }
        let result = SQLExpression.call(function, [number])
        guard isFloating else { return result }
        // The sum of both infinities is NaN, which the engine makes NULL.
        let isThere = SQLExpression.binary(.call(.count, [number]), .greater, .value(.integer(0)))
        return .call(.coalesce, [result, .call(.whereTrue, [isThere, .value(.text("nan"))])])
    }

    /// The greater half of unsigned numbers is negative.
    private func unsigned(_ value: SQLExpression, _ function: SQLFunction) -> SQLExpression {
        let sign: SQLOperator = function == .maximum ? .less : .greaterOrEqual
        // NULL for those of the other half.
        let half = SQLExpression.call(.whereTrue, [.binary(value, sign, .value(.integer(0))), value])
        return .call(.coalesce, [.call(function, [half]), .call(function, [value])])
    }

    /// The least value; NULL if there is none.
    public func min() -> ColumnExpression<V?> { aggregated(.minimum) }
    /// The least value of an optional column; NULL if there is none.
    public func min<W: Storable>() -> ColumnExpression<V> where V == W? { aggregated(.minimum) }
    /// The greatest value; NULL if there is none.
    public func max() -> ColumnExpression<V?> { aggregated(.maximum) }
    /// The greatest value of an optional column; NULL if there is none.
    public func max<W: Storable>() -> ColumnExpression<V> where V == W? { aggregated(.maximum) }
    /// The sum; 0 if there is nothing to add up. One that does not fit into 64 bits is an error.
    public func sum() -> ColumnExpression<V> where V: SummableColumn { aggregated(.sum) ?? V.zero }
    /// The sum of an optional column; 0 if there is nothing to add up.
    public func sum<W: SummableColumn>() -> ColumnExpression<W> where V == W? { aggregated(.sum) ?? W.zero }
    /// The average as a floating-point number; NULL if there is none.
    public func average() -> ColumnExpression<Double?> where V: SummableColumn { aggregated(.average) }
    /// The average of an optional column; NULL if there is none.
    public func average<W: SummableColumn>() -> ColumnExpression<Double?> where V == W? { aggregated(.average) }
    /// How many rows have a value.
    public func count() -> ColumnExpression<Int> { aggregated(.count) }
}

extension Columns {
    /// How many rows there are.
    public func count() -> ColumnExpression<Int> { ColumnExpression<Int>([.call(.count, [])]) }
}
