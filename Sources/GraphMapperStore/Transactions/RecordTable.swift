import Foundation

/// The rows of one record type on one connection, one at a time: what finds, adds and sets them is prepared once.
///
/// Little of it depends on the type, since what does is not specialized here.
final class RecordTable<R: StoredRecord> {
    private let name = R.schema.name
    /// The columns of the rows that are read, and the key's.
    let columns = R.schema.properties.flatMap { $0.isList || $0.isNested || $0.isLazy ? [] : $0.columnNames }
    let keyColumns = R.keyColumnNames
    /// The table's name, the columns and the key as they stand in statements.
    let quoted = Dialect.quoted(R.schema.name)
    let selected: String
    let key: String
    /// Where the key stands among the columns.
    let keyRange: Range<Int32>
    private let read = R.schema.read
    private let encode = R.schema.encode
    private let hasLazy = R.schema.hasLazy
    let hasLists = !R.schema.lists.isEmpty
    private let hasUUID = R.ID.self == UUID.self
    // Values to be bound, kept for their memory. One task at a time uses a connection, and what encodes a value does not
    // come back here.
    @exclusivity(unchecked) private var values: [StoredValue] = []
    private var found: Statement?
    private var insertion: Statement?
    private var deletion: Statement?
    private var update: PatchStatement<R>?
    private var lists: (rows: LinkLists, statements: [Statement])?

    init() {
        selected = Dialect.list(columns)
        key = Dialect.list(keyColumns)
        keyRange = Self.range(of: keyColumns, in: columns)
    }

    /// Where a property's columns stand, which do so side by side.
    static func range(of names: [String], in columns: [String]) -> Range<Int32> {
        let start = Int32(names.first.flatMap(columns.firstIndex) ?? 0)
        return start..<start + Int32(names.count)
    }

    // MARK: Reading

    /// The record with that id; nil if there is none.
    func find(_ id: R.ID, _ connection: Connection) throws -> R? {
        let statement = try finding(connection)
        try start(statement, for: id, connection)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let lists = hasLists ? try readLists(of: id, connection) : nil
        defer { withExtendedLifetime(lists) {} }
        var position = RowPosition()
        do { return try read(statement.cursor(lists), &position) } catch { throw R.schema.locate(error, position) }
    }

    /// Whether there is a row with that key.
    func has(_ key: [StoredValue], _ connection: Connection) throws -> Bool {
        let statement = try finding(connection)
        try connection.start(statement, key)
        defer { statement.reset() }
        return try statement.step()
    }

    /// What an upsert finds.
    enum Presence {
        case absent, same, other
    }

    /// Whether the row of a record is there, and holds what the record does. What cannot be told by looking at the stored
    /// values is `other`.
    func presence(of record: R, _ connection: Connection) throws -> Presence {
        let statement = try finding(connection)
        try start(statement, for: record.id, connection)
        defer { statement.reset() }
        guard try statement.step() else { return .absent }
        guard !hasLazy else { return .other }
        encodeRow(of: record)
        guard statement.starts(with: values) else { return .other }
        guard hasLists else { return .same }
        return try hasSameLists(record, connection) ? .same : .other
    }

    /// Readies a statement for a row's key.
    private func start(_ statement: Statement, for id: R.ID, _ connection: Connection) throws {
        guard hasUUID else {
            encode(key: id)
            return try connection.start(statement, values)
        }
        // Most keys are UUIDs, which take no array.
        try connection.willRun(statement)
        try withUnsafeBytes(of: id) { try statement.bind($0, at: 0) }
    }

    private func finding(_ connection: Connection) throws -> Statement {
        if let found { return found }
        let statement = try connection.prepare(RowStatements.select(name, columns, keyColumns))
        found = statement
        return statement
    }

    /// The ordered links of the row with that id.
    private func readLists(of id: R.ID, _ connection: Connection) throws -> LinkLists {
        let lists = try lists ?? prepareLists(connection)
        self.lists = lists
        for (index, (rows, statement)) in zip(lists.rows.properties, lists.statements).enumerated() {
            rows.removeAll()
            try start(statement, for: id, connection)
            defer { statement.reset() }
            do { try read(statement, into: rows) } catch {
                throw R.schema.located(error, R.schema.properties[R.schema.lists[index]])
            }
            rows.current = 0..<rows.count
        }
        return lists.rows
    }

    private func read(_ statement: Statement, into rows: LinkRows) throws {
        let cursor = statement.cursor(nil)
        let width = statement.columnCount
        while try statement.step() { for column in 0..<width { try rows.append(cursor, column: column) } }
    }

    private func prepareLists(_ connection: Connection) throws -> (rows: LinkLists, statements: [Statement]) {
        let statements = try R.schema.lists.map { index in
            let property = R.schema.properties[index]
            let columns = R.schema.linkColumns(of: property)
            let list = RecordLayout.listTable(name, property.name)
            return try connection.prepare(RowStatements.selectList(list, columns.owner, columns.target))
        }
        return (LinkLists(statements.map { _ in LinkRows() }), statements)
    }

