import GraphMapperStore
import GraphMapperTesting
import Testing

/// Bugs that the laws, or a reading for them, have found.
@Suite struct `Found by the laws` {
    private func branches() async throws -> (GraphStore, GraphSession, [Branch]) {
        let store = try await openNodes()
        var shape = GraphShape(unconnected: 3)
        shape.connect(0, to: 1, via: .many)
        try await StoredGraph(branchRecords(shape)).write(to: store.backing)
        let session = GraphSession(store, BranchRecord.mapping)
        let branches = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
        return (store, session, branches)
    }

    @Test func `a new owner does not inherit what a deleted one held`() async throws {
        let (store, session, branches) = try await branches()
        let new = Branch(id: 7, value: "new")
        let child = Branch(id: 8, value: "child")
        try session.delete(branches[2])
        try session.add(new)
        new.children = [child]
        try await session.save()
        _ = try await store.write { try await $0.upsert(BranchRecord(id: 8, value: "child", parent: Ref(0))) }
        try await session.refresh()
        #expect(new.children.isEmpty)
        #expect(branches[0].children.map(\.id).sorted() == [1, 8])
        #expect(try session.changes().isEmpty)
    }

    @Test func `a link that was not loaded is not known because another object's was`() async throws {
        let store = try await openNodes()
        try await StoredGraph(strongRecords(.chain(3))).write(to: store.backing)
        let mapping = Mapping<StrongRecord> {
            StrongNode(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.single, \.single).onDemand
            Many(\.many, \.many)
        }
        let session = GraphSession(store, mapping)
        let last = try await session.load(StrongRecord.self, loading: .following([\StrongNode.single])) {
            try await $0.fetch(StrongRecord.self, ids: [2])
        }
        try session.evict(last[0])
        let first = try #require(try await session.find(StrongRecord.self, 0))
        #expect(first.single == nil)
        #expect(try session.changes().isEmpty)
        #expect(try session.record(StrongRecord.self, of: first).single == Ref(1))
    }

    @Test func `the DTO of a model keeps what the model does not have`() async throws {
        let mapping = Mapping<CustomerDTO> {
            Customer(id: $0.id, name: "")
        } properties: {
            Field(\.id, \.id)
            Unmapped(\.name, initial: "nobody")
        }
        let session = GraphSession(mapping)
        let model = try session.map([CustomerDTO(id: 1, name: "hoon")])[0]
        #expect(try session.record(CustomerDTO.self, of: model).name == "hoon")
        #expect(try session.record(CustomerDTO.self, of: Customer(id: 2, name: "")).name == "nobody")
    }

    @Test func `links to a deleted object that the models keep do not bring it back`() async throws {
        let (_, session, branches) = try await branches()
        try session.delete(branches[1])
        try await session.save()
        #expect(try session.changes().isEmpty)
    }

    @Test func `a child moved by its owners alone follows another writer`() async throws {
        let (store, session, branches) = try await branches()
        branches[0].children = []
        branches[2].children = [branches[1]]
        try await session.save()
        _ = try await store.write { try await $0.upsert(BranchRecord(id: 1, value: "b1", parent: nil)) }
        try await session.refresh()
        #expect(try session.changes().isEmpty)
    }

    @Test func `copies nested in equal copies are compared`() throws {
        func order(_ picture: String?) -> OrderDTO {
            OrderDTO(id: 1, title: "a", lines: [LineDTO(id: 1, price: 1, picture: picture)], customer: nil)
        }
        #expect { try orderSession().map([order(nil), order("https://x/a.png")]) } throws: {
            "\($0)".contains("line(1)") && ($0 as? GraphError)?.kind == .conflict
        }
    }
}
