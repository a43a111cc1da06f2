/// The records that a list of links leads to, or that point to a record, in a condition.
///
/// `$0.items.any { $0.price > 300 }`, `$0.many(CommentRecord.self, by: \.place).count > 3`. A list that holds a record
/// twice counts it twice.
public struct LinkedRecords<S: StoredRecord>: Sendable {
    private let rows: SelectTree
    /// What of the rows is the owner's key, and that key.
    private let ownerColumns: [SQLExpression]
    private let owner: [SQLExpression]
    private let diagnostic: GraphError?

    /// Those of a list.
    ///
    /// - Parameter owner: the key of the record that has the list.
    init<R: StoredRecord>(of type: R.Type, _ path: AnyKeyPath, owner: [SQLExpression], _ earlier: GraphError?) {
        let alias = TableAlias()
        let list = TableAlias()
        self.owner = owner
        guard let link = LinkListSource(R.self, path, S.self) else {
            rows = SelectTree(alias, .table(S.schema.name), keyColumns: S.keyColumnNames)
            ownerColumns = owner
            diagnostic =
                earlier
                ?? GraphError(.misuse, "the schema does not read it", type: R.schema.name, property: "\(path)")
            return
        }
        rows = SelectTree(alias, .list(link, list), keyColumns: link.targetKey)
        ownerColumns = link.ownerColumns.map { .column(list, $0) }
        diagnostic = earlier
    }

    init(pointing type: S.Type, _ path: AnyKeyPath, to key: [SQLExpression]) {
        let alias = TableAlias()
        let column: ColumnExpression<S.ID> = Columns<S>(alias: alias).column(path)
        rows = SelectTree(alias, .table(S.schema.name), keyColumns: S.keyColumnNames)
        ownerColumns = column.parts
        owner = key
        diagnostic = column.diagnostic
    }

    private func narrowed(_ condition: Condition) -> Self { Self(self, condition) }

    private init(_ other: Self, _ condition: Condition) {
        var rows = other.rows
        rows.filter(by: condition.expression)
        self.rows = rows
        (ownerColumns, owner, diagnostic) = (other.ownerColumns, other.owner, other.diagnostic ?? condition.diagnostic)
    }

    private var columns: Columns<S> { Columns(alias: rows.alias) }

    /// Those that satisfy every term: a sub-query, `$0.items.where { $0.price > 300 }.count`.
    public func `where`(@ConditionBuilder _ terms: (Columns<S>) -> Condition) -> Self { narrowed(terms(columns)) }

    /// Whether there is one that satisfies every term.
    public func any(@ConditionBuilder _ terms: (Columns<S>) -> Condition) -> Condition {
        narrowed(terms(columns)).isThere
    }

    /// Whether there is one.
    public var isThere: Condition {
        var rows = rows
        rows.selected = ownerColumns
        return Condition(.isAmong(.together(owner), rows), diagnostic)
    }

    /// Whether there is none.
    public var isEmpty: Condition { !isThere }

    /// Whether none satisfies every term.
    public func none(@ConditionBuilder _ terms: (Columns<S>) -> Condition) -> Condition { !any(terms) }

    /// Whether all satisfy every term; true if there are none.
    public func all(@ConditionBuilder _ terms: (Columns<S>) -> Condition) -> Condition {
        !narrowed(!terms(columns)).isThere
    }

    /// Whether the record with that id is among them.
    public func contains(_ ref: Ref<S>) -> Condition where S.ID: Storable {
        narrowed(Condition(.binary(.together(rows.key), .equal, .values(ref.storedValues)), nil)).isThere
    }

    /// Whether one of the records with these ids is among them.
    public func containsAny(in refs: some Sequence<Ref<S>>) -> Condition where S.ID: Storable {
        let keys = refs.flatMap(\.storedValues)
        return narrowed(Condition(.isOneOf(.together(rows.key), keys, width: rows.keyColumns.count), nil)).isThere
    }

    /// Whether all of the records with these ids are among them.
    public func containsAll(in refs: some Sequence<Ref<S>>) -> Condition where S.ID: Storable {
        refs.reduce(Condition.always) { $0 && contains($1) }
    }

    /// How many there are.
    public var count: ColumnExpression<Int> { ColumnExpression([first(.call(.count, []))], diagnostic) }

    private func first(_ expression: SQLExpression) -> SQLExpression {
        var rows = rows
        rows.filter(by: .binary(.together(ownerColumns), .equal, .together(owner)))
        rows.selected = [expression]
        return .first(rows)
    }

    private func aggregated<V, W>(
        _ column: (Columns<S>) -> ColumnExpression<V>, _ aggregate: (ColumnExpression<V>) -> ColumnExpression<W>
    ) -> ColumnExpression<W> {
        let value = aggregate(column(columns))
        return ColumnExpression<W>(value.parts.map(first), diagnostic ?? value.diagnostic)
    }

    /// The least value of a column; NULL if there is none.
    public func min<V: Storable>(_ column: (Columns<S>) -> ColumnExpression<V>) -> ColumnExpression<V?> {
        aggregated(column) { $0.min() }
    }
    /// The greatest value of a column; NULL if there is none.
    public func max<V: Storable>(_ column: (Columns<S>) -> ColumnExpression<V>) -> ColumnExpression<V?> {
        aggregated(column) { $0.max() }
    }
    /// The sum of a column; 0 if there are none.
    public func sum<V: SummableColumn>(_ column: (Columns<S>) -> ColumnExpression<V>) -> ColumnExpression<V> {
        aggregated(column) { $0.sum() }
    }
    /// The average of a column; NULL if there are none.
    public func average<V: SummableColumn>(
        _ column: (Columns<S>) -> ColumnExpression<V>
    ) -> ColumnExpression<Double?> {
        aggregated(column) { $0.average() }
    }
}
