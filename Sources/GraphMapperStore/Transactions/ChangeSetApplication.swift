/// Changes of a session, as a change set has them.
extension WriteTransaction {
    public func apply(_ change: ChangeSet.Change) async throws { try applyNow(change) }

    func applyNow(_ change: ChangeSet.Change) throws {
        try check()
        if let found = try mismatch(of: change) { throw GraphError(Conflict.all(of: change, found)) }
    }

    public func apply(_ changes: ArraySlice<ChangeSet.Change>) async throws -> ChangeSet.Mismatch? {
        try check()
        defer { newOwners.removeAll() }
        for index in changes.indices {
            if let found = try mismatch(of: changes[index]) { return ChangeSet.Mismatch(place: index, found: found) }
        }
        return nil
    }

    /// Applies a change, or answers what is stored instead of what it expects.
    private func mismatch(of change: ChangeSet.Change) throws -> ChangeSet.Found? {
        do { return try applied(change) } catch let error as StoreError {
            throw error.ofRow(change.row.table, change.row.key)
        }
    }

    private func applied(_ change: ChangeSet.Change) throws -> ChangeSet.Found? {
        switch change {
        case .insert(let row):
            guard row.isFit else { throw Self.misfit(change) }
            let insertion = try insertion(row.table, row.columns)
            try connection.execute(insertion.statement, row.values)
            noteOrderly()
            if insertion.hasLists { newOwners.insert(row.key, row.table) }
            writeSet.note(.insert, row.table, row.key)
        case .update(let row):
            guard row.isFit else { throw Self.misfit(change) }
            try noteBefore(row.table, row.keyColumns, row.key, row.columns + row.unread)
            try connection.execute(
                RowStatements.update(row), row.values + row.unreadValues + row.key + row.expected)
            if connection.changeCount == 0 { return try found(row.table, row.columns, row.keyColumns, row.key) }
            noteOrderly()
            if !row.isInterim { writeSet.note(.update, row.table, row.key, row.columns + row.unread) }
        case .delete(let row):
            guard row.isFit else { throw Self.misfit(change) }
            try noteBefore(row.table, row.keyColumns, row.key)
            try deleting(from: row.table) {
                try connection.execute(RowStatements.delete(row), row.key + row.expected)
            }
            if connection.changeCount > 0 {
                writeSet.note(.delete, row.table, row.key)
            } else if !row.columns.isEmpty {
                // Without expectations a row that is gone is as good as deleted.
                return try found(row.table, row.columns, row.keyColumns, row.key)
            }
        case .relink(let link):
            guard link.isFit else { throw Self.misfit(change) }
            if let found = try relink(link) { return found }
            writeSet.note(link: link.property, link.table, link.key)
        }
        return nil
    }

    private static func misfit(_ change: ChangeSet.Change) -> GraphError {
        GraphError(.misuse, "the change has not a value for each of its columns: \(change)")
    }

    private func found(
        _ table: String, _ columns: [String], _ keyColumns: [String], _ key: [StoredValue]
    ) throws -> ChangeSet.Found {
        let row = try connection.rows(RowStatements.select(table, columns, keyColumns), key).first
        return row.map { .values($0) } ?? .gone
    }

    /// The statement of an insert, which most often is the one before.
    private func insertion(_ table: String, _ columns: [String]) throws -> (statement: Statement, hasLists: Bool) {
        if let last = lastInsertion, last.table == table, last.columns == columns {
            return (last.statement, last.hasLists)
        }
        let statement = try connection.prepare(RowStatements.insert(table, columns))
        // What an adopted table's lists are made of is not known.
        let hasLists = !adopted.contains(table) && lists.values.contains { $0.table == table }
        lastInsertion = (table, columns, statement, hasLists)
        return (statement, hasLists)
    }

    /// Takes the rows that the last statement has touched for ones that leave lists alone, or of the list at hand.
    func noteOrderly() { context.knownLists.noteOrderly(connection.changeCount) }
}

// Change sets are made by anybody: values that do not run in step with their columns are refused.

extension ChangeSet.Insertion {
    fileprivate var isFit: Bool { !columns.isEmpty && columns.count == values.count }
}

extension ChangeSet.Update {
    fileprivate var isFit: Bool {
        !(columns.isEmpty && unread.isEmpty) && columns.count == values.count && columns.count == expected.count
            && unread.count == unreadValues.count && !key.isEmpty && keyColumns.count == key.count
    }
}

extension ChangeSet.Deletion {
    fileprivate var isFit: Bool { !key.isEmpty && keyColumns.count == key.count && columns.count == expected.count }
}

extension ChangeSet.Relink {
    fileprivate var isFit: Bool {
        let width = targetColumns.count
        return width > 0 && base.count.isMultiple(of: width) && targets.count.isMultiple(of: width) && !key.isEmpty
            && ownerColumns.count == key.count
    }

    /// Whether the row that the links are of was added just before, so that it need not be looked for.
    var isOfNewRow: Bool { keyColumns.isEmpty }
}
