import GraphMapper
import GraphMapperStore
import Testing

/// What this session and another writer do to the same rows.
private enum Clash: CaseIterable, Sendable {
    case sameField, otherFields, list, set, reference, orders, dancers, sign, deletion, referenceAndField, vanished

    /// What the app does before it loads again.
    func mine<K: OverlapKey>(_ side: TheatreSide<K>) throws {
        switch self {
        case .sameField: side.stage.name = "mine"
        case .otherFields: side.stage.name = "mine"
        case .list: side.stage.props.append(side.props[2])
        case .set: side.stage.spares.insert(side.props[2])
        case .reference: side.stage.lead = side.props[2]
        case .orders: side.stages[1].props.swapAt(0, 1)
        case .dancers: side.move(dancer: 0, to: side.stages[1])
        case .sign: side.move(sign: 0, to: side.stages[1])
        case .deletion: try side.session.delete(side.dancers[5])
        case .referenceAndField: side.stage.lead = side.props[2]
        case .vanished: side.dancers[5].name = "mine"
        }
    }

    /// What the other writer stores meanwhile.
    func theirs<K: OverlapKey>(_ side: TheatreSide<K>) throws {
        switch self {
        case .sameField: side.stage.name = "theirs"
        case .otherFields: side.stage.note = "theirs"
        case .list: side.stage.props.append(side.props[3])
        case .set:
            side.stage.spares.insert(side.props[3])
            side.stage.spares.remove(side.props[0])
        case .reference: side.stage.lead = side.props[3]
        case .orders: side.stages[1].props.swapAt(2, 3)
        case .dancers: side.move(dancer: 0, to: side.stages[2])
        case .sign: side.move(sign: 0, to: side.stages[2])
        case .deletion: side.dancers[5].name = "theirs"
        case .referenceAndField:
            side.stage.lead = nil
            side.stage.name = "theirs"
        case .vanished: try side.session.delete(side.dancers[5])
        }
    }

    /// What the two clash in; nil where they merge.
    var conflict: Conflict.Kind? {
        switch self {
        case .otherFields, .list, .set: nil
        case .sameField, .reference, .dancers, .sign, .referenceAndField: .value
        case .orders: .list
        case .deletion: .deletedByMe
        case .vanished: .deletedByOther
        }
    }

    /// What this session has edited, for a save of what was named.
    func edited<K: OverlapKey>(_ side: TheatreSide<K>) -> [AnyObject] {
        switch self {
        case .dancers: [side.stages[0], side.stages[1], side.dancers[0]]
        case .sign: [side.stages[0], side.stages[1], side.signs[0]]
        case .deletion: []
        case .orders: [side.stages[1]]
        case .vanished: [side.dancers[5]]
        default: [side.stage]
        }
    }
}

/// How a session loads what it has.
private enum Reload: CaseIterable, Sendable {
    case models, modelsNone, modelsOfEachType, first, find, page, refresh, refreshOfOne, follow, link, inTransaction

    @MainActor func run<K: OverlapKey>(_ side: TheatreSide<K>, _ theatre: Theatre<K>) async throws {
        let session = side.session
        switch self {
        case .models: _ = try await session.models(Query(StageRow<K>.self))
        case .modelsNone: _ = try await session.models(Query(StageRow<K>.self), loading: .none)
        case .modelsOfEachType: _ = try await TheatreSide<K>(session)
        case .first: _ = try await session.first(Query(StageRow<K>.self).sorted(by: \.id))
        case .find: _ = try await session.find(StageRow<K>.self, K(number: 1))
        case .page:
            let page = session.toMany(Query(StageRow<K>.self), as: { $0.id.number }, otherwise: { _, _ in -1 })
            #expect(page.map { $0 }.sorted() == [1, 2, 3])
        case .refresh: try await session.refresh()
        case .refreshOfOne:
            for stage in side.stages { try await session.refresh(stage) }
        case .follow: try await follow(side, theatre)
        case .link:
            for link in StageLink.allCases { try await session.load(side.stages, link.path(K.self)) }
        case .inTransaction:
            try await theatre.store.read { tx in
                _ = try session.models(Query(StageRow<K>.self), in: tx)
                _ = try session.models(Query(DancerRow<K>.self), in: tx)
            }
        }
    }

