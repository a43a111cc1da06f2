import Foundation

@available(macOS 14, iOS 17, *)
extension Query {
    /// Only records that satisfy a `#Predicate`.
    ///
    /// It can compare properties, parts of embedded values, and ids of links (`$0.city?.id == 7`), with `==`, `<` and so
    /// on, `&&`, `||`, `!`, `??`, `?:`, arithmetic, ranges, `contains` of texts, arrays and captured sequences,
    /// `starts(with:)`, `isEmpty`, and `count` of arrays. Texts are compared by their bytes. Through links and over lists,
    /// use the closure form of `where`.
    ///
    /// - Throws: ``GraphError`` that names the part which the store cannot be asked.
    public func `where`(_ predicate: Predicate<R>) throws -> Self {
        let translation = Translation(
            variable: predicate.variable.key, root: R.self,
            columns: { path in
                let column: ColumnExpression<Never> = columns.column(path)
                if let mistake = column.mistake { throw mistake }
                return column.parts
            })
        let condition = try translation.formula(predicate.expression)
        return filtered(by: Condition(condition, nil))
    }
}

/// Turns the parts of a predicate into formulas.
@available(macOS 14, iOS 17, *)
private struct Translation {
    let variable: PredicateExpressions.VariableID
    let root: Any.Type
    /// The columns of a property of the record.
    let columns: (AnyKeyPath) throws -> [Formula]

    func parts(_ expression: any PredicateExpression) throws -> Translated {
        guard let part = expression as? any Translatable else { throw unknown(expression) }
        return try part.translated(self)
    }

    func formulas(_ expression: any PredicateExpression) throws -> [Formula] {
        switch try parts(expression) {
        case .formulas(let formulas): return formulas
        case .path(let path): return try columns(path)
        case .element, .range: throw unknown(expression)
        }
    }

    func formula(_ expression: any PredicateExpression) throws -> Formula { .together(try formulas(expression)) }

    func binary(
        _ left: any PredicateExpression, _ sign: Formula.Operator, _ right: any PredicateExpression
    ) throws -> Translated { .formula(.binary(try formula(left), sign, try formula(right))) }

    func unknown(_ expression: Any) -> GraphError {
        let type = "\(type(of: expression))"
        let name = type.prefix { $0 != "<" }.split(separator: ".").last.map(String.init) ?? type
        return GraphError(
            .misuse,
            "the store cannot be asked \(name) of a #Predicate (\(type)); use the closure form of where, or filter what was fetched"
        )
    }
}

private enum Translated {
    case formulas([Formula])
    /// A property of the record, or a part of one.
    case path(AnyKeyPath)
    /// The record itself.
    case element
    case range([Formula], [Formula], isClosed: Bool)

    static func formula(_ formula: Formula) -> Self { .formulas([formula]) }
}

/// A part of a predicate that can be turned into a formula.
@available(macOS 14, iOS 17, *)
private protocol Translatable {
    func translated(_ translation: Translation) throws -> Translated
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Variable: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        guard key == translation.variable else { throw translation.unknown(self) }
        return .element
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.KeyPath: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        switch try translation.parts(root) {
        case .element: return .path(keyPath)
        case .path(let path):
            let columns = try? translation.columns(path)
            if let whole = path.appending(path: keyPath), (try? translation.columns(whole)) != nil {
                return .path(whole)
            }
            guard let columns else { throw translation.unknown(self) }
            return .formula(try property(.together(columns), translation))
        case .formulas(let formulas): return .formula(try property(.together(formulas), translation))
        case .range: throw translation.unknown(self)
        }
    }

    /// What a text, an array or a link has.
    private func property(_ value: Formula, _ translation: Translation) throws -> Formula {
        let path: AnyKeyPath = keyPath
        if path == \String.isEmpty { return .binary(value, .equal, .value(.text(""))) }
        if Root.Output.self is any LinkKey.Type { return value }
        guard let list = Root.Output.self as? any ElementCount.Type else { throw translation.unknown(self) }
        let count = Formula.call(.elementCount, [value])
        if path == list.countPath { return count }
        if path == list.emptyPath { return .binary(count, .equal, .value(.integer(0))) }
        throw translation.unknown(self)
    }
}

/// A link, of which a predicate can ask the id.
private protocol LinkKey {}
extension Ref: LinkKey {}

/// An array of scalars, of which it can ask the count.
private protocol ElementCount {
    static var countPath: AnyKeyPath { get }
    static var emptyPath: AnyKeyPath { get }
}
extension Array: ElementCount where Element: ListElement {
    static var countPath: AnyKeyPath { \Self.count }
    static var emptyPath: AnyKeyPath { \Self.isEmpty }
}
extension Set: ElementCount where Element: ListElement {
    static var countPath: AnyKeyPath { \Self.count }
    static var emptyPath: AnyKeyPath { \Self.isEmpty }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Value: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        if let value = value as? any Storable { return .formulas(value.storedValues.map { .value($0) }) }
        throw translation.unknown(self)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NilLiteral: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let width = (Wrapped.self as? any Storable.Type)?.columns.count ?? 1
        return .formulas(Array(repeating: .value(.null), count: width))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.ForcedUnwrap: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated { try translation.parts(inner) }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.OptionalFlatMap: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        // What is asked of the value, where NULL gives NULL.
        let wrapped = try translation.parts(self.wrapped)
        let inner = Translation(variable: variable.key, root: Wrapped.self) { path in
            let columns: [Formula]
            switch wrapped {
            case .path(let outer):
                if let whole = outer.appending(path: path), let found = try? translation.columns(whole) { return found }
                columns = try translation.columns(outer)
            case .formulas(let formulas): columns = formulas
            case .element, .range: throw translation.unknown(self)
            }
            if Wrapped.self is any LinkKey.Type { return columns }
            guard let range = (Wrapped.self as? any EmbeddedValue.Type)?.columnRange(of: path),
                range.upperBound <= columns.count
            else { throw translation.unknown(self) }
            return Array(columns[range])
        }
        return .formulas(try inner.formulas(transform))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NilCoalesce: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let values = zip(try translation.formulas(lhs), try translation.formulas(rhs))
        return .formulas(values.map { .call(.coalesce, [$0, $1]) })
    }
}

