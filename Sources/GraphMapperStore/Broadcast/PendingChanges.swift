/// What has been written since an observer last looked, and concerns it. Takes no more than some thousand keys' memory, which
/// observers share.
struct PendingChanges: Sendable {
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

    /// Whether anything at all may have changed.
    private(set) var isEverything = false
    private(set) var tables: [String: Rows] = [:]
    /// What the observer's own writes have made of rows, oldest first: it knows of these.
    private(set) var suppressed: [any Sendable] = []
    var isEmpty: Bool { !isEverything && tables.isEmpty && suppressed.isEmpty }

    mutating func add(_ change: RowChange) {
        guard !isEverything else { return }
        switch tables.removeValue(forKey: change.table) {
        case .all?: tables[change.table] = .all
        case .keys(let keys)?: tables[change.table] = Self.rows(keys, change)
        case nil: tables[change.table] = Self.rows(Keys(), change)
        }
    }

    private static func rows(_ keys: consuming Keys, _ change: RowChange) -> Rows {
        if let key = change.key {
            keys.add(key)
        } else if let many = change.keys {
            keys.add(many)
        } else {
            return .all
        }
        return keys.count > RowChange.most ? .all : .keys(keys)
    }

    mutating func add(suppressed rows: any Sendable) { suppressed.append(rows) }

    mutating func addEverything() {
        isEverything = true
        tables = [:]
    }
}
