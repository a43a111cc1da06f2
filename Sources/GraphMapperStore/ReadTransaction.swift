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
        let owners = tail.isEmpty ? nil : "IN (SELECT \(keyColumn(R.self)) FROM \(table(R.self)) \(tail))"
        return try select(R.self, RowChoice(tail: tail, owners: owners, values: query.values))
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
        try select(type, RowChoice(tail: "WHERE \(keyColumn(type)) = ?", owners: "= ?", values: [id.stored])).first
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

    /// The rows whose column holds one of `values`: one statement, but for more values than the engine binds at once.
    private func select<R: StoredRecord>(
        _ type: R.Type, where column: String, isIn values: [StoredValue]
    ) throws -> [R] {
        try check()
        if try isMostOfTable(type, values.count) {
            return try select(type, RowChoice(keep: (column, Set(values.map(RowKey.init)))))
        }
        var records: [R] = []
        var start = 0
        while start < values.count {
            let part = Array(values[start..<min(start + connection.variableLimit, values.count)])
            start += part.count
            let marks = "IN (" + String(repeating: "?,", count: part.count - 1) + "?)"
            let key = keyColumn(type)
            let owners = column == key ? marks : "IN (SELECT \(key) FROM \(table(type)) WHERE \(column) \(marks))"
            records += try select(
                type,
                RowChoice(tail: "WHERE \(column) \(marks)", owners: owners, values: part, isCached: part.count < 16))
        }
        return records
    }

    /// Whether so many rows are best found by reading the whole table once, which is a sequential read, and dropping
    /// the others: a look-up costs some four times as much as passing a row.
    private func isMostOfTable<R: StoredRecord>(_ type: R.Type, _ count: Int) throws -> Bool {
        guard count >= 256 else { return false }
        let last = try connection.peek("SELECT max(rowid) FROM \(table(type))")
        guard case .integer(let rows)? = last else { return false }
        return Int64(count) * 4 >= rows
    }

    private func select<R: StoredRecord>(_ type: R.Type, _ rows: RowChoice) throws -> [R] {
        try check()
        let schema = R.schema
        let names = schema.properties.flatMap { $0.isList || $0.isNested ? [] : $0.columnNames }
        let columns = names.map(Layout.quoted)
        let key = Int32(names.firstIndex(of: schema.key?.name ?? "id") ?? 0)
        let lists = try schema.properties.filter(\.isList).map { property in
            try gather(
                Layout.listTable(schema.name, property.name), rows, isOfKey: rows.keep?.column == columns[Int(key)])
        }
        let sql = "SELECT \(columns.joined(separator: ", ")) FROM \(table(type)) \(rows.tail)"
        return try connection.withStatement(sql, rows.values, isCached: rows.isCached) { statement in
            let cursor = statement.cursor(lists.isEmpty ? nil : LinkLists(lists.map(\.rows)))
            let kept = rows.keep.flatMap { keep in columns.firstIndex(of: keep.column).map { (Int32($0), keep.keys) } }
            return try schema.decode(cursor) {
                while try statement.step() {
                    if let (column, keys) = kept, !keys.contains(RowKey(statement, column)) { continue }
                    if !lists.isEmpty {
                        let key = RowKey(statement, key)
                        for list in lists { list.rows.current = list.ranges[key] ?? 0..<0 }
                    }
                    return true
                }
                return false
            }
        }
    }

    /// One link property's lists of all the rows.
    private func gather(_ name: String, _ choice: RowChoice, isOfKey: Bool) throws -> (
        rows: LinkRows, ranges: [RowKey: Range<Int>]
    ) {
        let rows = LinkRows()
        var ranges: [RowKey: Range<Int>] = [:]
        let filter = choice.owners.map { "WHERE owner \($0) " } ?? ""
        let sql = "SELECT owner, target FROM \(name) \(filter)ORDER BY owner, position"
        try connection.withStatement(sql, choice.values, isCached: choice.isCached) { statement in
            let cursor = statement.cursor(nil)
            var start = 0
            var owner: RowKey?
            var isKept = false
            while try statement.step() {
                let next = RowKey(statement, 0)
                if next != owner {
                    if let owner, isKept { ranges[owner] = start..<rows.count }
                    owner = next
                    start = rows.count
                    isKept = !isOfKey || choice.keep?.keys.contains(next) ?? true
                }
                if isKept { try rows.append(cursor, column: 1) }
            }
            if let owner, isKept { ranges[owner] = start..<rows.count }
        }
        return (rows, ranges)
    }
}

/// Which rows of a table are read.
private struct RowChoice {
    /// What follows the table's name, and the same rows as a condition on their key.
    var tail = ""
    var owners: String?
    var values: [StoredValue] = []
    /// The rows to keep of those that are read.
    var keep: (column: String, keys: Set<RowKey>)?
    var isCached = true
}
