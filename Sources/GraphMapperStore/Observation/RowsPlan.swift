/// How an observed query is kept up to date.
struct RowsPlan<R: StoredRecord>: Sendable {
    private(set) var ordering: SortKeyOrder
    /// Whether rows are sorted by where they stand in the result, since nobody here knows how the file sorts them.
    private(set) var isCounted = false
    /// Which of the values that are read are kept then besides the key.
    private var counted = 0..<0
    /// At most so many rows.
    let limit: Int?
    let region: ObservedRegion
    /// Whether two records are the same in a property whose change counts.
    private let watched: [@Sendable (R, R) -> Bool]
    /// The others.
    private let unwatched: [@Sendable (R, R) -> Bool]
    /// Why every change of the query's rows has to run it again; nil if single rows can be looked at.
    private(set) var needsQuery: String?
    /// The tables besides the record's own that the query reads.
    let others: Set<String>

    private let tail: String
    private let values: [StoredValue]
    private let condition: (sql: String, values: [StoredValue])?
    private let key: [String]
    private let beside: BesideRows

    /// - Parameters:
    ///   - observing: the properties whose change counts; nil for all.
    ///   - section: what says to which section a row belongs.
    ///   - lists: the tables of ordered links.
    /// - Throws: ``GraphError`` for a property that the query or `observing` names and that has no column.
    init(
        _ query: Query<R>, observing: [AnyKeyPath]?, section: SectionKey?, _ tx: ReadTransaction,
        _ lists: [String: ListOwner]
    ) throws {
        let tail = try query.adding(query.tree.key.map { Ordering($0) }, nil).tail()
        let schema = R.schema
        let tree = query.tree
        let names = schema.key?.columnNames ?? ["id"]
        let own = Dialect.quoted(schema.name)
        key = names.map(Dialect.quoted)
        let terms = try tree.order.map { try SQLWriter.text($0.expression, tree.alias, own) }
        // What is compared in another way than values are is left to the engine.
        let isCollated =
            try tree.order.contains { $0.expression.isCollated }
            || Self.hasCollation(terms.map(\.sql) + key, of: schema.name, tx.connection)
        condition = try tree.filter.map { try SQLWriter.text($0, tree.alias, own) }
        limit = tree.limit
        ordering = SortKeyOrder(
            terms: tree.order.map { SortKeyOrder.Term(isDescending: $0.isDescending, isNullFirst: $0.isNullFirst) },
            keyWidth: names.count, section: section)
        beside = BesideRows(columns: terms.map(\.sql) + key, values: terms.flatMap(\.values))
        let properties = schema.properties.filter { !$0.isNested }
        let watched = try observing.map { try $0.map { try schema.observed($0) } } ?? properties
        self.watched = watched.map(\.isSame)
        unwatched = properties.filter { property in !watched.contains { $0.name == property.name } }.map(\.isSame)

        (self.tail, values) = tail

        var region = ObservedRegion()
        region.add(schema.name, Set(watched.flatMap { $0.isList ? [$0.name] : $0.columnNames }))
        let statement = "SELECT \(beside.columns.joined(separator: ", ")) FROM \(own) \(tail.sql)"
        for (table, columns) in try tx.connection.reads(of: statement) {
            if let list = lists[table] {
                region.add(list.table, [list.property])
            } else {
                region.add(table, columns)
            }
        }
        others = Set(region.tables.keys).subtracting([schema.name])
        let isAboutItself = tree.looksElsewhere(into: schema.name)
        region.narrow(query, besides: [], tx.connection)
        self.region = region

        if tree.offset ?? 0 > 0 {
            needsQuery = "it skips rows"
        } else if !tree.distinct.isEmpty {
            needsQuery = "it takes one of several rows that are alike"
        } else if isAboutItself {
            needsQuery = "it looks at other rows of the same table"
        }
        if isCollated { count(because: needsQuery ?? "it has an order of its own") }
    }

    /// Whether one of the columns that rows are sorted by, through links too, is compared in another way than by its bytes.
    private static func hasCollation(
        _ expressions: [String], of table: String, _ connection: Connection
    ) throws -> Bool {
        let sql = "SELECT \(expressions.joined(separator: ", ")) FROM \(Dialect.quoted(table))"
        return try connection.reads(of: sql).contains { table, columns in
            table != Dialect.elementTable
                && columns.contains { !$0.isEmpty && !connection.comparesBytes($0, of: table) }
        }
    }

    /// Whether a record differs in what counts.
    func isModified(_ old: R, _ new: R) -> Bool { Self.differs(watched, old, new) }
    /// Whether it differs in what does not.
    func isOther(_ old: R, _ new: R) -> Bool { Self.differs(unwatched, old, new) }

    private static func differs(_ same: [@Sendable (R, R) -> Bool], _ old: R, _ new: R) -> Bool {
        for isSame in same where !isSame(old, new) { return true }
        return false
    }

    /// The same, with rows that are sorted by where they stand.
    func counting(because reason: String) -> Self {
        var plan = self
        plan.count(because: reason)
        return plan
    }

    private mutating func count(because reason: String) {
        needsQuery = reason
        isCounted = true
        counted = ordering.section?.range ?? 0..<0
        ordering = SortKeyOrder(terms: [], keyWidth: ordering.keyWidth, section: ordering.section)
        ordering.section?.range = 1..<1 + counted.count
    }

    /// All rows.
    func rows(_ tx: ReadTransaction) throws -> (records: [R], sortKeys: [SortKey]) {
        try select(tx, tail, values, isCached: true)
    }

    /// Of the rows with these keys, those that satisfy the condition.
    func rows(_ tx: ReadTransaction, _ keys: [[StoredValue]]) throws -> (records: [R], sortKeys: [SortKey]) {
        var records: [R] = []
        var sortKeys: [SortKey] = []
        for part in keys.parts {
            let choice = Dialect.choice(part.count, width: key.count)
            // The plus keeps the condition from choosing another index than the key's.
            let filter = condition.map { " AND +(\($0.sql))" } ?? ""
            let found = try select(
                tx, "WHERE \(Dialect.row(key)) IN \(choice)\(filter)", Array(part.joined()) + (condition?.values ?? []),
                isCached: true)
            records += found.records
            sortKeys += found.sortKeys
        }
        return (records, sortKeys)
    }

    private func select(
        _ tx: ReadTransaction, _ tail: String, _ values: [StoredValue], isCached: Bool
    ) throws -> (records: [R], sortKeys: [SortKey]) {
        var sortKeys: [SortKey] = []
        let keyWidth = ordering.keyWidth
        let records = try tx.select(R.self, tail, values, isCached: isCached, beside: beside) {
            guard isCounted else { return sortKeys.append(SortKey(values: $0)) }
            sortKeys.append(SortKey(values: [.integer(Int64(sortKeys.count))] + $0[counted] + $0.suffix(keyWidth)))
        }
        return (records, sortKeys)
    }
}

extension Schema {
    /// The property at a path that an observer names.
    fileprivate func observed(_ path: AnyKeyPath) throws -> Property<D> {
        guard let property = property(at: path), !property.isNested else {
            throw GraphError(
                .misuse,
                "it cannot be observed; name one of "
                    + properties.filter { !$0.isNested }.map(\.name).joined(separator: ", "), type: name,
                property: "\(path)")
        }
        return property
    }
}
