/// A link that is followed, what counts of the records that it points to, and the links of these.
public struct LinkNode: Sendable {
    /// The property that has the link.
    let property: String
    /// Where it is kept: the columns of the one who has it, and those of its target.
    private let table: String
    private let from: [String]
    private let to: [String]
    private let target: String
    private let key: [String]
    /// What counts of the target.
    private var columns: Set<String>
    private var lists: [String: (table: String, owner: [String], target: [String])]
    private(set) var children: [LinkNode]
    /// What the targets that were seen hold.
    private var known: [[StoredValue]: [StoredValue]] = [:]
    /// How many there were when those that nobody links to any more were last forgotten.
    private var kept = 0

    init<R: StoredRecord, T: StoredRecord>(
        _ type: R.Type, _ property: Property<R>, to target: T.Type, _ properties: [String]?, _ children: [LinkNode]
    ) {
        self.property = property.name
        self.target = T.schema.name
        key = T.schema.key?.columnNames ?? ["id"]
        if property.isList {
            let columns = R.schema.linkColumns(of: property)
            table = RecordLayout.listTable(R.schema.name, property.name)
            (from, to) = (columns.owner, columns.target)
        } else {
            table = R.schema.name
            (from, to) = (R.schema.key?.columnNames ?? ["id"], property.columnNames)
        }
        let counting = T.schema.properties.filter { properties?.contains($0.name) ?? true && !$0.isNested }
        columns = Set(counting.flatMap(\.columnNames))
        lists = [:]
        for list in counting where list.isList {
            let columns = T.schema.linkColumns(of: list)
            lists[list.name] = (RecordLayout.listTable(T.schema.name, list.name), columns.owner, columns.target)
        }
        self.children = children
    }

    /// All links of a type, and of what they point to.
    static func all<R: StoredRecord>(of type: R.Type, depth: Int) -> [LinkNode] {
        guard depth > 0 else { return [] }
        func node<T: StoredRecord>(_ property: Property<R>, _ target: T.Type) -> LinkNode {
            LinkNode(R.self, property, to: T.self, nil, all(of: T.self, depth: depth - 1))
        }
        return R.schema.properties.compactMap { property in
            (property.link?.record as? any StoredRecord.Type).map { node(property, $0) }
        }
    }

    /// One node for each link.
    static func merged(_ nodes: [LinkNode]) -> [LinkNode] {
        var result: [LinkNode] = []
        for node in nodes {
            guard let index = result.firstIndex(where: { $0.table == node.table && $0.to == node.to }) else {
                result.append(node)
                continue
            }
            result[index].columns.formUnion(node.columns)
            result[index].lists.merge(node.lists) { first, _ in first }
            result[index].children += node.children
        }
        for index in result.indices { result[index].children = merged(result[index].children) }
        return result
    }

    func add(to region: inout ObservedRegion) {
        region.add(target, columns.union(lists.keys))
        for child in children { child.add(to: &region) }
    }

    // MARK: Following

    /// Sees what some records link to, and what that links to, as far as it was not seen before.
    mutating func see(from owners: [[StoredValue]], _ tx: ReadTransaction) throws {
        let targets = try Self.look(up: to, in: table, where: from, owners, tx).filter { known[$0] == nil }
        for (key, values) in try contents(of: targets, tx) { known[key] = values }
        guard !targets.isEmpty else { return }
        for index in children.indices { try children[index].see(from: targets, tx) }
    }

    /// How many records it remembers.
    var seenCount: Int { children.reduce(known.count) { $0 + $1.seenCount } }

    /// Whether it is worth while to forget.
    var isOvergrown: Bool { known.count > 2 * kept + 1024 || children.contains { $0.isOvergrown } }

    /// Forgets what none of these owners links to. Costs what seeing it has cost.
    mutating func forgetOthers(than owners: [[StoredValue]], _ tx: ReadTransaction) throws {
        let targets = try Self.look(up: to, in: table, where: from, owners, tx)
        let reached = Set(targets)
        known = known.filter { reached.contains($0.key) }
        kept = known.count
        for index in children.indices { try children[index].forgetOthers(than: targets, tx) }
    }

    /// The keys of those whose links lead to something that has changed.
    mutating func changed(_ tx: ReadTransaction, _ pending: PendingChanges) throws -> [[StoredValue]] {
        var touched: [[StoredValue]] = []
        switch pending.isEverything ? .all : pending.tables[target] {
        case .all?: touched = Array(known.keys)
        case .keys(let keys)?: touched = keys.all.filter { known[$0] != nil }
        case nil: break
        }
        let now = try contents(of: touched, tx)
        var changed = touched.filter { known[$0] != now[$0] }
        for key in changed { known[key] = now[key] }
        for index in children.indices {
            changed += try children[index].changed(tx, pending)
            // Their links may lead elsewhere now.
            try children[index].see(from: touched, tx)
        }
        return try Self.look(up: from, in: table, where: to, changed, tx)
    }

    /// What the records with these keys hold, as far as it counts.
    private func contents(of keys: [[StoredValue]], _ tx: ReadTransaction) throws -> [[StoredValue]: [StoredValue]] {
        var contents: [[StoredValue]: [StoredValue]] = [:]
        let width = key.count
        for row in try Self.rows(key + columns.sorted(), in: target, where: key, keys, tx) {
            contents[row.prefix(width).map(\.normalizedKey)] = Array(row.dropFirst(width))
        }
        for list in lists.sorted(by: { $0.key < $1.key }).map(\.value) {
            for row in try Self.rows(
                list.owner + list.target, in: list.table, where: list.owner, keys, tx, sorted: list.owner + ["position"]
            ) {
                contents[row.prefix(width).map(\.normalizedKey)]?.append(contentsOf: row.dropFirst(width))
            }
            for key in contents.keys { contents[key]?.append(.null) }
        }
        return contents
    }

    private static func look(
        up columns: [String], in table: String, where others: [String], _ keys: [[StoredValue]], _ tx: ReadTransaction
    ) throws -> [[StoredValue]] {
        let found = try rows(columns, in: table, where: others, keys, tx)
        return Array(Set(found.lazy.filter { !$0.contains(.null) }.map { $0.map(\.normalizedKey) }))
    }

    private static func rows(
        _ columns: [String], in table: String, where others: [String], _ keys: [[StoredValue]], _ tx: ReadTransaction,
        sorted: [String] = []
    ) throws -> [[StoredValue]] {
        var rows: [[StoredValue]] = []
        for part in keys.parts {
            let order = sorted.isEmpty ? "" : " ORDER BY \(Dialect.list(sorted))"
            rows += try tx.connection.peekAll(
                "SELECT \(Dialect.list(columns)) FROM \(Dialect.quoted(table)) WHERE "
                    + "\(Dialect.row(others.map(Dialect.quoted))) IN "
                    + "\(Dialect.choice(part.count, width: others.count))\(order)", Array(part.joined()))
        }
        return rows
    }
}

extension Array where Element == [StoredValue] {
    /// Keys, few enough for one statement. Parts have few sizes, so that statements are used again: the last key of one
    /// may stand in it several times.
    var parts: [[Element]] {
        stride(from: 0, to: count, by: 128).map { start in
            var part = Array(self[start..<Swift.min(start + 128, count)])
            while part.count & (part.count - 1) != 0, let last = part.last { part.append(last) }
            return part
        }
    }
}
