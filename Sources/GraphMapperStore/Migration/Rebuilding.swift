/// Tables that are made anew: how rows get from the old to the new one, and what goes with the old one and comes back.
extension MigrationStep {
    /// Makes a table anew in another layout, and copies its rows through a closure.
    func rebuild(
        _ table: String, as layout: TableLayout, _ copy: ([StoredValue]) throws -> [StoredValue]
    ) async throws {
        let known = try self.layout(table).columns
        let odd = known.first { $0.storage == .null }
        if try odd != nil || isDeclaredOtherwise(table) {
            throw mistake(
                "\(table) is declared otherwise than the store's tables, and would lose that; change it with execute, or "
                    + "transform it into a table of a record", table, odd?.name)
        }
        let old = known.map(\.name)
        var new = layout
        new.name = Self.temporary(table)
        try await whole {
            try connection.execute(Dialect.create(new))
            try copyRows(of: table, old, to: new, copy)
            let kept = try attachments(of: table, staying: new.columns.map(\.name))
            try dropIndexes(table)
            try connection.execute("DROP TABLE \(Dialect.quoted(table))")
            try put(new.name, inPlaceOf: table)
            for sql in kept { try connection.execute(sql) }
        }
    }

    private func copyRows(
        of table: String, _ columns: [String], to new: TableLayout, _ copy: ([StoredValue]) throws -> [StoredValue]
    ) throws {
        let insert =
            "INSERT INTO \(Dialect.quoted(new.name)) (\(Dialect.list(new.columns.map(\.name)))) "
            + "VALUES (\(Dialect.parameters(new.columns.count)))"
        let count = try connection.peek("SELECT count(*) FROM \(Dialect.quoted(table))")
        var done = 0.0
        try connection.run("SELECT \(Dialect.list(columns)) FROM \(Dialect.quoted(table))", []) { row in
            try connection.execute(insert, try copy(row.values))
            done += 1
            if case .integer(let all)? = count, Int(done).isMultiple(of: 1000) {
                try Task.checkCancellation()
                progress(done / Double(all + 1))
            }
        }
    }

    /// Gives a new table the name of one that was dropped. What names that one, in links, views and triggers, means the
    /// new one then, and is left as it is: else SQLite refuses as long as a view names what is not there.
    func put(_ new: String, inPlaceOf name: String) throws {
        try connection.execute("PRAGMA legacy_alter_table = ON")
        do {
            try rename(new, name)
        } catch {
            try connection.execute("PRAGMA legacy_alter_table = OFF")
            throw error
        }
        try connection.execute("PRAGMA legacy_alter_table = OFF")
    }

    /// The definitions of what somebody else has made for a table and goes with it: triggers, and indexes of columns
    /// that stay. The store's own full-text index is gone by then.
    func attachments(of table: String, staying columns: [String]) throws -> [String] {
        for sql in TextIndex.drops(of: table) { try connection.execute(sql) }
        let all = try layout(table).columns.map(\.name)
        let indexes = try StoredTable.indexes(of: table, connection).filter { index in
            index.isOwn && !Installation.isOurs(index, of: table)
                && Set(columns).isSuperset(of: index.columns ?? all)
        }
        let triggers = try connection.peekAll(
            "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = lower(?) ORDER BY rowid",
            [.text(table)])
        return indexes.compactMap(\.sql)
            + triggers.compactMap { row in
                if case .text(let sql) = row[0] { sql } else { nil }
            }
    }

    /// Runs what is done whole or not at all, so that a step may go on after an error of its own.
    func whole<T>(_ body: () async throws -> T) async throws -> T {
        try connection.execute("SAVEPOINT \"graphmapper step\"")
        do {
            let result = try await body()
            try connection.execute("RELEASE \"graphmapper step\"")
            return result
        } catch {
            try undoWhole()
            throw error
        }
    }

    /// Where the error has rolled back everything, as a full disk does, there is nothing to undo.
    private func undoWhole() throws {
        guard connection.isInTransaction else { return }
        try connection.execute("ROLLBACK TO \"graphmapper step\"")
        try connection.execute("RELEASE \"graphmapper step\"")
    }

    /// Whether a table's definition says what the store's never do.
    private func isDeclaredOtherwise(_ table: String) throws -> Bool {
        let rows = try connection.peekAll(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)", [.text(table)])
        guard case .text(let sql)? = rows.first?.first else { return false }
        return !BareWords.words(of: sql).isDisjoint(with: [
            "AS", "AUTOINCREMENT", "CHECK", "COLLATE", "CONFLICT", "GENERATED", "STRICT", "UNIQUE", "UPDATE",
        ])
    }

    /// Those that the records no longer declare. Opening makes those that they do.
    func dropOwnIndexes(_ table: String) throws {
        for sql in TextIndex.drops(of: table) { try connection.execute(sql) }
        for index in try StoredTable.indexes(of: table, connection) where Installation.isOurs(index, of: table) {
            try connection.execute("DROP INDEX \(Dialect.quoted(index.name))")
        }
    }

    func dropIndexes(_ table: String) throws {
        for sql in TextIndex.drops(of: table) { try connection.execute(sql) }
        for index in try StoredTable.indexes(of: table, connection) where index.isOwn {
            try connection.execute("DROP INDEX \(Dialect.quoted(index.name))")
        }
    }
}
