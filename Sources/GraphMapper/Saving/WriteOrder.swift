/// The order in which the changes of one save can run, by rows: who frees a unique value comes before who takes it, and,
/// where the database checks foreign keys at once, a row comes after those that it points to.
///
/// A circle is broken by writing one of its rows in two steps, which costs one more update: first with NULL, or with a
/// value that no row has, in the place of what the others wait for. Which rows are split is searched for, so that it is
/// as few as possible.
struct WriteOrder {
    /// Why one change comes before another.
    struct Edge {
        var from: Int
        var to: Int
        var reason: SavePlan.Reason
        /// Whether the first of two steps is enough for the others, and the column that it changes for that.
        var isFromFirst = false
        var fromPatch: String?
        /// Whether only the second of two steps has to wait, and the column that the first leaves out for that.
        var isToSecond = false
        var toPatch: String?
    }

    /// The changes in order, and what came before what by their places in it.
    struct Result {
        var changes: [ChangeSet.Change]
        var edges: [SavePlan.Edge] = []
    }

    let changes: [ChangeSet.Change]
    let rules: [String: TableRules]
    /// Whether foreign keys are checked at commit.
    let defers: Bool
    /// The values, as last read, of rows that are updated: those of tables with compound rules.
    let images: [RowID: [StoredValue]]
    /// The rows that the lists of deleted rows hold.
    let held: [RowID: [RowID]]

    private(set) var edges: [Edge] = []

    init(
        _ changes: [ChangeSet.Change], _ rules: [String: TableRules], defers: Bool, images: [RowID: [StoredValue]],
        held: [RowID: [RowID]]
    ) {
        self.changes = changes
        self.rules = rules
        self.defers = defers
        self.images = images
        self.held = held
    }

    /// - Throws: ``GraphError`` of kind `.cycle` with the whole path if the rows cannot be written in any order.
    static func order(
        _ changes: [ChangeSet.Change], _ rules: [String: TableRules], defers: Bool, images: [RowID: [StoredValue]],
        held: [RowID: [RowID]]
    ) throws -> Result {
        var order = WriteOrder(changes, rules, defers: defers, images: images, held: held)
        order.addUniqueValues()
        if !defers { order.addForeignKeys() }
        guard !order.edges.isEmpty else { return Result(changes: changes) }
        return try order.result()
    }

    // MARK: Unique values

    private mutating func addUniqueValues() {
        var places: [String: [Int]] = [:]
        var names: [String] = []
        for (place, change) in changes.enumerated() {
            if case .relink = change { continue }
            if places[change.table] == nil { names.append(change.table) }
            places[change.table, default: []].append(place)
        }
        for name in names {
            guard let rules = rules[name], let places = places[name] else { continue }
            for columns in [rules.key] + rules.unique { addUniqueValues(of: columns, rules, places) }
        }
    }

    private mutating func addUniqueValues(of columns: [String], _ rules: TableRules, _ places: [Int]) {
        var freed: [[StoredValue]: Int] = [:]
        for place in places {
            if let old = before(place, columns, rules), !old.contains(.null) { freed[old.map(\.comparable)] = place }
        }
        guard !freed.isEmpty else { return }
        for place in places {
            guard let new = after(place, columns, rules), !new.contains(.null),
                let other = freed[new.map(\.comparable)], other != place
            else { continue }
            let giving = patch(other, columns, rules)
            let taking = patch(place, columns, rules)
            edges.append(
                Edge(
                    from: other, to: place, reason: .uniqueValue(columns), isFromFirst: giving != nil,
                    fromPatch: giving, isToSecond: isInsertion(place) ? taking != nil : true, toPatch: taking))
        }
    }

    func isInsertion(_ place: Int) -> Bool { if case .insert = changes[place] { true } else { false } }

    /// What a row has in these columns before the change; nil if there is none, or the change leaves them alone.
    private func before(_ place: Int, _ columns: [String], _ rules: TableRules) -> [StoredValue]? {
        switch changes[place] {
        case .delete(let row): columns == rules.key ? row.key : values(columns, row.columns, row.expected)
        case .update(let row): row.touches(columns) ? values(columns, row, row.expected, rules) : nil
        case .insert, .relink: nil
        }
    }

