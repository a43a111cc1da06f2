/// A conflict that makes an object deleted, or not deleted any more, so that the save has to be planned anew.
struct SaveRetry: Error {
    /// The place of its table in the session.
    let table: Int
    let slot: Int
    let fate: Fate
    let conflict: Conflict

    /// What the object is taken for when the save is planned again.
    enum Fate {
        case deleted, kept
        /// A new one, whose row another writer has deleted.
        case inserted
    }

    func isSame(_ other: SaveRetry) -> Bool { table == other.table && slot == other.slot && fate == other.fate }
}

/// Applies a plan, and settles what other writers have changed meanwhile.
struct ConflictResolver {
    private let plan: WritePlan
    private let policy: ConflictPolicy
    private let core: SessionCore
    /// What has been written.
    private(set) var applied: [ChangeSet.Change] = []
    /// Objects that are stored otherwise than the plan has it.
    private(set) var merged: [(table: any ErasedTable, slot: Int)]
    private var conflicts: [Conflict] = []
    private var queue: [ChangeSet.Change] = []
    private var next = 0
    /// Rows that were inserted again, with all their links.
    private var reborn: Set<RowID> = []
    private var slots: [String: [[StoredValue]: Int]] = [:]

    init(
        _ plan: WritePlan, _ policy: ConflictPolicy, _ core: SessionCore, merged: [(table: any ErasedTable, slot: Int)]
    ) {
        self.merged = merged
        self.plan = plan
        self.policy = policy
        self.core = core
    }

    mutating func apply(to sink: any ChangeSink) async throws {
        queue = plan.order.changes
        while next < queue.count {
            let mismatch: ChangeSet.Mismatch?
            do {
                mismatch = try await sink.apply(queue[next...])
            } catch {
                // What was left out for a conflict may be what this one needed.
                if conflicts.isEmpty { throw error }
                break
            }
            guard let mismatch else {
                // Most often all of it at once.
                if applied.isEmpty, next == 0 { applied = queue } else { applied += queue[next...] }
                break
            }
            applied += queue[next..<mismatch.place]
            let change = queue[mismatch.place]
            next = mismatch.place + 1
            guard let settled = try settle(change, mismatch.found) else { continue }
            if let again = try await sink.apply([settled][...]) {
                throw GraphError(Conflict.all(of: settled, again.found))
            }
            applied.append(settled)
        }
        if !conflicts.isEmpty { throw GraphError(conflicts) }
    }

    /// What to apply instead of a change; nil for nothing.
    private mutating func settle(_ change: ChangeSet.Change, _ found: ChangeSet.Found) throws -> ChangeSet.Change? {
        switch (change, found) {
        case (.update(let row), .values(let theirs)): return try settle(row, theirs)
        case (.relink(let link), .list(let theirs)): return try settle(link, theirs)
        case (.delete(let row), .values(let theirs)): return try settle(row, theirs)
        // Both have deleted it.
        case (.delete, _): return nil
        case (.insert, _): return nil
        case (_, _): return try settleGone(change)
        }
    }

    // MARK: Rows

