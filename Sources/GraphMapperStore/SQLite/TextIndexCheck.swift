/// Finds out whether a full-text index fits its table, by making the index once more beside the file and comparing what
/// stands in both. SQLite's own check of it writes, which a reader cannot, and `PRAGMA integrity_check` leaves it out.
extension Connection {
    /// What is wrong with the index, in a sentence; nil if nothing is.
    func damage(of index: TextIndexLayout) throws -> String? {
        let name = TextIndexLayout.name(index.table)
        guard try TextIndexLayout.stored(of: index.table, self) != nil else { return nil }
        do {
            if try isSame(index, name) { return nil }
        } catch let error as StoreError where error.kind == .notADatabase {
            return "\(name): \(error.message)"
        }
        return "\(name): the full-text index does not fit its table; make it anew with "
            + "INSERT INTO \(Dialect.quoted(name)) (\(Dialect.quoted(name))) VALUES ('rebuild')"
    }

    private static let copy = "temp.graphmapper_copy"
    private static let copied = "temp.graphmapper_copied"
    private static let found = "temp.graphmapper_found"

    private func isSame(_ index: TextIndexLayout, _ name: String) throws -> Bool {
        defer {
            // They go with the connection if they cannot go now.
            for table in [Self.copied, Self.found, Self.copy] { try? execute("DROP TABLE IF EXISTS \(table)") }
        }
        try execute("CREATE VIRTUAL TABLE \(Self.copy) USING fts5(\(index.copyArguments))")
        try execute("INSERT INTO \(Self.copy) (rowid, \(Dialect.list(index.columns))) \(index.selectsTexts)")
        try execute("CREATE VIRTUAL TABLE \(Self.copied) USING fts5vocab(temp, graphmapper_copy, instance)")
        try execute("CREATE VIRTUAL TABLE \(Self.found) USING fts5vocab(main, \(Dialect.quoted(name)), instance)")
        func differs(_ left: String, _ right: String) -> String {
            "EXISTS (SELECT term, doc, col, \"offset\" FROM \(left) EXCEPT SELECT term, doc, col, \"offset\" FROM \(right))"
        }
        let isOther = try peek(
            "SELECT \(differs(Self.copied, Self.found)) OR \(differs(Self.found, Self.copied)) OR \(index.isIncomplete)"
        )
        return isOther == .integer(0)
    }
}
