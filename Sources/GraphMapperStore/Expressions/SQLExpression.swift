/// What a row is asked for: a tree, which ``SQLWriter`` writes for the engine.
indirect enum SQLExpression: Sendable {
    case value(StoredValue)
    case column(TableAlias, String)
    /// Several columns as one value.
    case row([SQLExpression])
    case binary(SQLExpression, SQLOperator, SQLExpression)
    /// Holds where the condition does not, or is unknown.
    case not(SQLExpression)
    case isNull(SQLExpression)
    case call(SQLFunction, [SQLExpression])
    /// Whether a value of so many columns is one of those that stand one after the other.
    case isOneOf(SQLExpression, [StoredValue], width: Int)
    /// Whether it is among what the rows select.
    case isAmong(SQLExpression, SelectTree)
    /// Whether there is a row.
    case exists(SelectTree)
    /// What the first row selects; NULL if there is none.
    case first(SelectTree)
    /// A column of the row of a table that has this key; NULL if there is none.
    case lookUp(column: String, table: String, keyColumns: [String], key: SQLExpression)
    /// Whether a text is found in the full-text index of the row's table.
    case matches(TableAlias, TextIndexLayout, String)
    /// The row's number in an order, from 1.
    case rowNumber([Ordering])
    /// The text compared as a person of that locale does.
    case collated(SQLExpression, locale: String)

    static func and(_ terms: [SQLExpression]) -> SQLExpression? {
        guard let first = terms.first else { return nil }
        return terms.dropFirst().reduce(first) { .binary($0, .and, $1) }
    }

    /// What stands between the signs of a chain such as `a AND b AND c`, however it is nested.
    func terms(joinedBy sign: SQLOperator) -> [SQLExpression] {
        var terms: [SQLExpression] = []
        var rest = [self]
        while let expression = rest.popLast() {
            if case .binary(let left, sign, let right) = expression {
                rest += [right, left]
            } else {
                terms.append(expression)
            }
        }
        return terms
    }

    /// Whether other rows than the one at hand are looked at.
    var looksElsewhere: Bool {
        switch self {
        case .value, .column, .isOneOf(.column, _, _): false
        case .isAmong, .exists, .first, .lookUp, .rowNumber, .matches: true
        case .row(let parts), .call(_, let parts): parts.contains(where: \.looksElsewhere)
        case .binary(let left, _, let right): left.looksElsewhere || right.looksElsewhere
        case .not(let expression), .isNull(let expression), .isOneOf(let expression, _, _),
            .collated(let expression, _):
            expression.looksElsewhere
        }
    }

    /// Whether it is one value for all rows.
    var isAggregate: Bool {
        switch self {
        case .value, .column, .isAmong, .exists, .first, .lookUp, .matches, .rowNumber: false
        case .call(.count, _), .call(.sum, _), .call(.average, _), .call(.minimum, _), .call(.maximum, _),
            .call(.decimalSum, _), .call(.decimalAverage, _):
            true
        case .row(let parts), .call(_, let parts): parts.contains(where: \.isAggregate)
        case .binary(let left, _, let right): left.isAggregate || right.isAggregate
        case .not(let expression), .isNull(let expression), .isOneOf(let expression, _, _),
            .collated(let expression, _):
            expression.isAggregate
        }
    }

    /// Whether it is made of columns, values and comparisons alone, its parts aside.
    var isPlain: Bool {
        switch self {
        case .value, .column, .binary, .not, .isNull, .isOneOf, .call(.coalesce, _), .call(.nullIfSame, _): true
        default: false
        }
    }

    /// Whether all are NULL.
    static func areNull(_ parts: [SQLExpression]) -> SQLExpression { and(parts.map { .isNull($0) }) ?? .always }

    /// Whether the columns have one of some values, of which NULL may be a part: that is a value like any other, which a
    /// list of the engine's never has.
    static func isAny(_ parts: [SQLExpression], of choice: [[StoredValue]]) -> SQLExpression {
        let known = choice.filter { !$0.contains(.null) }
        let others = Set(choice.filter { $0.contains(.null) }).map { values in
            // A parameter that is NULL is not known to be while the engine looks for an index.
            and(zip(parts, values).map { $1 == .null ? .isNull($0) : .binary($0, .isSame, .value($1)) }) ?? .always
        }
        let among = SQLExpression.isOneOf(together(parts), known.flatMap(\.self), width: parts.count)
        let terms = known.isEmpty && !others.isEmpty ? others : [among] + others
        return terms.dropFirst().reduce(terms[0]) { .binary($0, .or, $1) }
    }

    /// One column, or several as one value.
    static func together(_ parts: [SQLExpression]) -> SQLExpression { parts.count == 1 ? parts[0] : .row(parts) }

    static func values(_ values: [StoredValue]) -> SQLExpression { together(values.map { .value($0) }) }

    static let always = SQLExpression.value(.integer(1))
}

/// Stands for the rows of one table in one place of a query: columns belong to one. Told apart by identity.
final class TableAlias: Sendable, Hashable {
    static func == (left: TableAlias, right: TableAlias) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
