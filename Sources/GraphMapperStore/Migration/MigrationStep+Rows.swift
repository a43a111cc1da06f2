/// Records of old and new types.
extension MigrationStep {
    /// Makes every record of an old type into one of a new type, which takes its place: another key, other types, one
    /// column for two. The table is that of the old type; the new type's has the same name or one that is not there yet.
    ///
    /// Links of other tables keep the keys that they have: where keys change, those tables are transformed in the same
    /// step.
    ///
    /// - Parameter convert: the new record; nil drops the row. It may insert records of other types.
    /// - Throws: what `convert` throws, and `CancellationError` if the task is cancelled, between rows.
    /// - Complexity: O(rows) time, and memory for a thousand of them.
    public func transform<Old: StoredRecord, New: StoredRecord>(
        _ old: Old.Type, to new: New.Type, _ convert: (Old) async throws -> New?
    ) async throws {
        _ = try layout(Old.schema.name)
        let (name, temporary) = (New.schema.name, Self.temporary(New.schema.name))
        if name.lowercased() != Old.schema.name.lowercased(), try StoredTable(name, connection) != nil {
            throw StoreError(
                .schemaMismatch,
                "the file has a table \(name) already; read \(Old.schema.name) with each, insert into \(name), and drop "
                    + Old.schema.name, table: name)
        }
        let tables = RecordLayout(new).tables
        try await atomically {
            for table in tables {
                var table = table
                table.name = temporary + table.name.dropFirst(name.count)
                try connection.execute(Dialect.create(table))
            }
            try await each(old) { record in
                guard let record = try await convert(record) else { return }
                try insert(record, renamed: temporary)
            }
            let columns = tables[0].columns.map(\.name)
            let kept = name == Old.schema.name ? try attachments(of: name, staying: columns) : []
            try await drop(table: Old.schema.name)
            for table in tables { try put(temporary + table.name.dropFirst(name.count), inPlaceOf: table.name) }
            for sql in kept { try connection.execute(sql) }
            try moveLastKey(from: Old.schema.name, to: name)
        }
    }

    /// Hands over every record of a type, which may be an old one, in the order of their keys, with its ``Lazy`` values.
    /// `body` may insert records of other types.
    ///
    /// - Throws: what `body` throws, and `CancellationError` if the task is cancelled.
    public func each<R: StoredRecord>(_ type: R.Type, _ body: (R) async throws -> Void) async throws {
        try check()
        // A list that an earlier step has added is not in the file yet.
        try create(RecordLayout(type).tables.dropFirst())
        let transaction = ReadTransaction(connection)
        let query = Query(type)
        let count = try transaction.count(of: query)
        var done = 0
        var cursor: PageCursor?
        repeat {
            try Task.checkCancellation()
            let page = try await transaction.page(query, after: cursor, size: 1000)
            for record in try transaction.readingLazyValues(of: page.records) { try await body(record) }
            done += page.records.count
            progress(count > 0 ? Double(done) / Double(count + 1) : 1)
            cursor = page.next
        } while cursor != nil
    }

    /// Adds a record, whose table is in the file as the type says.
    public func insert<R: StoredRecord>(_ record: R) async throws { try insert(record, renamed: R.schema.name) }

    /// Runs raw SQL: one statement, which may not begin or end a transaction.
    public func execute(_ sql: String, _ values: [StoredValue] = []) async throws {
        try check()
        try connection.executeRaw(sql, values)
    }

    /// The rows of raw SQL, one statement, each as its values.
    public func rows(_ sql: String, _ values: [StoredValue] = []) async throws -> [[StoredValue]] {
        try check()
        return try connection.rowsRaw(sql, values)
    }

    private func insert<R: StoredRecord>(_ record: R, renamed table: String) throws {
        try check()
        let change = R.schema.insertion(of: record)
        guard case .insert(let row) = change.row else { return }
        try connection.execute(
            "INSERT INTO \(Dialect.quoted(table)) (\(Dialect.list(row.columns))) "
                + "VALUES (\(Dialect.parameters(row.columns.count)))", row.values)
        for case .relink(let link) in change.links {
            let width = link.targetColumns.count
            let columns = link.ownerColumns + ["position"] + link.targetColumns
            let name = RecordLayout.listTable(table, link.property)
            for (number, start) in stride(from: 0, to: link.targets.count, by: width).enumerated() {
                try connection.execute(
                    "INSERT INTO \(Dialect.quoted(name)) (\(Dialect.list(columns))) "
                        + "VALUES (\(Dialect.parameters(columns.count)))",
                    link.key + [.integer(Int64(number + 1) * RecordLayout.listSpacing)]
                        + link.targets[start..<start + width])
            }
        }
    }
}
