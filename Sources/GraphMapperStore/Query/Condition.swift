import Foundation

/// What a record must satisfy. One concrete type, which keeps diagnostics in long filters quick to report.
public struct Condition: Sendable {
    let expression: SQLExpression
    /// What is wrong with a column that it names; a query with it throws this.
    let diagnostic: GraphError?

    init(_ expression: SQLExpression, _ diagnostic: GraphError?) {
        self.expression = expression
        self.diagnostic = diagnostic
    }

    fileprivate static func join(_ left: Self, _ sign: SQLOperator, _ right: Self) -> Self {
        Condition(.binary(left.expression, sign, right.expression), left.diagnostic ?? right.diagnostic)
    }

    /// Every row.
    public static let always = Condition(.always, nil)
    /// No row.
    public static let never = Condition(.value(.integer(0)), nil)

    /// Both conditions.
    public static func && (left: Self, right: Self) -> Self { join(left, .and, right) }
    /// Either condition, or both.
    public static func || (left: Self, right: Self) -> Self { join(left, .or, right) }
    /// What does not satisfy the condition, rows for which it is unknown because of NULL included.
    public static prefix func ! (condition: Self) -> Self {
        Condition(.not(condition.expression), condition.diagnostic)
    }
}

/// Joins terms, one a line, with *and*. A term may stand under `if`, and in a loop.
@resultBuilder public enum ConditionBuilder {
    /// A term.
    public static func buildExpression(_ term: Condition) -> Condition { term }
    /// A column of truth values: whether it is true.
    @_disfavoredOverload public static func buildExpression(_ column: ColumnExpression<Bool>) -> Condition {
        Condition(column)
    }
    /// The same of an optional one; NULL is not true.
    @_disfavoredOverload public static func buildExpression(_ column: ColumnExpression<Bool?>) -> Condition {
        Condition(column.expression, column.diagnostic)
    }
    /// All terms; without any, everything.
    public static func buildBlock(_ terms: Condition...) -> Condition { all(terms) }
    /// A term under an `if` that does not hold: everything.
    public static func buildOptional(_ term: Condition?) -> Condition { term ?? .always }
    /// The term of an `if`.
    public static func buildEither(first term: Condition) -> Condition { term }
    /// The term of an `else`.
    public static func buildEither(second term: Condition) -> Condition { term }
    /// All terms of a loop.
    public static func buildArray(_ terms: [Condition]) -> Condition { all(terms) }

    private static func all(_ terms: [Condition]) -> Condition {
        guard let first = terms.first else { return .always }
        return terms.dropFirst().reduce(first) { $0 && $1 }
    }
}
