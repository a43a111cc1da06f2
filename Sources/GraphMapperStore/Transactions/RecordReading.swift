/// Rows that are read as records, with their ordered links.
extension ReadTransaction {
    /// The records that `tail` chooses.
    func select<R: StoredRecord>(_ type: R.Type, _ tail: String, _ values: [StoredValue]) throws -> [R] {
        try select(type, choice(type, tail, values))
    }

    /// The rows that `tail` chooses.
    private func choice<R: StoredRecord>(_ type: R.Type, _ tail: String, _ values: [StoredValue]) -> RowChoice {
        let table = connection.table(type)
        guard table.hasLists, !tail.isEmpty else { return RowChoice(tail: tail, values: values) }
        return RowChoice(tail: tail, owners: "IN (SELECT \(table.key) FROM \(table.quoted) \(tail))", values: values)
    }

    func table<R: StoredRecord>(_ type: R.Type) -> String { connection.table(type).quoted }
    func keyColumns<R: StoredRecord>(_ type: R.Type) -> [String] { type.keyColumnNames.map(Dialect.quoted) }

    /// The rows whose columns hold one of `values`, which stand one after the other: one statement, but for more values
    /// than the engine binds at once.
    func select<R: StoredRecord>(
        _ type: R.Type, where columns: [String], isIn values: [StoredValue]
    ) throws -> [R] {
        try check()
        let width = columns.count
        guard width > 0, values.count.isMultiple(of: width), connection.variableLimit >= width else {
            throw GraphError(
                .misuse, "\(values.count) values do not choose among \(width) columns; ask for the keys of a link",
                type: type.schema.name)
        }
        if try isMostOfTable(type, values.count / width) {
            let keys = stride(from: 0, to: values.count, by: width).map { RowKey(values[$0..<$0 + width]) }
            return try select(type, RowChoice(keep: (columns, Set(keys))))
        }
        var records: [R] = []
        var start = 0
        while start < values.count {
            let most = connection.variableLimit / width * width
            let part = Array(values[start..<min(start + most, values.count)])
            start += part.count
            let marks = "IN \(Dialect.choice(part.count / width, width: width))"
            let table = connection.table(type)
            let test = "\(Dialect.row(columns.map(Dialect.quoted))) \(marks)"
            let owners =
                columns == table.keyColumns
                ? marks : "IN (SELECT \(table.key) FROM \(table.quoted) WHERE \(test))"
            records += try select(
                type,
                RowChoice(tail: "WHERE \(test)", owners: owners, values: part, isCached: part.count < 16))
        }
        return records
    }

    /// Whether so many rows are best found by reading the whole table once, which is a sequential read, and dropping
    /// the others: a look-up costs some four times as much as passing a row.
    private func isMostOfTable<R: StoredRecord>(_ type: R.Type, _ count: Int) throws -> Bool {
        guard count >= 256 else { return false }
        let name = type.schema.name
        let last = try connection.peek(
            R.isAdopted ? Dialect.count(name, most: count * 4 + 1) : Dialect.roughCount(name))
        guard case .integer(let rows)? = last else { return false }
        return Int64(count) * 4 >= rows
    }

    /// The rows that `tail` chooses, and for each what else is selected, handed over before the next is read.
    func select<R: StoredRecord>(
        _ type: R.Type, _ tail: String, _ values: [StoredValue], isCached: Bool, beside more: BesideRows,
        _ note: ([StoredValue]) -> Void
    ) throws -> [R] {
        var rows = choice(type, tail, values)
        rows.isCached = isCached
        return try select(type, rows, beside: more, note)
    }

