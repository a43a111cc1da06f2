/// The result of a query, kept up to date.
struct LiveRows<R: StoredRecord>: LiveQuery {
    private let query: Query<R>
    private let observing: [any AnyKeyPath & Sendable]?
    private let section: SectionKey?
    private var plan: RowsPlan<R>?
    private(set) var results = Results<R>([])
    /// What each row is sorted by.
    private var index: [RowKey: SortKey] = [:]

    /// - Parameter section: what says to which section a row belongs.
    init(_ query: Query<R>, observing: [any AnyKeyPath & Sendable]? = nil, section: SectionKey? = nil) {
        self.query = query
        self.observing = observing
        self.section = section
    }

    /// The rows' keys, in their order.
    var keys: [[StoredValue]] {
        guard let width = plan?.ordering.keyWidth else { return [] }
        return results.chunks.flatMap { chunk in chunk.sortKeys.map { $0.values.suffix(width).map(\.normalizedKey) } }
    }

    /// The key of the row at a position. Complexity: O(log count).
    func key(at position: Int) -> [StoredValue] {
        let (chunk, offset) = results.locate(position)
        let width = plan?.ordering.keyWidth ?? 0
        return results.chunks[chunk].sortKeys[offset].values.suffix(width).map(\.normalizedKey)
    }

    /// Where the row with this key is. Complexity: O(log count).
    func position(of key: [StoredValue]) -> Int? {
        guard let plan, let sortKey = index[RowKey(key[...])] else { return nil }
        return position(sortKey, plan)
    }

    /// What the row at a position has in common with the others of its section.
    func section(at position: Int) -> [StoredValue] {
        let (chunk, offset) = results.locate(position)
        return plan?.ordering.section(results.chunks[chunk].sortKeys[offset]) ?? []
    }

    /// The sections, in their order.
    var sections: [(section: [StoredValue], count: Int)] {
        guard let ordering = plan?.ordering else { return [] }
        var sections: [(section: [StoredValue], count: Int)] = []
        for sortKey in results.chunks.lazy.flatMap(\.sortKeys) {
            let section = ordering.section(sortKey)
            if sections.last?.section == section {
                sections[sections.count - 1].count += 1
            } else {
                sections.append((section, 1))
            }
        }
        return sections
    }

    var region: ObservedRegion { plan?.region ?? ObservedRegion() }

    /// A query that may have to run again cannot leave out some of its changes.
    var suppressedRowsReader: SuppressedRowsReader? {
        guard let plan, plan.needsQuery == nil, plan.limit == nil, plan.others.isEmpty else { return nil }
        return { tx, keys in
            let (records, sortKeys) = try plan.rows(tx, keys)
            return SuppressedRows<R>(keys: keys, records: records, sortKeys: sortKeys)
        }
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws {
        plan = try RowsPlan(query, observing: observing, section: section, tx, lists)
    }

    mutating func start(_ tx: ReadTransaction) throws -> CollectionChange<R>? {
        guard let plan else { return .initial(results) }
        var (records, sortKeys) = try plan.rows(tx)
        if zip(sortKeys, sortKeys.dropFirst()).contains(where: { !plan.ordering.isBefore($0, $1) }) {
            let counted = plan.counting(because: "the file sorts in a way of its own")
            (records, sortKeys) = try counted.rows(tx)
            self.plan = counted
        }
        index.reserveCapacity(sortKeys.count)
        for sortKey in sortKeys { index[key(sortKey)] = sortKey }
        results = Results(Chunks.cut(records, sortKeys))
        return .initial(results)
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) throws -> CollectionChange<R>? {
        guard let plan else { return nil }
        takeSuppressed(pending)
        if !pending.isEverything, pending.tables.keys.allSatisfy({ plan.region.tables[$0] == nil }) { return nil }
        if !pending.isEverything, plan.needsQuery == nil, plan.others.isDisjoint(with: pending.tables.keys),
            case .keys(let keys)? = pending.tables[R.schema.name], keys.count <= max(256, results.count / 4)
        {
            let keys = Array(keys.all)
            let (records, sortKeys) = try plan.rows(tx, keys)
            if let edit = look(at: SuppressedRows(keys: keys, records: records, sortKeys: sortKeys), plan) {
                return commit(edit)
            }
        }
        return commit(try runAgain(plan, tx))
    }

    /// Takes in what the observer knows of; again without effect.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    mutating func takeSuppressed(_ pending: PendingChanges) -> Bool {
        guard let plan else { return false }
        for case let rows as SuppressedRows<R> in pending.suppressed {
            if let edit = look(at: rows, plan) { _ = commit(edit) }
        }
        return !pending.suppressed.isEmpty
    }