// MARK: Comparing

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Equal: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.binary(lhs, .isSame, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NotEqual: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.binary(lhs, .isOther, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Comparison: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let sign: Formula.Operator
        switch op {
        case .lessThan: sign = .less
        case .lessThanOrEqual: sign = .lessOrEqual
        case .greaterThan: sign = .greater
        case .greaterThanOrEqual: sign = .greaterOrEqual
        @unknown default: throw translation.unknown(self)
        }
        return .formula(
            order(LHS.Output.self).compare(try translation.formulas(lhs), sign, try translation.formulas(rhs)))
    }
}

private func order(_ type: Any.Type) -> ColumnOrder { (type as? any Storable.Type)?.ordering ?? .plain }

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Conjunction: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.binary(lhs, .and, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Disjunction: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.binary(lhs, .or, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Negation: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .formula(.not(try translation.formula(wrapped)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Conditional: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let test = try translation.formula(test)
        let values = zip(try translation.formulas(trueBranch), try translation.formulas(falseBranch))
        return .formulas(values.map { .call(.choose, [test, $0, $1]) })
    }
}

// MARK: Calculating

@available(macOS 14, iOS 17, *)
extension Translation {
    /// NaN, which is stored as a text, is no number to calculate with.
    fileprivate func number<E: PredicateExpression>(_ expression: E) throws -> Formula {
        guard E.Output.self is any ArithmeticColumn.Type else { throw unknown(expression) }
        let formula = try formula(expression)
        return order(E.Output.self) == .number ? .call(.nullIfSame, [formula, .value(.text("nan"))]) : formula
    }

    fileprivate func calculated(
        _ left: some PredicateExpression, _ sign: Formula.Operator, _ right: some PredicateExpression
    ) throws -> Translated { .formula(.binary(try number(left), sign, try number(right))) }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Arithmetic: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let sign: Formula.Operator
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
extension PredicateExpressions.UnaryMinus: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .formula(.binary(.value(.integer(0)), .minus, try translation.number(wrapped)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.IntDivision: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.calculated(lhs, .over, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.FloatDivision: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.calculated(lhs, .over, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.IntRemainder: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        try translation.calculated(lhs, .modulo, rhs)
    }
}

// MARK: Ranges, texts, arrays

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Range: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .range(try translation.formulas(lower), try translation.formulas(upper), isClosed: false)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.ClosedRange: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .range(try translation.formulas(lower), try translation.formulas(upper), isClosed: true)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.RangeExpressionContains: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let element = try translation.formulas(self.element)
        let order = order(Element.Output.self)
        let (lower, upper, isClosed): ([Formula], [Formula], Bool)
        if let captured = range as? any Captured {
            guard let ends = (captured.captured as? any EndedRange)?.ends else { throw translation.unknown(self) }
            (lower, upper, isClosed) = ends
        } else if case .range(let from, let to, let closed) = try translation.parts(range) {
            (lower, upper, isClosed) = (from, to, closed)
        } else {
            throw translation.unknown(self)
        }
        let isAbove = order.compare(element, .greaterOrEqual, lower)
        return .formula(.binary(isAbove, .and, order.compare(element, isClosed ? .lessOrEqual : .less, upper)))
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
    fileprivate var ends: ([Formula], [Formula], Bool)? {
        func values(_ value: Any) -> [Formula]? { (value as? any Storable)?.storedValues.map { .value($0) } }
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
extension PredicateExpressions.SequenceContains: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        // Values that were captured, or a column that is an array.
        if let list = (sequence as? any Captured)?.captured as? any Sequence, let values = stored(list) {
            let element = try translation.formula(element)
            let width = (LHS.Output.Element.self as? any Storable.Type)?.columns.count ?? 1
            return .formula(.isOneOf(element, values, width: width))
        }
        guard let value = (element as? any Captured)?.captured as? any ListElement,
            case .path(let path) = try translation.parts(sequence)
        else { throw translation.unknown(self) }
        let scope = Scope()
        var rows = Rows(scope, .elements(.together(try translation.columns(path))), keyColumns: [])
        rows.filter = .binary(.column(scope, Dialect.elementValue), .equal, .value(ScalarJSON.element(value)))
        return .formula(.exists(rows))
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
extension PredicateExpressions.CollectionContainsCollection: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        guard Base.Output.self == String.self, Other.Output.self == String.self else { throw translation.unknown(self) }
        return .formula(.call(.contains, [try translation.formula(base), try translation.formula(other)]))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.SequenceStartsWith: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        guard Base.Output.self == String.self, let text = (prefix as? any Captured)?.captured as? String else {
            throw translation.unknown(self)
        }
        return .formula(ColumnExpression<String>([try translation.formula(base)]).hasPrefix(text).formula)
    }
}
