/// What a save would do, in the order in which it would do it, and why in that order. Plain data.
///
/// ```swift
/// print(try await session.plan())
/// ```
public struct SavePlan: Sendable, Hashable {
    /// Why one change comes before another.
    public enum Reason: Sendable, Hashable {
        /// The first frees the values of these unique columns that the second takes.
        case uniqueValue([String])
        /// The second points to the row that the first inserts, by this property.
        case parent(String)
        /// The first points, by this property, to the row that the second deletes.
        case child(String)
        /// The first makes room, or leaves out what is not there yet, and the second does the rest: this breaks a circle.
        case twoSteps
    }

    /// One change that must come before another. Both are places in ``SavePlan/changes``.
    public struct Edge: Sendable, Hashable {
        /// The place of the change that comes first.
        public var first: Int
        /// The place of the change that comes after it.
        public var then: Int
        /// Why.
        public var reason: Reason
    }

    /// Changes next to each other that have one shape, and so run one prepared statement.
    public struct Step: Sendable, Hashable {
        /// What they have in common: the kind, the table and the columns.
        public var shape: String
        /// Their places in ``SavePlan/changes``.
        public var changes: Range<Int>
        /// The database's statements, in order, as it runs them; shapes for a backing that has no text for them.
        public var statements: [String]
        /// Steps that come before this one because they must, by their places, and why.
        public var reasons: [Int: Set<Reason>]
        /// How many rows they write; a link that is moved, added or taken out counts as a row.
        public var rowCount: Int
    }

    /// The changes, in order; exactly what a save applies.
    public let changes: ChangeSet
    /// What must come before what, change by change. Databases that check foreign keys at commit need no edges for them.
    public let edges: [Edge]
    /// The same in steps.
    public let steps: [Step]

    /// Whether there is nothing to do.
    public var isEmpty: Bool { changes.isEmpty }
    /// The statements of all steps, in order.
    public var statements: [String] { steps.flatMap(\.statements) }

    init(_ order: WriteOrder.Result, _ statements: [[String]]) {
        changes = ChangeSet(order.changes)
        edges = order.edges
        var steps: [Step] = []
        var stepOf: [Int] = []
        for (place, change) in order.changes.enumerated() {
            let shape = change.shape
            let own = place < statements.count ? statements[place] : [shape]
            if let last = steps.indices.last, steps[last].shape == shape {
                steps[last].changes = steps[last].changes.lowerBound..<place + 1
                steps[last].statements += own
                steps[last].rowCount += change.rowCount
            } else {
                steps.append(
                    Step(
                        shape: shape, changes: place..<place + 1, statements: own, reasons: [:],
                        rowCount: change.rowCount))
            }
            stepOf.append(steps.count - 1)
        }
        for edge in order.edges where stepOf[edge.first] != stepOf[edge.then] {
            steps[stepOf[edge.then]].reasons[stepOf[edge.first], default: []].insert(edge.reason)
        }
        self.steps = steps
    }
}

extension SavePlan.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .uniqueValue(let columns): "it frees the unique \(columns.joined(separator: ", "))"
        case .parent(let property): "\(property) points to it"
        case .child(let property): "\(property) points from it"
        case .twoSteps: "it is the first of two steps, which break a circle"
        }
    }
}

extension SavePlan: CustomStringConvertible {
    public var description: String {
        guard !isEmpty else { return "nothing to do" }
        return steps.enumerated().map { index, step in
            let rows = step.rowCount == 1 ? "1 row" : "\(step.rowCount) rows"
            let reasons = step.reasons.sorted { $0.key < $1.key }.map { before, reasons in
                "\n     after \(before + 1): \(reasons.map(\.description).sorted().joined(separator: "; "))"
            }
            return "\(index + 1). \(step.shape): \(rows)\(reasons.joined())"
        }.joined(separator: "\n")
    }
}

extension ChangeSet.Change {
    /// What changes that run the same prepared statement have in common.
    public var shape: String {
        switch self {
        case .insert(let row): "insert \(row.table) (\(row.columns.joined(separator: ", ")))"
        case .update(let row): "update \(row.table) set \(row.columns.joined(separator: ", "))"
        case .relink(let link): "relink \(link.table).\(link.property)"
        case .delete(let row): "delete \(row.table)"
        }
    }

    /// How many rows it writes, if a list's positions leave room.
    var rowCount: Int {
        guard case .relink(let link) = self else { return 1 }
        return ListEdit.count(from: link.parted(link.base), to: link.parted(link.targets))
    }
}

extension GraphSession {
    /// What a save would do now, in order, with the reason for each place in the order. Reads the backing where its
    /// statements depend on what is stored; touches neither the models nor the backing.
    ///
    /// A save executes exactly this, unless somebody writes meanwhile; of a long list that the store knows, it reads but
    /// the end. Complexity: O(objects held), and a prepared statement a shape.
    ///
    /// - Throws: what ``save(only:onConflict:)`` throws before it writes.
    public func plan(only scope: SaveScope = .all) async throws -> SavePlan {
        try await takeTurn()
        defer { release() }
        let order = try core.plan(scope).order
        guard !order.changes.isEmpty else { return SavePlan(order, []) }
        return SavePlan(order, try await required(backing).statements(for: ChangeSet(order.changes)))
    }
}
