/// The result of a query in sections, kept up to date.
struct LiveSections<Key: Storable, R: StoredRecord>: LiveQuery {
    private struct Section {
        let values: [StoredValue]
        let key: Key
        var count: Int
    }

    private var live: LiveLinked<R>
    private var sections: [Section] = []

    init(_ live: LiveLinked<R>) { self.live = live }

    var region: ObservedRegion { live.region }
    var suppressedRowsReader: SuppressedRowsReader? { live.suppressedRowsReader }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws { try live.prepare(tx, lists) }

    mutating func start(_ tx: ReadTransaction) throws -> SectionListChange<Key, R>? {
        _ = try live.start(tx)
        try countAll()
        return .initial(list)
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) throws -> SectionListChange<Key, R>? {
        if live.takeSuppressed(pending) { try countAll() }
        guard let change = try live.advance(tx, pending),
            case .update(_, let deletions, let insertions, let modifications) = change
        else { return nil }
        let old = sections
        sections = try sections(deletions, insertions)
        let paths = SectionPaths(old: old.map { ($0.values, $0.count) }, new: sections.map { ($0.values, $0.count) })
        var list = list
        list.moves = change.moves.compactMap { move in
            guard let from = paths.pathBefore(move.from), let to = paths.path(move.to) else { return nil }
            return SectionMove(from: from, to: to)
        }
        list.modificationsInNew = change.modificationsInNew.compactMap(paths.path)
        return .update(
            list, deletedSections: paths.deleted, insertedSections: paths.inserted,
            deletions: deletions.compactMap(paths.pathBefore), insertions: insertions.compactMap(paths.path),
            modifications: modifications.compactMap(paths.pathBefore))
    }

    private var list: SectionList<Key, R> {
        SectionList(live.rows.results, sections.map { ($0.key, $0.count) })
    }

    private mutating func countAll() throws {
        sections = try live.rows.sections.map { section in
            Section(values: section.section, key: try Key.decode(section.section), count: section.count)
        }
    }

    /// The sections after a change: rows that stay do so in their sections, those that come say where they belong.
    private func sections(_ deletions: [Int], _ insertions: [Int]) throws -> [Section] {
        var result: [Section] = []
        var position = 0
        var coming = insertions[...]
        func add(_ section: Section, _ count: Int) {
            position += count
            if result.last?.values == section.values {
                result[result.count - 1].count += count
            } else {
                result.append(Section(values: section.values, key: section.key, count: count))
            }
        }
        func takeIn() throws {
            while coming.first == position {
                coming.removeFirst()
                let values = live.rows.section(at: position)
                let known = result.last.flatMap { $0.values == values ? $0.key : nil }
                add(Section(values: values, key: try known ?? Key.decode(values), count: 1), 1)
            }
        }
        var end = 0
        var going = deletions[...]
        for section in sections {
            end += section.count
            let gone = going.prefix { $0 < end }.count
            going = going.dropFirst(gone)
            var left = section.count - gone
            while left > 0 {
                try takeIn()
                let count = min(left, (coming.first ?? .max) - position)
                add(section, count)
                left -= count
            }
        }
        try takeIn()
        return result
    }
}
