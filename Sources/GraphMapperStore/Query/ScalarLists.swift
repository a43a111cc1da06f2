/// Arrays and sets of scalars, which are a column of JSON.
public protocol ScalarCollection: Storable {
    /// What it is a collection of.
    associatedtype Member: ListElement
}

extension Array: ScalarCollection where Element: ListElement {
    /// The array's element.
    public typealias Member = Element
}
extension Set: ScalarCollection where Element: ListElement {
    /// The set's element.
    public typealias Member = Element
}

extension ColumnExpression where V: ScalarCollection {
    /// How many elements there are.
    public var elementCount: ColumnExpression<Int> {
        ColumnExpression<Int>([.call(.elementCount, [formula])], mistake)
    }

    /// Whether the value is among the elements.
    public func contains(_ element: V.Member) -> Condition {
        let scope = Scope()
        let value = Formula.value(ScalarJSON.element(element))
        return exists(scope, Condition(.binary(.column(scope, Dialect.elementValue), .equal, value), nil))
    }

    /// Whether an element satisfies the condition. Elements of bytes are hexadecimal text there.
    public func any(_ test: (ColumnExpression<V.Member>) -> Condition) -> Condition {
        let scope = Scope()
        return exists(scope, test(ColumnExpression<V.Member>([.column(scope, Dialect.elementValue)])))
    }

    private func exists(_ scope: Scope, _ condition: Condition) -> Condition {
        var rows = Rows(scope, .elements(formula), keyColumns: [])
        rows.filter = condition.formula
        return Condition(.exists(rows), mistake ?? condition.mistake)
    }
}

extension ColumnExpression {
    /// The value of a key in a dictionary; NULL if it is not there.
    public subscript<E: ListElement>(_ key: String) -> ColumnExpression<E?> where V == [String: E] {
        let scope = Scope()
        var rows = Rows(scope, .elements(formula), keyColumns: [])
        rows.filter = .binary(.column(scope, Dialect.elementKey), .equal, .value(.text(key)))
        rows.selected = [.column(scope, Dialect.elementValue)]
        return ColumnExpression<E?>([.first(rows)], mistake)
    }
}
