/// The result of a query with what its records link to, kept up to date.
struct LiveLinked<R: StoredRecord>: LiveQuery {
    private(set) var rows: LiveRows<R>
    private var nodes: [LinkNode]
    /// The links that lead to what has changed last.
    private(set) var changedLinks: [String] = []

    /// - Parameters:
    ///   - properties: those whose changes count, the links that are followed besides; nil for all.
    ///   - section: what says to which section a row belongs.
    init(
        _ query: Query<R>, _ properties: [any PartialKeyPath<R> & Sendable]? = nil,
        _ linked: ObservedLinks<R> = .none, section: SectionKey? = nil
    ) {
        nodes = linked.nodes
        let links = R.schema.properties.filter { property in linked.nodes.contains { $0.property == property.name } }
        rows = LiveRows(query, observing: properties.map { $0 + links.map(\.path) }, section: section)
    }

    var region: ObservedRegion {
        var region = rows.region
        guard !nodes.isEmpty else { return region }
        region.row = nil
        region.equalityFilter = nil
        for node in nodes { node.add(to: &region) }
        return region
    }

    /// How many linked records it remembers.
    var seenCount: Int { nodes.reduce(0) { $0 + $1.seenCount } }

    var suppressedRowsReader: SuppressedRowsReader? { nodes.isEmpty ? rows.suppressedRowsReader : nil }

    /// Takes in what the observer knows of; whether there was anything.
    mutating func takeSuppressed(_ pending: PendingChanges) -> Bool { rows.takeSuppressed(pending) }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws { try rows.prepare(tx, lists) }

    mutating func start(_ tx: ReadTransaction) throws -> CollectionChange<R>? {
        let event = try rows.start(tx)
        guard !nodes.isEmpty else { return event }
        let keys = rows.keys
        for index in nodes.indices { try nodes[index].see(from: keys, tx) }
        return event
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) throws -> CollectionChange<R>? {
        let event = try rows.advance(tx, pending)
        changedLinks = []
        guard !nodes.isEmpty else { return event }
        var touched: [[StoredValue]]
        switch pending.isEverything ? .all : pending.tables[R.schema.name] {
        case .all?: touched = rows.keys
        case .keys(let keys)?: touched = keys.all.filter { rows.position(of: $0) != nil }
        case nil: touched = []
        }
        // Rows come in that nobody has written, as where another one has made room for them.
        if case .update(_, _, let insertions, _)? = event { touched += insertions.map(rows.key) }
        var changed: Set<Int> = []
        for index in nodes.indices {
            let owners = try nodes[index].changed(tx, pending).compactMap { rows.position(of: $0) }
            if !owners.isEmpty { changedLinks.append(nodes[index].property) }
            changed.formUnion(owners)
            try nodes[index].see(from: touched, tx)
            if nodes[index].isOvergrown { try nodes[index].forgetOthers(than: rows.keys, tx) }
        }
        return event.modified(changed, rows.results)
    }
}

extension Optional {
    /// The change with more modifications, by positions in the new collection.
    fileprivate func modified<R>(_ new: Set<Int>, _ results: Results<R>) -> Self where Wrapped == CollectionChange<R> {
        var (collection, deletions, insertions, modifications) = (results, [Int](), [Int](), [Int]())
        if case .update(let known, let gone, let come, let modified)? = self {
            (collection, deletions, insertions, modifications) = (known, gone, come, modified)
        }
        var all = Set(modifications)
        var come = 0
        var gone = 0
        for position in new.sorted() {
            while come < insertions.count, insertions[come] < position { come += 1 }
            if come < insertions.count, insertions[come] == position { continue }
            while gone < deletions.count, deletions[gone] - gone <= position - come { gone += 1 }
            all.insert(position - come + gone)
        }
        guard !all.isEmpty || self != nil else { return nil }
        return .update(collection, deletions: deletions, insertions: insertions, modifications: all.sorted())
    }
}
