extension Index where R: StoredRecord {
    private init(_ kind: Kind, _ paths: [any PartialKeyPath<R> & Sendable]) {
        self.init(kind) { try paths.map { try R.columnNames(at: $0).get() } }
    }

    private init<each V>(_ kind: Kind, _ parts: (Columns<R>) -> (repeat ColumnExpression<each V>)) {
        var found: [(parts: [SQLExpression], diagnostic: GraphError?)] = []
        let columns = parts(Columns(alias: TableAlias()))
        repeat found.append(((each columns).parts, (each columns).diagnostic))
        self.init(kind) { [found] in
            try found.map { part in
                if let diagnostic = part.diagnostic { throw diagnostic }
                return try part.parts.map { expression in
                    guard case .column(_, let name) = expression else {
                        throw GraphError(.invalidSchema, "\(R.schema.name): an index is on columns alone")
                    }
                    return name
                }
            }
        }
    }

    /// No two rows have the same values here; NULLs count as different. Opening a file whose rows do is an error.
    public static func unique(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.unique, paths) }

    /// The same, also for parts of optional embedded values: `.unique { ($0.home.street, $0.home.city) }`.
    public static func unique<each V>(
        _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) -> Self { Index(.unique, columns) }

    /// Speeds up queries by these properties, in this order.
    public static func on(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.plain, paths) }

    /// The same, also for parts of optional embedded values: `.on { $0.home.city }`.
    public static func on<each V>(
        _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) -> Self { Index(.plain, columns) }

    /// Full text: what ``Query/matching(_:)`` and ``ReadTransaction/search(_:for:limit:marks:)`` look in. Words are found
    /// whatever their case and accents. A record has one at most.
    public static func text(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.text, paths) }

    /// Of those rows alone that satisfy every term: `.unique(\.name).where { $0.deleted == nil }`. Queries that have the
    /// same terms use it. Terms compare columns of the record with values.
    public func `where`(@ConditionBuilder _ terms: (Columns<R>) -> Condition) -> Self {
        var copy = self
        let alias = TableAlias()
        let condition = terms(Columns(alias: alias))
        copy.filter = Filter(alias: alias, expression: condition.expression, diagnostic: condition.diagnostic)
        return copy
    }

}