    /// What it has afterwards.
    private func after(_ place: Int, _ columns: [String], _ rules: TableRules) -> [StoredValue]? {
        switch changes[place] {
        case .insert(let row): values(columns, row.columns, row.values)
        case .update(let row): row.touches(columns) ? values(columns, row, row.values, rules) : nil
        case .delete, .relink: nil
        }
    }

    private func values(_ columns: [String], _ names: [String], _ values: [StoredValue]) -> [StoredValue]? {
        var found: [StoredValue] = []
        for column in columns {
            guard let place = names.firstIndex(of: column) else { return nil }
            found.append(values[place])
        }
        return found
    }

    private func values(
        _ columns: [String], _ row: ChangeSet.Update, _ values: [StoredValue], _ rules: TableRules
    ) -> [StoredValue]? {
        let image = images[RowID(table: row.table, key: row.key)]
        var found: [StoredValue] = []
        for column in columns {
            if let place = row.columns.firstIndex(of: column) {
                found.append(values[place])
            } else if let image, let place = rules.columns.firstIndex(of: column) {
                found.append(image[place])
            } else {
                return nil
            }
        }
        return found
    }

    /// The column that the first of two steps may set to NULL, or to a value that no row has.
    private func patch(_ place: Int, _ columns: [String], _ rules: TableRules) -> String? {
        let own: [String]
        switch changes[place] {
        case .update(let row): own = columns.filter(row.columns.contains)
        case .insert(let row): own = columns.filter(row.columns.contains)
        case .delete(let row): own = columns.filter(row.columns.contains)
        case .relink: own = []
        }
        let free = own.filter { !rules.key.contains($0) }
        if let column = free.first(where: rules.nullable.contains) { return column }
        return free.first { column in defers || !rules.references.contains { $0.columns.contains(column) } }
    }

    // MARK: Foreign keys

    private mutating func addForeignKeys() {
        var inserted: [RowID: Int] = [:]
        var deleted: [RowID: Int] = [:]
        for (place, change) in changes.enumerated() {
            if case .insert = change { inserted[change.row] = place }
            if case .delete = change { deleted[change.row] = place }
        }
        for (place, change) in changes.enumerated() {
            guard let rules = rules[change.table] else { continue }
            if case .relink(let link) = change {
                addLinks(link, place, rules, inserted, deleted)
                continue
            }
            if case .delete = change {
                for target in held[change.row] ?? [] {
                    guard let parent = deleted[target], parent != place else { continue }
                    edges.append(
                        Edge(from: place, to: parent, reason: .child("its links"), isToSecond: true))
                }
            }
            for reference in rules.references {
                let column = nullable(reference, change, rules)
                if let old = before(place, reference.columns, rules),
                    let parent = deleted[RowID(table: reference.table, key: old)], parent != place
                {
                    edges.append(
                        Edge(
                            from: place, to: parent, reason: .child(reference.property), isFromFirst: column != nil,
                            fromPatch: column, isToSecond: true))
                }
                if let new = after(place, reference.columns, rules),
                    let parent = inserted[RowID(table: reference.table, key: new)], parent != place
                {
                    edges.append(
                        Edge(
                            from: parent, to: place, reason: .parent(reference.property), isFromFirst: true,
                            isToSecond: isInsertion(place) ? column != nil : true, toPatch: column))
                }
            }
        }
    }

    /// The column of a foreign key that a first step may set to NULL.
    private func nullable(
        _ reference: TableRules.Reference, _ change: ChangeSet.Change, _ rules: TableRules
    ) -> String? {
        reference.columns.first { column in
            guard rules.nullable.contains(column) else { return false }
            if case .update(let row) = change { return row.columns.contains(column) }
            return true
        }
    }

    private mutating func addLinks(
        _ link: ChangeSet.Relink, _ place: Int, _ rules: TableRules, _ inserted: [RowID: Int], _ deleted: [RowID: Int]
    ) {
        if let owner = inserted[RowID(table: link.table, key: link.key)] {
            edges.append(
                Edge(from: owner, to: place, reason: .parent("owner"), isFromFirst: true, isToSecond: true))
        }
        guard let target = rules.lists[link.property] else { return }
        for key in deleted.isEmpty ? [] : link.parted(link.base) {
            guard let other = deleted[RowID(table: target, key: key)] else { continue }
            edges.append(
                Edge(from: place, to: other, reason: .child(link.property), isFromFirst: true, isToSecond: true))
        }
        for key in inserted.isEmpty ? [] : link.parted(link.targets) {
            guard let other = inserted[RowID(table: target, key: key)] else { continue }
            edges.append(
                Edge(from: other, to: place, reason: .parent(link.property), isFromFirst: true, isToSecond: true))
        }
    }

