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
            throw mistake("\(table).\(known.name) is there already", table, known.name)
        }
        // A foreign key comes with the table's definition.
        if try type.link != nil || !values.allSatisfy({ try Literals.isExact($0, connection) }) {
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
        let place = try self.place(column, layout)
        guard !layout.key.contains(column) else {
            throw mistake("\(table).\(column) is in the table's key; transform the records instead", table, column)
        }
        layout.columns.remove(at: place)
        layout.links.removeAll { $0.columns.contains(column) }
        try await rebuild(table, as: layout) { row in
            var row = row
            row.remove(at: place)
            return row
        }
    }

    /// Gives a column another name, or an ordered link, whose table is called after it.
    public func rename(_ column: String, to name: String, in table: String) async throws {
        let layout = try self.layout(table)
        if let list = try listTable(of: column, layout) {
            return try await rename(table: list, to: Layout.listTable(table, name))
        }
        _ = try place(column, layout)
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
        let place = try self.place(column, layout)
        guard Old.columns.count == 1, New.columns.count == 1 else {
            throw mistake("only values of one column can be retyped; transform the records instead", table, column)
        }
        layout.columns[place].storage = New.columns[0].storage
        layout.columns[place].isNullable = New.columns[0].isNullable
        layout.columns[place].preset = nil
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
                row[place] = try convert(try Old.decode([row[place]])).stored
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
    private func moveLastKey(from old: String, to new: String) throws {
        guard old != new, try StoredTable(FileHeader.table, connection) != nil else { return }
        try connection.executeUncounted(
            "UPDATE OR REPLACE graphmapper SET name = ? WHERE name = ?",
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
        try create(Layout(type).tables)
    }

    private func create(_ tables: some Sequence<TableLayout>) throws {
        for table in tables where try StoredTable(table.name, connection) == nil {
            try connection.execute(Dialect.create(table))
        }
    }

    // MARK: Rows

    /// Makes every record of an old type into one of a new type, which takes its place: another key, other types, one
    /// column for two. The table is that of the old type; the new type's has the same name or one that is not there yet.
    ///
    /// Links of other tables keep the keys that they have: where keys change, those tables are transformed in the same
    /// step.
    ///
    /// - Parameter convert: the new record; nil drops the row. It may insert records of other types.
    /// - Throws: what `convert` throws, and `CancellationError` if the task is cancelled, between rows.
    /// - Complexity: O(rows) time, and memory for a thousand of them.
    public func transform<Old: StoredRecord, New: StoredRecord>(
        _ old: Old.Type, to new: New.Type, _ convert: (Old) async throws -> New?
    ) async throws {
        _ = try layout(Old.schema.name)
        let (name, temporary) = (New.schema.name, Self.temporary(New.schema.name))
        if name.lowercased() != Old.schema.name.lowercased(), try StoredTable(name, connection) != nil {
            throw StoreError(
                .schemaMismatch,
                "the file has a table \(name) already; read \(Old.schema.name) with each, insert into \(name), and drop "
                    + Old.schema.name, table: name)
        }
        let tables = Layout(new).tables
        try await whole {
            for table in tables {
                var table = table
                table.name = temporary + table.name.dropFirst(name.count)
                try connection.execute(Dialect.create(table))
            }
            try await each(old) { record in
                guard let record = try await convert(record) else { return }
                try insert(record, renamed: temporary)
            }
            let columns = tables[0].columns.map(\.name)
            let kept = name == Old.schema.name ? try attachments(of: name, staying: columns) : []
            try await drop(table: Old.schema.name)
            for table in tables { try put(temporary + table.name.dropFirst(name.count), inPlaceOf: table.name) }
            for sql in kept { try connection.execute(sql) }
            try moveLastKey(from: Old.schema.name, to: name)
        }
    }

    /// Hands over every record of a type, which may be an old one, in the order of their keys, with its ``Lazy`` values.
    /// `body` may insert records of other types.
    ///
    /// - Throws: what `body` throws, and `CancellationError` if the task is cancelled.
    public func each<R: StoredRecord>(_ type: R.Type, _ body: (R) async throws -> Void) async throws {
        try check()
        // A list that an earlier step has added is not in the file yet.
        try create(Layout(type).tables.dropFirst())
        let transaction = ReadTransaction(connection)
        let query = Query(type)
        let count = try transaction.count(of: query)
        var done = 0
        var mark: PageMark?
        repeat {
            try Task.checkCancellation()
            let page = try await transaction.page(query, after: mark, size: 1000)
            for record in try transaction.readingLazyValues(of: page.records) { try await body(record) }
            done += page.records.count
            progress(count > 0 ? Double(done) / Double(count + 1) : 1)
            mark = page.next
        } while mark != nil
    }

    /// Adds a record, whose table is in the file as the type says.
    public func insert<R: StoredRecord>(_ record: R) async throws { try insert(record, renamed: R.schema.name) }

    /// Runs a statement of one's own, which may not begin or end a transaction.
    public func execute(_ sql: String, _ values: [StoredValue] = []) async throws {
        try check()
        try connection.executeOwn(sql, values)
    }

    /// The rows of a statement of one's own, each as its values.
    public func rows(_ sql: String, _ values: [StoredValue] = []) async throws -> [[StoredValue]] {
        try check()
        return try connection.rowsOwn(sql, values)
    }

    private func insert<R: StoredRecord>(_ record: R, renamed table: String) throws {
        try check()
        let change = R.schema.insertion(of: record)
        guard case .insert(let row) = change.row else { return }
        try connection.execute(
            "INSERT INTO \(Dialect.quoted(table)) (\(Dialect.list(row.columns))) "
                + "VALUES (\(Dialect.parameters(row.columns.count)))", row.values)
        for case .relink(let link) in change.links {
            let width = link.targetColumns.count
            let columns = link.ownerColumns + ["position"] + link.targetColumns
            let name = Layout.listTable(table, link.property)
            for (number, start) in stride(from: 0, to: link.targets.count, by: width).enumerated() {
                try connection.execute(
                    "INSERT INTO \(Dialect.quoted(name)) (\(Dialect.list(columns))) "
                        + "VALUES (\(Dialect.parameters(columns.count)))",
                    link.key + [.integer(Int64(number + 1) * Layout.gap)] + link.targets[start..<start + width])
            }
        }
    }

    // MARK: Names

    static func temporary(_ table: String) -> String { "graphmapper new \(table)" }

    func layout(_ table: String) throws -> TableLayout {
        try check()
        guard let stored = try StoredTable(table, connection) else {
            throw StoreError(.schemaMismatch, "the file has no table \(table)", table: table)
        }
        return try TableLayout(stored, connection)
    }

    private func place(_ column: String, _ layout: TableLayout) throws -> Int {
        guard let place = layout.columns.firstIndex(where: { $0.name == column }) else {
            let names = layout.columns.map(\.name).joined(separator: ", ")
            throw mistake("\(layout.name) has no column \(column), but \(names)", layout.name, column)
        }
        return place
    }

    func mistake(_ text: String, _ table: String, _ column: String?) -> StoreError {
        StoreError(.schemaMismatch, text, table: table, column: column)
    }

    /// The tables of a table's ordered links.
    private func listTables(of table: String) throws -> [String] {
        try StoredTable.lists(of: table, connection).map(\.name)
    }

    /// The table of an ordered link, if that is what a property is.
    private func listTable(of property: String, _ layout: TableLayout) throws -> String? {
        guard !layout.columns.contains(where: { $0.name == property }) else { return nil }
        let name = Layout.listTable(layout.name, property)
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
