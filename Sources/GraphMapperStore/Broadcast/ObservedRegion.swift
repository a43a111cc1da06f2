/// What an observer looks at.
struct ObservedRegion: Sendable {
    /// Columns, and the names of ordered links, by table; nil for all of a table's.
    var tables: [String: Set<String>?] = [:]
    /// The only row of its table that matters.
    var row: (table: String, key: [StoredValue])?
    /// A column that has this value in all rows of its table that matter.
    var equalityFilter: EqualityFilter?

    func concerns(_ change: RowChange) -> Bool {
        guard looksAt(change) else { return false }
        guard let row, row.table == change.table, let keys = change.knownKeys else { return true }
        return keys.contains(row.key)
    }

    /// Whether it looks at the columns, whatever the row.
    func looksAt(_ change: RowChange) -> Bool {
        guard let columns = tables[change.table] else { return false }
        guard let columns, let written = change.columns else { return true }
        return written.contains(where: columns.contains)
    }

    mutating func add(_ table: String, _ columns: Set<String>?) {
        guard let known = tables[table] else {
            tables[table] = .some(columns)
            return
        }
        tables[table] = .some(known.flatMap { known in columns.map { known.union($0) } })
    }

    /// Whether another one covers it.
    func isWithin(_ other: ObservedRegion) -> Bool {
        tables.allSatisfy { table, columns in
            guard let others = other.tables[table] else { return false }
            guard let others else { return true }
            return columns?.isSubset(of: others) ?? false
        }
    }

    mutating func add(_ other: ObservedRegion) {
        for (table, columns) in other.tables { add(table, columns) }
        row = nil
        equalityFilter = nil
    }
}

/// A column that has one value in all rows that matter.
struct EqualityFilter: Sendable, Hashable {
    let table: String
    let column: String
    let value: StoredValue
}
