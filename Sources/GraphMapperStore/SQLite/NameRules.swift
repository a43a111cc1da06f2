extension Dialect {
    /// What SQLite would say of the names of these tables and their columns, in sentences.
    ///
    /// Rules: names are told apart without regard to the case of `A` to `Z`, those that begin with `sqlite_` are its own
    /// (https://sqlite.org/lang_createtable.html), a NUL ends a statement, and full-text tables have columns of their own
    /// (https://sqlite.org/fts5.html).
    static func nameDiagnostics(of tables: [TableLayout]) -> [String] {
        var diagnostics: [String] = []
        for (name, parts) in Dictionary(grouping: tables, by: \.name).sorted(by: { $0.key < $1.key }) {
            if folded(name).hasPrefix("sqlite_") {
                diagnostics.append("\(name): names of tables that begin with sqlite_ are SQLite's own; choose another")
            }
            let columns = Set(parts.flatMap(\.columns).map(\.name))
            diagnostics += ([name] + columns.sorted()).filter { $0.utf8.contains(0) }.map {
                "\(name.debugDescription): the name \($0.debugDescription) has a NUL; remove it"
            }
            for same in Dictionary(grouping: columns, by: folded).values.filter({ $0.count > 1 }) {
                let names = same.sorted().joined(separator: ", ")
                diagnostics.append("\(name): \(names) differ in case only, which is one column to SQLite; rename one")
            }
            for column in Set(parts.compactMap(\.text).flatMap(\.columns)).sorted() where isOfTextIndex(column) {
                diagnostics.append("\(name).\(column): a full-text index cannot have a column of that name; rename it")
            }
        }
        return diagnostics
    }

    private static func isOfTextIndex(_ column: String) -> Bool { ["rank", "rowid"].contains(folded(column)) }

    /// A name as SQLite compares it.
    static func folded(_ name: String) -> String {
        String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
