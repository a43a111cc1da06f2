/// One write of a committed transaction.
public struct ChangeRecord: Sendable, Hashable {
    /// What was written.
    public enum Kind: String, Sendable, Hashable {
        /// A row was added, with its ordered links.
        case insert
        /// Properties of a row were set; an ordered link counts as one.
        case update
        /// A row was removed.
        case delete
    }

    /// Its number: one more than that of the record before.
    public let sequence: Int64
    /// The number of the transaction: that of its first record.
    public let transaction: Int64
    /// The record's table.
    public let table: String
    /// What was written.
    public let kind: Kind
    /// The key of the row; nil for many rows, or for rows that are not known by their keys.
    public let key: [StoredValue]?
    /// What was set: columns, and the names of ordered links. Nil for the whole row.
    public let columns: [String]?
}

extension ReadTransaction {
    /// What was written after the change record of that number, oldest first: by this store and by other processes.
    ///
    /// A transaction leaves a record for each row that it writes, or one without a key for more than 64 rows of one kind
    /// and table. What a statement of one's own wrote has no key either. The last 4096 records are kept. Numbers have
    /// no gaps: if the first record's is not `sequence + 1`, older ones are gone, and anything may have changed.
    ///
    /// - Parameter sequence: the number of the last record known; 0 for all that there are.
    /// - Throws: ``StoreError`` if the records cannot be read.
    /// - Complexity: O(records answered).
    public func changeRecords(after sequence: Int64 = 0) async throws -> [ChangeRecord] {
        try check()
        guard try StoredTable(ChangeLog.table, connection) != nil else { return [] }
        return try knownRecords(after: sequence)
    }

    /// The same where the file is known to have them.
    func knownRecords(after sequence: Int64) throws -> [ChangeRecord] {
        let rows = try connection.peekAll(
            "SELECT seq, txn, tbl, kind, key, columns FROM \(ChangeLog.table) WHERE seq > ? ORDER BY seq",
            [.integer(sequence)])
        return try rows.map { row in
            guard let record = ChangeRecord(row) else {
                throw StoreError(
                    .database, "the change record \(row[0]) cannot be read; delete the rows of the table",
                    table: ChangeLog.table)
            }
            return record
        }
    }
}

extension GraphStore {
    /// What was written after the change record of that number, in a read transaction of its own. See
    /// ``ReadTransaction/changeRecords(after:)``.
    public func changeRecords(after sequence: Int64 = 0) async throws -> [ChangeRecord] {
        try await read { try await $0.changeRecords(after: sequence) }
    }
}

extension ChangeRecord {
    fileprivate init?(_ row: [StoredValue]) {
        guard case .integer(let sequence) = row[0], case .integer(let transaction) = row[1],
            case .text(let table) = row[2], case .text(let word) = row[3], let kind = Kind(rawValue: word)
        else { return nil }
        self.sequence = sequence
        self.transaction = transaction
        self.table = table
        self.kind = kind
        switch row[4] {
        case .null: key = nil
        case .text(let text):
            guard let values = Literals.values(text) else { return nil }
            key = values
        default: return nil
        }
        switch row[5] {
        case .null: columns = nil
        case .text(let text):
            guard let names = Literals.names(text) else { return nil }
            columns = names
        default: return nil
        }
    }
}

/// What a transaction has written so far. Costs memory for at most 64 rows of a kind and table; while somebody observes, for
/// the keys of as many as observers tell apart.
struct ChangeLog {
    static let table = "graphmapper_change"
    static let definition =
        "CREATE TABLE \(table) (seq INTEGER PRIMARY KEY, txn INTEGER NOT NULL, tbl TEXT NOT NULL, kind TEXT NOT NULL, "
        + "key TEXT, columns TEXT)"
    /// So many records are kept.
    static let kept: Int64 = 4096
    /// So many rows of one kind and table are told apart.
    static let most = 64

    private struct Row {
        /// Nil for many rows.
        var key: [StoredValue]?
        var columns: [String]?
        /// Its place among all writes.
        var place: Int
    }

    /// The rows of one table that were written in one way.
    private struct Entry {
        let table: String
        let kind: ChangeRecord.Kind
        let isObserved: Bool
        /// One without a key once there are too many.
        var rows: [Row] = []
        var isCollapsed = false
        /// The keys of the rows that the one without a key stands for; nil if they are not known, or too many.
        var keys: [[StoredValue]]?
        /// The columns that were covered last.
        private var covered: [String] = []

        init(_ table: String, _ kind: ChangeRecord.Kind, isObserved: Bool) {
            (self.table, self.kind, self.isObserved) = (table, kind, isObserved)
        }

        mutating func add(_ row: Row) {
            if !isCollapsed {
                guard rows.count >= ChangeLog.most else { return rows.append(row) }
                collapse()
            }
            if let key = row.key, let count = keys?.count, count < Pending.most {
                keys?.append(key)
            } else {
                keys = nil
            }
            cover(row.columns)
        }

