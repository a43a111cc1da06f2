extension ObservedRegion {
    /// Leaves out rows that a condition on one column rules out.
    ///
    /// - Parameter expressions: what else is asked of the rows.
    mutating func narrow<R: StoredRecord>(
        _ query: Query<R>, besides expressions: [SQLExpression], _ connection: Connection
    ) {
        let tree = query.tree
        let table = R.schema.name
        guard tree.groups.isEmpty, !tree.looksElsewhere(into: table),
            !expressions.contains(where: { $0.looksElsewhere(into: table) })
        else { return }
        // A column that the file compares in another way has the value in rows that are spelled otherwise.
        let filters = (tree.filter?.equalityFilters(tree.alias, table) ?? []).filter {
            connection.comparesBytes($0.column, of: table)
        }
        let key = R.keyColumnNames
        if key.count == 1, let id = filters.first(where: { $0.column == key[0] }) {
            row = (table, [id.value])
        } else {
            equalityFilter = filters.first
        }
    }
}

extension SQLExpression {
    /// Columns of an alias that have one value in every row which satisfies the expression: so it is found who is concerned.
    fileprivate func equalityFilters(_ alias: TableAlias, _ table: String) -> [EqualityFilter] {
        switch self {
        case .binary(let left, .and, let right):
            left.equalityFilters(alias, table) + right.equalityFilters(alias, table)
        case .binary(.column(alias, let name), .isSame, .value(let value)):
            [EqualityFilter(table: table, column: name, value: value.normalizedKey)]
        default: []
        }
    }
}