    private mutating func settle(_ row: ChangeSet.Update, _ theirs: [StoredValue]) throws -> ChangeSet.Change? {
        let rules = core.rules(of: row.table)
        var new = ChangeSet.Update(
            table: row.table, keyColumns: row.keyColumns, key: row.key, columns: [], values: [], expected: [],
            isInterim: row.isInterim)
        (new.unread, new.unreadValues) = (row.unread, row.unreadValues)
        var clashes: [(property: String, places: [Int])] = []
        for place in row.columns.indices {
            let isVersion = row.columns[place] == rules?.version
            // What both have changed in the same way is no clash, but a policy may want to add it up.
            let isAgreed = theirs[place] == row.values[place] && !isVersion && policy.resolve == nil
            if theirs[place] == row.expected[place] || isAgreed {
                new.take(row, place, row.values[place], theirs[place])
                continue
            }
            let property = rules?.properties[row.columns[place]] ?? row.columns[place]
            if let known = clashes.firstIndex(where: { $0.property == property }) {
                clashes[known].places.append(place)
            } else {
                clashes.append((property, [place]))
            }
        }
        for clash in clashes {
            // A first step that makes room says nothing about what the app wants: the second does.
            let later = queue[next...].firstIndex { $0.follows(row) }
            let mine = clash.places.map { queue.value(row.columns[$0], at: later) ?? row.values[$0] }
            let conflict = Conflict(
                .value, type: row.table, id: name(row.table, row.key), property: clash.property,
                base: clash.places.map { row.expected[$0] }, mine: mine, theirs: clash.places.map { theirs[$0] })
            let isVersion = clash.places.contains { row.columns[$0] == rules?.version }
            guard let resolution = try resolve(conflict) else { continue }
            switch resolution {
            case .theirs where isVersion:
                note(row.table, row.key)
                if let later { queue.drop(row.columns, at: later) }
                return nil
            case .theirs:
                note(row.table, row.key)
                for place in clash.places {
                    if let later { queue.drop([row.columns[place]], at: later) }
                }
            case .mine:
                for place in clash.places {
                    var value = row.values[place]
                    if isVersion, case .integer(let version) = theirs[place] {
                        value = .integer(version + 1)
                        note(row.table, row.key)
                    }
                    new.take(row, place, value, theirs[place])
                }
            case .merged(let values):
                guard values.count == clash.places.count else {
                    throw GraphError(
                        .misuse, "\(clash.places.count) values are to be merged, not \(values.count)",
                        type: conflict.type, id: conflict.id, property: conflict.property)
                }
                note(row.table, row.key)
                for (place, value) in zip(clash.places, values) {
                    if let later {
                        queue.set(row.columns[place], value, at: later)
                        new.take(row, place, row.values[place], theirs[place])
                    } else {
                        new.take(row, place, value, theirs[place])
                    }
                }
            }
        }
        return new.columns.isEmpty && new.unread.isEmpty ? nil : .update(new)
    }

    private mutating func settle(_ row: ChangeSet.Deletion, _ theirs: [StoredValue]) throws -> ChangeSet.Change? {
        let rules = core.rules(of: row.table)
        for (place, column) in row.columns.enumerated() where theirs[place] != row.expected[place] {
            let conflict = Conflict(
                .deletedByMe, type: row.table, id: name(row.table, row.key),
                property: rules?.properties[column] ?? column, base: [row.expected[place]], mine: [],
                theirs: [theirs[place]])
            switch try resolve(conflict) {
            case nil, .mine: continue
            case .theirs:
                throw again(row.table, row.key, .kept, conflict)
            case .merged:
                throw GraphError(
                    .misuse, "an object is deleted or not; resolve the conflict by .mine or .theirs",
                    type: conflict.type, id: conflict.id, property: conflict.property)
            }
        }
        var new = row
        new.expected = theirs
        return .delete(new)
    }

    private mutating func settleGone(_ change: ChangeSet.Change) throws -> ChangeSet.Change? {
        let id = change.row
        // It was inserted again, with all its links.
        if reborn.contains(id) { return nil }
        guard var conflict = Conflict.all(of: change, .gone).first else { return nil }
        conflict.id = name(id.table, id.key)
        switch try resolve(conflict) {
        case nil:
            // One conflict an object.
            reborn.insert(id)
            return nil
        case .theirs:
            throw again(id.table, id.key, .deleted, conflict)
        case .mine:
            // What it leads to is new to it, too, if the session knew that its row was gone.
            if let place = place(id.table, id.key), place.table.isVanished(place.slot) {
                throw again(id.table, id.key, .inserted, conflict)
            }
            guard let whole = plan.whole.lazy.map({ $0() }).first(where: { $0.row.row == id }) else {
                throw GraphError([conflict])
            }
            reborn.insert(id)
            let rest = queue[next...].filter { change in
                if case .relink = change { change.row != id } else { true }
            }
            queue.replaceSubrange(next..., with: rest + whole.links)
            return whole.row
        case .merged:
            throw GraphError(
                .misuse, "the object is gone; resolve the conflict by .mine or .theirs", type: conflict.type,
                id: conflict.id)
        }
    }

    // MARK: Lists