    private func select<R: StoredRecord>(
        _ type: R.Type, _ rows: RowChoice, beside more: BesideRows = BesideRows(),
        _ note: ([StoredValue]) -> Void = { _ in }
    ) throws -> [R] {
        try check()
        let schema = R.schema
        let table = connection.table(type)
        let lists = try schema.lists.map { index in
            let property = schema.properties[index]
            do {
                return try gather(
                    Dialect.quoted(RecordLayout.listTable(schema.name, property.name)),
                    schema.linkColumns(of: property),
                    rows,
                    isOfKey: rows.keep?.columns == table.keyColumns)
            } catch { throw schema.located(error, property) }
        }
        let columns =
            more.columns.isEmpty ? table.selected : "\(table.selected), \(more.columns.joined(separator: ", "))"
        let sql = "SELECT \(columns) FROM \(table.quoted) \(rows.tail)"
        let count = Int32(table.columns.count)
        let beside = count..<count + Int32(more.columns.count)
        return try connection.withStatement(sql, more.values + rows.values, isCached: rows.isCached) { statement in
            let kept = rows.keep.map { keep in (RecordTable<R>.range(of: keep.columns, in: table.columns), keep.keys) }
            let links = lists.isEmpty ? nil : LinkLists(lists.map(\.rows))
            defer { withExtendedLifetime(links) {} }
            let cursor = statement.cursor(links)
            do {
                if kept == nil, links == nil, beside.isEmpty { return try schema.decode(cursor, next: statement.step) }
                return try schema.decode(cursor) {
                    while try statement.step() {
                        if let (range, keys) = kept, !keys.contains(RowKey(statement, range)) { continue }
                        if !lists.isEmpty {
                            let key = RowKey(statement, table.keyRange)
                            for list in lists { list.rows.current = list.ranges[key] ?? 0..<0 }
                        }
                        if !beside.isEmpty { note(beside.map(statement.value)) }
                        return true
                    }
                    return false
                }
            } catch let error as GraphError {
                throw schema.located(error, inRow: table.keyRange.map(statement.value))
            }
        }
    }

    /// One link property's lists of all the rows.
    private func gather(
        _ name: String, _ columns: (owner: [String], target: [String]), _ choice: RowChoice, isOfKey: Bool
    ) throws -> (rows: LinkRows, ranges: [RowKey: Range<Int>]) {
        let rows = LinkRows()
        var ranges: [RowKey: Range<Int>] = [:]
        let owners = columns.owner.map(Dialect.quoted)
        let list = owners.joined(separator: ", ")
        let width = Int32(owners.count)
        let end = width + Int32(columns.target.count)
        let filter = choice.owners.map { "WHERE \(Dialect.row(owners)) \($0) " } ?? ""
        let sql =
            "SELECT \(list), \(columns.target.map(Dialect.quoted).joined(separator: ", ")) "
            + "FROM \(name) \(filter)ORDER BY \(list), position"
        try connection.withStatement(sql, choice.values, isCached: choice.isCached) { statement in
            let cursor = statement.cursor(nil)
            var start = 0
            var owner: RowKey?
            var last = Statement.ShortKey.other
            var isKept = false
            while try statement.step() {
                // Most rows have the owner of the row before.
                let found = width == 1 ? statement.shortKey(0) : .other
                if found == .other || found != last {
                    last = found
                    let next = RowKey(statement, 0..<width)
                    if next != owner {
                        if let owner, isKept { ranges[owner] = start..<rows.count }
                        owner = next
                        start = rows.count
                        isKept = !isOfKey || choice.keep?.keys.contains(next) ?? true
                    }
                }
                guard isKept else { continue }
                switch end == width + 1 ? statement.shortKey(width) : .other {
                case .integer(let number): rows.append(integer: number)
                case .sixteen(let first, let second): rows.append(sixteen: (first, second))
                case .other: for column in width..<end { try rows.append(cursor, column: column) }
                }
            }
            if let owner, isKept { ranges[owner] = start..<rows.count }
        }
        return (rows, ranges)
    }
}

/// What is selected of each row besides the record.
struct BesideRows: Sendable {
    var columns: [String] = []
    /// What is bound to their parameters.
    var values: [StoredValue] = []
}

/// Which rows of a table are read.
private struct RowChoice {
    /// What follows the table's name, and the same rows as a condition on their key.
    var tail = ""
    var owners: String?
    var values: [StoredValue] = []
    /// The rows to keep of those that are read.
    var keep: (columns: [String], keys: Set<RowKey>)?
    var isCached = true
}

extension Schema where D: Identifiable, D.ID: Storable {
    /// An error of a row, with its id.
    func located(_ error: GraphError, inRow key: [StoredValue]) -> GraphError {
        guard error.id == nil, error.type == name else { return error }
        var error = error
        // A key that cannot be read is named by what is stored.
        error.id = (try? D.ID.decode(key)).map { "\($0)" } ?? key.map(\.description).joined(separator: ", ")
        return error
    }
}

extension Schema {
    /// An error of a property's list, with its path.
    func located(_ error: any Error, _ property: Property<D>) -> any Error {
        guard var error = error as? GraphError, error.type == nil else { return error }
        (error.type, error.property) = (name, property.name)
        return error
    }
}
