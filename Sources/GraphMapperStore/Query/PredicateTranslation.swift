import Foundation

@available(macOS 14, iOS 17, *)
extension Query {
    /// Only records that satisfy a `#Predicate`.
    ///
    /// It can compare properties, parts of embedded values, and ids of links (`$0.city?.id == 7`), with `==`, `<` and so
    /// on, `&&`, `||`, `!`, `??`, `?:`, arithmetic, ranges, `contains` of texts, arrays and captured sequences,
    /// `starts(with:)`, `isEmpty`, and `count` of arrays. Texts are compared as Swift does, by characters, for which an
    /// index serves if what they are compared with is ASCII; the closure form of `where` compares their bytes. Through
    /// links and over lists, use that form.
    ///
    /// - Throws: ``GraphError`` that names the part which the store cannot be asked.
    public func `where`(_ predicate: Predicate<R>) throws -> Self {
        let translation = PredicateTranslation(
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
struct PredicateTranslation {
    let variable: PredicateExpressions.VariableID
    let root: Any.Type
    /// The columns of a property of the record.
    let columns: (AnyKeyPath) throws -> [SQLExpression]

    func parts(_ expression: any PredicateExpression) throws -> TranslatedPart {
        guard let part = expression as? any TranslatablePart else { throw unknown(expression) }
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
    ) throws -> TranslatedPart { .expression(.binary(try sql(left), sign, try sql(right))) }

    func unknown(_ expression: Any) -> GraphError {
        let type = "\(type(of: expression))"
        let name = type.prefix { $0 != "<" }.split(separator: ".").last.map(String.init) ?? type
        return GraphError(
            .misuse,
            "the store cannot be asked \(name) of a #Predicate (\(type)); use the closure form of where, or filter what was fetched"
        )
    }
}

enum TranslatedPart {
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
protocol TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Variable: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        guard key == translation.variable else { throw translation.unknown(self) }
        return .element
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.KeyPath: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
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
    private func property(_ value: SQLExpression, _ translation: PredicateTranslation) throws -> SQLExpression {
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
extension PredicateExpressions.Value: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        if let value = value as? any Storable { return .expressions(value.storedValues.map { .value($0) }) }
        throw translation.unknown(self)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NilLiteral: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let width = (Wrapped.self as? any Storable.Type)?.columns.count ?? 1
        return .expressions(Array(repeating: .value(.null), count: width))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.ForcedUnwrap: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart { try translation.parts(inner) }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.OptionalFlatMap: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        // What is asked of the value, where NULL gives NULL.
        let wrapped = try translation.parts(self.wrapped)
        let inner = PredicateTranslation(variable: variable.key, root: Wrapped.self) { path in
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
extension PredicateExpressions.NilCoalesce: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let values = zip(try translation.sqlParts(lhs), try translation.sqlParts(rhs))
        return .expressions(values.map { .call(.coalesce, [$0, $1]) })
    }
}

// MARK: Comparing

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Equal: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let (left, right) = (try translation.sql(lhs), try translation.sql(rhs))
        guard PredicateTranslation.isText(LHS.Output.self) else { return .expression(.binary(left, .isSame, right)) }
        return .expression(translation.textsAreEqual(left, right))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.NotEqual: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let (left, right) = (try translation.sql(lhs), try translation.sql(rhs))
        guard PredicateTranslation.isText(LHS.Output.self) else { return .expression(.binary(left, .isOther, right)) }
        return .expression(.not(translation.textsAreEqual(left, right)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Comparison: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let sign: SQLOperator
        switch op {
        case .lessThan: sign = .less
        case .lessThanOrEqual: sign = .lessOrEqual
        case .greaterThan: sign = .greater
        case .greaterThanOrEqual: sign = .greaterOrEqual
        @unknown default: throw translation.unknown(self)
        }
        let (left, right) = (try translation.sqlParts(lhs), try translation.sqlParts(rhs))
        guard PredicateTranslation.isText(LHS.Output.self) else {
            return .expression(ColumnOrder(of: LHS.Output.self).compare(left, sign, right))
        }
        let texts = [left, right].map { PredicateTranslation.canonical(.together($0)) }
        return .expression(.binary(texts[0], sign, texts[1]))
    }
}

extension ColumnOrder {
    /// The order of a type of which it is not known whether it can be stored.
    init(of type: Any.Type) { self = (type as? any Storable.Type)?.ordering ?? .plain }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Conjunction: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        try translation.binary(lhs, .and, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Disjunction: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        try translation.binary(lhs, .or, rhs)
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Negation: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        .expression(.not(try translation.sql(wrapped)))
    }
}

@available(macOS 14, iOS 17, *)
extension PredicateExpressions.Conditional: TranslatablePart {
    func translated(_ translation: PredicateTranslation) throws -> TranslatedPart {
        let test = try translation.sql(test)
        let values = zip(try translation.sqlParts(trueBranch), try translation.sqlParts(falseBranch))
        return .expressions(values.map { .call(.choose, [test, $0, $1]) })
    }
}
