/// What a migration step changes tables with. Ends with its closure.
///
/// Tables and columns go by the names that they have in the file. A record type of an older version is a type of its
/// own, which the program keeps for the step: `struct OldPerson: StoredRecord { … Schema<Self>("person") … }`.
public final class MigrationStep {
    let connection: Connection
    var isOpen = true
    let progress: (Double) -> Void

    init(_ connection: Connection, progress: @escaping (Double) -> Void) {
        self.connection = connection
        self.progress = progress
    }

    func check() throws {
        guard isOpen else { throw StoreError(.misuse, "the migration step has ended") }
    }

    // MARK: Columns

    /// Adds a column, or one a part of an embedded value, in which every row has `value`.
    ///
    /// - Throws: ``StoreError`` if there is no such table, or the column is there.
    public func add<V: Storable>(_ name: String, _ type: V.Type, to table: String, default value: V) async throws {
        try await add(name, type, to: table, value.storedValues)
    }

    /// Adds an optional column, NULL in every row.
    public func add<V: Storable>(_ name: String, _ type: V?.Type, to table: String) async throws {
        try await add(name, type, to: table, type.columns.map { _ in .null })
    }

    private func add<V: Storable>(
        _ name: String, _ type: V.Type, to table: String, _ values: [StoredValue]
    ) async throws {
        var layout = try self.layout(table)
        let columns = type.columns.map { column in
            TableLayout.Column(
                name: column.suffix.isEmpty ? name : "\(name)_\(column.suffix)", storage: column.storage,
                isNullable: column.isNullable)
        }
        if let known = columns.first(where: { column in layout.columns.contains { $0.name == column.name } }) {
            throw mismatch("\(table).\(known.name) is there already", table, known.name)
        }
        // A foreign key comes with the table's definition.
        if try type.link != nil || !values.allSatisfy({ try connection.readsExactly($0) }) {
            layout.columns += columns
            if let link = type.link {
                layout.links.append(
                    .init(columns: columns.map(\.name), target: link.table(), onDelete: .nothing, indexName: nil))
            }
            return try await rebuild(table, as: layout) { $0 + values }
        }
        for (column, value) in zip(columns, values) {
            let preset = value == .null ? "" : " DEFAULT \(Literals.text([value]))"
            try connection.execute(
                "ALTER TABLE \(Dialect.quoted(table)) ADD COLUMN \(Dialect.quoted(column.name)) "
                    + "\(Dialect.type(column))\(preset)")
        }
    }

    /// Drops a column and what is in it, with the indexes that it is in; or an ordered link, with its table.
    ///
    /// - Throws: ``StoreError`` if there is no such column, or it is in the table's key.
    public func drop(_ column: String, from table: String) async throws {
        var layout = try self.layout(table)
        if let list = try listTable(of: column, layout) { return try await drop(table: list) }
        let index = try self.index(of: column, layout)
        guard !layout.key.contains(column) else {
            throw mismatch("\(table).\(column) is in the table's key; transform the records instead", table, column)
        }
        layout.columns.remove(at: index)
        layout.links.removeAll { $0.columns.contains(column) }
        try await rebuild(table, as: layout) { row in
            var row = row
            row.remove(at: index)
            return row
        }
    }

    /// Gives a column another name, or an ordered link, whose table is called after it.
    public func rename(_ column: String, to name: String, in table: String) async throws {
        let layout = try self.layout(table)
        if let list = try listTable(of: column, layout) {
            return try await rename(table: list, to: RecordLayout.listTable(table, name))
        }
        _ = try index(of: column, layout)
        try dropOwnIndexes(table)
        try connection.execute(
            "ALTER TABLE \(Dialect.quoted(table)) RENAME COLUMN \(Dialect.quoted(column)) TO \(Dialect.quoted(name))")
    }

    /// Gives a column another type, or makes an optional one required: every value goes through `convert`.
    ///
    /// - Parameters:
    ///   - old: the type that it had; optional if NULL is in it.
    ///   - convert: throws for a value that has no counterpart, which ends the step.
    public func retype<Old: Storable, New: Storable>(
        _ column: String, in table: String, from old: Old.Type, to new: New.Type,
        _ convert: (Old) throws -> New
    ) async throws {
        var layout = try self.layout(table)
        let index = try self.index(of: column, layout)
        guard Old.columns.count == 1, New.columns.count == 1 else {
            throw mismatch("only values of one column can be retyped; transform the records instead", table, column)
        }
        layout.columns[index].storage = New.columns[0].storage
        layout.columns[index].isNullable = New.columns[0].isNullable
        layout.columns[index].preset = nil
        let target = New.link?.table()
        if layout.links.first(where: { $0.columns == [column] })?.target != target {
            layout.links.removeAll { $0.columns == [column] }
            if let target {
                layout.links.append(.init(columns: [column], target: target, onDelete: .nothing, indexName: nil))
            }
        }
        let key = layout.columns.indices.filter { layout.key.contains(layout.columns[$0].name) }
        try await rebuild(table, as: layout) { row in
            var row = row
            do {
                row[index] = try convert(try Old.decode([row[index]])).stored
            } catch var error as GraphError where error.type == nil {
                error.type = table
                error.property = column
                if !key.isEmpty { error.id = key.map { "\(row[$0])" }.joined(separator: ", ") }
                throw error
            }
            return row
        }
    }

    // MARK: Tables

    /// Gives a table another name, and the tables of its ordered links.
    public func rename(table: String, to name: String) async throws {
        try check()
        for old in [table] + (try listTables(of: table)) {
            try dropOwnIndexes(old)
            let new = name + old.dropFirst(table.count)
            // SQLite takes a name that differs in case alone for one that is there already.
            if old != new, old.lowercased() == new.lowercased() {
                try rename(old, Self.temporary(old))
                try rename(Self.temporary(old), new)
            } else {
                try rename(old, new)
            }
        }
        try moveLastKey(from: table, to: name)
    }

    func rename(_ old: String, _ new: String) throws {
        try connection.execute("ALTER TABLE \(Dialect.quoted(old)) RENAME TO \(Dialect.quoted(new))")
    }

    /// Keys that the table has given are not given again under its new name.
    func moveLastKey(from old: String, to new: String) throws {
        guard old != new, try StoredTable(FileHeader.table, connection) != nil else { return }
        try connection.executeUncounted(
            "\(Dialect.updateOrReplace) \(FileHeader.table) SET name = ? WHERE name = ?",
            [.text(FileHeader.lastKey(new)), .text(FileHeader.lastKey(old))])
    }

    /// Drops a table and all that is in it, with the tables of its ordered links. Links of other tables to it must be
    /// dropped in the same step.
    public func drop(table: String) async throws {
        _ = try layout(table)
        try dropIndexes(table)
        for list in try listTables(of: table) { try connection.execute("DROP TABLE \(Dialect.quoted(list))") }
        try connection.execute("DROP TABLE \(Dialect.quoted(table))")
    }

    /// Makes those tables of a record type that are missing, so that the step can insert into them.
    public func create<R: StoredRecord>(_ type: R.Type) async throws {
        try check()
        try create(RecordLayout(type).tables)
    }

    func create(_ tables: some Sequence<TableLayout>) throws {
        for table in tables where try StoredTable(table.name, connection) == nil {
            try connection.execute(Dialect.create(table))
        }
    }
}
