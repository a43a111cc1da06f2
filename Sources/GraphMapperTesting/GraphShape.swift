/// The links of a directed graph, without the objects: what to build, and what to compare a built graph with.
///
/// Nodes are numbered from zero. Each has at most one single link and an ordered list of further links, in which
/// a node may occur more than once.
public struct GraphShape: Hashable, Sendable, Codable {
    /// The number of nodes.
    public var nodes: Int
    /// For each node, the target of its single link.
    public var single: [Int?]
    /// For each node, the targets of its list of links, in order.
    public var many: [[Int]]

    /// Creates a shape from its links.
    public init(nodes: Int, single: [Int?], many: [[Int]]) {
        self.nodes = nodes
        self.single = single
        self.many = many
    }

    /// Creates a shape of unconnected nodes.
    public init(unconnected nodes: Int) {
        self.init(
            nodes: nodes, single: Array(repeating: nil, count: nodes), many: Array(repeating: [], count: nodes))
    }

    /// Which kind of link a shape is built from.
    public enum Link: Sendable, Hashable {
        /// The single link of a node.
        case single
        /// The list of links of a node.
        case many
    }

    /// Nodes 0 → 1 → … → `count - 1`.
    public static func chain(_ count: Int, via link: Link = .single) -> GraphShape {
        var shape = GraphShape(unconnected: count)
        for node in 0..<max(0, count - 1) { shape.connect(node, to: node + 1, via: link) }
        return shape
    }

    /// Nodes 0 → 1 → … → `count - 1` → 0.
    public static func cycle(_ count: Int, via link: Link = .single) -> GraphShape {
        var shape = chain(count, via: link)
        if count > 0 { shape.connect(count - 1, to: 0, via: link) }
        return shape
    }

    /// Adds a link; a single link replaces the one there was.
    public mutating func connect(_ source: Int, to target: Int, via link: Link) {
        switch link {
        case .single: single[source] = target
        case .many: many[source].append(target)
        }
    }

    /// The targets of a node: its single link first, then its list.
    public func targets(of node: Int) -> [Int] {
        (single[node].map { [$0] } ?? []) + many[node]
    }

    /// Whether there are links for exactly ``nodes`` nodes, and all of them lead to one.
    public var isWellFormed: Bool {
        nodes >= 0 && single.count == nodes && many.count == nodes
            && (0..<nodes).allSatisfy { targets(of: $0).allSatisfy { (0..<nodes).contains($0) } }
    }

    /// The nodes that can be reached from the given ones, these included.
    public func reachable(from roots: some Sequence<Int>) -> Set<Int> {
        var seen = Set(roots)
        var waiting = Array(seen)
        while let node = waiting.popLast() {
            for target in targets(of: node) where seen.insert(target).inserted { waiting.append(target) }
        }
        return seen
    }

    /// Whether some node can be reached from itself.
    public var hasCycle: Bool {
        var incoming = Array(repeating: 0, count: nodes)
        for node in 0..<nodes { for target in targets(of: node) { incoming[target] += 1 } }
        var free = (0..<nodes).filter { incoming[$0] == 0 }
        var removed = 0
        while let node = free.popLast() {
            removed += 1
            for target in targets(of: node) {
                incoming[target] -= 1
                if incoming[target] == 0 { free.append(target) }
            }
        }
        return removed < nodes
    }
}

extension GraphShape: CustomStringConvertible {
    /// The links on one line, such as `2 nodes: 0→1 [0, 1]; 1→- []`.
    public var description: String {
        let links = (0..<min(nodes, single.count, many.count)).map { node in
            "\(node)→\(single[node].map(String.init) ?? "-") \(many[node])"
        }
        return "\(nodes) nodes: " + links.joined(separator: "; ")
    }
}

extension Gen where Value == GraphShape {
    private static func grow(_ maxNodes: Int, _ add: @escaping @Sendable (inout GraphShape, Int, inout Choices) -> Void)
        -> Gen<GraphShape>
    {
        precondition(maxNodes > 0, "a shape has at least one node")
        return Gen { choices in
            var shape = GraphShape(unconnected: 0)
            choices.rounds(1...maxNodes) { choices, node in
                shape.nodes += 1
                shape.single.append(nil)
                shape.many.append([])
                add(&shape, node, &choices)
            }
            return shape
        }
    }

    private static func attach(_ node: Int, under parent: Int, in shape: inout GraphShape, _ choices: inout Choices) {
        let useSingle = choices.bool() && shape.single[parent] == nil
        shape.connect(parent, to: node, via: useSingle ? .single : .many)
    }

