import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

private func node(_ id: Int, _ value: String, _ many: [NodeObject] = []) -> NodeObject {
    let node = NodeObject()
    node.id = id
    node.value = value
    node.many = many
    return node
}

private func certificate(_ roots: [NodeObject]) -> String {
    do {
        try GraphSession(NodeObject.mapping).map(roots)
        return "none"
    } catch { return "\(error)" }
}

/// A plain class that holds its owner weakly, in both ways.
private final class LooseObject: DTO, Identifiable {
    typealias Model = Loose
    typealias Row = LooseObject
    var id: Int
    var child: LooseObject?
    weak var weakOwner: LooseObject?
    unowned var unownedOwner: LooseObject?
    init(_ id: Int) { self.id = id }
    convenience init() { self.init(0) }
    static let schema = Schema<LooseObject>("loose", LooseObject.init) { row in
        row("id", \.id)
        row.one("child", \.child)
        row.one("weak", \.weakOwner)
        row.one("unowned", \.unownedOwner)
    }
    static var mapping: Mapping<LooseObject> {
        Mapping {
            Loose(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.child, \.child)
            Back(\.weakOwner, \.first)
            One(\.unownedOwner, \.second)
        }
    }
}

private final class Loose {
    let id: Int
    var child: Loose?
    weak var first: Loose?
    weak var second: Loose?
    init(id: Int) { self.id = id }
}

/// Cases of the three scenarios and of other mappers, for class DTOs.
@Suite struct `Class DTOs` {
    @Test func `two carts with a copy each of one item share one instance`() throws {
        let session = GraphSession(NodeObject.mapping)
        let roots = [node(10, "cart", [node(1, "item")]), node(20, "cart", [node(1, "item"), node(1, "item")])]
        let carts = try session.map(roots)
        #expect(carts[0].many[0] === carts[1].many[0] && carts[1].many[0] === carts[1].many[1])
        carts[0].many[0].value = "edited"
        #expect(carts[1].many[1].value == "edited")
        #expect(try session.changes().description == "update node 1: value \"item\" → \"edited\"")
        withExtendedLifetime(session) {}
    }

