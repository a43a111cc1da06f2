/// Tables and columns by their names.
extension MigrationStep {
    static func temporary(_ table: String) -> String { "graphmapper new \(table)" }

    func layout(_ table: String) throws -> TableLayout {
        try check()
        guard let stored = try StoredTable(table, connection) else {
            throw StoreError(.schemaMismatch, "the file has no table \(table)", table: table)
        }
        return try TableLayout(stored, connection)
    }

    func index(of column: String, _ layout: TableLayout) throws -> Int {
        guard let index = layout.columns.firstIndex(where: { $0.name == column }) else {
            let names = layout.columns.map(\.name).joined(separator: ", ")
            throw mismatch("\(layout.name) has no column \(column), but \(names)", layout.name, column)
        }
        return index
    }

    func mismatch(_ text: String, _ table: String, _ column: String?) -> StoreError {
        StoreError(.schemaMismatch, text, table: table, column: column)
    }

    /// The tables of a table's ordered links.
    func listTables(of table: String) throws -> [String] {
        try StoredTable.lists(of: table, connection).map(\.name)
    }

    /// The table of an ordered link, if that is what a property is.
    func listTable(of property: String, _ layout: TableLayout) throws -> String? {
        guard !layout.columns.contains(where: { $0.name == property }) else { return nil }
        let name = RecordLayout.listTable(layout.name, property)
        return try listTables(of: layout.name).first { $0 == name }
    }
}

extension TableLayout {
    /// A table of the file.
    fileprivate init(_ stored: StoredTable, _ connection: Connection) throws {
        self.init(name: stored.name, record: stored.name, key: stored.key)
        columns = stored.columns.map { column in
            Column(
                name: column.name, storage: Dialect.storage(column.type), isNullable: column.isNullable,
                preset: column.preset)
        }
        links = try stored.references(connection).map {
            Link(
                columns: $0.columns, target: $0.target, onDelete: Dialect.onDelete($0.onDelete), indexName: nil)
        }
        isClustered = stored.isWithoutRowID
    }
}
