extension WriteSet {
    /// Notes what triggers have written because of what the transaction has: SQLite tells what they may write to. Costs a
    /// look at the schema's version, unless there are triggers.
    ///
    /// - Parameter countingForeignKeys: whether others have declared such that write; what those of records do is known.
    mutating func noteTriggers(
        _ connection: Connection, _ lists: [String: ListOwner], countingForeignKeys: Bool
    ) throws {
        let written = tables
        guard !written.isEmpty,
            try connection.hasTriggers(orForeignKeysOf: countingForeignKeys ? { lists[$0] == nil } : nil)
        else { return }
        for table in written {
            for statement in try table.statements(connection, lists) {
                for write in try connection.writes(of: statement) where !StoreTables.all.contains(write.table) {
                    if let list = lists[write.table] {
                        guard write.isTriggered || list.table != table.table else { continue }
                        note(rowsOf: list.table, .update, [list.property])
                    } else if write.isTriggered || write.table != table.table || write.kind != table.kind {
                        note(rowsOf: write.table, write.kind, write.columns)
                    }
                }
            }
            if table.kind == .delete, try deletesMore(table.table, connection) {
                note(rowsOf: table.table, .delete, nil)
            }
        }
    }
}

/// Whether the rows of a table go with others of the same table.
private func deletesMore(_ table: String, _ connection: Connection) throws -> Bool {
    try StoredTable(table, connection)?.references(connection).contains {
        $0.onDelete == "CASCADE" && Dialect.folded($0.target) == Dialect.folded(table)
    } == true
}

extension TableWrite {
    /// Statements that do what was done, for SQLite to say what else happens then. They are not run.
    fileprivate func statements(_ connection: Connection, _ lists: [String: ListOwner]) throws -> [String] {
        let own = try StoredTable(table, connection)?.columns.filter { !$0.isGenerated }.map(\.name) ?? []
        let changed = columns.map { columns in own.filter(columns.contains) } ?? own
        var statements: [String] = []
        func add(_ table: String, _ kind: WriteKind, _ columns: [String]) {
            let name = Dialect.quoted(table)
            switch kind {
            case .insert: statements.append("INSERT INTO \(name) DEFAULT VALUES")
            case .delete: statements.append("DELETE FROM \(name)")
            case .update where columns.isEmpty: return
            case .update:
                let same = columns.map { "\(Dialect.quoted($0)) = \(Dialect.quoted($0))" }.joined(separator: ", ")
                statements.append("UPDATE \(name) SET \(same)")
            }
        }
        add(table, kind, changed)
        for (name, list) in lists where list.table == table && columns?.contains(list.property) != false {
            add(name, .insert, [])
            add(name, .delete, [])
            add(name, .update, ["position"])
        }
        return statements
    }
}
