import Foundation

/// A column, one reached through a link, or something computed of such: in a condition, an order, or what is selected.
@dynamicMemberLookup
public struct ColumnExpression<V>: Sendable {
    /// The columns that the value spans.
    let parts: [SQLExpression]
    /// What is wrong with it, if the records have no such column.
    let diagnostic: GraphError?
    /// The columns of the optional embedded value that it is a part of.
    let whole: [SQLExpression]?
    var expression: SQLExpression { .together(parts) }

    init(_ parts: [SQLExpression], _ diagnostic: GraphError? = nil, partOf whole: [SQLExpression]? = nil) {
        self.parts = parts
        self.diagnostic = diagnostic
        self.whole = whole
    }

    /// A property of a record.
    init<R: StoredRecord>(_ type: R.Type, _ path: AnyKeyPath, _ earlier: GraphError?, column: (String) -> SQLExpression)
    {
        switch R.columnNames(at: path) {
        case .success(let names): self.init(names.map(column), earlier)
        // The expression never runs: the query throws.
        case .failure(let error): self.init([.value(.null)], earlier ?? error)
        }
    }

    func condition(_ expression: SQLExpression) -> Condition { Condition(expression, diagnostic) }

    /// A column of the record that the link points to.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R> { through(path) }

    /// The same for an optional link: NULL where there is none.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R>? { through(path) }

    /// The records of a list that the record has which the link points to.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R> { LinkedRecords(of: R.self, path, owner: parts, diagnostic) }

    /// The same for an optional link: none where there is none.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R>? { LinkedRecords(of: R.self, path, owner: parts, diagnostic) }

    /// The records of a set that the record has which the link points to.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, Set<Ref<S>>> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R> { LinkedRecords(of: R.self, path, owner: parts, diagnostic) }

    private func through<R: StoredRecord, W>(_ path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W> {
        ColumnExpression<W>(R.self, path, diagnostic) {
            .lookUp(column: $0, table: R.schema.name, keyColumns: R.keyColumnNames, key: expression)
        }
    }

    /// A property of an embedded value.
    public subscript<W>(dynamicMember path: any KeyPath<V, W> & Sendable) -> ColumnExpression<W>
    where V: EmbeddedValue { within(V.self, path, whole) }

    /// A property of an optional embedded value: NULL where there is none.
    public subscript<E: EmbeddedValue, W>(dynamicMember path: any KeyPath<E, W> & Sendable) -> ColumnExpression<W>
    where V == E? { within(E.self, path, parts) }

    private func within<E: EmbeddedValue, W>(
        _ type: E.Type, _ path: any KeyPath<E, W> & Sendable, _ whole: [SQLExpression]?
    ) -> ColumnExpression<W> {
        guard let range = E.columnRange(of: path), !range.isEmpty, range.upperBound <= parts.count else {
            return ColumnExpression<W>([.value(.null)], diagnostic ?? .noColumn(path, E.schema))
        }
        return ColumnExpression<W>(Array(parts[range]), diagnostic, partOf: whole)
    }
}
