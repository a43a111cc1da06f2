import GraphMapper
import GraphMapperStore
import Testing

/// How a new object comes to the session.
private enum Coming: CaseIterable, Sendable {
    case added, inList, inSet, asReference

    @MainActor func bring<K: OverlapKey>(_ prop: Prop<K>, _ session: GraphSession) async throws {
        switch self {
        case .added: try session.add(prop)
        case .inList, .inSet, .asReference:
            let stage = try #require(try await session.find(StageRow<K>.self, K(number: 3)))
            switch self {
            case .inList: stage.props = [prop]
            case .inSet: stage.spares = [prop]
            default: stage.lead = prop
            }
        }
    }
}

/// The app's values, with another name.
private func both(_ conflict: Conflict) -> Conflict.Resolution {
    .merged(conflict.mine.map { $0 == .text("new") ? .text("both") : $0 })
}

/// `add` inserts: a row that is there already is a conflict.
@Suite @MainActor struct `New objects over stored rows` {
    private func conflicts<K: OverlapKey>(
        _: K.Type, _ coming: Coming, _ retention: Retention = .strong, only scope: SaveScope = .all
    ) async throws {
        let theatre = try await Theatre<K>()
        let key = K(number: 5)
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(PropRow<K>.self, key).set(\.name, "stored"))
        }
        let before = try await theatre.stored
        let session = theatre.session(retention)
        let prop = Prop(id: key)
        try await coming.bring(prop, session)
        if scope == .edited, let stage = try await session.find(StageRow<K>.self, K(number: 3)) {
            try session.edit(stage)
        }
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { try await session.save(only: scope) }
            #expect(error?.kind == .conflict)
            #expect(error?.conflicts.count == 1 && error?.conflicts.first?.type == "prop")
            #expect(error?.conflicts.first?.mine.contains(.text("")) == true, "\(error as Any)")
            #expect(error?.conflicts.first?.theirs.contains(.text("stored")) == true, "\(error as Any)")
            #expect(try await theatre.stored == before)
            #expect(prop.name == "" && session.state(of: prop) == .new)
        }
    }

    @Test(arguments: Coming.allCases) private func `are a conflict, and nothing is written`(coming: Coming) async throws
    {
        try await conflicts(Int.self, coming)
    }

    @Test(arguments: Coming.allCases) private func `the same for other keys, sessions and saves`(coming: Coming)
        async throws
    {
        try await conflicts(OverlapPair.self, coming)
        try await conflicts(Int.self, coming, .weak)
        try await conflicts(Int.self, coming, only: .edited)
    }

    @Test(arguments: Coming.allCases, ["mine", "theirs", "merge"])
    private func `a policy decides, and the model follows`(coming: Coming, name: String) async throws {
        let theatre = try await Theatre<Int>()
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(PropRow<Int>.self, 5).set(\.name, "stored"))
        }
        let session = theatre.session()
        let prop = Prop(id: 5)
        prop.name = "new"
        try await coming.bring(prop, session)
        var asked = 0
        let policy: ConflictPolicy =
            switch name {
            case "mine": .mine
            case "theirs": .theirs
            default:
                .merge { conflict in
                    asked += 1
                    return both(conflict)
                }
            }
        try await session.save(onConflict: policy)
        let expected = ["mine": "new", "theirs": "stored", "merge": "both"][name]
        #expect(prop.name == expected)
        #expect(try await theatre.store.find(PropRow<Int>.self, 5)?.name == expected)
        #expect(asked == (name == "merge" ? 1 : 0))
        #expect(session.state(of: prop) == .clean)
        #expect(try await session.find(PropRow<Int>.self, 5) === prop)
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: [Coming.added, .inList]) private func `one beside others that are new stops all`(coming: Coming)
        async throws
    {
        let theatre = try await Theatre<Int>()
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(PropRow<Int>.self, 5).set(\.name, "stored"))
        }
        let session = theatre.session()
        try session.add(Prop(id: 8))
        let prop = Prop(id: 5)
        try await coming.bring(prop, session)
        await #expect(throws: GraphError.self) { try await session.save() }
        #expect(try await theatre.store.find(PropRow<Int>.self, 8) == nil)
        try await session.save(onConflict: .theirs)
        #expect(try await theatre.store.find(PropRow<Int>.self, 8) != nil && prop.name == "stored")
    }

    @Test(arguments: StageLink.allCases) func `an owner over a stored one takes its links if theirs win`(
        link: StageLink
    )
        async throws
    {
        let theatre = try await Theatre<Int>()
        let before = try await theatre.stored
        let session = theatre.session()
        let stage = Stage(id: 1)
        try session.add(stage)
        try await session.save(onConflict: .theirs)
        #expect(try await theatre.stored == before)
        #expect(stage.name == "base")
        try await session.load(stage, link.path(Int.self))
        #expect(link.numbers(stage) == (link == .props || link == .dancers ? [0, 1] : [0]))
        #expect(try await session.save().isEmpty)
    }

    /// What the stored owner has is deleted, as its rule says, or is still its own.
    @Test(arguments: StageLink.allCases, [StoredRowPolicy.fail, .update])
    private func `an owner of orphans leaves none of the old ones lying`(link: StageLink, ifStored: StoredRowPolicy)
        async throws
    {
        let theatre = try await ownersOfOrphans(link)
        let before = try await link.stored(theatre)
        #expect(!before.isEmpty)
        let session = theatre.session(rule: .deleteOrphans)
        let stage = Stage(id: 1)
        link.put(9, into: stage)
        try session.add(stage, ifStored: ifStored)
        try await session.save(onConflict: .mine)
        let after = try await link.stored(theatre)
        #expect(after.contains(9))
        if link == .lead || link == .sign { #expect(after == [9]) }
        for number in before {
            let isStored = try await link.isTargetStored(theatre, number)
            #expect(!isStored || after.contains(number), "\(number) lies about")
        }
        #expect(try await session.save().isEmpty)
    }

    @Test(arguments: StageLink.allCases)
    private func `where theirs win, an owner of orphans keeps them`(link: StageLink) async throws {
        let theatre = try await ownersOfOrphans(link)
        let session = theatre.session(rule: .deleteOrphans)
        let stage = Stage(id: 1)
        stage.name = "new"
        link.put(9, into: stage)
        try session.add(stage)
        // Nothing of the owner's is written; what it alone leads to is.
        try await session.save(onConflict: .theirs)
        for number in try await link.stored(theatre) {
            #expect(try await link.isTargetStored(theatre, number))
        }
        #expect(try await theatre.row(1).name == "base")
    }

    /// Nobody else leads to what the first stage has.
    private func ownersOfOrphans(_ link: StageLink) async throws -> Theatre<Int> {
        let theatre = try await Theatre<Int>()
        try await theatre.store.write { tx in
            for number in 1...2 {
                var row = try #require(try await tx.find(StageRow<Int>.self, number))
                if number == 2 || link != .props { row.props = [] }
                if number == 2 || link != .spares { row.spares = [] }
                if number == 2 || link != .lead { row.lead = nil }
                try await tx.upsert(row)
            }
        }
        return theatre
    }

    @Test func `a model that came by a payload is an upsert of what the payload said`() async throws {
        let theatre = try await Theatre<Int>()
        let session = GraphSession(
            theatre.store,
            [
                PropPayload.mapping, StageRow<Int>.mapping, PropRow<Int>.mapping, DancerRow<Int>.mapping,
                SignRow<Int>.mapping,
            ])
        try session.map([PropPayload(id: 5, name: "payload"), PropPayload(id: 8, name: "payload")])
        try await session.save()
        for id in [5, 8] { #expect(try await theatre.store.find(PropRow<Int>.self, id)?.name == "payload") }
        #expect(try await session.save().isEmpty)
    }

    @Test func `one that is loaded and added is what it was`() async throws {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        try side.session.add(side.stage)
        #expect(try side.session.changes().isEmpty)
        side.stage.name = "mine"
        #expect(try await side.session.save().changes.count == 1)
        #expect(try await theatre.props() == [0, 1])
    }
}

/// What a web API says of a prop.
private struct PropPayload: DTO, Identifiable {
    typealias Model = Prop<Int>
    let id: Int
    let name: String
    static let schema = Schema<Self>("prop") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Prop(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