    /// Trees: node 0 is the root, every other node is linked to exactly once.
    public static func tree(maxNodes: Int = 12) -> Gen<GraphShape> {
        grow(maxNodes) { shape, node, choices in
            guard node > 0 else { return }
            attach(node, under: choices.index(below: node), in: &shape, &choices)
        }
    }

    /// One or more trees: every node is linked to at most once, and there are no cycles.
    public static func forest(maxNodes: Int = 12) -> Gen<GraphShape> {
        grow(maxNodes) { shape, node, choices in
            let parent = choices.index(below: node + 1) - 1
            if parent >= 0 { attach(node, under: parent, in: &shape, &choices) }
        }
    }

    /// A chain of exactly `count` nodes, through single links or through lists.
    public static func chain(_ count: Int) -> Gen<GraphShape> {
        Gen { .chain(count, via: $0.bool() ? .many : .single) }
    }

    /// A cycle of exactly `count` nodes, through single links or through lists.
    public static func cycle(_ count: Int) -> Gen<GraphShape> {
        Gen { .cycle(count, via: $0.bool() ? .many : .single) }
    }

    /// Nodes linked to themselves: singly, in the list, or both.
    public static func selfLoops(maxNodes: Int = 4) -> Gen<GraphShape> {
        grow(maxNodes) { shape, node, choices in
            let kind = choices.index(below: 3)
            if kind != 1 { shape.connect(node, to: node, via: .single) }
            if kind != 0 { shape.connect(node, to: node, via: .many) }
        }
    }

    /// Four nodes: 0 links to 1 and 2, both of which link to 3.
    public static func diamond() -> Gen<GraphShape> {
        Gen { choices in
            var shape = GraphShape(unconnected: 4)
            shape.connect(0, to: 1, via: choices.bool() ? .single : .many)
            shape.connect(0, to: 2, via: .many)
            shape.connect(1, to: 3, via: choices.bool() ? .many : .single)
            shape.connect(2, to: 3, via: choices.bool() ? .many : .single)
            return shape
        }
    }

    /// Node 0 lists several nodes that all link to node 1, some of them more than once.
    public static func shared(maxNodes: Int = 8) -> Gen<GraphShape> {
        precondition(maxNodes >= 3, "sharing takes at least three nodes")
        return Gen { choices in
            var shape = GraphShape(unconnected: 2)
            choices.rounds(1...(maxNodes - 2)) { choices, _ in
                let node = shape.nodes
                shape.nodes += 1
                shape.single.append(nil)
                shape.many.append([])
                shape.connect(0, to: node, via: .many)
                let kind = choices.index(below: 4)
                if kind != 1 { shape.connect(node, to: 1, via: .single) }
                if kind != 0 { shape.connect(node, to: 1, via: .many) }
                if kind == 3 { shape.connect(node, to: 1, via: .many) }
            }
            return shape
        }
    }

    /// Any links at all: cycles, self links, sharing, repeated targets and unreachable nodes.
    public static func random(maxNodes: Int = 12) -> Gen<GraphShape> {
        grow(maxNodes) { shape, node, choices in
            if choices.bool() { shape.single[node] = choices.index(below: maxNodes) }
            choices.rounds(0...4) { choices, _ in shape.many[node].append(choices.index(below: maxNodes)) }
        }
        .map { shape in
            // Targets are drawn before the number of nodes is known.
            GraphShape(
                nodes: shape.nodes, single: shape.single.map { $0.map { $0 % shape.nodes } },
                many: shape.many.map { $0.map { $0 % shape.nodes } })
        }
    }

    /// A mix of all kinds of shapes with at most `maxNodes` nodes. Half of them are random.
    public static func anyShape(maxNodes: Int = 12) -> Gen<GraphShape> {
        precondition(maxNodes > 0, "a shape has at least one node")
        var special: [Gen<GraphShape>] = [
            Gen<Int>.int(in: 1...maxNodes).flatMap { .chain($0) },
            Gen<Int>.int(in: 1...maxNodes).flatMap { .cycle($0) },
            .tree(maxNodes: maxNodes), .forest(maxNodes: maxNodes), .selfLoops(maxNodes: maxNodes),
        ]
        if maxNodes >= 3 { special.append(.shared(maxNodes: maxNodes)) }
        if maxNodes >= 4 { special.append(.diamond()) }
        return .oneOf(.random(maxNodes: maxNodes), .oneOf(special))
    }
}
