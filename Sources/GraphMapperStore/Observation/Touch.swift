/// One write of a committed transaction, as far as observers care: where, and which columns.
struct Touch: Sendable {
    let kind: ChangeRecord.Kind
    let table: String
    /// The row's key; nil for rows that are not known.
    let key: [StoredValue]?
    /// What an update set: columns, and the names of ordered links. Nil for the whole row.
    let columns: [String]?
    /// What columns that observers have pinned hold now, as far as known.
    var values: [String: StoredValue] = [:]

    init(_ kind: ChangeRecord.Kind, table: String, key: [StoredValue]?, columns: [String]?) {
        self.kind = kind
        self.table = table
        self.key = key.map { $0.map(Self.plain) }
        self.columns = columns
    }

    init(_ record: ChangeRecord) {
        self.init(record.kind, table: record.table, key: record.key, columns: record.columns)
    }

    /// What a column holds now and held before; nil if that is not known, or differs.
    func lasting(_ column: String) -> StoredValue? {
        switch kind {
        case .insert: values[column]
        case .update: columns?.contains(column) == false ? values[column] : nil
        case .delete: nil
        }
    }

    /// The two zeros are one key.
    static func plain(_ value: StoredValue) -> StoredValue {
        if case .real(let number) = value, number == 0 { .real(0) } else { value }
    }
}

/// What an observer looks at.
struct Interest: Sendable {
    /// Columns, and the names of ordered links, by table; nil for all of a table's.
    var tables: [String: Set<String>?] = [:]
    /// The only row of its table that matters.
    var row: (table: String, key: [StoredValue])?
    /// A column that has this value in all rows of its table that matter.
    var pin: Pin?

    struct Pin: Sendable, Hashable {
        let table: String
        let column: String
        let value: StoredValue
    }

    func concerns(_ touch: Touch) -> Bool {
        guard let columns = tables[touch.table] else { return false }
        if let row, row.table == touch.table, let key = touch.key, key != row.key { return false }
        guard let columns, let touched = touch.columns else { return true }
        return touched.contains(where: columns.contains)
    }

    mutating func add(_ table: String, _ columns: Set<String>?) {
        guard let known = tables[table] else {
            tables[table] = .some(columns)
            return
        }
        tables[table] = .some(known.flatMap { known in columns.map { known.union($0) } })
    }

    /// Whether another one covers it.
    func isWithin(_ other: Interest) -> Bool {
        tables.allSatisfy { table, columns in
            guard let others = other.tables[table] else { return false }
            guard let others else { return true }
            return columns?.isSubset(of: others) ?? false
        }
    }

    mutating func add(_ other: Interest) {
        for (table, columns) in other.tables { add(table, columns) }
        row = nil
        pin = nil
    }
}

/// What has been written since an observer last looked, and concerns it. Takes no more than some thousand keys' memory.
struct Pending: Sendable {
    enum Rows: Sendable {
        case keys(Set<[StoredValue]>)
        /// Any row of the table.
        case all
    }

    /// So many rows of a table are told apart.
    static let most = 4096

    /// Whether anything at all may have changed.
    private(set) var isEverything = false
    private(set) var tables: [String: Rows] = [:]
    /// What the observer's own writes have made of rows, oldest first: it knows of these.
    private(set) var absorbed: [any Sendable] = []
    var isEmpty: Bool { !isEverything && tables.isEmpty && absorbed.isEmpty }

    mutating func add(_ touch: Touch) {
        guard !isEverything else { return }
        guard let key = touch.key else {
            tables[touch.table] = .all
            return
        }
        switch tables.removeValue(forKey: touch.table) {
        case nil: tables[touch.table] = .keys([key])
        case .all?: tables[touch.table] = .all
        case .keys(var keys)?:
            keys.insert(key)
            tables[touch.table] = keys.count > Self.most ? .all : .keys(keys)
        }
    }

    mutating func absorb(_ rows: any Sendable) { absorbed.append(rows) }

    mutating func addEverything() {
        isEverything = true
        tables = [:]
    }
}
