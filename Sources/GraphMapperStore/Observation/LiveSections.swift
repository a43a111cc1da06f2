extension GraphStore {
    /// The records of a query in sections, and then how they change:
    /// `store.changes(of: people, sectionedBy: { $0.city })`.
    ///
    /// - Parameters:
    ///   - query: which records; its order is that inside of the sections.
    ///   - descending: whether the section of the greatest key comes first.
    ///   - properties: those whose changes count as modifications; nil for all.
    ///   - linked: which records that they link to count as part of them.
    ///   - key: what the records of a section have in common: a property, or what is computed of a record, through links
    ///     too.
    /// - Returns: a ``SectionListChange/initial(_:)``, then updates. Iterating throws as
    ///   ``changes(of:observing:linked:)`` does, and a ``GraphError`` for a key that does not fit its type.
    /// - Complexity: a commit costs what it does for ``changes(of:observing:linked:)``, and if it changes anything
    ///   O(sections) besides.
    public func changes<R: StoredRecord, Key: Storable>(
        of query: Query<R>, descending: Bool = false, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none, sectionedBy key: (Columns<R>) -> ColumnExpression<Key>
    ) -> Changes<SectionListChange<Key, R>> {
        let (ordered, section) = query.sortedFirst(descending: descending, telling: key)
        return Changes(self, LiveSections(LiveLinked(ordered, properties, linked, section: section)))
    }
}

/// The result of a query in sections, kept up to date.
struct LiveSections<Key: Storable, R: StoredRecord>: Live {
    private struct Section {
        let values: [StoredValue]
        let key: Key
        var count: Int
    }

    private var live: LiveLinked<R>
    private var sections: [Section] = []

    init(_ live: LiveLinked<R>) { self.live = live }

    var interest: Interest { live.interest }
    var absorber: Absorber? { live.absorber }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws { try live.prepare(tx, lists) }

    mutating func start(_ tx: ReadTransaction) throws -> SectionListChange<Key, R>? {
        _ = try live.start(tx)
        try countAll()
        return .initial(list)
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) throws -> SectionListChange<Key, R>? {
        if live.absorb(pending) { try countAll() }
        guard let change = try live.advance(tx, pending),
            case .update(_, let deletions, let insertions, let modifications) = change
        else { return nil }
        let old = sections
        sections = try sections(deletions, insertions)
        let ways = Ways(old: old.map { ($0.values, $0.count) }, new: sections.map { ($0.values, $0.count) })
        var list = list
        list.moves = change.moves.compactMap { move in
            guard let from = ways.pathBefore(move.from), let to = ways.path(move.to) else { return nil }
            return SectionMove(from: from, to: to)
        }
        list.modificationsInNew = change.modificationsInNew.compactMap(ways.path)
        return .update(
            list, deletedSections: ways.deleted, insertedSections: ways.inserted,
            deletions: deletions.compactMap(ways.pathBefore), insertions: insertions.compactMap(ways.path),
            modifications: modifications.compactMap(ways.pathBefore))
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

/// Which sections have come and gone, and where rows are in the others.
private struct Ways {
    private(set) var deleted: [Int] = []
    private(set) var inserted: [Int] = []
    private let before: [Int]
    private let after: [Int]

    init(old: [(values: [StoredValue], count: Int)], new: [(values: [StoredValue], count: Int)]) {
        let were = Set(old.map(\.values))
        let are = Set(new.map(\.values))
        deleted = old.indices.filter { !are.contains(old[$0].values) }
        inserted = new.indices.filter { !were.contains(new[$0].values) }
        before = Self.ends(old.map(\.count))
        after = Self.ends(new.map(\.count))
    }

    private static func ends(_ counts: [Int]) -> [Int] {
        var sum = 0
        return counts.map { count in
            sum += count
            return sum
        }
    }

    /// The path of a row in the list before; nil if its section is gone.
    func pathBefore(_ position: Int) -> SectionPath? { Self.path(position, before, but: deleted) }
    /// The path of a row in the new list; nil if its section is new.
    func path(_ position: Int) -> SectionPath? { Self.path(position, after, but: inserted) }

    private static func path(_ position: Int, _ ends: [Int], but others: [Int]) -> SectionPath? {
        let section = Search.first(in: ends.indices) { ends[$0] > position }
        let other = Search.first(in: others.indices) { others[$0] >= section }
        if other < others.count, others[other] == section { return nil }
        return SectionPath(section: section, item: position - (section == 0 ? 0 : ends[section - 1]))
    }
}
