internal import CSQLite

/// What a statement of somebody's own writes to.
struct Touched: Hashable {
    let table: String
    let kind: ChangeRecord.Kind
    /// The columns that an update sets; nil for inserts and deletes.
    var columns: [String]?
}

extension Connection {
    /// What a statement may write to, what foreign keys and triggers do because of it included: SQLite says so while it
    /// prepares the statement.
    func touched(by sql: String) throws -> [Touched] {
        // A trigger may have come since.
        let version = try peek("PRAGMA schema_version")
        if touched.schema != version { touched = (version, [:]) }
        if let known = touched.bySQL[sql] { return known }
        let notes = Notes()
        try withExtendedLifetime(notes) {
            sqlite3_set_authorizer(
                handle,
                { context, action, table, column, _, _ in
                    guard let context, let table else { return SQLITE_OK }
                    Unmanaged<Notes>.fromOpaque(context).takeUnretainedValue().note(
                        action, String(cString: table), column.map { String(cString: $0) })
                    return SQLITE_OK
                }, Unmanaged.passUnretained(notes).toOpaque())
            defer { sqlite3_set_authorizer(handle, nil, nil) }
            _ = try Statement(handle, sql)
        }
        // Full-text indexes follow their tables.
        let indexes = try peekAll("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'", [])
        let found = notes.touched.filter { !indexes.contains([.text($0.table)]) }
        if touched.bySQL.count >= 256 { touched.bySQL.removeAll() }
        touched.bySQL[sql] = found
        return found
    }
}

private final class Notes {
    private(set) var touched: [Touched] = []

    func note(_ action: Int32, _ table: String, _ column: String?) {
        let kind: ChangeRecord.Kind
        switch action {
        case SQLITE_INSERT: kind = .insert
        case SQLITE_UPDATE: kind = .update
        case SQLITE_DELETE: kind = .delete
        default: return
        }
        guard !table.hasPrefix("sqlite_"), table != FileHeader.table, table != ChangeLog.table else { return }
        let place = touched.firstIndex { $0.table == table && $0.kind == kind } ?? touched.count
        if place == touched.count { touched.append(Touched(table: table, kind: kind, columns: nil)) }
        guard kind == .update, let column, touched[place].columns?.contains(column) != true else { return }
        touched[place].columns = (touched[place].columns ?? []) + [column]
    }
}