    private mutating func settle(_ link: ChangeSet.Relink, _ theirs: [StoredValue]) throws -> ChangeSet.Change? {
        if reborn.contains(RowID(table: link.table, key: link.key)) { return nil }
        let found = link.parted(theirs)
        let mine = link.parted(link.targets)
        let merge = ListMerge(base: link.parted(link.base), mine: mine, theirs: found)
        var new = link
        new.base = theirs
        new.targets = merge.merged.flatMap { $0 }
        if merge.isClash {
            let conflict = Conflict(
                .list, type: link.table, id: name(link.table, link.key), property: link.property, base: link.base,
                mine: link.targets, theirs: theirs)
            switch try resolve(conflict) {
            case nil: return nil
            case .mine: break
            case .theirs:
                new.targets = ListMerge(base: link.parted(link.base), mine: found, theirs: mine).merged.flatMap { $0 }
            case .merged(let values): new.targets = values
            }
        }
        if new.targets != link.targets { note(link.table, link.key) }
        return new.targets == new.base ? nil : .relink(new)
    }

    // MARK: Objects

    private mutating func resolve(_ conflict: Conflict) throws -> Conflict.Resolution? {
        if let resolve = policy.resolve { return try resolve(conflict) }
        conflicts.append(conflict)
        return nil
    }

    private mutating func again(
        _ table: String, _ key: [StoredValue], _ fate: SaveRetry.Fate, _ conflict: Conflict
    ) -> any Error {
        guard let place = place(table, key), let index = core.order.firstIndex(where: { $0 === place.table }) else {
            return GraphError([conflict])
        }
        return SaveRetry(table: index, slot: place.slot, fate: fate, conflict: conflict)
    }

    /// The object of a row. The first question after a table costs a walk of it.
    private mutating func place(_ table: String, _ key: [StoredValue]) -> (table: any ErasedTable, slot: Int)? {
        for owner in core.order where owner.isStored && owner.name == table {
            let known = slots[table] ?? owner.keySlots()
            slots[table] = known
            if let slot = known[key], owner.hasSnapshot(slot) { return (owner, slot) }
        }
        return nil
    }

    private mutating func name(_ table: String, _ key: [StoredValue]) -> String {
        place(table, key).map { $0.table.idText($0.slot) } ?? key.map(\.description).joined(separator: ", ")
    }

    private mutating func note(_ table: String, _ key: [StoredValue]) {
        guard let new = place(table, key), !merged.contains(where: { $0.table === new.table && $0.slot == new.slot })
        else { return }
        merged.append(new)
    }
}

extension ChangeSet.Update {
    fileprivate mutating func take(_ row: Self, _ place: Int, _ value: StoredValue, _ expected: StoredValue) {
        columns.append(row.columns[place])
        values.append(value)
        self.expected.append(expected)
    }
}

extension ChangeSet.Change {
    /// Whether it is the second step of an update.
    fileprivate func follows(_ row: ChangeSet.Update) -> Bool {
        guard case .update(let other) = self, other.table == row.table, other.key == row.key else { return false }
        return zip(row.columns, row.values).allSatisfy { column, value in
            other.columns.firstIndex(of: column).map { other.expected[$0] == value } ?? false
        }
    }
}

extension [ChangeSet.Change] {
    fileprivate func value(_ column: String, at place: Int?) -> StoredValue? {
        guard let place, case .update(let row) = self[place] else { return nil }
        return row.columns.firstIndex(of: column).map { row.values[$0] }
    }

    fileprivate mutating func set(_ column: String, _ value: StoredValue, at place: Int) {
        guard case .update(var row) = self[place], let index = row.columns.firstIndex(of: column) else { return }
        row.values[index] = value
        self[place] = .update(row)
    }

    /// Leaves columns out of an update; one without columns matches its row and changes nothing.
    fileprivate mutating func drop(_ columns: [String], at place: Int) {
        guard case .update(let old) = self[place] else { return }
        var row = old
        for column in columns {
            guard let index = row.columns.firstIndex(of: column) else { continue }
            row.columns.remove(at: index)
            row.values.remove(at: index)
            row.expected.remove(at: index)
        }
        if row.columns.isEmpty, row.unread.isEmpty { remove(at: place) } else { self[place] = .update(row) }
    }
}