        mutating func collapse() {
            guard !isCollapsed else { return }
            let old = rows
            rows = [Row(key: nil, columns: old.first?.columns, place: old.first?.place ?? 0)]
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
    func keysToTell(of table: String) -> Int { observed.contains(table) ? Pending.most : Self.most }

    /// Notes one row. Complexity: O(tables) for the first row of another table than the one before, else O(columns).
    mutating func note(_ kind: ChangeRecord.Kind, _ table: String, _ key: [StoredValue], _ columns: [String]? = nil) {
        let place = self.place(kind, table)
        count += 1
        entries[place].add(Row(key: key, columns: columns, place: count))
    }

    /// Notes one row by its key, which is asked for only where rows are told apart.
    mutating func note(
        _ kind: ChangeRecord.Kind, _ table: String, _ columns: [String]? = nil, key: () -> [StoredValue]
    ) {
        let place = self.place(kind, table)
        count += 1
        if entries[place].isCollapsed, entries[place].keys == nil { return entries[place].cover(columns) }
        entries[place].add(Row(key: key(), columns: columns, place: count))
    }

    /// Notes an ordered link; not that of a row which was inserted just now.
    mutating func note(link property: String, _ table: String, _ key: [StoredValue]) {
        let place = self.place(.update, table)
        if entries[place].isCollapsed {
            return entries[place].add(Row(key: key, columns: [property], place: count))
        }
        if entries[self.place(.insert, table)].rows.contains(where: { $0.key == key }) { return }
        note(.update, table, key, [property])
    }

    /// Notes rows that are not known.
    mutating func note(rowsOf table: String, _ kind: ChangeRecord.Kind, _ columns: [String]?) {
        let place = self.place(kind, table)
        if entries[place].rows.isEmpty {
            count += 1
            entries[place].add(Row(key: nil, columns: columns, place: count))
        }
        entries[place].collapse()
        entries[place].add(Row(key: nil, columns: columns, place: count))
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

    private mutating func place(_ kind: ChangeRecord.Kind, _ table: String) -> Int {
        let latest =
            switch kind {
            case .insert: insert
            case .update: update
            case .delete: delete
            }
        if latest < entries.count, entries[latest].kind == kind, entries[latest].table == table { return latest }
        let place = entries.firstIndex { $0.kind == kind && $0.table == table } ?? entries.count
        if place == entries.count {
            entries.append(Entry(table, kind, isObserved: observed.contains(table)))
        }
        switch kind {
        case .insert: insert = place
        case .update: update = place
        case .delete: delete = place
        }
        return place
    }

    /// What was written, for those who observe it.
    var touches: [Touch] {
        entries.flatMap { entry in
            entry.rows.map { row in
                var touch = Touch(entry.kind, table: entry.table, key: row.key, columns: row.columns, keys: entry.keys)
                touch.before = row.key.flatMap { before[entry.table]?[$0] } ?? [:]
                return touch
            }
        }
    }

    /// The tables that were written to, each with how and, for an update, which columns.
    var tables: [Touched] {
        entries.map { entry in
            let columns = entry.rows.flatMap { $0.columns ?? [] }
            return Touched(table: entry.table, kind: entry.kind, columns: columns.isEmpty ? nil : columns)
        }
    }

    /// The number of the last record; 0 if there is none.
    static func last(_ connection: Connection) throws -> Int64 {
        guard case .integer(let number)? = try connection.peek("SELECT max(seq) FROM \(table)") else { return 0 }
        return number
    }

    /// Writes the records, and drops those that are too old.
    ///
    /// - Returns: their numbers; nil if there are none.
    func write(_ connection: Connection) throws -> ClosedRange<Int64>? {
        guard count > 0 else { return nil }
        let records = entries.flatMap { entry in entry.rows.map { (entry, $0) } }.sorted { $0.1.place < $1.1.place }
        var last = try Self.last(connection)
        guard last < .max - Int64(records.count) else {
            throw StoreError(
                .database, "the change records have used up their numbers; delete the rows of the table",
                table: Self.table)
        }
        let transaction = StoredValue.integer(last + 1)
        for (entry, row) in records {
            last += 1
            try connection.executeUncounted(
                "INSERT INTO \(Self.table) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .integer(last), transaction, .text(entry.table), .text(entry.kind.rawValue),
                    row.key.map { .text(Literals.text($0)) } ?? .null,
                    row.columns.map { .text(Literals.text(names: $0)) } ?? .null,
                ])
            connection.noteOrderly()
        }
        if last > Self.kept {
            try connection.executeUncounted("DELETE FROM \(Self.table) WHERE seq <= ?", [.integer(last - Self.kept)])
            connection.noteOrderly()
        }
        return last - Int64(records.count - 1)...last
    }
}
