/// Opens a file for some records: finds out how it differs from their layout, makes what is missing, and repairs what
/// can be repaired without touching a row.
///
/// Missing tables and indexes are made; an index that the records no longer declare, or declare as unique or plain where
/// it is the other, is dropped or made anew. An index counts as the store's own by its name, which the store derives
/// from its table and columns; others are left alone. All else that differs is an error.
struct Installation {
    let tables: [TableLayout]
    /// The names of the program's migration steps.
    let steps: [String]
    let connection: Connection

    /// Whether every table is somebody else's.
    var isGuest: Bool { tables.allSatisfy(\.isAdopted) }

    /// Checks a file that is not to be written. Indexes do not matter to who reads.
    func check() throws {
        let header = try FileHeader(connection, newest: steps.count)
        var differences: [Difference] = []
        for table in tables {
            let stored = try StoredTable(table.name, connection)
            if table.isAdopted {
                differences += try Difference.adopting(table, stored, connection)
            } else if let stored {
                differences += try Difference.between(table, stored, connection)
            } else {
                differences.append(
                    Difference(
                        table.name, nil, "the file has no table \(table.name), which \(table.record) needs",
                        "open the file for writing once, which makes it"))
            }
        }
        try refuse(differences, header)
    }

    /// Brings a file to the layout. One that is so already is only read.
    func run() throws {
        guard try !changes().isEmpty else { return }
        try connection.execute(Dialect.beginWriting)
        do {
            try install()
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Brings a file to the layout within a transaction.
    func install() throws { for step in try changes() { try run(step) } }

    /// The tables of ordered links that a record no longer has: what is in them would be out of sight, and yet keep the
    /// rows that it points to.
    private func forgottenLists(_ table: TableLayout) throws -> [Difference] {
        guard table.owner == nil else { return [] }
        return try StoredTable.lists(of: table.name, connection).compactMap { list in
            guard !tables.contains(where: { $0.name == list.name }) else { return nil }
            let property = String(list.name.dropFirst(table.name.count + 1))
            return Difference(
                list.name, nil, "the file has a list \(table.name).\(property) that is not in the record",
                "give \(table.record) a property for it, or add a migration step: "
                    + "try await $0.drop(\"\(property)\", from: \"\(table.name)\"), "
                    + "or $0.rename(\"\(property)\", to: its new name, in: \"\(table.name)\")")
        }
    }

    private struct Step {
        var sql: String
        var values: [StoredValue] = []
        /// The unique index that it makes.
        var unique: (table: TableLayout, index: TableLayout.Index)?
    }

    private func run(_ step: Step) throws {
        do {
            try connection.execute(step.sql, step.values)
        } catch let error as StoreError where error.kind == .duplicateKey {
            guard let (table, index) = step.unique else { throw error }
            throw try duplicates(table, index)
        }
    }

    private func changes() throws -> [Step] {
        let header = try FileHeader(connection, newest: steps.count)
        var steps: [Step] = []
        var differences: [Difference] = []
        var indexes: [(TableLayout, [StoredTable.Index])] = []
        for table in tables {
            let stored = try StoredTable(table.name, connection)
            if table.isAdopted {
                differences += try Difference.adopting(table, stored, connection)
            } else if let stored {
                differences += try Difference.between(table, stored, connection)
                differences += try forgottenLists(table)
                indexes.append((table, try stored.indexes(connection)))
            } else {
                steps.append(Step(sql: Dialect.create(table)))
                indexes.append((table, []))
            }
        }
        try refuse(differences, header)
        // A guest keeps no books in a file of others, but for the migration steps that it has taken there.
        if isGuest, !header.isThere, self.steps.isEmpty { return [] }
        if !isGuest, try StoredTable(ChangeLog.table, connection) == nil {
            steps.append(Step(sql: ChangeLog.definition))
        }
        steps += try indexChanges(indexes)
        for table in tables where table.owner == nil && !table.isAdopted {
            let stored = try TextIndex.stored(of: table.name, connection)
            guard stored != table.text?.definition else { continue }
            if stored != nil { steps += TextIndex.drops(of: table.name).map { Step(sql: $0) } }
            steps += (table.text?.statements ?? []).map { Step(sql: $0) }
        }
        return steps
            + header.statements(tables.filter { !$0.isAdopted }, steps: self.steps).map {
                Step(sql: $0.sql, values: $0.values)
            }
    }

    // MARK: Indexes

    private func indexChanges(_ tables: [(TableLayout, [StoredTable.Index])]) throws -> [Step] {
        var drops: [Step] = []
        var makes: [(TableLayout, TableLayout.Index)] = []
        var names = Set(try connection.peekAll("SELECT lower(name) FROM sqlite_schema", []).map { $0[0] })
        for table in self.tables { names.insert(.text(table.name.lowercased())) }
        for (table, stored) in tables {
            let isOurs = stored.map { $0.isOwn && Self.isOurs($0, table) }
            var used: Set<String> = []
            for index in table.indexes {
                // A unique index serves as a plain one, but for the store's own, which the record no longer declares.
                let serving = zip(stored, isOurs).first { found, isOurs in
                    if index.filter != nil {
                        var same = index
                        same.name = found.name
                        return found.sql == Dialect.create(same, on: table.name)
                    }
                    return found.columns == index.columns && found.isPlain && !found.isKey
                        && (found.isUnique == index.isUnique || found.isUnique && !isOurs)
                }
                if let serving { used.insert(serving.0.name) } else { makes.append((table, index)) }
            }
            for (index, isOurs) in zip(stored, isOurs) where isOurs && !used.contains(index.name) {
                drops.append(Step(sql: "DROP INDEX \(Dialect.quoted(index.name))"))
                names.remove(.text(index.name.lowercased()))
            }
        }
        return drops
            + makes.map { table, index in
                var index = index
                index.name = Self.free(index.name, &names)
                return Step(sql: Dialect.create(index, on: table.name), unique: index.isUnique ? (table, index) : nil)
            }
    }

    /// Whether the index has the name that the store would have given it.
    private static func isOurs(_ index: StoredTable.Index, _ table: TableLayout) -> Bool {
        guard let columns = index.columns else { return false }
        let partial = [table.indexName(columns, isPartial: true)]
        let names =
            !index.isPlain
            ? partial
            : [table.indexName(columns)] + table.links.filter { $0.columns == columns }.compactMap(\.indexName)
        return names.contains { name in
            guard index.name.hasPrefix(name) else { return false }
            let rest = index.name.dropFirst(name.count)
            return rest.isEmpty || rest.first == " " && Int(rest.dropFirst()) != nil
        }
    }

    /// Whether the index has a name that the store would have given it in such a table, whatever the record.
    static func isOurs(_ index: StoredTable.Index, of table: String) -> Bool {
        guard index.isOwn, let columns = index.columns else { return false }
        let layout = TableLayout(name: table, record: table, key: [])
        let words = index.name.split(separator: " ")
        let end = words.count > 1 && words.last.flatMap { Int($0) } != nil ? " \(words.last ?? "")" : ""
        let name = index.name.dropLast(end.count)
        if !index.isPlain { return name == layout.indexName(columns, isPartial: true) }
        return name == layout.indexName(columns) || name == "\(table)_target"
            || name.hasPrefix("\(table)_") && name.hasSuffix("_link")
    }

    /// The name, with a number if something else in the file is called so.
    private static func free(_ name: String, _ names: inout Set<StoredValue>) -> String {
        var free = name
        var number = 2
        while !names.insert(.text(free.lowercased())).inserted {
            free = "\(name) \(number)"
            number += 1
        }
        return free
    }

    private func duplicates(_ table: TableLayout, _ index: TableLayout.Index) throws -> StoreError {
        let columns = Dialect.list(index.columns)
        let isThere =
            (index.columns.map { "\(Dialect.quoted($0)) IS NOT NULL" } + (index.filter.map { ["(\($0))"] } ?? []))
            .joined(separator: " AND ")
        let row =
            try connection.peekAll(
                "SELECT count(*), \(columns) FROM \(Dialect.quoted(table.name)) WHERE \(isThere) GROUP BY \(columns) "
                    + "HAVING count(*) > 1 LIMIT 1", []
            ).first ?? []
        let place = "\(table.name).\(index.columns.joined(separator: ", "))"
        let values = row.dropFirst().map(\.description).joined(separator: ", ")
        return StoreError(
            .schemaMismatch,
            "\(table.record) says that \(place) is unique, and \(row.first?.description ?? "several") rows have \(values); "
                + "give them values of their own, or declare the index with .on",
            table: table.name, column: index.columns.joined(separator: ", "))
    }

    // MARK: Refusing

    private func refuse(_ differences: [Difference], _ header: FileHeader) throws {
        guard let first = differences.first else { return }
        let tables = self.tables.filter { table in differences.contains { $0.table == table.name } }
        let cause =
            tables.contains { header.knows($0) == true }
            ? "something other than the store has changed the file: "
            : tables.contains { header.knows($0) == false } ? "the records have changed since the file was made: " : ""
        throw StoreError(
            .schemaMismatch, cause + differences.map(\.description).joined(separator: "; "), table: first.table,
            column: first.column)
    }
}

/// What a table in the file has otherwise than its record, and what to do about it.
struct Difference: CustomStringConvertible {
    let table: String
    let column: String?
    private let text: String
    private let advice: String

    init(_ table: String, _ column: String?, _ text: String, _ advice: String) {
        self.table = table
        self.column = column
        self.text = text
        self.advice = advice
    }

    var description: String { "\(text) (\(advice))" }

    static func between(
        _ table: TableLayout, _ stored: StoredTable, _ connection: Connection
    ) throws -> [Difference] {
        columns(table, stored) + key(table, stored) + links(table, try stored.references(connection))
    }

    private static let rebuild = "add a migration step with transform, or change the record"

    private static func columns(_ table: TableLayout, _ stored: StoredTable) -> [Difference] {
        var found = Dictionary(stored.columns.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        var differences: [Difference] = []
        for column in table.columns {
            let place = "\(table.name).\(column.name)"
            let wanted = Dialect.type(column)
            guard let other = found.removeValue(forKey: column.name) else {
                // Something with the type of what is missing, and a name that the record does not have.
                let lost = stored.columns.first { other in
                    other.type + (other.isNullable ? "" : " NOT NULL") == wanted
                        && !table.columns.contains { $0.name == other.name }
                }
                let rename = lost.map {
                    "try await $0.rename(\"\($0.name)\", to: \"\(column.name)\", in: \"\(table.name)\")"
                }
                let add =
                    "try await $0.add(\"\(column.name)\", \(Dialect.swiftType(column)), to: \"\(table.name)\""
                    + (column.isNullable ? ")" : ", default: a value for the rows that are there)")
                differences.append(
                    Difference(
                        table.name, column.name, "\(place) is not in the file",
                        "add a migration step: \(add)\(rename.map { ", or \($0)" } ?? "")"))
                continue
            }
            let type = other.type + (other.isNullable ? "" : " NOT NULL")
            if type != wanted {
                differences.append(
                    Difference(
                        table.name, column.name, "\(place) is \(type) in the file, \(wanted) in the record",
                        "add a migration step: try await $0.retype(\"\(column.name)\", in: \"\(table.name)\", from: to:), "
                            + "or change the record"))
            }
        }
        return differences
            + stored.columns.filter { found[$0.name] != nil }.map { other in
                Difference(
                    table.name, other.name, "\(table.name).\(other.name) is not in the record",
                    "give \(table.record) a property for it, or add a migration step: "
                        + "try await $0.drop(\"\(other.name)\", from: \"\(table.name)\")")
            }
    }

    private static func key(_ table: TableLayout, _ stored: StoredTable) -> [Difference] {
        if stored.key != table.key {
            let found = stored.key.isEmpty ? "nothing" : stored.key.joined(separator: ", ")
            return [
                Difference(
                    table.name, table.key.first,
                    "\(table.name) has \(found) for its primary key in the file, "
                        + "\(table.key.joined(separator: ", ")) in the record", rebuild)
            ]
        }
        guard stored.isWithoutRowID, !table.isClustered else { return [] }
        return [Difference(table.name, nil, "\(table.name) is a table WITHOUT ROWID in the file, or a view", rebuild)]
    }

    private static func links(_ table: TableLayout, _ references: [StoredTable.Reference]) -> [Difference] {
        var found = references
        var differences: [Difference] = []
        func add(_ columns: [String], _ isInFile: String, _ isInRecord: String) {
            let list = columns.joined(separator: ", ")
            differences.append(
                Difference(
                    table.name, list,
                    "\(table.name).\(list) points to \(isInFile) in the file, \(isInRecord) in the record",
                    rebuild))
        }
        for link in table.links {
            let action = Dialect.onDelete(link.onDelete)
            let wanted = "\(link.target)\(link.onDelete == .nothing ? "" : ", ON DELETE \(action)")"
            guard let place = found.firstIndex(where: { $0.columns == link.columns }) else {
                add(link.columns, "nothing", wanted)
                continue
            }
            let other = found.remove(at: place)
            let isSame =
                other.target.lowercased() == link.target.lowercased() && other.targetColumns.isEmpty
                && other.onDelete == action
            if !isSame { add(link.columns, other.text, wanted) }
        }
        for other in found { add(other.columns, other.text, "nothing") }
        return differences
    }
}

extension StoredTable.Reference {
    fileprivate var text: String {
        target + (targetColumns.isEmpty ? "" : "(\(targetColumns.joined(separator: ", ")))")
            + (onDelete == "NO ACTION" ? "" : ", ON DELETE \(onDelete)")
    }
}
