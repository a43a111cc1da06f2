/// The statements of changes: what a save runs, and what its plan shows, come from here.
enum RowStatements {
    /// One statement and what is bound to it.
    typealias Bound = (sql: String, values: [StoredValue])

    static func insert(_ table: String, _ columns: [String]) -> String {
        "INSERT INTO \(Dialect.quoted(table)) (\(Dialect.list(columns))) VALUES (\(Dialect.parameters(columns.count)))"
    }

    static func update(_ row: ChangeSet.Update) -> String {
        set(row.table, row.columns + row.unread, row.keyColumns)
            + (row.columns.isEmpty ? "" : " AND \(Dialect.same(row.columns))")
    }

    static func set(_ table: String, _ columns: [String], _ keyColumns: [String]) -> String {
        "UPDATE \(Dialect.quoted(table)) SET \(Dialect.assignments(columns)) WHERE \(Dialect.match(keyColumns))"
    }

    static func delete(from table: String, _ keyColumns: [String]) -> String {
        "DELETE FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(keyColumns))"
    }

    static func delete(_ row: ChangeSet.Deletion) -> String {
        delete(from: row.table, row.keyColumns)
            + (row.columns.isEmpty ? "" : " AND \(Dialect.same(row.columns))")
    }

    /// What a row holds that a change did not find as it expects.
    static func select(_ table: String, _ columns: [String], _ keyColumns: [String]) -> String {
        "SELECT \(columns.isEmpty ? Dialect.always : Dialect.list(columns)) FROM \(Dialect.quoted(table)) "
            + "WHERE \(Dialect.match(keyColumns))"
    }

    /// The targets of one row's ordered link.
    static func selectList(_ table: String, _ owner: [String], _ target: [String]) -> String {
        "SELECT \(Dialect.list(target)) FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(owner)) ORDER BY position"
    }
}