    // MARK: Finding out

    /// What happened to some rows.
    private struct Edit {
        /// The positions of rows that are no longer there.
        var gone: [Int] = []
        /// Rows that were not there.
        var new: [Row] = []
        /// Rows in their old place.
        var same: [Replacement<R>] = []
        /// Rows that are sorted by something else than before.
        var sorted: [(position: Int, row: Row, isWatched: Bool)] = []
    }

    private struct Row {
        let record: R
        let sortKey: SortKey
    }

    private func key(_ sortKey: SortKey) -> RowKey { plan?.ordering.key(sortKey) ?? RowKey(sortKey.values[...]) }

    /// Looks at some rows alone; nil if that does not tell which rows are in the result.
    private func look(at rows: SuppressedRows<R>, _ plan: RowsPlan<R>) -> Edit? {
        // The last row of a window that others may stand behind.
        let last = plan.limit.flatMap { $0 == results.count ? results.chunks.last?.sortKeys.last : nil }
        var edit = Edit()
        var found: Set<RowKey> = []
        found.reserveCapacity(rows.sortKeys.count)
        for (record, sortKey) in zip(rows.records, rows.sortKeys) {
            if plan.limit == 0 || last.map({ plan.ordering.isBefore($0, sortKey) }) == true { continue }
            let key = plan.ordering.key(sortKey)
            found.insert(key)
            note(Row(record: record, sortKey: sortKey), key, plan, &edit)
        }
        for key in rows.keys where found.count < rows.keys.count {
            let key = RowKey(key[...])
            if !found.contains(key), let sortKey = index[key] { edit.gone.append(position(sortKey, plan)) }
        }
        if last != nil, edit.new.count < edit.gone.count { return nil }
        if let limit = plan.limit { cut(&edit, limit, plan) }
        return edit
    }

    /// Leaves out what stands behind the end of a window.
    private func cut(_ edit: inout Edit, _ limit: Int, _ plan: RowsPlan<R>) {
        var excess = results.count - edit.gone.count + edit.new.count - limit
        guard excess > 0 else { return }
        edit.new.sort { plan.ordering.isBefore($0.sortKey, $1.sortKey) }
        var left = Set(edit.gone)
        for one in edit.sorted { left.insert(one.position) }
        var sorted = edit.sorted.sorted { plan.ordering.isBefore($0.row.sortKey, $1.row.sortKey) }
        var position = results.count - 1
        while excess > 0 {
            excess -= 1
            while left.contains(position) { position -= 1 }
            let (chunk, offset) = results.locate(max(0, position))
            let old = position < 0 ? nil : results.chunks[chunk].sortKeys[offset]
            let ends = [edit.new.last?.sortKey, sorted.last?.row.sortKey, old].compactMap { $0 }
            guard let end = ends.max(by: plan.ordering.isBefore) else { return }
            if edit.new.last?.sortKey == end {
                edit.new.removeLast()
            } else if let one = sorted.last, one.row.sortKey == end {
                sorted.removeLast()
                edit.sorted.removeAll { $0.position == one.position }
                edit.gone.append(one.position)
            } else {
                edit.same.removeAll { $0.position == position }
                edit.gone.append(position)
                position -= 1
            }
        }
    }

    /// Runs the query, and goes through what was there and what is there now side by side.
    private func runAgain(_ plan: RowsPlan<R>, _ tx: ReadTransaction) throws -> Edit {
        let (records, sortKeys) = try plan.rows(tx)
        var edit = Edit()
        var old = Walk(chunks: results.chunks)
        var left: [(position: Int, sortKey: SortKey)] = []
        var resorted: Set<RowKey> = []
        for number in records.indices {
            let sortKey = sortKeys[number]
            var known = old.sortKey
            while let before = known, before != sortKey, plan.ordering.isBefore(before, sortKey) {
                left.append((old.position, before))
                old.advance()
                known = old.sortKey
            }
            if known == sortKey, let record = old.record {
                noteSame(records[number], old.position, record, plan, &edit)
                old.advance()
            } else {
                let key = plan.ordering.key(sortKey)
                if index[key] != nil { resorted.insert(key) }
                note(Row(record: records[number], sortKey: sortKey), key, plan, &edit)
            }
        }
        while let sortKey = old.sortKey {
            left.append((old.position, sortKey))
            old.advance()
        }
        edit.gone = left.filter { !resorted.contains(key($0.sortKey)) }.map(\.position)
        return edit
    }

