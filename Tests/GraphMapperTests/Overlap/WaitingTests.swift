import GraphMapper
import GraphMapperStore
import Testing

/// What an app does to a stage while a session waits.
private enum Edit: CaseIterable, Sendable {
    case field, list, set, reference, dancers, sign, back, addition, deletion

    func make<K: OverlapKey>(_ side: TheatreSide<K>) throws {
        let stage = side.stage
        switch self {
        case .field: stage.note = "typed"
        case .list: stage.props.append(side.props[4])
        case .set: stage.spares.insert(side.props[4])
        case .reference: stage.lead = side.props[4]
        case .dancers: side.move(dancer: 4, to: stage)
        case .sign: side.move(sign: 2, to: stage)
        case .back: side.dancers[4].stage = stage
        case .addition:
            let dancer = Dancer(id: K(number: 9))
            dancer.name = "typed"
            try side.session.add(dancer)
        case .deletion: try side.session.delete(side.dancers[5])
        }
    }

    /// Whether the edit is still in the models.
    func isThere<K: OverlapKey>(_ side: TheatreSide<K>) -> Bool {
        let stage = side.stage
        return switch self {
        case .field: stage.note == "typed"
        case .list: stage.props.contains { $0 === side.props[4] }
        case .set: stage.spares.contains(side.props[4])
        case .reference: stage.lead === side.props[4]
        case .dancers: stage.dancers.contains { $0 === side.dancers[4] } && side.dancers[4].stage === stage
        case .sign: stage.sign === side.signs[2] && side.signs[2].stage === stage
        case .back: side.dancers[4].stage === stage
        case .addition: true
        case .deletion: side.session.state(of: side.dancers[5]) == .deleted
        }
    }

    /// Whether the edit is stored.
    func isStored<K: OverlapKey>(_ theatre: Theatre<K>) async throws -> Bool {
        switch self {
        case .field: try await theatre.row(1).note == "typed"
        case .list: try await theatre.props().contains(4)
        case .set: try await theatre.row(1).spares.contains(Ref(K(number: 4)))
        case .reference: try await theatre.row(1).lead?.id.number == 4
        case .dancers, .back: try await theatre.dancers().contains(4)
        case .sign: try await theatre.signs() == [2]
        case .addition: try await theatre.store.find(DancerRow<K>.self, K(number: 9))?.name == "typed"
        case .deletion: try await theatre.store.find(DancerRow<K>.self, K(number: 5)) == nil
        }
    }
}

/// What is deleted, and by which link the stage leads to it.
private enum Victim: CaseIterable, Sendable {
    case prop, dancer, sign
    /// A dancer that no stage has.
    case stranger

    func model<K: OverlapKey>(_ side: TheatreSide<K>) -> AnyObject {
        switch self {
        case .prop: side.props[0]
        case .dancer: side.dancers[0]
        case .sign: side.signs[0]
        case .stranger: side.dancers[5]
        }
    }
}

/// While something waits, what the app does belongs to the next save.
@Suite @MainActor struct `Edits while a session waits` {
    private func opened<K: OverlapKey>(_: K.Type, _ retention: Retention = .strong) async throws -> (
        Theatre<K>, WaitingStore, TheatreSide<K>
    ) {
        let theatre = try await Theatre<K>()
        let waiting = WaitingStore(theatre.store)
        return (theatre, waiting, try await theatre.side(retention, over: waiting))
    }

    // MARK: Saves

    private func belongsToNextSave<K: OverlapKey>(
        _: K.Type, _ edit: Edit, _ point: WaitingStore.Point, _ retention: Retention = .strong,
        only scope: SaveScope = .all
    ) async throws {
        let (theatre, waiting, side) = try await opened(K.self, retention)
        side.stage.name = "mine"
        if scope == .edited { try side.session.edit(side.stage) }
        try await waiting.whileWaiting(point) {
            try await side.session.save(only: scope)
        } edits: {
            try edit.make(side)
            if scope == .edited {
                try side.session.edit(side.stage)
                for model in [side.dancers[4], side.signs[0], side.signs[2]] as [AnyObject] {
                    try side.session.edit(model)
                }
            }
        }
        #expect(try await theatre.row(1).name == "mine")
        #expect(try await !edit.isStored(theatre), "it was written too early")
        #expect(edit.isThere(side), "it was taken back")
        #expect(try !side.session.changes().isEmpty, "it was forgotten")
        try await side.session.save(only: scope)
        #expect(try await edit.isStored(theatre))
        #expect(edit.isThere(side) || edit == .deletion)
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: Edit.allCases, [WaitingStore.Point.writer, .commit])
    private func `an edit while a save waits is written by the next`(edit: Edit, point: WaitingStore.Point)
        async throws
    {
        try await belongsToNextSave(Int.self, edit, point)
    }

