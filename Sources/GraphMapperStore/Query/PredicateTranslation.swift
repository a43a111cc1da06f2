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
                if let diagnostic = column.diagnostic { throw diagnostic }
                return column.parts
            })
        let condition = try translation.sql(predicate.expression)
        return filtered(by: Condition(condition, nil))
    }
}

/// Turns the parts of a predicate into expressions.
@available(macOS 14, iOS 17, *)
private struct Translation {
    let variable: PredicateExpressions.VariableID
    let root: Any.Type
    /// The columns of a property of the record.
    let columns: (AnyKeyPath) throws -> [SQLExpression]

    func parts(_ expression: any PredicateExpression) throws -> Translated {
        guard let part = expression as? any Translatable else { throw unknown(expression) }
        return try part.translated(self)
    }

    func sqlParts(_ expression: any PredicateExpression) throws -> [SQLExpression] {
        switch try parts(expression) {
        case .expressions(let expressions): return expressions
        case .path(let path): return try columns(path)
        case .element, .range: throw unknown(expression)
        }
    }

    func sql(_ expression: any PredicateExpression) throws -> SQLExpression { .together(try sqlParts(expression)) }

    func binary(
        _ left: any PredicateExpression, _ sign: SQLOperator, _ right: any PredicateExpression
    ) throws -> Translated { .expression(.binary(try sql(left), sign, try sql(right))) }

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
    case expressions([SQLExpression])
    /// A property of the record, or a part of one.
    case path(AnyKeyPath)
    /// The record itself.
    case element
    case range([SQLExpression], [SQLExpression], isClosed: Bool)

    static func expression(_ expression: SQLExpression) -> Self { .expressions([expression]) }
}

/// A part of a predicate that can be turned into an expression.
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
            return .expression(try property(.together(columns), translation))
        case .expressions(let expressions): return .expression(try property(.together(expressions), translation))
        case .range: throw translation.unknown(self)
        }
    }

    /// What a text, an array or a link has.
    private func property(_ value: SQLExpression, _ translation: Translation) throws -> SQLExpression {
        let path: AnyKeyPath = keyPath
        if path == \String.isEmpty { return .binary(value, .equal, .value(.text(""))) }
        if Root.Output.self is any LinkKey.Type { return value }
        guard let list = Root.Output.self as? any ElementCount.Type else { throw translation.unknown(self) }
        let count = SQLExpression.call(.elementCount, [value])
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
        if let value = value as? any Storable { return .expressions(value.storedValues.map { .value($0) }) }
        throw translation.unknown(self)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NilLiteral: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let width = (Wrapped.self as? any Storable.Type)?.columns.count ?? 1
        return .expressions(Array(repeating: .value(.null), count: width))
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
            let columns: [SQLExpression]
            switch wrapped {
            case .path(let outer):
                if let whole = outer.appending(path: path), let found = try? translation.columns(whole) { return found }
                columns = try translation.columns(outer)
            case .expressions(let expressions): columns = expressions
            case .element, .range: throw translation.unknown(self)
            }
            if Wrapped.self is any LinkKey.Type { return columns }
            guard let range = (Wrapped.self as? any EmbeddedValue.Type)?.columnRange(of: path),
                range.upperBound <= columns.count
            else { throw translation.unknown(self) }
            return Array(columns[range])
        }
        return .expressions(try inner.sqlParts(transform))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NilCoalesce: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let values = zip(try translation.sqlParts(lhs), try translation.sqlParts(rhs))
        return .expressions(values.map { .call(.coalesce, [$0, $1]) })
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
        let sign: SQLOperator
        switch op {
        case .lessThan: sign = .less
        case .lessThanOrEqual: sign = .lessOrEqual
        case .greaterThan: sign = .greater
        case .greaterThanOrEqual: sign = .greaterOrEqual
        @unknown default: throw translation.unknown(self)
        }
        return .expression(
            order(LHS.Output.self).compare(try translation.sqlParts(lhs), sign, try translation.sqlParts(rhs)))
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
        .expression(.not(try translation.sql(wrapped)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Conditional: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let test = try translation.sql(test)
        let values = zip(try translation.sqlParts(trueBranch), try translation.sqlParts(falseBranch))
        return .expressions(values.map { .call(.choose, [test, $0, $1]) })
    }
}

// MARK: Calculating

@available(macOS 14, iOS 17, *)
extension Translation {
    /// NaN, which is stored as a text, is no number to calculate with.
    fileprivate func number<E: PredicateExpression>(_ expression: E) throws -> SQLExpression {
        guard E.Output.self is any ArithmeticColumn.Type else { throw unknown(expression) }
        let number = try sql(expression)
        return order(E.Output.self) == .number ? .call(.nullIfSame, [number, .value(.text("nan"))]) : number
    }

    fileprivate func calculated(
        _ left: some PredicateExpression, _ sign: SQLOperator, _ right: some PredicateExpression
    ) throws -> Translated { .expression(.binary(try number(left), sign, try number(right))) }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Arithmetic: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
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
extension PredicateExpressions.UnaryMinus: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .expression(.binary(.value(.integer(0)), .minus, try translation.number(wrapped)))
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
        .range(try translation.sqlParts(lower), try translation.sqlParts(upper), isClosed: false)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.ClosedRange: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        .range(try translation.sqlParts(lower), try translation.sqlParts(upper), isClosed: true)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.RangeExpressionContains: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        let element = try translation.sqlParts(self.element)
        let order = order(Element.Output.self)
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
extension PredicateExpressions.SequenceContains: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
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
extension PredicateExpressions.CollectionContainsCollection: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        guard Base.Output.self == String.self, Other.Output.self == String.self else { throw translation.unknown(self) }
        return .expression(.call(.contains, [try translation.sql(base), try translation.sql(other)]))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.SequenceStartsWith: Translatable {
    fileprivate func translated(_ translation: Translation) throws -> Translated {
        guard Base.Output.self == String.self, let text = (prefix as? any Captured)?.captured as? String else {
            throw translation.unknown(self)
        }
        return .expression(ColumnExpression<String>([try translation.sql(base)]).hasPrefix(text).expression)
    }
}
