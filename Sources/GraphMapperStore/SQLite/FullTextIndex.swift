/// The full-text index of a table: an FTS5 table that keeps no text of its own, and triggers that keep it up to date
/// (https://sqlite.org/fts5.html, 4.4.3).
///
/// FTS5 knows rows by numbers. A table whose key is one whole number has them. Others get a table that numbers their keys:
/// the row numbers that SQLite gives such tables itself change when somebody compacts the file.
extension TextIndexLayout {
    static func name(_ table: String) -> String { "\(table)_text" }
    /// The table that numbers the keys, and the view that shows the texts by number.
    static func keyTable(_ table: String) -> String { "\(table)_text_keys" }
    static func view(_ table: String) -> String { "\(table)_text_rows" }
    private static let triggers = ["insert", "delete", "update"]
    private static let number = "number"

    private var name: String { Self.name(table) }
    /// What the file calls its parts.
    var names: [String] { [name] + (isNumbered ? [] : [Self.keyTable(table), Self.view(table)]) }

    var definition: String {
        let content = isNumbered ? table : Self.view(table)
        return "CREATE VIRTUAL TABLE \(Dialect.quoted(name)) USING fts5(\(Dialect.list(columns)), "
            + "content=\(Dialect.quoted(content)), \(isNumbered ? "" : "content_rowid=\(Self.number), ")"
            + "\(Self.tokenizer))"
    }

    private static let tokenizer = "tokenize=\"unicode61 remove_diacritics 2\""

    /// What a second index of the same texts, which keeps none of them, is made with.
    var copyArguments: String { "\(Dialect.list(columns)), content='', \(Self.tokenizer)" }

    /// The texts with the numbers that the index knows their rows by.
    var selectsTexts: String {
        isNumbered
            ? "SELECT rowid, \(Dialect.list(columns)) FROM \(Dialect.quoted(table))"
            : "SELECT \(Self.number), \(Dialect.list(columns)) FROM \(Dialect.quoted(Self.view(table)))"
    }

    /// Whether rows have no number, or numbers no row.
    var isIncomplete: String {
        guard !isNumbered else { return "0" }
        func count(_ name: String) -> String { "(SELECT count(*) FROM \(Dialect.quoted(name)))" }
        let (rows, shown, numbers) = (count(table), count(Self.view(table)), count(Self.keyTable(table)))
        return "\(rows) <> \(shown) OR \(numbers) <> \(shown)"
    }

    /// Whether the file has all parts of the index, as they would be made now. What others have removed or changed has not
    /// kept the index up to date.
    func isWhole(_ connection: Connection) throws -> Bool {
        let rows = try connection.peekAll("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", [])
        let found = Set(rows.compactMap { row in if case .text(let sql) = row[0] { sql } else { nil } })
        return statements.filter { $0.hasPrefix("CREATE") }.allSatisfy(found.contains)
    }

    /// Fills it from the table.
    private var rebuild: String { "INSERT INTO \(Dialect.quoted(name)) (\(Dialect.quoted(name))) VALUES ('rebuild')" }

