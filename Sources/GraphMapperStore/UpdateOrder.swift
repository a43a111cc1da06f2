/// The order in which the updates of one save can run, although the engine checks unique indexes statement by
/// statement: who frees a value comes before who takes it, and a cycle is broken by one more update, which puts a value
/// that no row has in the place of one.
struct UpdateOrder {
    /// A unique index of a table. Its columns are the table's, by name.
    struct Unique {
        var columns: [String]
    }

    /// An update that is to run, or one that makes room for others first.
    enum Step {
        case update(ChangeSet.Update)
        /// Frees what the update will free later: one column of it is set to a value that no row has.
        case makeRoom(ChangeSet.Update, for: ChangeSet.Update)
    }

    private var updates: [ChangeSet.Update]
    /// For each update: those that must run before it, each with the index that says so.
    private var needs: [[(update: Int, index: Unique)]]
    private let nullable: Set<String>

    /// - Parameters:
    ///   - updates: updates of one table.
    ///   - nullable: the table's columns that may be NULL.
    ///   - row: the values of some columns of an update's row as they are stored; nil if it is gone.
    init(
        _ updates: [ChangeSet.Update], _ indexes: [Unique], nullable: Set<String>,
        row: (ChangeSet.Update, [String]) throws -> [StoredValue]?
    ) rethrows {
        self.updates = updates
        self.nullable = nullable
        needs = Array(repeating: [], count: updates.count)
        for index in indexes {
            let touching = updates.indices.filter { place in
                index.columns.contains { updates[place].columns.contains($0) }
            }
            guard touching.count > 1 else { continue }
            var freed: [[StoredValue]: Int] = [:]
            var taken: [(Int, [StoredValue])] = []
            for place in touching {
                guard let (old, new) = try Self.values(updates[place], index, row) else { continue }
                if !old.contains(.null) { freed[old] = place }
                if !new.contains(.null) { taken.append((place, new)) }
            }
            for (place, values) in taken {
                if let other = freed[values], other != place { needs[place].append((other, index)) }
            }
        }
    }

    /// What the update's row has in an index, and what it will have.
    private static func values(
        _ update: ChangeSet.Update, _ index: Unique, _ row: (ChangeSet.Update, [String]) throws -> [StoredValue]?
    ) rethrows -> ([StoredValue], [StoredValue])? {
        let missing = index.columns.filter { !update.columns.contains($0) }
        let others = missing.isEmpty ? [] : try row(update, missing)
        guard let others else { return nil }
        var old: [StoredValue] = []
        var new: [StoredValue] = []
        for column in index.columns {
            if let place = update.columns.firstIndex(of: column) {
                old.append(comparable(update.expected[place]))
                new.append(comparable(update.values[place]))
            } else if let place = missing.firstIndex(of: column) {
                old.append(comparable(others[place]))
                new.append(comparable(others[place]))
            }
        }
        return (old, new)
    }

    /// The engine's indexes compare numbers by value.
    private static func comparable(_ value: StoredValue) -> StoredValue {
        guard case .real(let number) = value else { return value }
        if let whole = Int64(exactly: number) { return .integer(whole) }
        return value
    }

    /// The steps, in order. Complexity: O(updates + needs).
    func steps() -> [Step] {
        guard needs.contains(where: { !$0.isEmpty }) else { return updates.map { .update($0) } }
        var updates = updates
        var steps: [Step] = []
        // 0: not seen; 1: waits for another; 2: done.
        var state = [Int](repeating: 0, count: updates.count)
        var next = [Int](repeating: 0, count: updates.count)
        var stack: [Int] = []
        for start in updates.indices where state[start] == 0 {
            stack.append(start)
            state[start] = 1
            while let top = stack.last {
                guard next[top] < needs[top].count else {
                    steps.append(.update(updates[top]))
                    state[top] = 2
                    stack.removeLast()
                    continue
                }
                let need = needs[top][next[top]]
                next[top] += 1
                if state[need.update] == 0 {
                    state[need.update] = 1
                    stack.append(need.update)
                } else if state[need.update] == 1, let room = makeRoom(&updates[need.update], need.index) {
                    steps.append(.makeRoom(room, for: self.updates[need.update]))
                }
            }
        }
        return steps
    }

