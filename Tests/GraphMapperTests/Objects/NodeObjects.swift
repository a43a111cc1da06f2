import GraphMapper
import GraphMapperTesting

/// A plain class with links by reference, in no database. Not final.
class NodeObject: DTO, Identifiable {
    typealias Model = Node
    typealias Row = NodeObject
    var id = 0
    var value = ""
    var single: NodeObject?
    var many: [NodeObject] = []
    init() {}

    static let schema = Schema<NodeObject>("node", NodeObject.init) { row in
        row("id", \.id)
        row("value", \.value)
        row.one("single", \.single)
        row.many("many", \.many)
    }
    static var mapping: Mapping<NodeObject> {
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

/// The same with the database's lists and accessors.
class LiveNode: LiveObject, DTO, Identifiable {
    typealias Model = Node
    typealias Row = LiveNode
    override class var table: String { "node" }
    override class var backlinks: [(String, String)] { [("node", "single"), ("node", "many")] }
    var id: Int {
        get { value("id", 0) }
        set { set("id", newValue) }
    }
    var text: String {
        get { value("value", "") }
        set { set("value", newValue) }
    }
    var single: LiveNode? {
        get { link("single") }
        set { setLink("single", newValue) }
    }
    var many: LiveList<LiveNode> { list("many") }

    static let schema = Schema<LiveNode>("node", LiveNode.init) { row in
        row("id", \.id)
        row("value", \.text)
        row.one("single", \.single)
        row.many("many", \.many)
    } isLive: {
        $0.store != nil
    }
    static var mapping: Mapping<LiveNode> {
        Mapping {
            Node(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.value)
            One(\.single, \.single)
            Many(LiveNode.self, in: \.many, \.many)
        }
    }
}

/// A tree whose children know their parent, and nothing else.
final class BranchObject: DTO, Identifiable {
    typealias Model = Branch
    typealias Row = BranchObject
    var id = 0
    var value = ""
    var parent: BranchObject?

    static let schema = Schema<BranchObject>("branch", BranchObject.init) { row in
        row("id", \.id)
        row("value", \.value)
        row.one("parent", \.parent)
    }
    static var mapping: Mapping<BranchObject> {
        Mapping {
            Branch(id: $0.id, value: $0.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Back(\.parent, \.parent)
            Many(BranchObject.self, by: \.parent, \.children)
        }
    }
}

func nodeObjects(_ shape: GraphShape) -> [NodeObject] {
    let nodes = (0..<shape.nodes).map { id in
        let node = NodeObject()
        node.id = id
        node.value = "v\(id)"
        return node
    }
    for (id, node) in nodes.enumerated() {
        node.single = shape.single[id].map { nodes[$0] }
        node.many = shape.many[id].map { nodes[$0] }
    }
    return nodes
}

func liveNodes(_ shape: GraphShape) -> [LiveNode] {
    let nodes = (0..<shape.nodes).map { id in
        let node = LiveNode()
        node.id = id
        node.text = "v\(id)"
        return node
    }
    for (id, node) in nodes.enumerated() {
        node.single = shape.single[id].map { nodes[$0] }
        node.many.append(contentsOf: shape.many[id].map { nodes[$0] })
    }
    return nodes
}

func branchObjects(_ shape: GraphShape) -> [BranchObject] {
    let nodes = (0..<shape.nodes).map { id in
        let node = BranchObject()
        node.id = id
        node.value = "b\(id)"
        return node
    }
    for node in 0..<shape.nodes { for target in shape.targets(of: node) { nodes[target].parent = nodes[node] } }
    return nodes
}
