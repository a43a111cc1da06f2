import GraphMapper
import Testing

/// A value that nests values of its own type.
private struct TreeDTO: DTO, Identifiable {
    typealias Model = Tree
    let id: Int
    let children: [TreeDTO]
    static let schema = Schema<Self>("tree") { row in
        try Self(id: row("id", \.id), children: row.nested("children", \.children))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Tree(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.children, \.children)
        }
    }
}

private final class Tree {
    let id: Int
    var children: [Tree] = []
    init(id: Int) { self.id = id }
}

@Suite struct `Depth of nested values` {
    /// Swift releases nested values, and models that own each other, by recursion: that, and no walk of ours, is the
    /// limit. A level costs it about 150 bytes.
    @Test func `nested values are mapped and made from the inside, on a small stack`() async throws {
        try await Depth.onSmallStack {
            let count = 2_000
            var dto = TreeDTO(id: count, children: [])
            for id in (0..<count).reversed() { dto = TreeDTO(id: id, children: [dto]) }
            let session = GraphSession(TreeDTO.mapping)
            let root = try session.map([dto])[0]
            #expect(try session.changes().isEmpty)
            let back = try session.record(TreeDTO.self, of: root)
            var depth = 0
            var next: TreeDTO? = back
            while let tree = next {
                #expect(tree.id == depth)
                depth += 1
                next = tree.children.first
            }
            #expect(depth == count + 1)
            try GraphSession(TreeDTO.mapping).add(root)
        }
    }

    @Test func `values that nest each other in a cycle are an error, not an endless walk`() throws {
        let first = Tree(id: 1)
        let second = Tree(id: 2)
        first.children = [second]
        second.children = [first]
        let session = GraphSession(TreeDTO.mapping)
        let error = #expect(throws: GraphError.self) { try session.record(TreeDTO.self, of: first) }
        #expect(error?.kind == .cycle)
        first.children = []
        #expect(try session.record(TreeDTO.self, of: second).children.map(\.id) == [1])
    }

    @Test func `a value that is nested in many places is made once, and is the same in each`() throws {
        let shared = Tree(id: 9)
        let root = Tree(id: 0)
        root.children = (1...100).map { id in
            let tree = Tree(id: id)
            tree.children = [shared, shared]
            return tree
        }
        let record = try GraphSession(TreeDTO.mapping).record(TreeDTO.self, of: root)
        #expect(record.children.allSatisfy { $0.children.map(\.id) == [9, 9] })
    }
}
