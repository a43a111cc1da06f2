/// Reads from one snapshot. Ends with its closure.
public class ReadTransaction: GraphSource {
    let connection: Connection
    var isOpen = true

    init(_ connection: Connection) { self.connection = connection }

    /// How many statements have run on this transaction's connection.
    public var statementCount: Int { connection.statementCount }

    func check() throws {
        guard isOpen else { throw StoreError(.misuse, "the transaction has ended; start another") }
    }

    /// The records of a query, in its order.
    public func fetch<R: StoredRecord>(_ query: Query<R>) async throws -> [R] {
        let tail = query.tail
        return try select(R.self, tail, "IN (SELECT \(keyColumn(R.self)) FROM \(table(R.self)) \(tail))", query.values)
    }

    /// How many records the query has. Complexity: that of the query; the rows are counted.
    public func count<R: StoredRecord>(_ query: Query<R>) async throws -> Int {
        try check()
        let rows = try connection.rows(
            "SELECT count(*) FROM (SELECT 1 FROM \(table(R.self)) \(query.tail))", query.values)
        guard case .integer(let count)? = rows.first?.first else { return 0 }
        return Int(count)
    }

    /// The record with that id; nil if there is none.
    public func find<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> R? {
        try select(type, "WHERE \(keyColumn(type)) = ?", "= ?", [id.stored]).first
    }

    // MARK: GraphSource

    public func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D]
    where D.ID: Storable & Hashable {
        guard let record = type as? any StoredRecord.Type else { throw notStored(type) }
        func fetch<R: StoredRecord>(_ record: R.Type) throws -> [D] {
            try select(record, where: keyColumn(record), isIn: ids.map(\.stored)) as? [D] ?? []
        }
        return try fetch(record)
    }

    public func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable {
        guard let record = type as? any StoredRecord.Type else { throw notStored(type) }
        func fetch<R: StoredRecord>(_ record: R.Type) throws -> [D] {
            try select(record, where: Layout.quoted(name), isIn: owners.map(\.stored)) as? [D] ?? []
        }
        return try fetch(record)
    }

    private func notStored(_ type: Any.Type) -> GraphError {
        GraphError(.misuse, "\(type) is not a StoredRecord, so the store has no table for it")
    }

    // MARK: Selecting

    func table<R: StoredRecord>(_ type: R.Type) -> String { Layout.quoted(R.schema.name) }
    func keyColumn<R: StoredRecord>(_ type: R.Type) -> String { Layout.quoted(R.schema.key?.name ?? "id") }

    /// One statement, but for more values than the engine binds at once.
    private func select<R: StoredRecord>(
        _ type: R.Type, where column: String, isIn values: [StoredValue]
    ) throws -> [R] {
        var records: [R] = []
        var start = 0
        while start < values.count {
            let part = Array(values[start..<min(start + connection.variableLimit, values.count)])
            start += part.count
            let marks = "IN (" + String(repeating: "?,", count: part.count - 1) + "?)"
            let key = keyColumn(type)
            let owners = column == key ? marks : "IN (SELECT \(key) FROM \(table(type)) WHERE \(column) \(marks))"
            records += try select(type, "WHERE \(column) \(marks)", owners, part, isCached: part.count < 16)
        }
        return records
    }

    /// - Parameters:
    ///   - tail: what follows the table's name.
    ///   - owners: the same rows as a condition on their key, for the tables of ordered links.
    private func select<R: StoredRecord>(
        _ type: R.Type, _ tail: String, _ owners: String, _ values: [StoredValue], isCached: Bool = true
    ) throws -> [R] {
        try check()
        let schema = R.schema
        let lists = schema.properties.filter(\.isList)
        let columns = schema.properties.flatMap { $0.isList || $0.isNested ? [] : $0.columnNames }
        let sql = "SELECT \(columns.map(Layout.quoted).joined(separator: ", ")) FROM \(table(type)) \(tail)"
        var records: [R] = []
        guard !lists.isEmpty else {
            try connection.run(sql, values, isCached: isCached) { statement in
                records.append(try schema.decode(statement.cursor(nil)))
            }
            return records
        }
        let links = LinkLists()
        var selectors: [([StoredValue: Range<Int>], LinkTarget, AnyLinkRows)] = []
        for property in lists {
            guard let link = property.link else { continue }
            let (rows, ranges) = try gather(R.self, property.name, link, owners, values, isCached)
            links.properties.append(rows)
            selectors.append((ranges, link, rows))
        }
        let keyIndex = Int32(columns.firstIndex(of: schema.key?.name ?? "id") ?? 0)
        try connection.run(sql, values, isCached: isCached) { statement in
            let key = statement.value(keyIndex)
            for (ranges, link, rows) in selectors { link.select(rows, ranges[key] ?? 0..<0) }
            records.append(try schema.decode(statement.cursor(links)))
        }
        return records
    }

    private func gather<R: StoredRecord>(
        _ type: R.Type, _ property: String, _ link: LinkTarget, _ owners: String, _ values: [StoredValue],
        _ isCached: Bool
    ) throws -> (AnyLinkRows, [StoredValue: Range<Int>]) {
        let rows = link.makeRows()
        var ranges: [StoredValue: Range<Int>] = [:]
        let name = Layout.listTable(R.schema.name, property)
        let sql = "SELECT owner, target FROM \(name) WHERE owner \(owners) ORDER BY owner, position"
        var count = 0
        var start = 0
        var owner: StoredValue?
        try connection.run(sql, values, isCached: isCached) { statement in
            let next = statement.value(0)
            if next != owner {
                if let owner { ranges[owner] = start..<count }
                owner = next
                start = count
            }
            try link.append(rows, statement.cursor(nil), 1)
            count += 1
        }
        if let owner { ranges[owner] = start..<count }
        return (rows, ranges)
    }
}
