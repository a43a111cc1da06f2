/// What a transaction has written so far. Costs memory for at most 64 rows of a kind and table; while somebody observes, for
/// the keys of as many as observers tell apart.
struct WriteSet {
    static let table = StoreTables.changes
    static let definition =
        "CREATE TABLE \(table) (seq INTEGER PRIMARY KEY, txn INTEGER NOT NULL, tbl TEXT NOT NULL, kind TEXT NOT NULL, "
        + "key TEXT, columns TEXT)"
    /// So many records are kept.
    static let recordLimit: Int64 = 4096
    /// So many rows of one kind and table are told apart.
    static let most = 64

    private struct Row {
        /// Nil for many rows.
        var key: [StoredValue]?
        var columns: [String]?
        /// Its number among all writes.
        var number: Int
    }

    /// The rows of one table that were written in one way.
    private struct Entry {
        let table: String
        let kind: WriteKind
        let isObserved: Bool
        /// One without a key once there are too many.
        var rows: [Row] = []
        var isCollapsed = false
        /// The keys of the rows that the one without a key stands for; nil if they are not known, or too many.
        var keys: [[StoredValue]]?
        /// The columns that were covered last.
        private var covered: [String] = []

        init(_ table: String, _ kind: WriteKind, isObserved: Bool) {
            (self.table, self.kind, self.isObserved) = (table, kind, isObserved)
        }

        mutating func add(_ row: Row) {
            if !isCollapsed {
                guard rows.count >= WriteSet.most else { return rows.append(row) }
                collapse()
            }
            if let key = row.key, let count = keys?.count, count < RowChange.most {
                keys?.append(key)
            } else {
                keys = nil
            }
            cover(row.columns)
        }

        mutating func collapse() {
            guard !isCollapsed else { return }
            let old = rows
            rows = [Row(key: nil, columns: old.first?.columns, number: old.first?.number ?? 0)]
            isCollapsed = true
            keys = isObserved ? old.compactMap(\.key) : nil
            for row in old { cover(row.columns) }
        }

        /// Adds columns to those of the row for all.
        mutating func cover(_ columns: [String]?) {
            // Most often they are the very array that came before.
            guard let columns, columns != covered else { return }
            for column in columns { cover(column) }
            covered = columns
        }

        mutating func cover(_ column: String) {
            if rows[0].columns?.contains(column) == false { rows[0].columns?.append(column) }
        }
    }

    private var entries: [Entry] = []
    /// What rows held before, by table and key, as far as somebody asked for it.
    private var before: [String: [[StoredValue]: [String: StoredValue]]] = [:]
    private let observed: Set<String>
    private var count = 0
    /// Where the latest entry of each kind is: most often that of the next write too.
    private var insert = 0
    private var update = 0
    private var delete = 0

    /// - Parameter observed: the tables of which somebody wants to know the keys of more than 64 rows.
    init(observed: Set<String>) { self.observed = observed }

    /// So many keys of a table are worth while to find out.
    func keysToTell(of table: String) -> Int { observed.contains(table) ? RowChange.most : Self.most }

    /// Notes one row. Complexity: O(tables) for the first row of another table than the one before, else O(columns).
    mutating func note(_ kind: WriteKind, _ table: String, _ key: [StoredValue], _ columns: [String]? = nil) {
        let index = self.index(kind, table)
        count += 1
        entries[index].add(Row(key: key, columns: columns, number: count))
    }

    /// Notes one row by its key, which is asked for only where rows are told apart.
    mutating func note(
        _ kind: WriteKind, _ table: String, _ columns: [String]? = nil, key: () -> [StoredValue]
    ) {
        let index = self.index(kind, table)
        count += 1
        if entries[index].isCollapsed, entries[index].keys == nil { return entries[index].cover(columns) }
        entries[index].add(Row(key: key(), columns: columns, number: count))
    }

    /// Notes an ordered link; not that of a row which was inserted just now.
    mutating func note(link property: String, _ table: String, _ key: [StoredValue]) {
        let index = self.index(.update, table)
        if entries[index].isCollapsed {
            return entries[index].add(Row(key: key, columns: [property], number: count))
        }
        if entries[self.index(.insert, table)].rows.contains(where: { $0.key == key }) { return }
        note(.update, table, key, [property])
    }