    @Test func `copies that differ raise one certificate, whatever the order`() {
        let one = node(10, "cart", [node(1, "250")])
        let two = node(20, "cart", [node(2, "tea"), node(1, "300")])
        let text = certificate([one, two])
        #expect(text == certificate([two, one]))
        for part in ["node(1)", "value", "\"250\" at node(10).many[0].value", "\"300\" at node(20).many[1].value"] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test func `copies below equal copies are compared, in cycles too`() {
        let deep = node(3, "deep")
        let first = node(1, "root", [node(2, "middle", [deep])])
        deep.single = first
        let other = node(3, "other")
        let second = node(1, "root", [node(2, "middle", [other])])
        other.single = second
        let text = certificate([first, second])
        #expect(text.contains("\"deep\" at node(1).many[0].many[0].value") && text.contains("\"other\" at node(1)"))
        #expect(text == certificate([second, first]))
        deep.single = nil
        other.single = nil
    }

    @Test func `a load lets go of the DTOs`() throws {
        let root = node(1, "root")
        weak var released: NodeObject?
        let session = GraphSession(NodeObject.mapping)
        do {
            let child = node(2, "child")
            released = child
            root.many = [child, child, child]
            root.single = child
            try session.map([root])
            root.many = []
            root.single = nil
        }
        #expect(released == nil)
    }

    @Test func `each getter of each instance is called once, in copies that agree or differ`() throws {
        final class Counted: DTO, Identifiable {
            typealias Model = Node
            typealias Row = Counted
            private(set) var reads: [String: Int] = [:]
            private let values: (id: Int, value: String, many: [Counted])
            private var set: [String: Any] = [:]
            init(_ id: Int, _ value: String, _ many: [Counted] = []) { values = (id, value, many) }
            convenience init() { self.init(0, "") }
            private func read<V>(_ name: String, _ original: V) -> V {
                reads[name, default: 0] += 1
                return set[name] as? V ?? original
            }
            var id: Int {
                get { read("id", values.id) }
                set { set["id"] = newValue }
            }
            var value: String {
                get { read("value", values.value) }
                set { set["value"] = newValue }
            }
            var many: [Counted] {
                get { read("many", values.many) }
                set { set["many"] = newValue }
            }
            var unmapped: String { read("unmapped", "") }
            static let schema = Schema<Counted>("node", Counted.init) { row in
                row("id", \.id)
                row("value", \.value)
                row.many("many", \.many)
            }
            static var mapping: Mapping<Counted> {
                Mapping { object in
                    let node = Node(id: object.id)
                    node.value = object.value
                    return node
                } properties: {
                    Field(\.id, \.id)
                    Field(\.value, \.value, using: Conversion(decode: { $0 }, encode: { $0 }))
                    Many(\.many, \.many)
                }
            }
        }
        for (other, isConflict) in [("leaf", false), ("another", true)] {
            let leaf = Counted(3, "leaf")
            let leaves = [leaf, Counted(3, other), Counted(3, "leaf")]
            let roots = [Counted(1, "root", [leaf, leaf, leaves[1]]), Counted(2, "root", [leaves[2], leaf])]
            let session = GraphSession(Counted.mapping)
            if isConflict {
                let error = #expect(throws: GraphError.self) { try session.map(roots) }
                #expect(error?.message.contains("another") == true)
            } else {
                let models = try session.map(roots + [roots[0]])
                #expect(models[0] === models[2])
                models[0].value = "edited"
                #expect(try session.changes().changes.count == 1)
                try session.rollback()
            }
            for object in roots + leaves {
                #expect(object.reads == ["id": 1, "value": 1, "many": 1])
            }
        }
    }

    @Test(arguments: [false, true]) func `links that are weak or unowned in the class are known as long`(
        isUnowned: Bool
    ) throws {
        let session = GraphSession(LooseObject.mapping)
        let root = LooseObject(1)
        let child = LooseObject(2)
        root.child = child
        if isUnowned { child.unownedOwner = root } else { child.weakOwner = root }
        let model = try session.map([root])[0]
        let owned = try #require(model.child)
        #expect(isUnowned ? owned.second === model : owned.first === model)
        #expect(try session.changes().isEmpty)

        if isUnowned { owned.first = model } else { owned.second = model }
        let property = isUnowned ? "weak" : "unowned"
        #expect(try session.changes().description == "update loose 2: \(property) NULL → 1")
        try session.map([root])
        #expect(try session.changes().description == "update loose 2: \(property) NULL → 1")
        try session.rollback()
        #expect(try session.changes().isEmpty)
        #expect(isUnowned ? owned.second === model : owned.first === model)
    }

    @Test func `a cycle by reference is one instance each, and nothing outlives the session`() throws {
        weak var model: Node?
        do {
            let first = node(1, "a")
            let second = node(2, "b")
            first.single = second
            second.single = first
            let session = GraphSession(NodeObject.mapping)
            let models = try session.map([first])
            model = models[0]
            #expect(models[0].single?.single === models[0])
            #expect(try session.map([second])[0] === models[0].single)
            first.single = nil
        }
        #expect(model == nil)
    }

    @Test func `the whole graph comes back as objects that are linked as the models are`() throws {
        let first = node(1, "a")
        let second = node(2, "b", [first, first])
        first.single = second
        let session = GraphSession(NodeObject.mapping)
        let model = try session.map([first])[0]
        model.value = "edited"
        let back = try session.record(NodeObject.self, of: model)
        #expect(back !== first && back.value == "edited")
        #expect(back.single?.value == "b" && back.single?.many.count == 2)
        #expect(back.single?.many.allSatisfy { $0 === back } == true)
        back.single = nil
        first.single = nil
    }

    @Test func `one new object in a hundred lists is one insertion`() throws {
        let session = GraphSession(NodeObject.mapping)
        let carts = try session.map((1...100).map { node($0, "cart") })
        let new = Node(id: 1000)
        for cart in carts { cart.many.append(new) }
        let changes = try session.changes().changes
        let insertions = changes.filter { if case .insert = $0 { true } else { false } }
        #expect(insertions.count == 1 && changes.count == 101)
    }

    @Test func `what a mapping and a schema get wrong is said at the start`() throws {
        struct Outer: DTO, Identifiable {
            typealias Model = Node
            let id: Int
            let many: [NodeObject]
            static let schema = Schema<Self>("outer") { row in
                try Self(id: row("id", \.id), many: row.nested("many", \.many))
            }
            static var mapping: Mapping<Self> {
                Mapping {
                    Node(id: $0.id)
                } properties: {
                    Field(\.id, \.id)
                    Many(\.many, \.many)
                }
            }
        }
        let nested = #expect(throws: GraphError.self) { try GraphSession(Outer.mapping, NodeObject.mapping).validate() }
        #expect(nested?.message.contains("a struct cannot nest NodeObject, which is a class") == true)

        let unmapped = #expect(throws: GraphError.self) { try GraphSession(LiveCart.mapping).validate() }
        #expect(unmapped?.message.contains("cart: it links to LiveUser, for which the session has no mapping") == true)
        #expect(unmapped?.message.contains("cart: it links to LiveItem, for which the session has no mapping") == true)
    }

    @Test func `accessors that are new at each read, and not said to be live, end in an error`() throws {
        let store = LiveStore()
        try store.write { liveNodes(GraphShape(nodes: 1, single: [0], many: [[]])).forEach(store.add) }
        final class Unsaid: DTO, Identifiable {
            typealias Model = Node
            typealias Row = Unsaid
            var accessor: LiveNode?
            var id = 0
            var single: Unsaid? {
                get {
                    guard let target = accessor?.single else { return nil }
                    let copy = Unsaid()
                    copy.accessor = target
                    copy.id = target.id
                    return copy
                }
                set {}
            }
            static let schema = Schema<Unsaid>("node", Unsaid.init) { row in
                row("id", \.id)
                row.one("single", \.single)
            }
            static var mapping: Mapping<Unsaid> {
                Mapping {
                    Node(id: $0.id)
                } properties: {
                    Field(\.id, \.id)
                    One(\.single, \.single)
                }
            }
        }
        let root = Unsaid()
        root.accessor = store.object(ofType: LiveNode.self, forPrimaryKey: 0)
        let session = GraphSession(Unsaid.mapping)
        session.loadLimit = 100
        let error = #expect(throws: GraphError.self) { try session.map([root]) }
        #expect(error?.kind == .tooLarge && error?.message.contains("isLive:") == true)
    }

    @Test func `a million objects in a chain, both ways, on a small stack`() async throws {
        final class Link: DTO, Identifiable {
            typealias Model = ChainLink
            typealias Row = Link
            var id = 0
            var value = 0
            var next: Link?
            static let schema = Schema<Link>("chain", Link.init) { row in
                row("id", \.id)
                row("value", \.value)
                row.one("next", \.next)
            }
            static var mapping: Mapping<Link> {
                Mapping {
                    ChainLink(id: $0.id)
                } properties: {
                    Field(\.id, \.id)
                    Field(\.value, \.value)
                    One(\.next, \.next)
                }
            }
            /// Releasing a strong chain is recursion; take it apart first.
            static func takeApart(_ first: Link?) {
                var next = first
                while let link = next {
                    next = link.next
                    link.next = nil
                }
            }
        }
        try await Depth.onSmallStack {
            let count = 1_000_000
            let links = (0..<count).map { id in
                let link = Link()
                link.id = id
                link.value = id
                return link
            }
            for (link, next) in zip(links, links.dropFirst()) { link.next = next }
            let session = GraphSession(Link.mapping)
            let first = try session.map([links[0]])[0]
            Link.takeApart(links[0])
            var models: [ChainLink] = []
            var next: ChainLink? = first
            while let model = next {
                models.append(model)
                next = model.next
            }
            #expect(models.count == count && models.last?.value == count - 1)
            #expect(try session.changes().isEmpty)
            models[count - 1].value = -1
            #expect(try session.changes().description == "update chain 999999: value 999999 → -1")
            let back = try session.record(Link.self, of: first)
            var length = 0
            var link: Link? = back
            while let one = link {
                length += 1
                link = one.next
            }
            #expect(length == count)
            Link.takeApart(back)

            for model in models { model.next = nil }
        }
    }
}
