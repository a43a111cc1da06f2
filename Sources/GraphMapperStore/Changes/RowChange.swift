/// One write of a committed transaction, as far as observers care: where, and which columns.
struct Touch: Sendable {
    let kind: ChangeRecord.Kind
    let table: String
    /// The row's key; nil for many rows, or for rows that are not known.
    let key: [StoredValue]?
    /// What an update set: columns, and the names of ordered links. Nil for the whole row.
    let columns: [String]?
    /// The keys of many rows, as far as known.
    let keys: [[StoredValue]]?
    /// What columns that observers have pinned hold now, as far as known.
    var values: [String: StoredValue] = [:]
    /// What they held before.
    var before: [String: StoredValue] = [:]

    init(
        _ kind: ChangeRecord.Kind, table: String, key: [StoredValue]?, columns: [String]?, keys: [[StoredValue]]? = nil
    ) {
        self.kind = kind
        self.table = table
        self.key = key.map(Self.plain)
        self.columns = columns
        self.keys = key == nil ? keys.map { $0.map(Self.plain) } : nil
    }

    init(_ record: ChangeRecord) {
        self.init(record.kind, table: record.table, key: record.key, columns: record.columns)
    }

    /// The keys of its rows; nil if they are not known.
    var knownKeys: [[StoredValue]]? { key.map { [$0] } ?? keys }

    /// What a column holds now, and held before if that may differ; nil if it is not known.
    func values(of column: String) -> [StoredValue]? {
        guard key != nil else { return nil }
        let (old, new) = (before[column], values[column])
        switch kind {
        case .insert: return new.map { [$0] }
        case .update where columns?.contains(column) == false: return new.map { [$0] }
        case .update: return old.flatMap { old in new.map { [old, $0] } }
        case .delete: return old.map { [$0] }
        }
    }

    /// The two zeros are one key.
    static func plain(_ value: StoredValue) -> StoredValue {
        if case .real(let number) = value, number == 0 { .real(0) } else { value }
    }

    static func plain(_ key: [StoredValue]) -> [StoredValue] {
        let hasNumbers = key.contains { if case .real = $0 { true } else { false } }
        return hasNumbers ? key.map { plain($0) } : key
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
        guard looksAt(touch) else { return false }
        guard let row, row.table == touch.table, let keys = touch.knownKeys else { return true }
        return keys.contains(row.key)
    }

    /// Whether it looks at the columns, whatever the row.
    func looksAt(_ touch: Touch) -> Bool {
        guard let columns = tables[touch.table] else { return false }
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

/// What has been written since an observer last looked, and concerns it. Takes no more than some thousand keys' memory, which
/// observers share.
struct Pending: Sendable {
    enum Rows: Sendable {
        case keys(Keys)
        /// Any row of the table.
        case all
    }

    /// The keys of rows that may have changed.
    struct Keys: Sendable {
        private var single: Set<[StoredValue]> = []
        private var many: [[[StoredValue]]] = []
        /// How many there are at most: some may have been counted twice.
        private(set) var count = 0

        fileprivate mutating func add(_ key: [StoredValue]) {
            if single.insert(key).inserted { count += 1 }
        }

        fileprivate mutating func add(_ keys: [[StoredValue]]) {
            many.append(keys)
            count += keys.count
        }

        /// Each once.
        var all: Set<[StoredValue]> { many.reduce(into: single) { $0.formUnion($1) } }
    }

    /// So many rows of a table are told apart.
    static let most = 16_384

    /// Whether anything at all may have changed.
    private(set) var isEverything = false
    private(set) var tables: [String: Rows] = [:]
    /// What the observer's own writes have made of rows, oldest first: it knows of these.
    private(set) var absorbed: [any Sendable] = []
    var isEmpty: Bool { !isEverything && tables.isEmpty && absorbed.isEmpty }

    mutating func add(_ touch: Touch) {
        guard !isEverything else { return }
        switch tables.removeValue(forKey: touch.table) {
        case .all?: tables[touch.table] = .all
        case .keys(let keys)?: tables[touch.table] = Self.rows(keys, touch)
        case nil: tables[touch.table] = Self.rows(Keys(), touch)
        }
    }

    private static func rows(_ keys: consuming Keys, _ touch: Touch) -> Rows {
        if let key = touch.key {
            keys.add(key)
        } else if let many = touch.keys {
            keys.add(many)
        } else {
            return .all
        }
        return keys.count > most ? .all : .keys(keys)
    }

    mutating func absorb(_ rows: any Sendable) { absorbed.append(rows) }

    mutating func addEverything() {
        isEverything = true
        tables = [:]
    }
}
