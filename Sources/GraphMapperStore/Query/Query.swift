/// Which records, in which order: a value.
public struct Query<R: StoredRecord>: Sendable {
    /// The rows as a tree, of which nothing is selected.
    private(set) var tree = SelectTree(TableAlias(), .table(R.schema.name), keyColumns: R.keyColumnNames)
    /// What is wrong with the query; running it throws this.
    private(set) var diagnostic: GraphError?
    var columns: Columns<R> { Columns(alias: tree.alias) }

    /// All records of a type.
    public init(_ type: R.Type) {}

    private func changed(_ diagnostic: GraphError? = nil, _ change: (inout SelectTree) -> Void) -> Self {
        var copy = self
        copy.diagnostic = copy.diagnostic ?? diagnostic
        change(&copy.tree)
        return copy
    }

    /// Only records that satisfy every term.
    public func `where`(@ConditionBuilder _ terms: (Columns<R>) -> Condition) -> Self { filtered(by: terms(columns)) }

    func filtered(by condition: Condition) -> Self {
        changed(condition.diagnostic) { $0.filter(by: condition.expression) }
    }

    /// Only those of its records, once they are distinct, that satisfy the condition.
    func keeping(_ condition: SQLExpression) -> Self {
        changed { $0.distinctFilter = $0.distinctFilter.map { .binary($0, .and, condition) } ?? condition }
    }

    /// At most so many records, or fewer if a smaller limit was given before. Negative is 0.
    public func limit(_ count: Int) -> Self {
        changed { $0.limit = max(0, $0.limit.map { min($0, count) } ?? count) }
    }

    /// Skips so many records. Negative is 0.
    public func offset(_ count: Int) -> Self { changed { $0.offset = max(0, count) } }

    /// Of records that have the same value here, the first one in the query's order alone, whatever is before it in the
    /// query's limit.
    public func distinct<V: Storable>(by path: any KeyPath<R, V> & Sendable) -> Self {
        distinct { $0.column(path) as ColumnExpression<V> }
    }

    /// Of records for which this is the same, the first one in the query's order alone. More than one call looks at all
    /// values together.
    public func distinct<V: Storable>(by value: (Columns<R>) -> ColumnExpression<V>) -> Self {
        let value = value(columns)
        return changed(value.diagnostic) { $0.distinct += value.parts }
    }

    /// One row for all records that have the same value here, to be read with `select`. More than one call groups by all
    /// values together.
    public func grouped<V: Storable>(by value: (Columns<R>) -> ColumnExpression<V>) -> Self {
        let value = value(columns)
        return changed(value.diagnostic) { $0.groups += value.parts }
    }

    /// Only groups that satisfy every term: `.having { $0.count() > 2 }`.
    public func having(@ConditionBuilder _ terms: (Columns<R>) -> Condition) -> Self {
        let condition = terms(columns)
        return changed(condition.diagnostic) { tree in
            tree.having = tree.having.map { .binary($0, .and, condition.expression) } ?? condition.expression
        }
    }

    /// The same records, chosen before anything else is done with them: an order that is put before theirs, or an
    /// aggregate, is of these. Without that a limit would be of what is selected, and another order would choose others.
    func chosenFirst() -> Self {
        guard tree.groups.isEmpty, tree.isPage || !tree.distinct.isEmpty else { return self }
        var chosen = tree
        chosen.selected = tree.key
        return changed {
            $0.filter = .isAmong(.together($0.key), chosen)
            ($0.distinct, $0.distinctFilter, $0.limit, $0.offset) = ([], nil, nil, nil)
        }
    }

    /// What is to be selected of each record or group.
    func selecting(_ expressions: [SQLExpression], _ diagnostic: GraphError? = nil) -> Self {
        changed(diagnostic) { $0.selected = expressions }
    }

    /// Records that select the same are one.
    func unique() -> Self { changed { $0.isUnique = true } }

    func adding(_ order: [Ordering], _ diagnostic: GraphError?) -> Self { changed(diagnostic) { $0.order += order } }
    /// Sorted by these keys before all others.
    func putting(_ order: [Ordering], _ diagnostic: GraphError?) -> Self {
        changed(diagnostic) { $0.order = order + $0.order }
    }
    /// A query whose columns are those of another.
    func sharing(_ other: Self) -> Self { changed { $0.alias = other.tree.alias } }

    /// What follows the table's name, and its values.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    func tail() throws -> (sql: String, values: [StoredValue]) {
        if let diagnostic { throw diagnostic }
        guard tree.groups.isEmpty else {
            throw GraphError(.misuse, "groups are no records; read them with select", type: R.schema.name)
        }
        var writer = SQLWriter([tree.alias: Dialect.quoted(R.schema.name)])
        try writer.writeTail(tree)
        return (writer.sql, writer.values)
    }

    /// The rows as a statement of its own.
    func statement() throws -> (sql: String, values: [StoredValue]) {
        if let diagnostic { throw diagnostic }
        var writer = SQLWriter()
        try writer.write(tree)
        return (writer.sql, writer.values)
    }
}

/// What texts are sorted by.
public enum TextOrder: Sendable, Hashable {
    /// The bytes, which is the order of Unicode scalars.
    case binary
    /// The bytes of the text that ``TextOptions`` make of it: `[.caseInsensitive, .diacriticInsensitive]`.
    case folded(TextOptions)
    /// What a person who reads the language of that locale is used to, such as `de_DE`: `ä` next to `a`.
    case locale(String)

    /// Small letters and capitals are the same.
    public static let caseInsensitive = TextOrder.folded(.caseInsensitive)
}

extension Query {
    /// Sorts by a property, or by `\.location.latitude`, a part of an embedded one, after those named before. NULL comes
    /// first, or last if the order is descending, unless `nulls` says where. Running the query throws a ``GraphError`` if
    /// the property has no column.
    public func sorted<V: Storable>(
        by path: any KeyPath<R, V> & Sendable, descending: Bool = false, nulls: NullPlacement? = nil
    ) -> Self {
        sorted(descending: descending, nulls: nulls) { $0.column(path) as ColumnExpression<V> }
    }

    /// Sorts by texts as `order` says.
    public func sorted<V: TextColumn>(
        by path: any KeyPath<R, V> & Sendable, as order: TextOrder, descending: Bool = false,
        nulls: NullPlacement? = nil
    ) -> Self {
        sorted(as: order, descending: descending, nulls: nulls) { $0.column(path) as ColumnExpression<V> }
    }

    /// Sorts by what is computed of a record, through links too: `.sorted { $0.cart.user.name }`.
    public func sorted<V: Storable>(
        descending: Bool = false, nulls: NullPlacement? = nil, by value: (Columns<R>) -> ColumnExpression<V>
    ) -> Self {
        let value = value(columns)
        let keys = V.ordering.keys(value.parts)
        return adding(keys.map { Ordering($0, descending: descending, nulls: nulls, of: V.self) }, value.diagnostic)
    }

    /// Sorts by texts that are computed of a record, as `order` says.
    public func sorted<V: TextColumn>(
        as order: TextOrder, descending: Bool = false, nulls: NullPlacement? = nil,
        by value: (Columns<R>) -> ColumnExpression<V>
    ) -> Self {
        let value = value(columns)
        let key: SQLExpression
        switch order {
        case .binary: key = value.expression
        case .folded(let options): key = .call(.fold, [value.expression, .value(.integer(Int64(options.rawValue)))])
        case .locale(let locale): key = .collated(value.expression, locale: locale)
        }
        return adding([Ordering(key, descending: descending, nulls: nulls)], value.diagnostic)
    }
}
