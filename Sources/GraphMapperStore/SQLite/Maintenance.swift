/// The care of a file, and what is set on a connection.
extension Connection {
    /// Reads something, which is what a snapshot begins with.
    func beginSnapshot() throws { _ = try peek("SELECT count(*) FROM sqlite_schema") }

    /// Writes the file once more without the space of deleted rows.
    func compact() throws {
        try execute("VACUUM")
        try execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Puts what the log holds into the file, as far as readers let it, and empties the log.
    ///
    /// - Returns: whether the log is empty now.
    func emptyLog() throws -> Bool {
        let row = try rows("PRAGMA wal_checkpoint(TRUNCATE)").first ?? []
        return row.first == .integer(0)
    }

    /// Makes the file do without a log. Only who is alone can do that.
    func leaveLogMode() throws { try execute("PRAGMA journal_mode = DELETE") }

    /// Damaged pages, and indexes that do not fit their tables, in SQLite's words.
    func damages() throws -> [String] {
        try peekAll("PRAGMA integrity_check", []).compactMap {
            if case .text(let text)? = $0.first, text != "ok" { text } else { nil }
        }
    }

    /// The links of a table to rows that are not there, a hundred at most: the table, the row's number or NULL, the target,
    /// and the columns.
    func danglingLinks(of table: String) throws -> [[StoredValue]] {
        try peekAll(
            "SELECT c.\"table\", c.rowid, c.parent, group_concat(f.\"from\", ', ') "
                + "FROM pragma_foreign_key_check(?1) AS c JOIN pragma_foreign_key_list(?1) AS f ON f.id = c.fkid "
                + "GROUP BY 1, 2, 3, c.fkid LIMIT 100", [.text(table)])
    }

    /// Another value once another connection, of this process or another, has written to the file; the same inside a
    /// transaction that writes (https://sqlite.org/pragma.html#pragma_data_version).
    func dataVersion() throws -> StoredValue? { try peek("PRAGMA data_version") }

    /// Lets triggers write to full-text tables, which older versions of SQLite do not trust them with.
    func trustTriggers() throws { try execute("PRAGMA trusted_schema = ON") }

    /// Has foreign keys checked at commit, whatever their definitions say, for as long as the transaction is open.
    func deferForeignKeys() throws { try executeUncounted("PRAGMA defer_foreign_keys = ON", []) }

    /// Runs `body` while no foreign key is checked. If it throws, that stays so.
    func withoutForeignKeys<T>(_ body: () async throws -> T) async throws -> T {
        let before = try peek("PRAGMA foreign_keys")
        try execute("PRAGMA foreign_keys = OFF")
        let result = try await body()
        if before == .integer(1) { try execute("PRAGMA foreign_keys = ON") }
        return result
    }

    /// Runs `rename`, which gives a table another name, and leaves alone what names that one in links, views and triggers:
    /// else SQLite refuses as long as a view names what is not there.
    func renamingTableAlone(_ rename: () throws -> Void) throws {
        try execute("PRAGMA legacy_alter_table = ON")
        do { try rename() } catch {
            try execute("PRAGMA legacy_alter_table = OFF")
            throw error
        }
        try execute("PRAGMA legacy_alter_table = OFF")
    }
}