    /// Goes through the rows of a result.
    private struct Walk {
        let chunks: [Results<R>.Chunk]
        private(set) var position = 0
        private var chunk = 0
        private var offset = 0

        init(chunks: [Results<R>.Chunk]) { self.chunks = chunks }

        var sortKey: SortKey? { chunk < chunks.count ? chunks[chunk].sortKeys[offset] : nil }
        var record: R? { chunk < chunks.count ? chunks[chunk].elements[offset] : nil }

        mutating func advance() {
            position += 1
            offset += 1
            if offset == chunks[chunk].sortKeys.count { (chunk, offset) = (chunk + 1, 0) }
        }
    }

    private func note(_ row: Row, _ key: RowKey, _ plan: RowsPlan<R>, _ edit: inout Edit) {
        guard let old = index[key] else { return edit.new.append(row) }
        let position = position(old, plan)
        if old == row.sortKey { return noteSame(row.record, position, results[position], plan, &edit) }
        edit.sorted.append((position, row, plan.isModified(results[position], row.record)))
    }

    private func noteSame(_ record: R, _ position: Int, _ old: R, _ plan: RowsPlan<R>, _ edit: inout Edit) {
        let isModified = plan.isModified(old, record)
        guard isModified || plan.isOther(old, record) else { return }
        edit.same.append(Replacement(position: position, record: record, isWatched: isModified))
    }

    private func position(_ sortKey: SortKey, _ plan: RowsPlan<R>) -> Int {
        Chunks.position(of: sortKey, in: results, plan.ordering)
    }

    // MARK: Taking over

    private mutating func commit(_ edit: Edit) -> CollectionChange<R>? {
        guard let plan else { return nil }
        let ordering = plan.ordering
        var edit = edit
        edit.same.sort { $0.position < $1.position }
        for position in edit.gone {
            let (chunk, offset) = results.locate(position)
            index[ordering.key(results.chunks[chunk].sortKeys[offset])] = nil
        }
        for row in edit.new + edit.sorted.map(\.row) { index[ordering.key(row.sortKey)] = row.sortKey }

        // What is taken out and put in, whatever it is called in the end.
        let out = (edit.gone + edit.sorted.map(\.position)).sorted()
        func arrival(_ row: Row, from: Int?, isWatched: Bool) -> Arrival<R> {
            Arrival(
                record: row.record, sortKey: row.sortKey, from: from, isWatched: isWatched,
                at: position(row.sortKey, plan))
        }
        var arrivals =
            edit.new.map { arrival($0, from: nil, isWatched: true) }
            + edit.sorted.map { arrival($0.row, from: $0.position, isWatched: $0.isWatched) }
        arrivals.sort { ordering.isBefore($0.sortKey, $1.sortKey) }
        /// How many rows that stay are before a position.
        func kept(before position: Int) -> Int {
            position - BinarySearch.first(in: out.indices) { out[$0] >= position }
        }

        // Rows that others do not overtake have not moved.
        let inPlace = BinarySearch.increasing(
            arrivals.indices.filter { number in
                guard let from = arrivals[number].from else { return false }
                return kept(before: from) == kept(before: arrivals[number].at)
                    && section(at: from) == ordering.section(arrivals[number].sortKey)
            }, by: { arrivals[$0].from ?? 0 })
        var deletions = edit.gone
        var insertions: [Int] = []
        var modifications = edit.same.filter(\.isWatched).map(\.position)
        var moves: [CollectionMove] = []
        for (number, arrival) in arrivals.enumerated() {
            let new = kept(before: arrival.at) + number
            guard let from = arrival.from else {
                insertions.append(new)
                continue
            }
            if inPlace.contains(number) {
                if arrival.isWatched { modifications.append(from) }
                continue
            }
            deletions.append(from)
            insertions.append(new)
            moves.append(CollectionMove(from: from, to: new))
        }
        results = Results(
            Chunks.edited(results, out: out, replaced: edit.same, arrivals: arrivals))
        guard !deletions.isEmpty || !insertions.isEmpty || !modifications.isEmpty else { return nil }
        var delivered = results
        delivered.moves = moves
        return .update(
            delivered, deletions: deletions.sorted(), insertions: insertions, modifications: modifications.sorted())
    }
}

/// Some rows at one moment: those of the keys that satisfy the query.
private struct SuppressedRows<R: StoredRecord>: Sendable {
    let keys: [[StoredValue]]
    let records: [R]
    let sortKeys: [SortKey]
}