    /// Notes rows that are not known.
    mutating func note(rowsOf table: String, _ kind: WriteKind, _ columns: [String]?) {
        let index = self.index(kind, table)
        if entries[index].rows.isEmpty {
            count += 1
            entries[index].add(Row(key: nil, columns: columns, number: count))
        }
        entries[index].collapse()
        entries[index].add(Row(key: nil, columns: columns, number: count))
    }

    /// Whether what a row holds now is what it held before the transaction, as far as is known, and is not noted.
    func wantsBefore(_ table: String, _ key: [StoredValue]) -> Bool {
        before[table]?[key] == nil && !has(table, key)
            && !entries.contains { $0.table == table && $0.rows.count >= Self.most }
    }

    /// Notes what a row held in some columns before the transaction wrote to these.
    mutating func note(before values: [String: StoredValue], _ table: String, _ key: [StoredValue]) {
        before[table, default: [:]][key] = values
    }

    var isEmpty: Bool { count == 0 }

    /// Whether that row was written, or may have been.
    func has(_ table: String, _ key: [StoredValue]) -> Bool {
        entries.contains { $0.table == table && ($0.isCollapsed || $0.rows.contains { $0.key == key }) }
    }

    private mutating func index(_ kind: WriteKind, _ table: String) -> Int {
        let latest =
            switch kind {
            case .insert: insert
            case .update: update
            case .delete: delete
            }
        if latest < entries.count, entries[latest].kind == kind, entries[latest].table == table { return latest }
        let index = entries.firstIndex { $0.kind == kind && $0.table == table } ?? entries.count
        if index == entries.count {
            entries.append(Entry(table, kind, isObserved: observed.contains(table)))
        }
        switch kind {
        case .insert: insert = index
        case .update: update = index
        case .delete: delete = index
        }
        return index
    }

    /// What was written, for those who observe it.
    var rowChanges: [RowChange] {
        entries.flatMap { entry in
            entry.rows.map { row in
                var change = RowChange(
                    entry.kind, table: entry.table, key: row.key, columns: row.columns, keys: entry.keys)
                change.before = row.key.flatMap { before[entry.table]?[$0] } ?? [:]
                return change
            }
        }
    }

    /// The tables that were written to, each with how and, for an update, which columns.
    var tables: [TableWrite] {
        entries.map { entry in
            let columns = entry.rows.flatMap { $0.columns ?? [] }
            return TableWrite(table: entry.table, kind: entry.kind, columns: columns.isEmpty ? nil : columns)
        }
    }

    /// The number of the last record; 0 if there is none.
    static func last(_ connection: Connection) throws -> Int64 {
        guard case .integer(let number)? = try connection.peek("SELECT max(seq) FROM \(table)") else { return 0 }
        return number
    }

    /// Writes the records, and drops those that are too old.
    ///
    /// - Returns: their numbers, and how many rows that has touched; nil if there are none.
    func write(_ connection: Connection) throws -> (records: ClosedRange<Int64>, rowCount: Int)? {
        guard count > 0 else { return nil }
        let records = entries.flatMap { entry in entry.rows.map { (entry, $0) } }.sorted { $0.1.number < $1.1.number }
        var last = try Self.last(connection)
        guard last < .max - Int64(records.count) else {
            throw StoreError(
                .database, "the change records have used up their numbers; delete the rows of the table",
                table: Self.table)
        }
        let transaction = StoredValue.integer(last + 1)
        var rowCount = 0
        for (entry, row) in records {
            last += 1
            try connection.executeUncounted(
                "INSERT INTO \(Self.table) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .integer(last), transaction, .text(entry.table), .text(entry.kind.rawValue),
                    row.key.map { .text(Literals.text($0)) } ?? .null,
                    row.columns.map { .text(Literals.text(names: $0)) } ?? .null,
                ])
            rowCount += connection.changeCount
        }
        if last > Self.recordLimit {
            try connection.executeUncounted(
                "DELETE FROM \(Self.table) WHERE seq <= ?", [.integer(last - Self.recordLimit)])
            rowCount += connection.changeCount
        }
        return (last - Int64(records.count - 1)...last, rowCount)
    }
}