    /// Follows the store up to what another writer has given a stage that nobody else edits.
    @MainActor private func follow<K: OverlapKey>(_ side: TheatreSide<K>, _ theatre: Theatre<K>) async throws {
        let told = Gate()
        side.stages[2].onName = { if $0 == "last" { told.open() } }
        let session = side.session
        let following = Task { @MainActor in
            defer { told.open() }
            try await session.follow()
        }
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(StageRow<K>.self, K(number: 3)).set(\.name, "last"))
        }
        await told.wait()
        following.cancel()
        try await following.value
        #expect(side.stages[2].name == "last")
        side.stages[2].onName = nil
        // Everybody else's result has the old name.
        try await theatre.store.write { tx in
            _ = try await tx.apply(Patch(StageRow<K>.self, K(number: 3)).set(\.name, "base"))
        }
    }
}

/// Sessions of other kinds.
private enum Variant: CaseIterable, Sendable { case pairs, weak, editedOnly, weakPairs }

@Suite @MainActor struct `The base of an edit` {
    /// What a save of an edit comes to, after loads in between.
    private func outcome<K: OverlapKey>(
        _: K.Type, _ clash: Clash, _ reload: Reload?, _ policy: ConflictPolicy = .fail,
        _ retention: Retention = .strong, only scope: SaveScope = .all, times: Int = 1
    ) async throws -> String {
        let theatre = try await Theatre<K>()
        let (one, two) = (try await theatre.side(retention), try await theatre.side())
        try clash.mine(one)
        if scope == .edited { for model in clash.edited(one) { try one.session.edit(model) } }
        try clash.theirs(two)
        try await two.session.save()
        for _ in 0..<times { try await reload?.run(one, theatre) }
        do {
            try await one.session.save(only: scope, onConflict: policy)
            return "\(try await theatre.stored), then \(try one.session.changes())"
        } catch let error as GraphError {
            let conflicts = error.conflicts.map { conflict in
                "\(conflict.kind) \(conflict.path) \(conflict.base) \(conflict.mine) \(conflict.theirs)"
            }
            return "\(error.kind) \(conflicts.sorted()), \(try await theatre.stored)"
        }
    }

    @Test(arguments: Clash.allCases) private func `a save without a load merges or conflicts`(clash: Clash) async throws
    {
        for retention in [Retention.strong, .weak] {
            for scope in [SaveScope.all, .edited] {
                let found = try await outcome(Int.self, clash, nil, .fail, retention, only: scope)
                let pairs = try await outcome(OverlapPair.self, clash, nil, .fail, retention, only: scope)
                if let kind = clash.conflict {
                    #expect(found.hasPrefix("conflict [\"\(kind) "))
                    #expect(pairs.hasPrefix("conflict [\"\(kind) "))
                } else {
                    #expect(found.hasSuffix("then no changes"))
                    #expect(pairs == found)
                }
            }
        }
    }

    @Test(arguments: Clash.allCases, Reload.allCases)
    private func `a save after a load comes to what it comes to without`(clash: Clash, reload: Reload) async throws {
        let expected = try await outcome(Int.self, clash, nil)
        let found = try await outcome(Int.self, clash, reload)
        #expect(found == expected)
        let ofTwo = try await outcome(Int.self, clash, reload, times: 2)
        #expect(ofTwo == expected, "of two loads")
    }

    @Test(arguments: Clash.allCases, ["mine", "theirs"])
    private func `a policy decides about the base, too`(clash: Clash, name: String) async throws {
        let policy: ConflictPolicy = name == "mine" ? .mine : .theirs
        let expected = try await outcome(Int.self, clash, nil, policy)
        for reload in [Reload.models, .modelsOfEachType, .refresh] {
            let found = try await outcome(Int.self, clash, reload, policy)
            #expect(found == expected, "\(reload)")
        }
    }

