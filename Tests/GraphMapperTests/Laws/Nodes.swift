import GraphMapperStore
import GraphMapperTesting

/// Any graph: the links of a ``GraphShape``.
struct NodeRecord: StoredRecord {
    typealias Model = Node
    let id: Int
    let value: String
    let single: Ref<NodeRecord>?
    let many: [Ref<NodeRecord>]

    static let schema = Schema<Self>("node") { row in
        try Self(
            id: row("id", \.id), value: row("value", \.value), single: row("single", \.single),
            many: row("many", \.many))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Node(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.single, \.single)
            Many(\.many, \.many)
        }
    }
}

/// Its links may form cycles, so all of them are weak: the session keeps the nodes.
final class Node {
    private struct Link { weak var node: Node? }

    let id: Int
    var value = ""
    weak var single: Node?
    private var links: [Link] = []
    var many: [Node] {
        get { links.compactMap(\.node) }
        set { links = newValue.map { Link(node: $0) } }
    }
    init(id: Int) { self.id = id }
}

/// The same record with strong links, for graphs without cycles.
struct StrongRecord: StoredRecord {
    typealias Model = StrongNode
    let id: Int
    let value: Double
    let single: Ref<StrongRecord>?
    let many: [Ref<StrongRecord>]

    static let schema = Schema<Self>("strong") { row in
        try Self(
            id: row("id", \.id), value: row("value", \.value), single: row("single", \.single),
            many: row("many", \.many))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            StrongNode(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.single, \.single)
            Many(\.many, \.many)
        }
    }
}

final class StrongNode {
    let id: Int
    var value = 0.0
    var single: StrongNode?
    var many: [StrongNode] = []
    init(id: Int) { self.id = id }
}

/// A tree: the child's row holds the link, the models hold their children strongly and their parent weakly.
struct BranchRecord: StoredRecord {
    typealias Model = Branch
    let id: Int
    let value: String
    let parent: Ref<BranchRecord>?

    static let schema = Schema<Self>("branch") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), parent: row("parent", \.parent))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Branch(id: $0.id, value: $0.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Back(\.parent, \.parent)
            Many(BranchRecord.self, by: \.parent, \.children)
        }
    }
}

final class Branch {
    let id: Int
    var value: String
    weak var parent: Branch?
    var children: [Branch] = []
    init(id: Int, value: String) {
        self.id = id
        self.value = value
    }
}

func nodeRecords(_ shape: GraphShape) -> [NodeRecord] {
    (0..<shape.nodes).map { node in
        NodeRecord(
            id: node, value: "v\(node)", single: shape.single[node].map { Ref($0) },
            many: shape.many[node].map { Ref($0) })
    }
}

func strongRecords(_ shape: GraphShape) -> [StrongRecord] {
    (0..<shape.nodes).map { node in
        StrongRecord(
            id: node, value: node % 2 == 0 ? -0.0 : 1 / Double(node), single: shape.single[node].map { Ref($0) },
            many: shape.many[node].map { Ref($0) })
    }
}

func branchRecords(_ shape: GraphShape) -> [BranchRecord] {
    var parents = [Int?](repeating: nil, count: shape.nodes)
    for node in 0..<shape.nodes { for target in shape.targets(of: node) { parents[target] = node } }
    return (0..<shape.nodes).map { BranchRecord(id: $0, value: "b\($0)", parent: parents[$0].map { Ref($0) }) }
}

func openNodes() async throws -> GraphStore {
    try await GraphStore.open(.inMemory, NodeRecord.self, StrongRecord.self, BranchRecord.self)
}
