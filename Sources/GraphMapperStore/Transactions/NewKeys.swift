extension WriteTransaction {
    /// Adds a record under a key that the database gives it: one more than the greatest that the table has, or ever gave.
    ///
    /// ```swift
    /// let note = try await tx.insert(NoteRecord.self) { NoteRecord(id: $0, text: "new") }
    /// ```
    ///
    /// A key is never given twice, also if its row is deleted; a transaction that is rolled back gives its keys back. In an
    /// adopted table that holds if it was declared with `AUTOINCREMENT`.
    ///
    /// - Parameter make: the record with that id.
    /// - Returns: the record.
    /// - Throws: ``GraphError`` if the record has another id; ``StoreError`` of kind `full` if there is no greater number
    ///   of the key's type.
    @discardableResult
    public func insert<R: StoredRecord>(
        _ type: R.Type, _ make: (R.ID) throws -> R
    ) async throws -> R where R.ID: FixedWidthInteger {
        try check()
        let last = try newKeys[R.schema.name] ?? lastKey(R.schema.name, R.keyColumnNames[0])
        guard last < .max, let id = R.ID(exactly: last + 1) else {
            throw StoreError(.full, "there is no key after \(last)", table: R.schema.name)
        }
        let record = try make(id)
        guard record.id == id else {
            throw GraphError(
                .misuse, "the record was to have the id \(id)", type: R.schema.name, id: "\(record.id)")
        }
        try await insert(record)
        newKeys[R.schema.name] = last + 1
        return record
    }

    /// Keys for new rows of a table: the ones after the greatest that the table has, or ever gave.
    public func newKeys(_ count: Int, of table: String, column: String, after floor: Int64) async throws -> [Int64] {
        try check()
        let last = max(floor, newKeys[table] ?? 0, try lastKey(table, column))
        let (end, isOver) = last.addingReportingOverflow(Int64(count))
        guard !isOver else { throw StoreError(.full, "there are not \(count) keys after \(last)", table: table) }
        newKeys[table] = end
        return count > 0 ? Array(last + 1...end) : []
    }

    private func lastKey(_ table: String, _ column: String) throws -> Int64 {
        let key = Dialect.quoted(column)
        let greatest = try connection.peek("SELECT coalesce(max(\(key)), 0) FROM \(Dialect.quoted(table))")
        guard case .integer(let last)? = greatest else { return 0 }
        return max(0, last, try adopted.contains(table) ? connection.lastOfSequence(table) : lastGiven(table))
    }

    private func lastGiven(_ table: String) throws -> Int64 {
        let rows = try connection.peekAll(
            "SELECT value FROM \(FileHeader.table) WHERE name = ?", [.text(FileHeader.lastKey(table))])
        if case .integer(let last)? = rows.first?.first { return last }
        return 0
    }

    /// Keeps the keys that were given, for when their rows are gone. An adopted table does so itself, if it does.
    func writeNewKeys() throws {
        for (table, key) in newKeys.sorted(by: { $0.key < $1.key }) where !adopted.contains(table) {
            try connection.executeUncounted(
                FileHeader.set, [.text(FileHeader.lastKey(table)), .integer(key)])
            noteOrderly()
        }
    }
}
