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
        for (index, link) in links.enumerated().reversed() {
            let isLast = index == links.count - 1
            let properties = isLast ? property.map { [$0] } : [links[index + 1].property].compactMap { $0 }
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
