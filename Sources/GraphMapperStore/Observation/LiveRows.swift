/// The result of a query, kept up to date.
struct LiveRows<R: StoredRecord>: Live {
    private let query: Query<R>
    private let observing: [any AnyKeyPath & Sendable]?
    private let section: SectionKey?
    private var plan: RowsPlan<R>?
    private(set) var results = Results<R>([])
    /// Where each row is.
    private var index: [RowKey: Place] = [:]

    /// - Parameter section: what says to which section a row belongs.
    init(_ query: Query<R>, observing: [any AnyKeyPath & Sendable]? = nil, section: SectionKey? = nil) {
        self.query = query
        self.observing = observing
        self.section = section
    }

    /// The rows' keys, in their order.
    var keys: [[StoredValue]] {
        guard let width = plan?.ordering.keyWidth else { return [] }
        return results.chunks.flatMap { chunk in chunk.places.map { $0.values.suffix(width).map(Touch.plain) } }
    }

    /// The key of the row at a position. Complexity: O(log count).
    func key(at position: Int) -> [StoredValue] {
        let (chunk, place) = results.locate(position)
        let width = plan?.ordering.keyWidth ?? 0
        return results.chunks[chunk].places[place].values.suffix(width).map(Touch.plain)
    }

    /// Where the row with this key is. Complexity: O(log count).
    func position(of key: [StoredValue]) -> Int? {
        guard let plan, let place = index[RowKey(key[...])] else { return nil }
        return position(place, plan)
    }

    /// What the row at a position has in common with the others of its section.
    func section(at position: Int) -> [StoredValue] {
        let (chunk, place) = results.locate(position)
        return plan?.ordering.section(results.chunks[chunk].places[place]) ?? []
    }

    /// The sections, in their order.
    var sections: [(section: [StoredValue], count: Int)] {
        guard let ordering = plan?.ordering else { return [] }
        var sections: [(section: [StoredValue], count: Int)] = []
        for place in results.chunks.lazy.flatMap(\.places) {
            let section = ordering.section(place)
            if sections.last?.section == section {
                sections[sections.count - 1].count += 1
            } else {
                sections.append((section, 1))
            }
        }
        return sections
    }

    var interest: Interest { plan?.interest ?? Interest() }

    /// A query that may have to run again cannot leave out some of its changes.
    var absorber: Absorber? {
        guard let plan, plan.needsQuery == nil, plan.limit == nil, plan.others.isEmpty else { return nil }
        return { tx, keys in
            let (records, places) = try plan.rows(tx, keys)
            return Absorbed<R>(keys: keys, records: records, places: places)
        }
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws {
        plan = try RowsPlan(query, observing: observing, section: section, tx, lists)
    }

    mutating func start(_ tx: ReadTransaction) throws -> CollectionChange<R>? {
        guard let plan else { return .initial(results) }
        var (records, places) = try plan.rows(tx)
        if zip(places, places.dropFirst()).contains(where: { !plan.ordering.isBefore($0, $1) }) {
            let counted = plan.counting(because: "the file sorts in a way of its own")
            (records, places) = try counted.rows(tx)
            self.plan = counted
        }
        index.reserveCapacity(places.count)
        for place in places { index[key(place)] = place }
        results = Results(Chunks.cut(records, places))
        return .initial(results)
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) throws -> CollectionChange<R>? {
        guard let plan else { return nil }
        absorb(pending)
        if !pending.isEverything, pending.tables.keys.allSatisfy({ plan.interest.tables[$0] == nil }) { return nil }
        if !pending.isEverything, plan.needsQuery == nil, plan.others.isDisjoint(with: pending.tables.keys),
            case .keys(let keys)? = pending.tables[R.schema.name], keys.count <= max(256, results.count / 4)
        {
            let keys = Array(keys.all)
            let (records, places) = try plan.rows(tx, keys)
            if let edit = look(at: Absorbed(keys: keys, records: records, places: places), plan) {
                return commit(edit)
            }
        }
        return commit(try runAgain(plan, tx))
    }

    /// Takes in what the observer knows of; again without effect.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    mutating func absorb(_ pending: Pending) -> Bool {
        guard let plan else { return false }
        for case let rows as Absorbed<R> in pending.absorbed {
            if let edit = look(at: rows, plan) { _ = commit(edit) }
        }
        return !pending.absorbed.isEmpty
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
        let place: Place
    }

    private func key(_ place: Place) -> RowKey { plan?.ordering.key(place) ?? RowKey(place.values[...]) }

    /// Looks at some rows alone; nil if that does not tell which rows are in the result.
    private func look(at rows: Absorbed<R>, _ plan: RowsPlan<R>) -> Edit? {
        // The last row of a window that others may stand behind.
        let last = plan.limit.flatMap { $0 == results.count ? results.chunks.last?.places.last : nil }
        var edit = Edit()
        var found: Set<RowKey> = []
        found.reserveCapacity(rows.places.count)
        for (record, place) in zip(rows.records, rows.places) {
            if plan.limit == 0 || last.map({ plan.ordering.isBefore($0, place) }) == true { continue }
            let key = plan.ordering.key(place)
            found.insert(key)
            note(Row(record: record, place: place), key, plan, &edit)
        }
        for key in rows.keys where found.count < rows.keys.count {
            let key = RowKey(key[...])
            if !found.contains(key), let place = index[key] { edit.gone.append(position(place, plan)) }
        }
        if last != nil, edit.new.count < edit.gone.count { return nil }
        if let limit = plan.limit { cut(&edit, limit, plan) }
        return edit
    }

