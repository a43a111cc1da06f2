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
    var isAttachedFile: Bool { tables.allSatisfy(\.isAdopted) }

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

    struct Step {
        var sql: String
        var values: [StoredValue] = []
        /// The unique index that it makes.
        var unique: (table: TableLayout, index: TableLayout.IndexLayout)?
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
        var indexes: [(TableLayout, [StoredTable.StoredIndex])] = []
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
        // An attached file is one of others: no books are kept in it, but for the migration steps that it has taken there.
        if isAttachedFile, !header.isThere, self.steps.isEmpty { return [] }
        if !isAttachedFile, try StoredTable(WriteSet.table, connection) == nil {
            steps.append(Step(sql: WriteSet.definition))
        }
        steps += try indexChanges(indexes)
        for table in tables where table.owner == nil && !table.isAdopted {
            let stored = try TextIndexLayout.stored(of: table.name, connection)
            if stored == table.text?.definition, try table.text?.isWhole(connection) ?? true { continue }
            if stored != nil { steps += TextIndexLayout.drops(of: table.name).map { Step(sql: $0) } }
            steps += (table.text?.statements ?? []).map { Step(sql: $0) }
        }
        return steps
            + header.statements(tables.filter { !$0.isAdopted }, steps: self.steps).map {
                Step(sql: $0.sql, values: $0.values)
            }
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
