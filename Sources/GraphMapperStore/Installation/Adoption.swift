/// What keeps a record from being read from a table or view that something else has made.
///
/// Nothing more is asked than reading needs: the columns by name, types that do not turn the record's values into others,
/// and a key that tells rows apart. What else is in the table is left alone, and so are its indexes and foreign keys.
extension Difference {
    static func adopting(
        _ table: TableLayout, _ stored: StoredTable?, _ connection: Connection
    ) throws -> [Difference] {
        guard let stored else {
            return [
                Difference(
                    table.name, nil, "the file has no table or view \(table.name), which \(table.record) adopts",
                    table.owner == nil
                        ? "open the file that has it, or correct the schema's name"
                        : "declare a record over the table that has the links")
            ]
        }
        guard stored.name == table.name else {
            return [
                Difference(
                    table.name, nil, "\(table.name) is called \(stored.name) in the file", "write it so in the schema")
            ]
        }
        let columns = columns(table, stored)
        return try columns.isEmpty ? key(table, stored, connection) : columns
    }

    private static func columns(_ table: TableLayout, _ stored: StoredTable) -> [Difference] {
        table.columns.compactMap { column in
            let path = "\(table.name).\(column.name)"
            func differs(_ text: String, _ advice: String) -> Difference {
                Difference(table.name, column.name, text, advice)
            }
            if let found = stored.columns.first(where: { $0.name == column.name }) {
                guard stored.kind == .table else { return nil }
                let affinity = Affinity(found.type)
                return affinity.keeps(column.storage)
                    ? nil
                    : differs(
                        "\(path) is declared \(found.type), which does not keep what the record has, \(column.storage)",
                        "give the property a type that is stored as \(affinity)")
            }
            if column.name == Dialect.rowNumber, !stored.isWithoutRowID, column.storage == .integer { return nil }
            let folded = Dialect.folded(column.name)
            if let other = stored.columns.first(where: { Dialect.folded($0.name) == folded }) {
                return differs("\(path) is called \(other.name) in the file", "write it so in the schema")
            }
            let names = stored.columns.map(\.name).joined(separator: ", ")
            return differs("\(path) is not in the file", "the columns are \(names)")
        }
    }

    /// Of a view nobody can say what tells its rows apart.
    private static func key(
        _ table: TableLayout, _ stored: StoredTable, _ connection: Connection
    ) throws -> [Difference] {
        let key = Set(table.key)
        let isNumber = key == [Dialect.rowNumber] && !stored.columns.contains { $0.name == Dialect.rowNumber }
        guard stored.kind == .table, !isNumber, Set(stored.key) != key else { return [] }
        let isUnique = try stored.indexes(connection).contains { index in
            index.isUnique && index.isPlain && index.columns.map { key.isSuperset(of: $0) } == true
        }
        if isUnique { return [] }
        let primary = stored.key.isEmpty ? Dialect.rowNumber : stored.key.joined(separator: ", ")
        return [
            Difference(
                table.name, table.key.first,
                "nothing in the file keeps \(table.key.joined(separator: ", ")) of \(table.name) unique, which is the "
                    + "record's id", "the table has \(primary) for a key")
        ]
    }
}
