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
    private func elements() -> Elements { Elements(of: expression, V.Member.self, diagnostic) }

    /// How many elements there are.
    public var elementCount: ColumnExpression<Int> {
        ColumnExpression<Int>([.call(.elementCount, [expression])], diagnostic)
    }

    /// Whether the value is among the elements.
    public func contains(_ element: V.Member) -> Condition { containsAny(in: CollectionOfOne(element)) }

    /// Whether one of the values is among the elements.
    public func containsAny(in values: some Sequence<V.Member>) -> Condition {
        let elements = elements()
        let choice = values.map(\.stored)
        return elements.any(Condition(.isOneOf(elements.value, choice, width: 1), nil))
    }

    /// Whether all of the values are among the elements.
    public func containsAll(in values: some Sequence<V.Member>) -> Condition {
        values.reduce(Condition.always) { $0 && contains($1) }
    }

    /// Whether an element satisfies the condition.
    public func any(_ test: (ColumnExpression<V.Member>) -> Condition) -> Condition {
        let elements = elements()
        return elements.any(test(ColumnExpression<V.Member>([elements.value])))
    }

    /// Whether all elements satisfy the condition; true if there are none.
    public func all(_ test: (ColumnExpression<V.Member>) -> Condition) -> Condition { !any { !test($0) } }

    /// Whether no element satisfies the condition.
    public func none(_ test: (ColumnExpression<V.Member>) -> Condition) -> Condition { !any(test) }

    private func aggregated<W>(
        _ aggregate: (ColumnExpression<V.Member>) -> ColumnExpression<W>
    ) -> ColumnExpression<W> {
        let elements = elements()
        return elements.first(aggregate(ColumnExpression<V.Member>([elements.value])))
    }

    /// The least element; NULL if there is none.
    public func leastElement() -> ColumnExpression<V.Member?> { aggregated { $0.min() } }
    /// The greatest element; NULL if there is none.
    public func greatestElement() -> ColumnExpression<V.Member?> { aggregated { $0.max() } }
    /// The sum of the elements; 0 if there are none.
    public func elementSum() -> ColumnExpression<V.Member> where V.Member: SummableColumn { aggregated { $0.sum() } }
    /// The average of the elements; NULL if there are none.
    public func elementAverage() -> ColumnExpression<Double?> where V.Member: SummableColumn {
        aggregated { $0.average() }
    }
}

extension ColumnExpression {
    /// The value of a key in a dictionary; NULL if it is not there.
    public subscript<E: ListElement>(_ key: String) -> ColumnExpression<E?> where V == [String: E] {
        let elements = Elements(of: expression, E.self, diagnostic)
        let value = ColumnExpression<E?>([elements.value])
        return elements.first(value, where: .binary(elements.key, .equal, .value(.text(key))))
    }

    /// Whether an entry of a dictionary satisfies the condition: `$0.scores.any { key, value in key == "math" }`.
    public func any<E: ListElement>(
        _ test: (_ key: ColumnExpression<String>, _ value: ColumnExpression<E>) -> Condition
    ) -> Condition where V == [String: E] {
        let elements = Elements(of: expression, E.self, diagnostic)
        return elements.any(test(ColumnExpression<String>([elements.key]), ColumnExpression<E>([elements.value])))
    }

    /// Whether a dictionary has a value for the key.
    public func containsKey<E: ListElement>(_ key: String) -> Condition where V == [String: E] {
        any { name, _ in name == key }
    }
}

/// The elements of a column of JSON as rows.
private struct Elements {
    private let alias = TableAlias()
    private let rows: SelectTree
    private let diagnostic: GraphError?

    init(of list: SQLExpression, _ type: any ListElement.Type, _ diagnostic: GraphError?) {
        rows = SelectTree(alias, .elements(list, type.elementStorage), keyColumns: [])
        self.diagnostic = diagnostic
    }

    var key: SQLExpression { .column(alias, Dialect.elementKey) }
    var value: SQLExpression { .column(alias, Dialect.elementValue) }

    /// Whether there is one that satisfies the condition.
    func any(_ condition: Condition) -> Condition {
        var rows = rows
        rows.filter = condition.expression
        return Condition(.exists(rows), diagnostic ?? condition.diagnostic)
    }

    /// What is computed of all of them, or of those that satisfy a condition.
    func first<W>(_ value: ColumnExpression<W>, where condition: SQLExpression? = nil) -> ColumnExpression<W> {
        var rows = rows
        rows.filter = condition
        return ColumnExpression<W>(
            value.parts.map { part in
                rows.selected = [part]
                return .first(rows)
            }, diagnostic ?? value.diagnostic)
    }
}

extension ListElement {
    /// How an element is stored. Only types of one column can be elements of scalars.
    static var elementStorage: StorageClass { columns.first?.storage ?? .null }
}
