internal import CSQLite

/// What a statement of somebody's own writes to.
struct Touched: Hashable {
    let table: String
    let kind: ChangeRecord.Kind
    /// The columns that an update sets; nil for inserts and deletes.
    var columns: [String]?
    /// Whether a trigger does it.
    var isTriggered = false
}

extension Connection {
    /// What a statement may write to, what foreign keys and triggers do because of it included: SQLite says so while it
    /// prepares the statement.
    func touched(by sql: String) throws -> [Touched] {
        try forgetOldSchema()
        if let known = touched.bySQL[sql] { return known }
        let notes = Notes()
        try withExtendedLifetime(notes) {
            sqlite3_set_authorizer(
                handle,
                { context, action, table, column, _, trigger in
                    guard let context, let table else { return SQLITE_OK }
                    Unmanaged<Notes>.fromOpaque(context).takeUnretainedValue().note(
                        action, String(cString: table), column.map { String(cString: $0) }, trigger != nil)
                    return SQLITE_OK
                }, Unmanaged.passUnretained(notes).toOpaque())
            defer { sqlite3_set_authorizer(handle, nil, nil) }
            _ = try Statement(handle, sql)
        }
        // Full-text indexes follow their tables.
        let indexes = try peekAll(
            "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%' UNION ALL "
                + "SELECT name || '_keys' FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'", [])
        let found = notes.touched.filter { !indexes.contains([.text($0.table)]) }
        if touched.bySQL.count >= 256 { touched.bySQL.removeAll() }
        touched.bySQL[sql] = found
        return found
    }
}

extension Connection {
    /// Whether the file has triggers, or foreign keys that write.
    ///
    /// - Parameter lists: the tables of ordered links, whose foreign keys do not count; nil if none do.
    func hasTriggers(orForeignKeysBesides lists: [String: ListOwner]?) throws -> Bool {
        try forgetOldSchema()
        if let known = touched.hasTriggers { return known }
        let triggers = try peek(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger') "
                + "OR EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE type = 'trigger')")
        let found = try triggers == .integer(1) || (lists.map { try hasActions(besides: $0) } ?? false)
        touched.hasTriggers = found
        return found
    }

    private func hasActions(besides lists: [String: ListOwner]) throws -> Bool {
        let tables = try peekAll(
            "SELECT DISTINCT t.name FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table' "
                + "AND (f.on_delete NOT IN ('NO ACTION', 'RESTRICT') OR f.on_update NOT IN ('NO ACTION', 'RESTRICT'))",
            [])
        return tables.contains { row in
            if case .text(let table) = row[0] { lists[table] == nil } else { false }
        }
    }

    /// What is known of triggers is not once one may have come or gone.
    private func forgetOldSchema() throws {
        let version = [try peek("PRAGMA main.schema_version"), try peek("PRAGMA temp.schema_version")]
        if touched.schema != version { touched = (version, [:], nil) }
    }
}

private final class Notes {
    private(set) var touched: [Touched] = []

    func note(_ action: Int32, _ table: String, _ column: String?, _ isTriggered: Bool) {
        let kind: ChangeRecord.Kind
        switch action {
        case SQLITE_INSERT: kind = .insert
        case SQLITE_UPDATE: kind = .update
        case SQLITE_DELETE: kind = .delete
        default: return
        }
        guard !table.hasPrefix("sqlite_"), table != FileHeader.table, table != ChangeLog.table else { return }
        let place =
            touched.firstIndex { $0.table == table && $0.kind == kind && $0.isTriggered == isTriggered }
            ?? touched.count
        if place == touched.count {
            touched.append(Touched(table: table, kind: kind, columns: nil, isTriggered: isTriggered))
        }
        guard kind == .update, let column, touched[place].columns?.contains(column) != true else { return }
        touched[place].columns = (touched[place].columns ?? []) + [column]
    }
}
