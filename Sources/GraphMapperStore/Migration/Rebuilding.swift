/// Tables that are made anew: how rows get from the old to the new one, and what goes with the old one and comes back.
extension MigrationStep {
    /// Makes a table anew in another layout, and copies its rows through a closure.
    func rebuild(
        _ table: String, as layout: TableLayout, _ copy: ([StoredValue]) throws -> [StoredValue]
    ) async throws {
        let known = try self.layout(table).columns
        let unsupported = known.first { $0.storage == .null }
        if try unsupported != nil || connection.hasUnsupportedDefinition(table) {
            throw mismatch(
                "\(table) is declared otherwise than the store's tables, and would lose that; change it with execute, or "
                    + "transform it into a table of a record", table, unsupported?.name)
        }
        let old = known.map(\.name)
        var new = layout
        new.name = Self.temporary(table)
        try await atomically {
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
    /// new one then, and is left as it is.
    func put(_ new: String, inPlaceOf name: String) throws {
        try connection.renamingTableAlone { try rename(new, name) }
    }

    /// The definitions of what somebody else has made for a table and goes with it: triggers, and indexes of columns
    /// that stay. The store's own full-text index is gone by then.
    func attachments(of table: String, staying columns: [String]) throws -> [String] {
        for sql in TextIndexLayout.drops(of: table) { try connection.execute(sql) }
        let all = try layout(table).columns.map(\.name)
        let indexes = try StoredTable.indexes(of: table, connection).filter { index in
            index.isOwn && !Installation.isStoreOwned(index, of: table)
                && Set(columns).isSuperset(of: index.columns ?? all)
        }
        return try indexes.compactMap(\.sql) + connection.triggerDefinitions(of: table)
    }

    /// Runs what is done whole or not at all, so that a step may go on after an error of its own.
    func atomically<T>(_ body: () async throws -> T) async throws -> T {
        try connection.execute("SAVEPOINT \"graphmapper step\"")
        do {
            let result = try await body()
            try connection.execute("RELEASE \"graphmapper step\"")
            return result
        } catch {
            try undoSavepoint()
            throw error
        }
    }

    /// Where the error has rolled back everything, as a full disk does, there is nothing to undo.
    private func undoSavepoint() throws {
        guard connection.isInTransaction else { return }
        try connection.execute("ROLLBACK TO \"graphmapper step\"")
        try connection.execute("RELEASE \"graphmapper step\"")
    }

    /// Those that the records no longer declare. Opening makes those that they do.
    func dropOwnIndexes(_ table: String) throws {
        for sql in TextIndexLayout.drops(of: table) { try connection.execute(sql) }
        for index in try StoredTable.indexes(of: table, connection) where Installation.isStoreOwned(index, of: table) {
            try connection.execute("DROP INDEX \(Dialect.quoted(index.name))")
        }
    }

    func dropIndexes(_ table: String) throws {
        for sql in TextIndexLayout.drops(of: table) { try connection.execute(sql) }
        for index in try StoredTable.indexes(of: table, connection) where index.isOwn {
            try connection.execute("DROP INDEX \(Dialect.quoted(index.name))")
        }
    }
}