    @Test(arguments: Clash.allCases, Variant.allCases)
    private func `the same for other keys, sessions and saves`(clash: Clash, variant: Variant) async throws {
        func compare<K: OverlapKey>(_: K.Type, _ retention: Retention, only scope: SaveScope) async throws {
            let expected = try await outcome(K.self, clash, nil, only: scope)
            for reload in [Reload.modelsOfEachType, .refresh] {
                let found = try await outcome(K.self, clash, reload, .fail, retention, only: scope)
                #expect(found == expected, "\(reload)")
            }
        }
        switch variant {
        case .pairs: try await compare(OverlapPair.self, .strong, only: .all)
        case .weak: try await compare(Int.self, .weak, only: .all)
        case .weakPairs: try await compare(OverlapPair.self, .weak, only: .all)
        case .editedOnly: try await compare(Int.self, .strong, only: .edited)
        }
    }

    @Test func `lists merge after a load`() async throws {
        let theatre = try await Theatre<Int>()
        let (one, two) = (try await theatre.side(), try await theatre.side())
        one.stage.props.append(one.props[2])
        two.stage.props.append(two.props[3])
        try await two.session.save()
        _ = try await one.session.models(Query(StageRow<Int>.self))
        #expect(one.stage.props.map(\.id) == [0, 1, 2])
        try await one.session.save()
        #expect(try await theatre.props() == [0, 1, 3, 2])
        #expect(one.stage.props.map(\.id) == [0, 1, 3, 2])
        #expect(try await one.session.save().isEmpty)
    }

    @Test func `a conflict after a load has the base, and a policy is asked`() async throws {
        for isAsked in [false, true] {
            let theatre = try await Theatre<Int>()
            let (one, two) = (try await theatre.side(), try await theatre.side())
            one.stage.name = "mine"
            two.stage.name = "theirs"
            try await two.session.save()
            _ = try await one.session.models(Query(StageRow<Int>.self))
            var asked: [Conflict] = []
            if isAsked {
                try await one.session.save(
                    onConflict: .merge {
                        asked.append($0)
                        return .merged([.text("both")])
                    })
                #expect(try await theatre.row(1).name == "both" && one.stage.name == "both")
            } else {
                let error = await #expect(throws: GraphError.self) { try await one.session.save() }
                asked = error?.conflicts ?? []
                #expect(error?.message.contains("refresh(.merging") == true, "\(error as Any)")
                #expect(error?.message.contains(".discardingChanges") == true, "\(error as Any)")
                #expect(try await theatre.row(1).name == "theirs" && one.stage.name == "mine")
            }
            #expect(asked.map(\.kind) == [.value] && asked.first?.path == "stage(1).name")
            #expect(asked.first?.base == [.text("base")] && asked.first?.mine == [.text("mine")])
            #expect(asked.first?.theirs == [.text("theirs")])
        }
    }

    @Test func `a load brings what the app has not edited`() async throws {
        let theatre = try await Theatre<Int>()
        let (one, two) = (try await theatre.side(), try await theatre.side())
        one.stage.name = "mine"
        two.stage.note = "theirs"
        two.stage.lead = two.props[4]
        two.stage.props.removeFirst()
        try await two.session.save()
        _ = try await one.session.models(Query(StageRow<Int>.self))
        #expect(one.stage.name == "mine" && one.stage.note == "theirs")
        #expect(one.stage.lead?.id == 4 && one.stage.props.map(\.id) == [1])
        #expect(try await one.session.save().changes.count == 1)
        #expect(try await theatre.row(1).name == "mine")
    }

