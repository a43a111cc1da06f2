import GraphMapper
import GraphMapperStore
import Testing

/// What the law of overlaps has found, in few lines.
@Suite @MainActor struct `What the law of overlaps has found` {
    /// The owner alone was read again, and still had the child that another writer had taken from it as its back-reference.
    @Test(arguments: [true, false]) func `a child that its owner has lost is read again with it`(isRefresh: Bool)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(DancerRow<Int>.self, 0).set(\.stage, nil))
            _ = try await tx.apply(Patch(DancerRow<Int>.self, 1).set(\.stage, Ref(9)))
            try await tx.insert(StageRow<Int>(id: 9))
        }
        if isRefresh {
            try await side.session.refresh(side.stage)
        } else {
            _ = try await side.session.models(Query(StageRow<Int>.self).where { $0.id == 1 })
        }
        #expect(side.stage.dancers.isEmpty)
        #expect(side.dancers[0].stage == nil)
        #expect(side.dancers[1].stage?.id == 9)
        #expect(try side.session.changes().isEmpty)
    }

    @Test(arguments: [Retention.strong, .weak], [true, false])
    func `a child that comes to an owner who is edited is in its list`(retention: Retention, isEdited: Bool)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side(retention)
        try await theatre.store.write { try await $0.insert(DancerRow<Int>(id: 20, stage: Ref(1))) }
        if isEdited { side.stage.name = "edited" }
        _ = try await side.session.models(Query(DancerRow<Int>.self))
        #expect(side.stage.dancers.map(\.id).sorted() == [0, 1, 20])
        #expect(side.stage.dancers.allSatisfy { $0.stage === side.stage })
    }

    /// What a save has merged is read again in its transaction, where the child that it deletes is gone.
    @Test func `a save that merges its owner's list and deletes a child of it`() async throws {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        try await theatre.store.write { tx in
            var row = try #require(try await tx.find(StageRow<Int>.self, 1))
            row.props.append(Ref(2))
            try await tx.upsert(row)
        }
        try side.session.delete(side.dancers[0])
        side.stage.props.append(side.props[3])
        try await side.session.save(onConflict: .mine)
        #expect(Set(try await theatre.props()) == [0, 1, 2, 3])
        #expect(side.stage.dancers.map(\.id) == [1])
        #expect(try side.session.changes().isEmpty)
    }
}