    var statements: [String] {
        let index = Dialect.quoted(name)
        let list = Dialect.list(columns)
        func values(_ row: String) -> String {
            ([number(of: row)] + columns.map { "\(row).\(Dialect.quoted($0))" }).joined(separator: ", ")
        }
        let insert = "INSERT INTO \(index) (rowid, \(list)) VALUES (\(values("new")));"
        let delete = "INSERT INTO \(index) (\(index), rowid, \(list)) VALUES ('delete', \(values("old")));"
        func trigger(_ event: String, _ when: String, _ body: String) -> String {
            "CREATE TRIGGER \(Dialect.quoted("\(name)_\(event)")) AFTER \(when) ON \(Dialect.quoted(table)) BEGIN \(body) END"
        }
        let update = "UPDATE OF \(Dialect.list(columns + key.filter { !columns.contains($0) }))"
        guard !isNumbered else {
            return [
                definition, trigger("insert", "INSERT", insert), trigger("delete", "DELETE", delete),
                trigger("update", update, "\(delete) \(insert)"), rebuild,
            ]
        }
        let (keys, keyList) = (Dialect.quoted(Self.keyTable(table)), Dialect.list(key))
        func parts(_ row: String) -> String { key.map { "\(row).\(Dialect.quoted($0))" }.joined(separator: ", ") }
        let enlist = "INSERT INTO \(keys) (\(keyList)) VALUES (\(parts("new")));"
        let forget = "DELETE FROM \(keys) WHERE \(isKey("old"));"
        let change = "UPDATE \(keys) SET (\(keyList)) = (\(parts("new"))) WHERE \(isKey("old"));"
        return [
            "CREATE TABLE \(keys) (\(Self.number) INTEGER PRIMARY KEY, \(keyList), UNIQUE (\(keyList)))",
            "INSERT INTO \(keys) (\(keyList)) SELECT \(keyList) FROM \(Dialect.quoted(table))",
            "CREATE VIEW \(Dialect.quoted(Self.view(table))) AS SELECT k.\(Self.number), "
                + columns.map { "t.\(Dialect.quoted($0))" }.joined(separator: ", ")
                + " FROM \(keys) AS k JOIN \(Dialect.quoted(table)) AS t USING (\(keyList))",
            definition, trigger("insert", "INSERT", "\(enlist) \(insert)"),
            trigger("delete", "DELETE", "\(delete) \(forget)"),
            trigger("update", update, "\(delete) \(change) \(insert)"), rebuild,
        ]
    }

    /// The number of a row that a trigger has.
    private func number(of row: String) -> String {
        isNumbered
            ? "\(row).rowid"
            : "(SELECT \(Self.number) FROM \(Dialect.quoted(Self.keyTable(table))) WHERE \(isKey(row)))"
    }

    private func isKey(_ row: String) -> String {
        key.map { "\(Dialect.quoted($0)) = \(row).\(Dialect.quoted($0))" }.joined(separator: " AND ")
    }

    /// The keys of rows that are found, as a table with the index, for a search.
    var source: String {
        let index = Dialect.quoted(name)
        if isNumbered { return index }
        let keys = Dialect.quoted(Self.keyTable(table))
        return "\(index) JOIN \(keys) ON \(keys).\(Self.number) = \(index).rowid"
    }

    /// The columns of the key in ``source``.
    var sourceKey: [String] {
        let keys = Dialect.quoted(Self.keyTable(table))
        return isNumbered ? ["\(Dialect.quoted(name)).rowid"] : key.map { "\(keys).\(Dialect.quoted($0))" }
    }

    /// The left side of a search.
    var match: String { "\(Dialect.quoted(name)) MATCH" }

    /// What asks for the keys of rows in which a text is found, the best first, with how well each fits and the words around
    /// what was found. Its parameters are what stands before and after such a word, the text, those of `rows`, and a limit.
    ///
    /// - Parameter rows: selects the keys of the rows among which is searched.
    func search(among rows: String) -> String {
        let index = Dialect.quoted(name)
        return "SELECT \(sourceKey.joined(separator: ", ")), -bm25(\(index)), snippet(\(index), -1, ?, ?, '…', 16) "
            + "FROM \(source) WHERE \(match) ? AND \(Dialect.row(sourceKey)) IN (\(rows)) "
            + "ORDER BY bm25(\(index)), \(index).rowid LIMIT ?"
    }

    /// What removes the index of a table, if it has one.
    static func drops(of table: String) -> [String] {
        triggers.map { "DROP TRIGGER IF EXISTS \(Dialect.quoted("\(name(table))_\($0)"))" }
            + [
                "DROP TABLE IF EXISTS \(Dialect.quoted(name(table)))",
                "DROP VIEW IF EXISTS \(Dialect.quoted(view(table)))",
                "DROP TABLE IF EXISTS \(Dialect.quoted(keyTable(table)))",
            ]
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