    /// What has the value of its base is no edit, whatever was stored meanwhile.
    @Test(arguments: [false, true]) func `an edit that is taken back after a load writes nothing`(isList: Bool)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let (one, two) = (try await theatre.side(), try await theatre.side())
        if isList { one.stage.props.append(one.props[2]) } else { one.stage.name = "mine" }
        if isList { two.stage.props.append(two.props[3]) } else { two.stage.name = "theirs" }
        try await two.session.save()
        _ = try await one.session.models(Query(StageRow<Int>.self))
        if isList { one.stage.props.removeLast() } else { one.stage.name = "base" }
        #expect(try await one.session.save().isEmpty)
        _ = try await one.session.models(Query(StageRow<Int>.self))
        #expect(isList ? one.stage.props.map(\.id) == [0, 1, 3] : one.stage.name == "theirs")
        #expect(try one.session.changes().isEmpty)
    }

    @Test func `a rollback after a load has what is stored`() async throws {
        let theatre = try await Theatre<Int>()
        let (one, two) = (try await theatre.side(), try await theatre.side())
        one.stage.name = "mine"
        one.stage.props.append(one.props[2])
        one.stage.spares.insert(one.props[2])
        two.stage.name = "theirs"
        two.stage.props.append(two.props[3])
        two.stage.spares.insert(two.props[3])
        try await two.session.save()
        _ = try await one.session.models(Query(StageRow<Int>.self))
        try one.session.rollback()
        #expect(try one.session.changes().isEmpty)
        _ = try await one.session.models(Query(StageRow<Int>.self))
        #expect(one.stage.name == "theirs" && one.stage.props.map(\.id) == [0, 1, 3])
        #expect(Set(one.stage.spares.map(\.id)) == [0, 3])
    }

    @Test func `a refresh that discards or merges settles a conflict`() async throws {
        for isMerging in [false, true] {
            let theatre = try await Theatre<Int>()
            let (one, two) = (try await theatre.side(), try await theatre.side())
            one.stage.name = "mine"
            two.stage.name = "theirs"
            try await two.session.save()
            _ = try await one.session.models(Query(StageRow<Int>.self))
            var asked: [Conflict] = []
            if isMerging {
                try await one.session.refresh(
                    .merging {
                        asked.append($0)
                        return .merged([.text("both")])
                    })
                #expect(asked.map(\.base) == [[.text("base")]] && asked.map(\.theirs) == [[.text("theirs")]])
                #expect(one.stage.name == "both")
                #expect(try await one.session.save().changes.count == 1)
                #expect(try await theatre.row(1).name == "both")
            } else {
                try await one.session.refresh(.discardingChanges)
                #expect(one.stage.name == "theirs")
                #expect(try await one.session.save().isEmpty)
            }
        }
    }

    // MARK: Versions

    @Test(arguments: ["name", "note", "list"], ["models", "refresh", "find", "page"])
    func `a version that was read again is not one that the edit was made on`(theirs: String, reload: String)
        async throws
    {
        let store = try await GraphStore.open(.inMemory, VersionedStageRow.self)
        try await store.write { tx in
            for id in 0...2 { try await tx.insert(VersionedStageRow(id: id, name: "base", note: "base", version: 1)) }
        }
        let one = GraphSession(store, VersionedStageRow.mapping)
        let two = GraphSession(store, VersionedStageRow.mapping)
        let mine = try await one.models(Query(VersionedStageRow.self).sorted(by: \.id))
        let other = try await two.models(Query(VersionedStageRow.self).sorted(by: \.id))
        mine[0].name = "mine"
        switch theirs {
        case "name": other[0].name = "theirs"
        case "note": other[0].note = "theirs"
        default: other[0].others.append(other[1])
        }
        try await two.save()
        let before = try #require(try await store.find(VersionedStageRow.self, 0))
        switch reload {
        case "models": _ = try await one.models(Query(VersionedStageRow.self))
        case "refresh": try await one.refresh()
        case "find": _ = try await one.find(VersionedStageRow.self, 0)
        default:
            let page = one.toMany(Query(VersionedStageRow.self), as: { $0.id }, otherwise: { _, _ in -1 })
            #expect(page.map { $0 }.sorted() == [0, 1, 2])
        }
        let error = await #expect(throws: GraphError.self) { try await one.save() }
        #expect(error?.kind == .conflict && error?.conflicts.isEmpty == false)
        let after = try #require(try await store.find(VersionedStageRow.self, 0))
        #expect(after.name == before.name && after.note == before.note && after.version == before.version)
        try await one.save(onConflict: .mine)
        let last = try #require(try await store.find(VersionedStageRow.self, 0))
        #expect(last.name == "mine" && last.note == before.note && last.others == before.others)
        #expect(last.version == before.version + 1)
    }
}

private final class VersionedStage {
    let id: Int
    var name = ""
    var note = ""
    var others: [VersionedStage] = []
    init(id: Int) { self.id = id }
}
private struct VersionedStageRow: StoredRecord {
    typealias Model = VersionedStage
    let id: Int
    let name: String
    let note: String
    let version: Int
    var others: [Ref<VersionedStageRow>] = []
    static let schema = Schema<Self>("stage") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), note: row("note", \.note),
            version: row("version", \.version), others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            VersionedStage(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.note, \.note)
            Version(\.version)
            Many(\.others, \.others)
        }
    }
}
