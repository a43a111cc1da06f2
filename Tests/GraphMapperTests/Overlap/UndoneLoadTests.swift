import GraphMapper
import GraphMapperStore
import Testing

/// How a session reads in a transaction.
private enum TransactionLoad: CaseIterable, Sendable {
    case models, first, find, roots, joined

    /// Loads all stages, and dancers, that the transaction sees.
    @MainActor func run<K: OverlapKey>(_ session: GraphSession, _ tx: WriteTransaction, _: K.Type) async throws {
        switch self {
        case .models:
            _ = try session.models(Query(StageRow<K>.self), in: tx)
            _ = try session.models(Query(DancerRow<K>.self), in: tx)
        case .first:
            for number in [1, 2, 3, 7] {
                let key = K(number: number)
                _ = try session.first(Query(StageRow<K>.self).where { $0.id == key }, in: tx)
            }
        case .find:
            // What the session has is not read again by this: only stages that it does not have.
            for number in [1, 2, 3, 7] { _ = try session.find(StageRow<K>.self, K(number: number), from: tx) }
        case .roots:
            let keys = [1, 2, 3, 7].map { K(number: $0) }
            _ = try session.load(tx.fetchNow(StageRow<K>.self, ids: keys), from: tx)
        case .joined:
            try await session.join(tx) {
                _ = try await session.models(Query(StageRow<K>.self))
                _ = try await session.models(Query(DancerRow<K>.self))
            }
        }
    }
}

/// What undoes the transaction.
private enum Undoing: CaseIterable, Sendable {
    case write, savepoint

    @MainActor func run(_ store: GraphStore, _ body: (WriteTransaction) async throws -> Void) async throws {
        switch self {
        case .write:
            await #expect(throws: Undone.self) {
                try await store.write { tx in
                    try await body(tx)
                    throw Undone()
                }
            }
        case .savepoint:
            try await store.write { tx in
                await #expect(throws: Undone.self) {
                    try await tx.savepoint {
                        try await body(tx)
                        throw Undone()
                    }
                }
            }
        }
    }
}

/// A session that reads in a transaction goes back with it.
@Suite @MainActor struct `Loads in transactions that are undone` {
    /// What another writer, or the app by the store itself, does in the transaction.
    private func ghost<K: OverlapKey>(_ tx: WriteTransaction, _: K.Type) async throws {
        try await tx.insert(StageRow(id: K(number: 7), name: "ghost", note: "ghost"))
        var row = try #require(try await tx.find(StageRow<K>.self, K(number: 1)))
        row.name = "ghost"
        row.props = [3, 0].map { Ref(K(number: $0)) }
        row.spares = [Ref(K(number: 3))]
        row.lead = Ref(K(number: 3))
        try await tx.upsert(row)
        _ = try await tx.apply(
            Patch(DancerRow<K>.self, K(number: 0)).set(\.stage, Ref<StageRow<K>>(K(number: 7))))
        _ = try await tx.apply(Patch(SignRow<K>.self, K(number: 0)).set(\.stage, nil))
    }

    private func forgets<K: OverlapKey>(
        _: K.Type, _ load: TransactionLoad, _ undoing: Undoing, isLoadedBefore: Bool,
        _ retention: Retention = .strong
    ) async throws {
        let theatre = try await Theatre<K>()
        let session = theatre.session(retention)
        let kept = isLoadedBefore ? try await TheatreSide<K>(session) : nil
        try await undoing.run(theatre.store) { tx in
            try await ghost(tx, K.self)
            try await load.run(session, tx, K.self)
        }
        #expect(try session.changes().isEmpty)
        #expect(try await session.find(StageRow<K>.self, K(number: 7)) == nil, "a row that never was")
        let stage = try #require(try await session.find(StageRow<K>.self, K(number: 1)))
        if let kept { #expect(stage === kept.stage) }
        #expect(stage.name == "base" && stage.props.map(\.id.number) == [0, 1] && stage.lead?.id.number == 0)
        #expect(stage.spares.map(\.id.number) == [0] && stage.sign?.id.number == 0)
        #expect(Set(stage.dancers.map(\.id.number)) == [0, 1])
        #expect(stage.dancers.allSatisfy { $0.stage === stage })
        #expect(try session.changes().isEmpty)
        // An edit to a value that was never committed is one.
        stage.name = "ghost"
        #expect(try session.changes().changes.count == 1)
        try session.rollback()
        #expect(stage.name == "base")
        stage.name = "ghost"
        stage.props = [Prop(id: K(number: 8))] + stage.props.prefix(1)
        try await session.save()
        #expect(try await theatre.row(1).name == "ghost")
        #expect(try await theatre.props() == [8, 0])
    }

    @Test(arguments: TransactionLoad.allCases, Undoing.allCases)
    private func `what is loaded for the first time is forgotten`(load: TransactionLoad, undoing: Undoing) async throws
    {
        try await forgets(Int.self, load, undoing, isLoadedBefore: false)
    }

    @Test(arguments: TransactionLoad.allCases, Undoing.allCases)
    private func `what was loaded before is as it was`(load: TransactionLoad, undoing: Undoing) async throws {
        try await forgets(Int.self, load, undoing, isLoadedBefore: true)
    }

    @Test(arguments: TransactionLoad.allCases, [false, true])
    private func `the same for other keys and sessions`(load: TransactionLoad, isLoadedBefore: Bool) async throws {
        try await forgets(OverlapPair.self, load, .write, isLoadedBefore: isLoadedBefore)
        try await forgets(Int.self, load, .write, isLoadedBefore: isLoadedBefore, .weak)
    }

    @Test(arguments: TransactionLoad.allCases) private func `models of rows that never were are unknown`(
        load: TransactionLoad
    ) async throws {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        var ghosts: [Stage<Int>] = []
        await #expect(throws: Undone.self) {
            try await theatre.store.write { tx in
                try await ghost(tx, Int.self)
                try await load.run(session, tx, Int.self)
                ghosts = try session.models(Query(StageRow<Int>.self).where { $0.name == "ghost" }, in: tx)
                throw Undone()
            }
        }
        let stranger = try #require(ghosts.first { $0.id == 7 })
        #expect(session.state(of: stranger) == nil)
        let all = try await session.models(Query(StageRow<Int>.self).sorted(by: \.id))
        #expect(all.map(\.id) == [1, 2, 3] && all.map(\.name) == ["base", "base", "base"])
        #expect(try session.changes().isEmpty)
    }