    // MARK: The changes in order

    /// A change, or its first step, is the node of its place; its second step that of its place and `changes.count`.
    func graph(_ edges: some Sequence<Edge>, _ split: Set<Int>) -> RowGraph {
        let count = changes.count
        var graph = RowGraph(split.isEmpty ? count : count * 2)
        for place in split.sorted() { graph.add(place, place + count) }
        for edge in edges {
            let from = split.contains(edge.from) && !edge.isFromFirst ? edge.from + count : edge.from
            let to = split.contains(edge.to) && edge.isToSecond ? edge.to + count : edge.to
            graph.add(from, to)
        }
        return graph
    }

    private func result() throws -> Result {
        var split: Set<Int> = []
        for group in graph(edges, []).cycles() { split.formUnion(try cycleBreakers(of: group)) }
        let graph = graph(edges, split)
        let count = changes.count
        // The second steps of insertions come last, those of others in their own places.
        let order = graph.sorted { node in
            node < count ? node * 2 : isInsertion(node - count) ? node * 2 : (node - count) * 2 + 1
        }
        return emit(order.filter { $0 < count || split.contains($0 - count) }, split)
    }

    private func emit(_ order: [Int], _ split: Set<Int>) -> Result {
        let count = changes.count
        var steps: [Int: (first: ChangeSet.Change, second: ChangeSet.Change)] = [:]
        for place in split { steps[place] = twoPhases(place) }
        var position = [Int](repeating: 0, count: count * 2)
        var result = Result(changes: [])
        result.changes.reserveCapacity(order.count)
        for node in order {
            position[node] = result.changes.count
            let place = node % count
            if let parts = steps[place] {
                result.changes.append(node < count ? parts.first : parts.second)
            } else {
                result.changes.append(changes[place])
            }
        }
        for place in split.sorted() {
            result.edges.append(
                SavePlan.Edge(first: position[place], then: position[place + count], reason: .twoSteps))
        }
        for edge in edges {
            let from = split.contains(edge.from) && !edge.isFromFirst ? edge.from + count : edge.from
            let to = split.contains(edge.to) && edge.isToSecond ? edge.to + count : edge.to
            result.edges.append(SavePlan.Edge(first: position[from], then: position[to], reason: edge.reason))
        }
        return result
    }
}

extension ChangeSet.Update {
    fileprivate func touches(_ names: [String]) -> Bool { names.contains(where: columns.contains) }
}

extension ChangeSet.Relink {
    /// Keys, each with all its values.
    package func parted(_ values: [StoredValue]) -> [[StoredValue]] {
        let width = max(1, targetColumns.count)
        return stride(from: 0, to: values.count, by: width).map { Array(values[$0..<min($0 + width, values.count)]) }
    }

    /// Where the list as it is to be differs from the list as read: the places of both that are left when what they share
    /// at either end is taken away, but for one neighbour each.
    package var differing: (base: Range<Int>, targets: Range<Int>) {
        let width = max(1, targetColumns.count)
        let counts = (base: base.count / width, targets: targets.count / width)
        let most = min(counts.base, counts.targets)
        func isSame(_ place: Int, _ other: Int) -> Bool {
            (0..<width).allSatisfy { base[place * width + $0] == targets[other * width + $0] }
        }
        var head = 0
        while head < most, isSame(head, head) { head += 1 }
        var tail = 0
        while tail < most - head, isSame(counts.base - 1 - tail, counts.targets - 1 - tail) { tail += 1 }
        let (start, end) = (max(0, head - 1), max(0, tail - 1))
        return (start..<counts.base - end, start..<counts.targets - end)
    }
}

extension StoredValue {
    /// Databases compare numbers by value.
    fileprivate var comparable: StoredValue {
        guard case .real(let number) = self else { return self }
        return Int64(exactly: number).map { .integer($0) } ?? self
    }
}
