/// A change set in the making, and what the session does once it is stored.
struct WritePlan {
    var inserts: [Int: [ChangeSet.Change]] = [:]
    var updates: [ChangeSet.Change] = []
    var relinks: [ChangeSet.Change] = []
    var deletes: [Int: [ChangeSet.Change]] = [:]
    /// What the tables make of it.
    var commits: [any TableCommit] = []
    /// What it does when every object is registered.
    var settle: [() -> Void] = []
    /// What is planned for rows that two tables of one model share.
    private var shared: [ChangeSet.Change: Int] = [:]
    var isDeleting = false
    /// What rules delete.
    var ruledOut: [RuledOut] = []
    /// The values, as last read, of rows whose unique values or foreign keys are changed in parts.
    var images: [RowID: [StoredValue]] = [:]
    /// The rows that the lists of deleted rows hold.
    var held: [RowID: [RowID]] = [:]
    /// Rows that are there under the ids of new objects, where nobody decides what becomes of them.
    var conflicts: [Conflict] = []
    /// The whole rows of updated objects, for those that another writer has deleted.
    var whole: [() -> (row: ChangeSet.Change, links: [ChangeSet.Change])] = []
    /// New objects that are to have keys of the database's, and the greatest of the keys that other new ones have, by table.
    var unkeyed: [UnkeyedObject] = []
    var keyed: [String: Int64] = [:]
    /// The changes in the order in which they can run, once all are planned.
    var order = WriteOrder.Result(changes: [])

    /// Plans rows of a table of that rank.
    mutating func insert(_ rows: [ChangeSet.Change], _ rank: Int) {
        // Most often they are the only ones: the array is taken as it is.
        if inserts[rank] == nil { inserts[rank] = rows } else { inserts[rank]?.append(contentsOf: rows) }
    }

    mutating func delete(_ change: ChangeSet.Change, _ rank: Int, _ isShared: Bool) {
        if isShared, case .delete(let row) = change {
            let key = ChangeSet.Change.delete(.init(table: row.table, keyColumns: row.keyColumns, key: row.key))
            if shared.updateValue(0, forKey: key) != nil { return }
        }
        deletes[rank, default: []].append(change)
    }

    /// - Parameter isShared: whether another DTO type may have planned the same for the same row.
    mutating func update(_ row: ChangeSet.Change?, _ links: [ChangeSet.Change], _ isShared: Bool) {
        guard isShared else {
            if let row { updates.append(row) }
            relinks += links
            return
        }
        for link in links where shared.updateValue(0, forKey: link) == nil { relinks.append(link) }
        guard let row, case .update(var new) = row else { return }
        let key = ChangeSet.Change.delete(.init(table: new.table, keyColumns: new.keyColumns, key: new.key))
        guard let place = shared[key], case .update(let known) = updates[place] else {
            shared[key] = updates.count
            updates.append(row)
            return
        }
        let left = new.columns.indices.filter { !known.columns.contains(new.columns[$0]) }
        let unread = new.unread.indices.filter { !known.unread.contains(new.unread[$0]) }
        guard !left.isEmpty || !unread.isEmpty else { return }
        new.unread = known.unread + unread.map { new.unread[$0] }
        new.unreadValues = known.unreadValues + unread.map { new.unreadValues[$0] }
        new.columns = known.columns + left.map { new.columns[$0] }
        new.values = known.values + left.map { new.values[$0] }
        new.expected = known.expected + left.map { new.expected[$0] }
        updates[place] = .update(new)
    }

    /// Parents before children for inserts, children before parents for deletes, updates by their shape; then as the
    /// rows themselves ask for.
    func ordered(_ core: SessionCore) throws -> WriteOrder.Result {
        let ranks = core.ranks()
        var changes: [ChangeSet.Change] = []
        for index in ranks.reversed() { changes += deletes[index] ?? [] }
        changes += Self.grouped(updates)
        for index in ranks { changes += inserts[index] ?? [] }
        changes += relinks
        // Rows that are only added, and their links, wait for nothing that the database does not check at commit.
        if updates.isEmpty, deletes.isEmpty, core.defersForeignKeys() { return WriteOrder.Result(changes: changes) }
        return try WriteOrder.order(
            changes, core.rules(for: changes), defers: core.defersForeignKeys(), images: images, held: held)
    }

    /// Updates of one shape next to each other, which run one prepared statement.
    private static func grouped(_ updates: [ChangeSet.Change]) -> [ChangeSet.Change] {
        guard let first = updates.first, !updates.allSatisfy({ $0.hasShape(of: first) }) else { return updates }
        var places: [String: Int] = [:]
        var groups: [[ChangeSet.Change]] = []
        for update in updates {
            let place = places[update.shape] ?? groups.count
            if place == groups.count {
                places[update.shape] = place
                groups.append([])
            }
            groups[place].append(update)
        }
        return groups.flatMap { $0 }
    }
}

extension ChangeSet.Change {
    fileprivate func hasShape(of other: Self) -> Bool {
        guard case .update(let row) = self, case .update(let other) = other else { return false }
        return row.table == other.table && row.columns == other.columns
    }
}

extension SessionCore {
    /// Indices of `order`, so that a type comes after those that its columns refer to. Types on a cycle keep the
    /// order of registration; their foreign keys are checked at commit.
    func ranks() -> [Int] {
        var result: [Int] = []
        var state = [Int](repeating: 0, count: order.count)
        func visit(_ index: Int) {
            guard state[index] == 0 else { return }
            state[index] = 1
            for target in order[index].columnTargets {
                if let next = order.firstIndex(where: { $0.recordType == ObjectIdentifier(target) }) { visit(next) }
            }
            state[index] = 2
            result.append(index)
        }
        for index in order.indices { visit(index) }
        return result
    }
}
