import Foundation

@available(macOS 14, iOS 17, *)
extension PredicateTranslation {
    /// NaN, which is stored as a text, is no number to calculate with.
    fileprivate func number<E: PredicateExpression>(_ expression: E) throws -> SQLExpression {
        guard E.Output.self is any ArithmeticColumn.Type else { throw unknown(expression) }
        let number = try sql(expression)
        return ColumnOrder(of: E.Output.self) == .number ? .call(.nullIfSame, [number, .value(.text("nan"))]) : number
    }

    fileprivate func calculated(
        _ left: some PredicateExpression, _ sign: SQLOperator, _ right: some PredicateExpression
    ) throws -> TranslatedPart { .expression(.binary(try number(left), sign, try number(right))) }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Arithmetic: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let sign: SQLOperator
        switch op {
        case .add: sign = .plus
        case .subtract: sign = .minus
        case .multiply: sign = .times
        @unknown default: throw translation.unknown(self)
        }
        return try translation.calculated(lhs, sign, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.UnaryMinus: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        .expression(.binary(.value(.integer(0)), .minus, try translation.number(wrapped)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.IntDivision: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        try translation.calculated(lhs, .over, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.FloatDivision: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        try translation.calculated(lhs, .over, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.IntRemainder: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        try translation.calculated(lhs, .modulo, rhs)
    }
}

// MARK: Ranges, texts, arrays

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Range: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        .range(try translation.sqlParts(lower), try translation.sqlParts(upper), isClosed: false)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.ClosedRange: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        .range(try translation.sqlParts(lower), try translation.sqlParts(upper), isClosed: true)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.RangeExpressionContains: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let element = try translation.sqlParts(self.element)
        let order = ColumnOrder(of: Element.Output.self)
        let (lower, upper, isClosed): ([SQLExpression], [SQLExpression], Bool)
        if let captured = range as? any Captured {
            guard let ends = (captured.captured as? any EndedRange)?.ends else { throw translation.unknown(self) }
            (lower, upper, isClosed) = ends
        } else if case .range(let from, let to, let closed) = try translation.parts(range) {
            (lower, upper, isClosed) = (from, to, closed)
        } else {
            throw translation.unknown(self)
        }
        let isAbove = order.compare(element, .greaterOrEqual, lower)
        return .expression(.binary(isAbove, .and, order.compare(element, isClosed ? .lessOrEqual : .less, upper)))
    }
}

/// A value that a predicate captured.
private protocol Captured {
    var captured: Any { get }
}
@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Value: Captured {
    fileprivate var captured: Any { value }
}

extension EndedRange {
    fileprivate var ends: ([SQLExpression], [SQLExpression], Bool)? {
        func values(_ value: Any) -> [SQLExpression]? { (value as? any Storable)?.storedValues.map { .value($0) } }
        guard let lower = values(lowerBound), let upper = values(upperBound) else { return nil }
        return (lower, upper, isClosed)
    }
}

private protocol EndedRange<Bound> {
    associatedtype Bound: Comparable
    var lowerBound: Bound { get }
    var upperBound: Bound { get }
    var isClosed: Bool { get }
}
extension Range: EndedRange { fileprivate var isClosed: Bool { false } }
extension ClosedRange: EndedRange { fileprivate var isClosed: Bool { true } }

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.SequenceContains: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        // Values that were captured, or a column that is an array.
        if let list = (sequence as? any Captured)?.captured as? any Sequence, let values = stored(list) {
            let element = try translation.sql(element)
            let width = (LHS.Output.Element.self as? any Storable.Type)?.columns.count ?? 1
            return .expression(.isOneOf(element, values, width: width))
        }
        guard let value = (element as? any Captured)?.captured as? any ListElement,
            case .path(let path) = try translation.parts(sequence)
        else { throw translation.unknown(self) }
        let alias = TableAlias()
        var rows = SelectTree(alias, .elements(.together(try translation.columns(path))), keyColumns: [])
        rows.filter = .binary(.column(alias, Dialect.elementValue), .equal, .value(ScalarJSON.element(value)))
        return .expression(.exists(rows))
    }
}

/// The stored values of all elements; nil if one cannot be stored.
private func stored(_ list: some Sequence) -> [StoredValue]? {
    var values: [StoredValue] = []
    for element in list {
        guard let element = element as? any Storable else { return nil }
        element.encode(into: &values)
    }
    return values
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.CollectionContainsCollection: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        guard Base.Output.self == String.self, Other.Output.self == String.self else { throw translation.unknown(self) }
        return .expression(.call(.contains, [try translation.sql(base), try translation.sql(other)]))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.SequenceStartsWith: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        guard Base.Output.self == String.self, let text = (prefix as? any Captured)?.captured as? String else {
            throw translation.unknown(self)
        }
        return .expression(ColumnExpression<String>([try translation.sql(base)]).hasPrefix(text).expression)
    }
}
