extension ReadTransaction {
    /// What was written after the change record of that number, oldest first: by this store and by other processes.
    ///
    /// A transaction leaves a record for each row that it writes, or one without a key for more than 64 rows of one kind
    /// and table. What raw SQL wrote has no key either. The last 4096 records are kept. Numbers have
    /// no gaps: if the first record's is not `sequence + 1`, older ones are gone, and anything may have changed.
    ///
    /// - Parameter sequence: the number of the last record known; 0 for all that there are.
    /// - Throws: ``StoreError`` if the records cannot be read.
    /// - Complexity: O(records answered).
    public func changeRecords(after sequence: Int64 = 0) async throws -> [ChangeRecord] {
        try check()
        guard try StoredTable(WriteSet.table, connection) != nil else { return [] }
        return try knownRecords(after: sequence)
    }

    /// The same where the file is known to have them.
    func knownRecords(after sequence: Int64) throws -> [ChangeRecord] {
        let rows = try connection.peekAll(
            "SELECT seq, txn, tbl, kind, key, columns FROM \(WriteSet.table) WHERE seq > ? ORDER BY seq",
            [.integer(sequence)])
        return try rows.map { row in
            guard let record = ChangeRecord(row) else {
                throw StoreError(
                    .database, "the change record \(row[0]) cannot be read; delete the rows of the table",
                    table: WriteSet.table)
            }
            return record
        }
    }
}
