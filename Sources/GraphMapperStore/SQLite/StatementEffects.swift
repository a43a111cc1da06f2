internal import CSQLite

/// What statements read and write, as SQLite says while it prepares them.
extension Connection {
    /// The tables and columns that a statement reads, also by what it selects from inside its conditions.
    func reads(of sql: String) throws -> [String: Set<String>] {
        let notes = ReadNotes()
        try prepare(sql, notes) { context, action, table, column, _, _ in
            guard action == SQLITE_READ, let context, let table else { return SQLITE_OK }
            Unmanaged<ReadNotes>.fromOpaque(context).takeUnretainedValue().tables[
                String(cString: table), default: []
            ].insert(column.map { String(cString: $0) } ?? "")
            return SQLITE_OK
        }
        return notes.tables
    }

    /// What a statement may write to, what foreign keys and triggers do because of it included, SQLite's own tables not.
    func writes(of sql: String) throws -> [TableWrite] {
        try forgetOldSchema()
        if let known = effects.bySQL[sql] { return known }
        let notes = WriteNotes()
        try prepare(sql, notes) { context, action, table, column, _, trigger in
            guard let context, let table else { return SQLITE_OK }
            Unmanaged<WriteNotes>.fromOpaque(context).takeUnretainedValue().note(
                action, String(cString: table), column.map { String(cString: $0) }, trigger != nil)
            return SQLITE_OK
        }
        // Full-text indexes follow their tables.
        let indexes = try peekAll(
            "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%' UNION ALL "
                + "SELECT name || '_keys' FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'", [])
        let found = notes.writes.filter { !indexes.contains([.text($0.table)]) }
        if effects.bySQL.count >= 256 { effects.bySQL.removeAll() }
        effects.bySQL[sql] = found
        return found
    }

    private func prepare(_ sql: String, _ notes: AnyObject, _ authorizer: Authorizer) throws {
        try withExtendedLifetime(notes) {
            sqlite3_set_authorizer(handle, authorizer, Unmanaged.passUnretained(notes).toOpaque())
            defer { sqlite3_set_authorizer(handle, nil, nil) }
            _ = try Statement(handle, sql)
        }
    }

    /// Whether the file has triggers, or foreign keys that write.
    ///
    /// - Parameter isCounted: whether a table's foreign keys count; nil if none do.
    func hasTriggers(orForeignKeysOf isCounted: ((_ table: String) -> Bool)?) throws -> Bool {
        try forgetOldSchema()
        if let known = effects.hasTriggers { return known }
        let triggers = try peek(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger') "
                + "OR EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE type = 'trigger')")
        let found = try triggers == .integer(1) || (isCounted.map { try hasActions(of: $0) } ?? false)
        effects.hasTriggers = found
        return found
    }

    private func hasActions(of isCounted: (String) -> Bool) throws -> Bool {
        let tables = try peekAll(
            "SELECT DISTINCT t.name FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table' "
                + "AND (f.on_delete NOT IN ('NO ACTION', 'RESTRICT') OR f.on_update NOT IN ('NO ACTION', 'RESTRICT'))",
            [])
        return tables.contains { row in if case .text(let table) = row[0] { isCounted(table) } else { false } }
    }

    /// What is known of triggers is not once one may have come or gone.
    private func forgetOldSchema() throws {
        let version = [try peek("PRAGMA main.schema_version"), try peek("PRAGMA temp.schema_version")]
        if effects.schema != version { effects = (version, [:], nil) }
    }
}

/// SQLite calls it with what a statement does: context, action, table, column, database, trigger.
private typealias Authorizer =
    @convention(c) (
        UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
        UnsafePointer<CChar>?
    ) -> Int32

private final class ReadNotes {
    var tables: [String: Set<String>] = [:]
}

private final class WriteNotes {
    private(set) var writes: [TableWrite] = []

    func note(_ action: Int32, _ table: String, _ column: String?, _ isTriggered: Bool) {
        let kind: WriteKind
        switch action {
        case SQLITE_INSERT: kind = .insert
        case SQLITE_UPDATE: kind = .update
        case SQLITE_DELETE: kind = .delete
        default: return
        }
        guard !table.hasPrefix("sqlite_") else { return }
        let index =
            writes.firstIndex { $0.table == table && $0.kind == kind && $0.isTriggered == isTriggered } ?? writes.count
        if index == writes.count {
            writes.append(TableWrite(table: table, kind: kind, columns: nil, isTriggered: isTriggered))
        }
        guard kind == .update, let column, writes[index].columns?.contains(column) != true else { return }
        writes[index].columns = (writes[index].columns ?? []) + [column]
    }
}