    /// Leaves out what stands behind the end of a window.
    private func cut(_ edit: inout Edit, _ limit: Int, _ plan: RowsPlan<R>) {
        var excess = results.count - edit.gone.count + edit.new.count - limit
        guard excess > 0 else { return }
        edit.new.sort { plan.ordering.isBefore($0.place, $1.place) }
        var left = Set(edit.gone)
        for one in edit.sorted { left.insert(one.position) }
        var sorted = edit.sorted.sorted { plan.ordering.isBefore($0.row.place, $1.row.place) }
        var position = results.count - 1
        while excess > 0 {
            excess -= 1
            while left.contains(position) { position -= 1 }
            let (chunk, place) = results.locate(max(0, position))
            let old = position < 0 ? nil : results.chunks[chunk].places[place]
            let ends = [edit.new.last?.place, sorted.last?.row.place, old].compactMap { $0 }
            guard let end = ends.max(by: plan.ordering.isBefore) else { return }
            if edit.new.last?.place == end {
                edit.new.removeLast()
            } else if let one = sorted.last, one.row.place == end {
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
        let (records, places) = try plan.rows(tx)
        var edit = Edit()
        var old = Walk(chunks: results.chunks)
        var left: [(position: Int, place: Place)] = []
        var resorted: Set<RowKey> = []
        for number in records.indices {
            let place = places[number]
            var known = old.place
            while let before = known, before != place, plan.ordering.isBefore(before, place) {
                left.append((old.position, before))
                old.advance()
                known = old.place
            }
            if known == place, let record = old.record {
                noteSame(records[number], old.position, record, plan, &edit)
                old.advance()
            } else {
                let key = plan.ordering.key(place)
                if index[key] != nil { resorted.insert(key) }
                note(Row(record: records[number], place: place), key, plan, &edit)
            }
        }
        while let place = old.place {
            left.append((old.position, place))
            old.advance()
        }
        edit.gone = left.filter { !resorted.contains(key($0.place)) }.map(\.position)
        return edit
    }

    /// Goes through the rows of a result.
    private struct Walk {
        let chunks: [Results<R>.Chunk]
        private(set) var position = 0
        private var chunk = 0
        private var offset = 0

        init(chunks: [Results<R>.Chunk]) { self.chunks = chunks }

        var place: Place? { chunk < chunks.count ? chunks[chunk].places[offset] : nil }
        var record: R? { chunk < chunks.count ? chunks[chunk].elements[offset] : nil }

        mutating func advance() {
            position += 1
            offset += 1
            if offset == chunks[chunk].places.count { (chunk, offset) = (chunk + 1, 0) }
        }
    }

    private func note(_ row: Row, _ key: RowKey, _ plan: RowsPlan<R>, _ edit: inout Edit) {
        guard let old = index[key] else { return edit.new.append(row) }
        let position = position(old, plan)
        if old == row.place { return noteSame(row.record, position, results[position], plan, &edit) }
        edit.sorted.append((position, row, plan.isModified(results[position], row.record)))
    }

    private func noteSame(_ record: R, _ position: Int, _ old: R, _ plan: RowsPlan<R>, _ edit: inout Edit) {
        let isModified = plan.isModified(old, record)
        guard isModified || plan.isOther(old, record) else { return }
        edit.same.append(Replacement(position: position, record: record, isWatched: isModified))
    }

    private func position(_ place: Place, _ plan: RowsPlan<R>) -> Int {
        Chunks.position(of: place, in: results, plan.ordering)
    }

    // MARK: Taking over

    private mutating func commit(_ edit: Edit) -> CollectionChange<R>? {
        guard let plan else { return nil }
        let ordering = plan.ordering
        var edit = edit
        edit.same.sort { $0.position < $1.position }
        for position in edit.gone {
            let (chunk, place) = results.locate(position)
            index[ordering.key(results.chunks[chunk].places[place])] = nil
        }
        for row in edit.new + edit.sorted.map(\.row) { index[ordering.key(row.place)] = row.place }

        // What is taken out and put in, whatever it is called in the end.
        let out = (edit.gone + edit.sorted.map(\.position)).sorted()
        func arrival(_ row: Row, from: Int?, isWatched: Bool) -> Arrival<R> {
            Arrival(
                record: row.record, place: row.place, from: from, isWatched: isWatched, at: position(row.place, plan))
        }
        var arrivals =
            edit.new.map { arrival($0, from: nil, isWatched: true) }
            + edit.sorted.map { arrival($0.row, from: $0.position, isWatched: $0.isWatched) }
        arrivals.sort { ordering.isBefore($0.place, $1.place) }
        /// How many rows that stay are before a position.
        func kept(before position: Int) -> Int { position - Search.first(in: out.indices) { out[$0] >= position } }

        // Rows that others do not overtake have not moved.
        let inPlace = Search.increasing(
            arrivals.indices.filter { place in
                guard let from = arrivals[place].from else { return false }
                return kept(before: from) == kept(before: arrivals[place].at)
                    && section(at: from) == ordering.section(arrivals[place].place)
            }, by: { arrivals[$0].from ?? 0 })
        var deletions = edit.gone
        var insertions: [Int] = []
        var modifications = edit.same.filter(\.isWatched).map(\.position)
        var moves: [CollectionMove] = []
        for (place, arrival) in arrivals.enumerated() {
            let new = kept(before: arrival.at) + place
            guard let from = arrival.from else {
                insertions.append(new)
                continue
            }
            if inPlace.contains(place) {
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
private struct Absorbed<R: StoredRecord>: Sendable {
    let keys: [[StoredValue]]
    let records: [R]
    let places: [Place]
}
