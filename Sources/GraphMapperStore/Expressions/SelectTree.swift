/// Rows of one table, and what is selected of them: a SELECT as a tree.
struct SelectTree: Sendable {
    /// Where they come from.
    enum Source: Sendable {
        case table(String)
        /// The targets of an ordered link, whose table has an alias of its own.
        case list(LinkListSource, TableAlias)
        /// The elements of an array of scalars, which are stored so.
        case elements(SQLExpression, StorageClass)
    }

    var alias: TableAlias
    var source: Source
    /// The columns of the table's key.
    var keyColumns: [String]
    var filter: SQLExpression?
    /// Of rows that are the same here, the first one alone.
    var distinct: [SQLExpression] = []
    /// What holds of the rows that are left then.
    var distinctFilter: SQLExpression?
    var order: [Ordering] = []
    var groups: [SQLExpression] = []
    var having: SQLExpression?
    var limit: Int?
    var offset: Int?
    /// What is selected; the number 1 if nothing is.
    var selected: [SQLExpression] = []
    /// Whether rows that select the same are one.
    var isUnique = false

    init(_ alias: TableAlias, _ source: Source, keyColumns: [String]) {
        self.alias = alias
        self.source = source
        self.keyColumns = keyColumns
    }

    mutating func filter(by more: SQLExpression?) {
        guard let more else { return }
        filter = filter.map { .binary($0, .and, more) } ?? more
    }

    var key: [SQLExpression] { keyColumns.map { .column(alias, $0) } }
    var isPage: Bool { limit != nil || offset != nil }

    /// The order with the key after it: a total one.
    var totalOrder: [Ordering] {
        order
            + key.map { column in
                var ordering = Ordering(column)
                ordering.isNeverNull = true
                return ordering
            }
    }
}

/// Where a list of links lies.
struct LinkListSource: Sendable {
    /// The table of the links.
    let table: String
    let ownerColumns: [String]
    let targetColumns: [String]
    /// The table that they point to, and its key.
    let target: String
    let targetKey: [String]

}

// MARK: What is read

extension SelectTree {
    /// Whether what is asked of the rows looks at rows of a table, besides the row at hand.
    func looksElsewhere(into table: String) -> Bool {
        // Which of several rows that are alike is taken, a select of its own finds out.
        if !distinct.isEmpty, source.reads(table) { return true }
        let asked = [filter, distinctFilter, having].compactMap(\.self) + distinct + groups + order.map(\.expression)
        return asked.contains { $0.looksElsewhere(into: table) }
    }

    /// Whether it reads a table at all.
    func reads(_ table: String) -> Bool {
        source.reads(table) || looksElsewhere(into: table) || selected.contains { $0.looksElsewhere(into: table) }
    }
}

extension SelectTree.Source {
    fileprivate func reads(_ table: String) -> Bool {
        switch self {
        case .table(let name): name == table
        case .list(let link, _): link.table == table || link.target == table
        case .elements(let array, _): array.looksElsewhere(into: table)
        }
    }
}

extension SQLExpression {
    /// Whether rows of a table are looked at, besides the row at hand.
    func looksElsewhere(into table: String) -> Bool {
        switch self {
        // A full-text index is a table of its own.
        case .value, .column, .matches: false
        case .row(let parts), .call(_, let parts): parts.contains { $0.looksElsewhere(into: table) }
        case .binary(let left, _, let right): left.looksElsewhere(into: table) || right.looksElsewhere(into: table)
        case .not(let part), .isNull(let part), .isOneOf(let part, _, _), .collated(let part, _):
            part.looksElsewhere(into: table)
        case .isAmong(let part, let rows): part.looksElsewhere(into: table) || rows.reads(table)
        case .exists(let rows), .first(let rows): rows.reads(table)
        case .lookUp(_, let target, _, let key): target == table || key.looksElsewhere(into: table)
        case .rowNumber(let order): order.contains { $0.expression.looksElsewhere(into: table) }
        }
    }

    /// Whether it is compared in another way than values are: as a person of a locale does.
    var isCollated: Bool {
        switch self {
        case .collated: true
        case .row(let parts): parts.contains(where: \.isCollated)
        default: false
        }
    }
}
