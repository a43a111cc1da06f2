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
        if let list = (sequence as? any Captured)?.captured as? LHS.Output,
            let type = LHS.Output.Element.self as? any Storable.Type
        {
            let choice = stored(list, type)
            let parts = try translation.sqlParts(element)
            let isText = PredicateTranslation.isText(LHS.Output.Element.self) && parts.count == 1
            return .expression(isText ? translation.isAny(parts[0], of: choice) : .isAny(parts, of: choice))
        }
        guard let value = (element as? any Captured)?.captured as? any ListElement,
            case .path(let path) = try translation.parts(sequence)
        else { throw translation.unknown(self) }
        let alias = TableAlias()
        let list = SQLExpression.together(try translation.columns(path))
        var rows = SelectTree(alias, .elements(list, type(of: value).elementStorage), keyColumns: [])
        let (found, wanted) = (SQLExpression.column(alias, Dialect.elementValue), SQLExpression.value(value.stored))
        rows.filter =
            value is String ? translation.textsAreEqual(found, wanted) : .binary(found, .equal, wanted)
        return .expression(.exists(rows))
    }
}

/// The stored values of each element.
private func stored<E: Storable>(_ list: some Sequence, _ type: E.Type) -> [[StoredValue]] {
    list.compactMap { ($0 as? E)?.storedValues }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.CollectionContainsCollection: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        guard Base.Output.self == String.self, Other.Output.self == String.self else { throw translation.unknown(self) }
        return .expression(.call(.containsCharacters, [try translation.sql(base), try translation.sql(other)]))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.SequenceStartsWith: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        guard Base.Output.self == String.self, let text = (prefix as? any Captured)?.captured as? String else {
            throw translation.unknown(self)
        }
        return .expression(translation.starts(try translation.sql(base), with: text))
    }
}
