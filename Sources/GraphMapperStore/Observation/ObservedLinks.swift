/// Which records that an observed one links to count as part of it.
public struct ObservedLinks<R: StoredRecord>: Sendable {
    let nodes: [LinkNode]

    /// None: a record is modified if its own properties and links are.
    public static var none: Self { Self(nodes: []) }

    /// All that are at most so many links away, with all their properties.
    public static func depth(_ count: Int) -> Self { Self(nodes: LinkNode.all(of: R.self, depth: count)) }

    /// Those along these paths: `.along { $0.cart.items.price }`. A path that ends with a link stands for all properties of
    /// what it points to.
    public static func along(@LinkPathBuilder<R> _ paths: (LinkPath<R, R>) -> [LinkNode]) -> Self {
        Self(nodes: LinkNode.merged(paths(LinkPath())))
    }
}

/// A way over links, in ``ObservedLinks/along(_:)``: to a record, or to one of its properties.
@dynamicMemberLookup
public struct LinkPath<Root: StoredRecord, Value>: Sendable {
    fileprivate var links: [any PartialLink] = []
    fileprivate var property: String?

    fileprivate init() {}

    private func following<T: StoredRecord>(_ path: AnyKeyPath) -> LinkPath<Root, T> where Value: StoredRecord {
        var next = LinkPath<Root, T>()
        next.links = links + [LinkOf<Value, T>(property: Value.schema.property(at: path)?.name)]
        return next
    }

    /// What a link points to.
    public subscript<T: StoredRecord>(dynamicMember path: any KeyPath<Value, Ref<T>> & Sendable) -> LinkPath<Root, T>
    where Value: StoredRecord { following(path) }

    /// What an optional link points to.
    public subscript<T: StoredRecord>(dynamicMember path: any KeyPath<Value, Ref<T>?> & Sendable) -> LinkPath<Root, T>
    where Value: StoredRecord { following(path) }

    /// What the links of a list point to.
    public subscript<T: StoredRecord>(dynamicMember path: any KeyPath<Value, [Ref<T>]> & Sendable) -> LinkPath<Root, T>
    where Value: StoredRecord { following(path) }

    /// A property, with which the path ends.
    @_disfavoredOverload
    public subscript<V: Storable>(dynamicMember path: any KeyPath<Value, V> & Sendable) -> LinkPath<Root, V>
    where Value: StoredRecord {
        var next = LinkPath<Root, V>()
        next.links = links
        next.property = Value.schema.property(at: path)?.name
        return next
    }

    fileprivate var nodes: [LinkNode] {
        var nodes: [LinkNode] = []
        for (place, link) in links.enumerated().reversed() {
            let isLast = place == links.count - 1
            let properties = isLast ? property.map { [$0] } : [links[place + 1].property].compactMap { $0 }
            guard let node = link.node(properties, nodes) else { return [] }
            nodes = [node]
        }
        return nodes
    }
}

/// Collects the paths of ``ObservedLinks/along(_:)``, one a line.
@resultBuilder public enum LinkPathBuilder<R: StoredRecord> {
    /// A path.
    public static func buildExpression<V>(_ path: LinkPath<R, V>) -> [LinkNode] { path.nodes }
    /// All paths.
    public static func buildBlock(_ paths: [LinkNode]...) -> [LinkNode] { Array(paths.joined()) }
}

private protocol PartialLink: Sendable {
    var property: String? { get }
    func node(_ properties: [String]?, _ children: [LinkNode]) -> LinkNode?
}

private struct LinkOf<R: StoredRecord, T: StoredRecord>: PartialLink {
    let property: String?

    func node(_ properties: [String]?, _ children: [LinkNode]) -> LinkNode? {
        R.schema.properties.first { $0.name == property }.map {
            LinkNode(R.self, $0, to: T.self, properties, children)
        }
    }
}

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

    fileprivate init<R: StoredRecord, T: StoredRecord>(
        _ type: R.Type, _ property: Property<R>, to target: T.Type, _ properties: [String]?, _ children: [LinkNode]
    ) {
        self.property = property.name
        self.target = T.schema.name
        key = T.schema.key?.columnNames ?? ["id"]
        if property.isList {
            let columns = R.schema.linkColumns(of: property)
            table = Layout.listTable(R.schema.name, property.name)
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
            lists[list.name] = (Layout.listTable(T.schema.name, list.name), columns.owner, columns.target)
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
            guard let place = result.firstIndex(where: { $0.table == node.table && $0.to == node.to }) else {
                result.append(node)
                continue
            }
            result[place].columns.formUnion(node.columns)
            result[place].lists.merge(node.lists) { first, _ in first }
            result[place].children += node.children
        }
        for place in result.indices { result[place].children = merged(result[place].children) }
        return result
    }

    func add(to interest: inout Interest) {
        interest.add(target, columns.union(lists.keys))
        for child in children { child.add(to: &interest) }
    }

    // MARK: Following

    /// Sees what some records link to, and what that links to, as far as it was not seen before.
    mutating func see(from owners: [[StoredValue]], _ tx: ReadTransaction) throws {
        let targets = try Self.look(up: to, in: table, where: from, owners, tx).filter { known[$0] == nil }
        for (key, values) in try held(by: targets, tx) { known[key] = values }
        guard !targets.isEmpty else { return }
        for place in children.indices { try children[place].see(from: targets, tx) }
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
        for place in children.indices { try children[place].forgetOthers(than: targets, tx) }
    }

    /// The keys of those whose links lead to something that has changed.
    mutating func changed(_ tx: ReadTransaction, _ pending: Pending) throws -> [[StoredValue]] {
        var touched: [[StoredValue]] = []
        switch pending.isEverything ? .all : pending.tables[target] {
        case .all?: touched = Array(known.keys)
        case .keys(let keys)?: touched = keys.all.filter { known[$0] != nil }
        case nil: break
        }
        let now = try held(by: touched, tx)
        var changed = touched.filter { known[$0] != now[$0] }
        for key in changed { known[key] = now[key] }
        for place in children.indices {
            changed += try children[place].changed(tx, pending)
            // Their links may lead elsewhere now.
            try children[place].see(from: touched, tx)
        }
        return try Self.look(up: from, in: table, where: to, changed, tx)
    }

    /// What the records with these keys hold, as far as it counts.
    private func held(by keys: [[StoredValue]], _ tx: ReadTransaction) throws -> [[StoredValue]: [StoredValue]] {
        var held: [[StoredValue]: [StoredValue]] = [:]
        let width = key.count
        for row in try Self.rows(key + columns.sorted(), in: target, where: key, keys, tx) {
            held[row.prefix(width).map(Touch.plain)] = Array(row.dropFirst(width))
        }
        for list in lists.sorted(by: { $0.key < $1.key }).map(\.value) {
            for row in try Self.rows(
                list.owner + list.target, in: list.table, where: list.owner, keys, tx, sorted: list.owner + ["position"]
            ) {
                held[row.prefix(width).map(Touch.plain)]?.append(contentsOf: row.dropFirst(width))
            }
            for key in held.keys { held[key]?.append(.null) }
        }
        return held
    }

    private static func look(
        up columns: [String], in table: String, where others: [String], _ keys: [[StoredValue]], _ tx: ReadTransaction
    ) throws -> [[StoredValue]] {
        let found = try rows(columns, in: table, where: others, keys, tx)
        return Array(Set(found.lazy.filter { !$0.contains(.null) }.map { $0.map(Touch.plain) }))
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