    @Test(arguments: Edit.allCases) private func `the same for other keys, sessions and saves`(edit: Edit) async throws
    {
        try await belongsToNextSave(OverlapPair.self, edit, .writer)
        try await belongsToNextSave(Int.self, edit, .writer, .weak)
        try await belongsToNextSave(Int.self, edit, .writer, only: .edited)
    }

    @Test(arguments: ["other", "base"], [WaitingStore.Point.writer, .commit])
    func `what is edited again while it is saved is saved again`(value: String, point: WaitingStore.Point) async throws
    {
        let (theatre, waiting, side) = try await opened(Int.self)
        side.stage.name = "mine"
        side.stage.props.append(side.props[2])
        side.move(dancer: 2, to: side.stage)
        try await waiting.whileWaiting(point) {
            try await side.session.save()
        } edits: {
            side.stage.name = value
            side.stage.props.removeLast()
            side.move(dancer: 2, to: nil)
        }
        #expect(try await theatre.row(1).name == "mine")
        #expect(try await theatre.props() == [0, 1, 2])
        #expect(try await theatre.dancers() == [0, 1, 2])
        #expect(side.stage.name == value && side.stage.props.map(\.id) == [0, 1])
        try await side.session.save()
        #expect(try await theatre.row(1).name == value)
        #expect(try await theatre.props() == [0, 1])
        #expect(try await theatre.dancers() == [0, 1])
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: Edit.allCases, [WaitingStore.Point.writer, .commit])
    private func `a save that fails takes back nothing`(edit: Edit, point: WaitingStore.Point) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        side.stage.name = "mine"
        let before = try await theatre.stored
        await #expect(throws: Undone.self) {
            try await waiting.whileWaiting(point, failingWith: Undone()) {
                try await side.session.save()
            } edits: {
                try edit.make(side)
            }
        }
        #expect(try await theatre.stored == before)
        #expect(side.stage.name == "mine" && edit.isThere(side))
        try await side.session.save()
        #expect(try await theatre.row(1).name == "mine")
        #expect(try await edit.isStored(theatre))
        #expect(try await side.session.save().isEmpty)
    }

    private func undoes<K: OverlapKey>(
        _: K.Type, _ victim: Victim, _ point: WaitingStore.Point, _ retention: Retention = .strong
    ) async throws {
        let (theatre, waiting, side) = try await opened(K.self, retention)
        let model = victim.model(side)
        let before = try await theatre.stored
        try side.session.delete(model)
        try await waiting.whileWaiting(point) {
            try await side.session.save()
        } edits: {
            try side.session.add(model)
        }
        #expect(side.session.state(of: model) == .new)
        switch victim {
        case .prop:
            #expect(side.stage.props.map(\.id.number) == [0, 1] && side.stage.lead === model)
            #expect(side.stage.spares.map(\.id.number) == [0])
        case .dancer: #expect(side.stage.dancers.map(\.id.number) == [0, 1])
        case .sign: #expect(side.stage.sign === model)
        case .stranger: break
        }
        try await side.session.save()
        #expect(try await theatre.stored == before)
        #expect(side.session.state(of: model) == .clean)
        #expect(try await side.session.save().isEmpty)
        try await side.session.refresh()
        #expect(try side.session.changes().isEmpty)
    }

    @Test(arguments: Victim.allCases, [WaitingStore.Point.writer, .commit])
    private func `a deletion that is taken back while it is saved is an insertion`(
        victim: Victim, point: WaitingStore.Point
    ) async throws {
        try await undoes(Int.self, victim, point)
    }

    @Test(arguments: Victim.allCases)
    private func `the same deletion for other keys and sessions`(victim: Victim) async throws {
        try await undoes(OverlapPair.self, victim, .writer)
        try await undoes(Int.self, victim, .writer, .weak)
    }

    @Test(arguments: [WaitingStore.Point.writer, .commit])
    func `a new object that is deleted while it is inserted is deleted by the next save`(point: WaitingStore.Point)
        async throws
    {
        let (theatre, waiting, side) = try await opened(Int.self)
        let prop = Prop(id: 9)
        side.stage.props.append(prop)
        try await waiting.whileWaiting(point) {
            try await side.session.save()
        } edits: {
            try side.session.delete(prop)
        }
        #expect(try await theatre.props() == [0, 1, 9])
        try await side.session.save()
        #expect(try await theatre.props() == [0, 1])
        #expect(try await theatre.store.find(PropRow<Int>.self, 9) == nil)
        #expect(try await side.session.save().isEmpty)
    }

    @Test func `what a policy has taken from the other writer is not what the app has typed since`() async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        let two = try await theatre.side()
        side.stage.name = "mine"
        two.stage.name = "theirs"
        try await two.session.save()
        try await waiting.whileWaiting(.commit) {
            try await side.session.save(onConflict: .theirs)
        } edits: {
            side.stage.name = "typed"
        }
        #expect(try await theatre.row(1).name == "theirs")
        #expect(side.stage.name == "typed")
        try await side.session.save(onConflict: .mine)
        #expect(try await theatre.row(1).name == "typed")
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: [WaitingStore.Point.writer, .commit])
    func `a merged list keeps what was put in meanwhile`(point: WaitingStore.Point) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        let two = try await theatre.side()
        side.stage.props.append(side.props[2])
        two.stage.props.append(two.props[3])
        try await two.session.save()
        try await waiting.whileWaiting(point) {
            try await side.session.save()
        } edits: {
            side.stage.props.append(side.props[4])
        }
        #expect(try await theatre.props() == [0, 1, 3, 2])
        #expect(side.stage.props.last === side.props[4])
        try await side.session.save()
        #expect(try await theatre.props() == [0, 1, 3, 2, 4])
        #expect(side.stage.props.map(\.id) == [0, 1, 3, 2, 4])
        #expect(try await side.session.save().isEmpty)
    }

    @Test func `a weakly held model that is edited while a save waits is kept`() async throws {
        let (theatre, waiting, side) = try await opened(Int.self, .weak)
        let session = side.session
        side.stages = [side.stages[0]]
        side.dancers[5].name = "first"
        try await waiting.whileWaiting(.writer) {
            try await session.save()
        } edits: {
            side.dancers[5].name = "typed"
            // Nobody but the session has it from here on.
            side.dancers = []
        }
        try await session.save()
        #expect(try await theatre.store.find(DancerRow<Int>.self, 5)?.name == "typed")
    }

    // MARK: Loads

    @Test(arguments: Edit.allCases) private func `an edit while a load waits stays an edit`(edit: Edit) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        let two = try await theatre.side()
        two.stage.name = "theirs"
        try await two.session.save()
        try await waiting.whileWaiting(.snapshot) {
            _ = try await side.session.models(Query(StageRow<Int>.self))
            _ = try await side.session.models(Query(DancerRow<Int>.self))
        } edits: {
            try edit.make(side)
        }
        #expect(side.stage.name == "theirs" && edit.isThere(side))
        try await side.session.save()
        #expect(try await edit.isStored(theatre))
        #expect(try await side.session.save().isEmpty)
    }

    @Test func `an edit while a load waits has the base that it was made on`() async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        let two = try await theatre.side()
        (two.stage.name, two.stage.props) = ("theirs", two.stage.props + [two.props[3]])
        try await two.session.save()
        try await waiting.whileWaiting(.snapshot) {
            _ = try await side.session.models(Query(StageRow<Int>.self))
        } edits: {
            side.stage.name = "typed"
            side.stage.props.append(side.props[2])
        }
        let error = await #expect(throws: GraphError.self) { try await side.session.save() }
        #expect(error?.conflicts.map(\.property) == ["name"])
        try await side.session.save(onConflict: .mine)
        #expect(try await theatre.row(1).name == "typed")
        #expect(try await theatre.props() == [0, 1, 3, 2])
    }

    // MARK: Merges

    private func payloadSession(_ waiting: WaitingStore) async throws -> TheatreSide<Int> {
        try await TheatreSide(
            GraphSession(
                waiting,
                [
                    StageNamePayload.mapping, StageRow<Int>.mapping, PropRow<Int>.mapping, DancerRow<Int>.mapping,
                    SignRow<Int>.mapping,
                ]))
    }

    @Test(arguments: Edit.allCases, [false, true])
    private func `an edit while a merge waits is kept`(edit: Edit, isFailing: Bool) async throws {
        let theatre = try await Theatre<Int>()
        let waiting = WaitingStore(theatre.store)
        let side = try await payloadSession(waiting)
        if isFailing { side.stage.name = "mine" }
        func merge() async throws {
            try await waiting.whileWaiting(.snapshot) {
                _ = try await side.session.merge([StageNamePayload(id: 1, name: "payload")])
            } edits: {
                try edit.make(side)
            }
        }
        if isFailing {
            let error = await #expect(throws: GraphError.self) { try await merge() }
            #expect(error?.kind == .conflict)
        } else {
            try await merge()
        }
        #expect(edit.isThere(side))
        #expect(side.stage.name == (isFailing ? "mine" : "payload"))
        try await side.session.save()
        #expect(try await edit.isStored(theatre))
        #expect(try await theatre.row(1).name == (isFailing ? "mine" : "payload"))
        #expect(try await side.session.save().isEmpty)
    }

    // MARK: Savepoints

    @Test(arguments: Edit.allCases, [WaitingStore.Point.writer, .commit])
    private func `an edit while a savepoint waits is kept when that is undone`(
        edit: Edit, point: WaitingStore.Point
    ) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        side.stages[2].name = "before"
        await #expect(throws: Undone.self) {
            try await waiting.whileWaiting(point, failingWith: Undone()) {
                try await side.session.savepoint {
                    side.stages[1].name = "inside"
                    try await side.session.save()
                }
            } edits: {
                try edit.make(side)
            }
        }
        #expect(side.stages[1].name == "base" && side.stages[2].name == "before")
        #expect(edit.isThere(side))
        try await side.session.save()
        #expect(try await edit.isStored(theatre))
        #expect(try await theatre.row(3).name == "before")
        #expect(try await theatre.row(2).name == "base")
        #expect(try await side.session.save().isEmpty)
    }

    @Test(arguments: Edit.allCases) private func `a body that throws does not take back what was typed before it ran`(
        edit: Edit
    ) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        await #expect(throws: Undone.self) {
            try await waiting.whileWaiting(.writer) {
                try await side.session.savepoint {
                    side.stages[1].name = "inside"
                    throw Undone()
                }
            } edits: {
                try edit.make(side)
            }
        }
        #expect(side.stages[1].name == "base" && edit.isThere(side))
        try await side.session.save()
        #expect(try await edit.isStored(theatre))
    }

    @Test(arguments: Edit.allCases)
    private func `an edit while a savepoint's transaction ends is kept when it succeeds`(
        edit: Edit
    ) async throws {
        let (theatre, waiting, side) = try await opened(Int.self)
        try await waiting.whileWaiting(.commit) {
            try await side.session.savepoint {
                side.stages[1].name = "inside"
                try await side.session.save()
            }
        } edits: {
            try edit.make(side)
        }
        #expect(side.stages[1].name == "inside" && edit.isThere(side))
        #expect(try await theatre.row(2).name == "inside")
        try await side.session.save()
        #expect(try await edit.isStored(theatre))
    }
}

/// What a web API says of a stage.
private struct StageNamePayload: DTO, Identifiable {
    typealias Model = Stage<Int>
    let id: Int
    let name: String
    static let schema = Schema<Self>("stage") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Stage(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
