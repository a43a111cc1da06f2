internal import CSQLite

extension Connection {
    /// The tables and columns that a statement reads, also by what it selects from inside its conditions: SQLite says so
    /// while it prepares the statement.
    func reads(of sql: String) throws -> [String: Set<String>] {
        let notes = ReadNotes()
        try withExtendedLifetime(notes) {
            sqlite3_set_authorizer(
                handle,
                { context, action, table, column, _, _ in
                    guard action == SQLITE_READ, let context, let table else { return SQLITE_OK }
                    Unmanaged<ReadNotes>.fromOpaque(context).takeUnretainedValue().tables[
                        String(cString: table), default: []
                    ].insert(column.map { String(cString: $0) } ?? "")
                    return SQLITE_OK
                }, Unmanaged.passUnretained(notes).toOpaque())
            defer { sqlite3_set_authorizer(handle, nil, nil) }
            _ = try Statement(handle, sql)
        }
        return notes.tables
    }
}

private final class ReadNotes {
    var tables: [String: Set<String>] = [:]
}