    /// The app's own edits are not the transaction's.
    @Test(arguments: TransactionLoad.allCases, Undoing.allCases)
    private func `edits from before stay`(load: TransactionLoad, undoing: Undoing) async throws {
        let theatre = try await Theatre<Int>()
        let side = try await theatre.side()
        side.stage.note = "mine"
        side.stage.props.append(side.props[5])
        side.move(dancer: 5, to: side.stage)
        try await undoing.run(theatre.store) { tx in
            try await ghost(tx, Int.self)
            try await load.run(side.session, tx, Int.self)
        }
        #expect(side.stage.note == "mine" && side.stage.name == "base")
        #expect(side.stage.props.map(\.id) == [0, 1, 5])
        #expect(Set(side.stage.dancers.map(\.id)) == [0, 1, 5])
        try await side.session.save()
        let row = try await theatre.row(1)
        #expect(row.note == "mine" && row.name == "base" && row.props.map(\.id) == [0, 1, 5])
        #expect(try await theatre.dancers() == [0, 1, 5])
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: TransactionLoad.allCases) private func `what is committed is known`(load: TransactionLoad)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        try await theatre.store.write { tx in
            try await ghost(tx, Int.self)
            try await load.run(session, tx, Int.self)
        }
        let stage = try #require(try await session.find(StageRow<Int>.self, 7))
        #expect(stage.name == "ghost" && session.state(of: stage) == .clean)
        #expect(try session.changes().isEmpty)
        stage.name = "edited"
        try await session.save()
        #expect(try await theatre.row(7).name == "edited")
    }

    @Test(arguments: [false, true]) func `a session's own savepoint forgets what it has read`(isNested: Bool)
        async throws
    {
        let theatre = try await Theatre<Int>()
        let session = theatre.session()
        let prop = Prop(id: 9)
        func work() async throws {
            let stage = try #require(try await session.find(StageRow<Int>.self, 1))
            (stage.name, stage.props) = ("ghost", [prop])
            try await session.save()
            _ = try await session.models(Query(StageRow<Int>.self))
            throw Undone()
        }
        if isNested {
            try await session.savepoint {
                await #expect(throws: Undone.self) { try await session.savepoint { try await work() } }
            }
        } else {
            await #expect(throws: Undone.self) { try await session.savepoint { try await work() } }
        }
        #expect(try session.changes().isEmpty)
        #expect(try await session.find(PropRow<Int>.self, 9) == nil)
        let stage = try #require(try await session.find(StageRow<Int>.self, 1))
        #expect(stage.name == "base" && stage.props.map(\.id) == [0, 1])
        stage.name = "ghost"
        #expect(try await session.save().changes.count == 1)
        #expect(try await theatre.row(1).name == "ghost")
    }

    @Test func `a row that is deleted in it is there again`() async throws {
        for isLoadedBefore in [false, true] {
            let theatre = try await Theatre<Int>()
            let session = theatre.session()
            let kept = isLoadedBefore ? try await TheatreSide<Int>(session) : nil
            await #expect(throws: Undone.self) {
                try await theatre.store.write { tx in
                    _ = try await tx.delete(DancerRow<Int>.self, 0)
                    _ = try session.models(Query(StageRow<Int>.self), in: tx)
                    throw Undone()
                }
            }
            let stage = try #require(try await session.find(StageRow<Int>.self, 1))
            #expect(Set(stage.dancers.map(\.id)) == [0, 1])
            let dancer = try #require(try await session.find(DancerRow<Int>.self, 0))
            #expect(dancer.stage === stage && session.state(of: dancer) == .clean)
            if let kept { #expect(dancer === kept.dancers[0]) }
            #expect(try session.changes().isEmpty)
        }
    }

    @Test func `a lazy value that was never committed is not known`() async throws {
        let store = try await GraphStore.open(.inMemory, PosterRow.self)
        try await store.write { try await $0.insert(PosterRow(id: 1, title: "base", text: Lazy("base"))) }
        let session = GraphSession(store, PosterRow.mapping)
        let poster = try #require(try await session.find(PosterRow.self, 1))
        await #expect(throws: Undone.self) {
            try await store.write { tx in
                _ = try await tx.apply(Patch(PosterRow.self, 1).set(\.text, Lazy("ghost")))
                try await session.join(tx) { try await session.load(poster, \PosterRow.text) }
                throw Undone()
            }
        }
        #expect(poster.text == nil)
        poster.text = "ghost"
        try await session.save()
        #expect(try await store.lazyValues(PosterRow.self, \.text, ids: [1]) == [1: "ghost"])
    }
}