    /// The update that frees an index's values early; nil if an earlier one has done so. `update` then expects what that
    /// one writes.
    private func makeRoom(_ update: inout ChangeSet.Update, _ index: Unique) -> ChangeSet.Update? {
        let own = index.columns.compactMap { update.columns.firstIndex(of: $0) }
        guard let place = own.first(where: { nullable.contains(update.columns[$0]) }) ?? own.first else { return nil }
        if own.contains(where: { Self.isSentinel(update.expected[$0]) }) { return nil }
        let old = update.expected[place]
        let sentinel = Self.sentinel(like: old, isNullable: nullable.contains(update.columns[place]))
        update.expected[place] = sentinel
        return ChangeSet.Update(
            table: update.table, keyColumns: update.keyColumns, key: update.key, columns: [update.columns[place]],
            values: [sentinel], expected: [old])
    }

    private static let mark = "\u{1}graphmapper: making room "

    private static func isSentinel(_ value: StoredValue) -> Bool {
        switch value {
        case .text(let text): text.hasPrefix(mark)
        case .blob(let bytes): bytes.starts(with: Array(mark.utf8))
        case .null: true
        default: false
        }
    }

    /// A value that no row has: NULL, or a random one, under a mark where the type has room for it.
    private static func sentinel(like value: StoredValue, isNullable: Bool) -> StoredValue {
        if isNullable { return .null }
        let number = UInt64.random(in: 0..<(1 << 62))
        switch value {
        case .integer: return .integer(Int64.min + Int64(number))
        case .real: return .real(-Double(number) * 1e280)
        case .blob: return .blob(Array("\(mark)\(number)".utf8))
        case .text, .null: return .text("\(mark)\(number)")
        }
    }
}

extension WriteTransaction {
    /// Applies all changes of a save, updates in an order that unique indexes allow. Swaps of unique values cost one
    /// more update a cycle.
    public func apply(_ changes: ChangeSet) async throws {
        var start = changes.changes.startIndex
        while start < changes.changes.endIndex {
            guard case .update = changes.changes[start] else {
                try await apply(changes.changes[start])
                start += 1
                continue
            }
            var updates: [ChangeSet.Update] = []
            while start < changes.changes.endIndex, case .update(let update) = changes.changes[start] {
                try checkShape(changes.changes[start])
                updates.append(update)
                start += 1
            }
            try apply(updates)
        }
    }

    private func apply(_ updates: [ChangeSet.Update]) throws {
        try check()
        var order: [String] = []
        var byTable: [String: [ChangeSet.Update]] = [:]
        for update in updates {
            if byTable[update.table] == nil { order.append(update.table) }
            byTable[update.table, default: []].append(update)
        }
        for table in order {
            let updates = byTable[table] ?? []
            let indexes = updates.count > 1 ? try uniqueIndexes(table) : []
            guard !indexes.isEmpty else {
                for update in updates { try self.update(update) }
                continue
            }
            let columns = try StoredTable(table, connection)?.columns ?? []
            let nullable = Set(columns.filter(\.isNullable).map(\.name))
            let plan = try UpdateOrder(updates, indexes, nullable: nullable) { update, columns in
                try connection.rows(
                    "SELECT \(Dialect.list(columns)) FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(update.keyColumns))",
                    update.key
                ).first
            }
            for step in plan.steps() {
                switch step {
                case .update(let update): try self.update(update)
                case .makeRoom(let room, let update):
                    // A conflict with another writer is that of the update, whose words say what the app wrote.
                    if try !isApplied(room) { try self.update(update) }
                }
            }
        }
    }

    /// The table's unique indexes other than its key, as the file has them. Those on more than columns are left to the
    /// engine.
    private func uniqueIndexes(_ table: String) throws -> [UpdateOrder.Unique] {
        try StoredTable.indexes(of: table, connection).filter { $0.isUnique && !$0.isKey }.compactMap {
            $0.columns.map(UpdateOrder.Unique.init)
        }
    }
}