    private func hasSameLists(_ record: R, _ connection: Connection) throws -> Bool {
        let schema = R.schema
        let lists = try readLists(of: record.id, connection)
        for (index, rows) in zip(schema.lists, lists.properties) {
            var targets: [StoredValue] = []
            schema.properties[index].encode(record, &targets)
            guard rows.holds(targets) else { return false }
        }
        return true
    }

    private func encode(key id: R.ID) {
        // Most keys are one value: taking it away is cheaper than removing all.
        while values.popLast() != nil {}
        id.encode(into: &values)
    }

    private func encodeRow(of record: R) {
        values.removeAll(keepingCapacity: true)
        encode(record, &values)
    }

    // MARK: Writing

    /// Adds the row of a record, and notes it; its lists are added by themselves. False if the record has a value that is
    /// not to be written, which the statement cannot leave out.
    func insert(_ record: R, _ connection: Connection, _ writeSet: inout WriteSet) throws -> Bool {
        guard !hasLazy else { return false }
        if insertion == nil { insertion = try connection.prepare(RowStatements.insert(name, R.schema.columnNames)) }
        guard let insertion else { return false }
        encodeRow(of: record)
        try connection.execute(insertion, values)
        writeSet.note(.insert, name) { record.id.storedValues }
        return true
    }

    /// Sets what a patch does, and notes it. False if there is no such row.
    ///
    /// - Throws: ``GraphError`` for a property that has no column; ``StoreError`` for a value that the table forbids.
    func apply(_ patch: Patch<R>, _ connection: Connection, _ writeSet: inout WriteSet) throws -> Bool {
        try updating(patch, connection).apply(patch, connection, &writeSet)
    }

    /// The columns that a patch sets.
    func columns(of patch: Patch<R>, _ connection: Connection) throws -> [String] {
        try updating(patch, connection).columns
    }

    private func updating(_ patch: Patch<R>, _ connection: Connection) throws -> PatchStatement<R> {
        if let update, update.isFor(patch) { return update }
        let columns = try patch.paths.flatMap { try R.columnNames(at: $0).get() }
        guard columns.count == patch.values.count - patch.keyCount else {
            throw GraphError(.misuse, "the patch has not a value for each of its columns", type: name)
        }
        if let key = columns.first(where: keyColumns.contains) { throw GraphError.fixedKey(key, of: name) }
        let statement = try connection.prepare(RowStatements.set(name, columns, keyColumns))
        // A property that is set twice is told of once.
        let told = columns.indices.filter { columns.firstIndex(of: columns[$0]) == $0 }.map { columns[$0] }
        let made = PatchStatement(patch, told, statement)
        update = made
        return made
    }

    /// Deletes the row with that id, and notes it. False if there is none.
    func delete(_ id: R.ID, _ connection: Connection, _ writeSet: inout WriteSet) throws -> Bool {
        if deletion == nil { deletion = try connection.prepare(RowStatements.delete(from: name, keyColumns)) }
        guard let deletion else { return false }
        try start(deletion, for: id, connection)
        try deletion.finish()
        guard connection.changeCount > 0 else { return false }
        writeSet.note(.delete, name) { id.storedValues }
        return true
    }
}

extension Connection {
    /// What is prepared for the rows of a record type.
    func table<R: StoredRecord>(_ type: R.Type) -> RecordTable<R> { companion(of: type) { RecordTable<R>() } }
}

/// What sets the columns of some properties of a row.
final class PatchStatement<R: StoredRecord> {
    /// A patch that it is for, as for all others of the same properties.
    private let patch: Patch<R>
    /// The property, if it is one. The patch keeps the path, so that no other comes to lie where it does.
    private let onlyPath: ObjectIdentifier?
    private let table = R.schema.name
    private let statement: Statement
    let columns: [String]

    init(_ patch: Patch<R>, _ columns: [String], _ statement: Statement) {
        (self.patch, self.columns, self.statement) = (patch, columns, statement)
        onlyPath = patch.others.isEmpty ? patch.path.map { ObjectIdentifier($0) } : nil
    }

    func apply(_ patch: Patch<R>, _ connection: Connection, _ writeSet: inout WriteSet) throws -> Bool {
        try connection.execute(statement, patch.values, from: patch.keyCount)
        guard connection.changeCount > 0 else { return false }
        writeSet.note(.update, table, columns) { patch.key }
        return true
    }

    /// Whether it sets what another patch does.
    func isFor(_ other: Patch<R>) -> Bool {
        // A key path that is written in one place is one object.
        if let onlyPath, other.others.isEmpty, let path = other.path, ObjectIdentifier(path) == onlyPath { return true }
        return patch.hasPaths(of: other)
    }
}
