/// The full-text index of a table: an FTS5 table that keeps no text of its own, and triggers that keep it up to date
/// (https://sqlite.org/fts5.html, 4.4.3).
struct TextIndex {
    let table: String
    let columns: [String]

    static func name(_ table: String) -> String { "\(table)_text" }
    private var name: String { Self.name(table) }

    var definition: String {
        "CREATE VIRTUAL TABLE \(Dialect.quoted(name)) USING fts5(\(Dialect.list(columns)), "
            + "content=\(Dialect.quoted(table)), tokenize=\"unicode61 remove_diacritics 2\")"
    }

    /// Fills it from the table. Needed after rows have other numbers.
    var rebuild: String { "INSERT INTO \(Dialect.quoted(name)) (\(Dialect.quoted(name))) VALUES ('rebuild')" }

    var statements: [String] {
        let index = Dialect.quoted(name)
        let list = Dialect.list(columns)
        func values(_ row: String) -> String {
            (["\(row).rowid"] + columns.map { "\(row).\(Dialect.quoted($0))" }).joined(separator: ", ")
        }
        let insert = "INSERT INTO \(index) (rowid, \(list)) VALUES (\(values("new")));"
        let delete = "INSERT INTO \(index) (\(index), rowid, \(list)) VALUES ('delete', \(values("old")));"
        func trigger(_ event: String, _ when: String, _ body: String) -> String {
            "CREATE TRIGGER \(Dialect.quoted("\(name)_\(event)")) AFTER \(when) ON \(Dialect.quoted(table)) BEGIN \(body) END"
        }
        return [
            definition, trigger("insert", "INSERT", insert), trigger("delete", "DELETE", delete),
            trigger("update", "UPDATE OF \(list)", "\(delete) \(insert)"), rebuild,
        ]
    }

    /// What removes the index of a table, if it has one.
    static func drops(of table: String) -> [String] {
        ["insert", "delete", "update"].map { "DROP TRIGGER IF EXISTS \(Dialect.quoted("\(name(table))_\($0)"))" }
            + ["DROP TABLE IF EXISTS \(Dialect.quoted(name(table)))"]
    }

    /// The definition that the file has of a table's index; nil if it has none.
    static func stored(of table: String, _ connection: Connection) throws -> String? {
        let rows = try connection.peekAll(
            "SELECT sql FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'",
            [.text(name(table))])
        guard case .text(let sql)? = rows.first?.first else { return nil }
        return sql
    }
}
