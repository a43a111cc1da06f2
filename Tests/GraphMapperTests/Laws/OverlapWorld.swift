import GraphMapperStore
import GraphMapperTesting

@testable import GraphMapper

/// One session of two, with its models, and what a naive reader expects of them.
@MainActor final class OverlapSide<K: OverlapKey> {
    let session: GraphSession
    let waiting: WaitingStore
    var stages: [Int: Stage<K>] = [:]
    var props: [Int: Prop<K>] = [:]
    var dancers: [Int: Dancer<K>] = [:]
    var expected = NaiveSession()

    init(_ theatre: Theatre<K>, _ retention: Retention) async throws {
        waiting = WaitingStore(theatre.store)
        session = theatre.session(retention, over: waiting)
        for stage in try await session.models(Query(StageRow<K>.self)) { stages[stage.id.number] = stage }
        for prop in try await session.models(Query(PropRow<K>.self)) { props[prop.id.number] = prop }
        for dancer in try await session.models(Query(DancerRow<K>.self)) { dancers[dancer.id.number] = dancer }
    }

    /// What the models hold.
    func value(_ cell: OverlapCell) -> OverlapValue? {
        switch cell.kind {
        case .stageName: stages[cell.id].map { .text($0.name) }
        case .stageNote: stages[cell.id].map { .text($0.note) }
        case .props: stages[cell.id].map { .list($0.props.map(\.id.number)) }
        case .spares: stages[cell.id].map { .set(Set($0.spares.map(\.id.number))) }
        case .lead: stages[cell.id].map { .reference($0.lead?.id.number) }
        case .propName: props[cell.id].map { .text($0.name) }
        case .dancerName: dancers[cell.id].map { .text($0.name) }
        case .dancerStage: dancers[cell.id].map { .reference($0.stage?.id.number) }
        }
    }

    func set(_ cell: OverlapCell, _ value: OverlapValue) {
        switch (cell.kind, value) {
        case (.stageName, .text(let text)): stages[cell.id]?.name = text
        case (.stageNote, .text(let text)): stages[cell.id]?.note = text
        case (.propName, .text(let text)): props[cell.id]?.name = text
        case (.dancerName, .text(let text)): dancers[cell.id]?.name = text
        case (.props, .list(let ids)): stages[cell.id]?.props = ids.compactMap { props[$0] }
        case (.spares, .set(let ids)): stages[cell.id]?.spares = Set(ids.compactMap { props[$0] })
        case (.lead, .reference(let id)): stages[cell.id]?.lead = id.flatMap { props[$0] }
        case (.dancerStage, .reference(let id)):
            guard let dancer = dancers[cell.id] else { return }
            for stage in stages.values { stage.dancers.removeAll { $0 === dancer } }
            dancer.stage = id.flatMap { stages[$0] }
            dancer.stage?.dancers.append(dancer)
        default: break
        }
    }

    /// Does what the app does in one place, and expects it to be there.
    func edit(_ cell: OverlapCell, _ change: (OverlapValue) -> OverlapValue?) {
        // What is not known cannot be edited.
        guard let state = expected.cells[cell], !state.isUnknown, let new = change(state.mine) else { return }
        set(cell, new)
        expected.edit(cell, new)
    }

    /// Objects that loads have brought are there from now on.
    func discover(_ store: NaiveStore) throws {
        for (cell, value) in store.cells where cell.kind == .dancerName && dancers[cell.id] == nil {
            guard let dancer = try session.loaded(DancerRow<K>.self, K(number: cell.id)) else { continue }
            dancers[cell.id] = dancer
            expected.read(cell, value)
            let stage = OverlapCell(.dancerStage, cell.id)
            if let value = store.cells[stage] { expected.read(stage, value) }
        }
    }

    /// Compares the models with what is expected of them.
    func verify(_ store: NaiveStore, _ place: String) throws {
        try discover(store)
        for (cell, state) in expected.cells.sorted(by: { $0.key < $1.key }) {
            let value = value(cell)
            if value == state.mine { continue }
            // What the app has not edited may be as new as what is stored.
            if !state.isEdited, let stored = store.cells[cell], value == stored {
                expected.cells[cell] = NaiveSession.State(seen: stored, mine: stored)
                continue
            }
            throw Violation(
                description: "\(place): \(cell) is \(value.map { "\($0)" } ?? "not there"), not \(state.mine)"
                    + (state.isEdited ? ", an edit of \(state.origin.map { "\($0)" } ?? "nothing")" : ""))
        }
        for stage in stages.values {
            let named = dancers.values.filter { $0.stage === stage }.map(\.id.number).sorted()
            try ensure(
                stage.dancers.map(\.id.number).sorted() == named,
                "\(place): stage \(stage.id.number) has dancers \(stage.dancers.map(\.id.number)), and \(named) name it"
            )
        }
    }
}

/// The store and two sessions on it.
@MainActor final class OverlapWorld<K: OverlapKey> {
    let theatre: Theatre<K>
    let sides: [OverlapSide<K>]
    var stored = NaiveStore()
    var nextDancer = 20
    private var place = ""

    init(_ retention: Retention) async throws {
        theatre = try await Theatre<K>()
        sides = [try await OverlapSide(theatre, retention), try await OverlapSide(theatre, retention)]
        stored.cells = try await readAll()
        for side in sides { for (cell, value) in stored.cells { side.expected.read(cell, value) } }
        try await verify("at the start")
    }

    /// What is stored indeed.
    private func readAll() async throws -> [OverlapCell: OverlapValue] {
        var cells: [OverlapCell: OverlapValue] = [:]
        for row in try await theatre.store.fetch(Query(StageRow<K>.self)) {
            let id = row.id.number
            cells[OverlapCell(.stageName, id)] = .text(row.name)
            cells[OverlapCell(.stageNote, id)] = .text(row.note)
            cells[OverlapCell(.props, id)] = .list(row.props.map(\.id.number))
            cells[OverlapCell(.spares, id)] = .set(Set(row.spares.map(\.id.number)))
            cells[OverlapCell(.lead, id)] = .reference(row.lead?.id.number)
        }
        for row in try await theatre.store.fetch(Query(PropRow<K>.self)) {
            cells[OverlapCell(.propName, row.id.number)] = .text(row.name)
        }
        for row in try await theatre.store.fetch(Query(DancerRow<K>.self)) {
            cells[OverlapCell(.dancerName, row.id.number)] = .text(row.name)
            cells[OverlapCell(.dancerStage, row.id.number)] = .reference(row.stage?.id.number)
        }
        return cells
    }

    func run(_ commands: [OverlapCommand]) async throws {
        for (number, command) in commands.enumerated() {
            place = "\(number), \(command)"
            try await run(command)
            try await verify(place)
        }
        for side in sides {
            try await save(side, .mine, only: .all)
            try await verify("after the last save")
            let changes = try side.session.changes()
            try ensure(changes.isEmpty, "not clean after the last save: \(changes)")
        }
        for side in sides {
            try await side.session.refresh()
            readEverything(side)
            try await verify("after the last refresh")
        }
        try ensure(try await theatre.store.checkIntegrity().isSound, "the file is not sound")
    }

    private func verify(_ place: String) async throws {
        let found = try await readAll()
        for cell in Set(found.keys).union(stored.cells.keys).sorted() where found[cell] != stored.cells[cell] {
            throw Violation(
                description: "\(place): stored \(cell) is \(found[cell].map { "\($0)" } ?? "not there"), not "
                    + (stored.cells[cell].map { "\($0)" } ?? "there"))
        }
        for (number, side) in sides.enumerated() { try side.verify(stored, "\(place), side \(number)") }
    }

    private func run(_ command: OverlapCommand) async throws {
        let side = sides[command.side]
        switch command.kind {
        case .save: try await save(side, OverlapPolicy(rawValue: command.one % 3) ?? .fail, only: .all)
        case .saveEdited: try await save(side, OverlapPolicy(rawValue: command.one % 3) ?? .fail, only: .edited)
        case .load: try await load(side, command)
        case .merge: try await merge(side, command)
        case .rollBack: try rollBack(side)
        case .writeBeside: try await writeBeside(command)
        case .savepoint: try await savepoint(side, command)
        case .transaction: try await transaction(side, command)
        case .waitForSave: try await waitForSave(side, command)
        case .waitForLoad: try await waitForLoad(side, command)
        case .waitForSavepoint: try await waitForSavepoint(side, command)
        default: try edit(side, command)
        }
    }

    // MARK: Edits

    private func edit(_ side: OverlapSide<K>, _ command: OverlapCommand) throws {
        let (one, two) = (command.one, command.two)
        let stage = 1 + one % 3
        switch command.kind {
        case .stageName: side.edit(OverlapCell(.stageName, stage)) { _ in .text("\(two)") }
        case .stageNote: side.edit(OverlapCell(.stageNote, stage)) { _ in .text("\(two)") }
        case .propName: side.edit(OverlapCell(.propName, one % 6)) { _ in .text("\(two)") }
        case .dancerName: side.edit(OverlapCell(.dancerName, dancer(side, one))) { _ in .text("\(two)") }
        case .lead: side.edit(OverlapCell(.lead, stage)) { _ in .reference(two == 0 ? nil : two) }
        case .toggle:
            side.edit(OverlapCell(.spares, stage)) {
                guard case .set(let ids) = $0 else { return nil }
                return .set(ids.symmetricDifference([two]))
            }
        case .append, .remove, .move:
            side.edit(OverlapCell(.props, stage)) {
                guard case .list(var ids) = $0 else { return nil }
                if command.kind == .append { ids.insert(two, at: one / 3 % (ids.count + 1)) }
                guard !ids.isEmpty else { return nil }
                if command.kind != .append {
                    let id = ids.remove(at: two % ids.count)
                    if command.kind == .move { ids.insert(id, at: one / 3 % (ids.count + 1)) }
                }
                return .list(ids)
            }
        case .dancerStage:
            side.edit(OverlapCell(.dancerStage, dancer(side, one))) { _ in .reference(two % 4 == 0 ? nil : two % 4) }
        case .addDancer:
            let dancer = Dancer(id: K(number: nextDancer))
            dancer.name = "\(two)"
            side.dancers[nextDancer] = dancer
            let (name, stage) = (OverlapCell(.dancerName, nextDancer), OverlapCell(.dancerStage, nextDancer))
            nextDancer += 1
            side.expected.cells[name] = .init(mine: .text("\(two)"))
            side.expected.cells[stage] = .init(mine: .reference(nil))
            try side.session.add(dancer)
            side.edit(stage) { _ in .reference(one % 4 == 0 ? nil : one % 4) }
        default: break
        }
    }

    /// One of the dancers that a side has.
    private func dancer(_ side: OverlapSide<K>, _ number: Int) -> Int {
        let ids = side.dancers.keys.sorted()
        return ids[number % ids.count]
    }

    // MARK: Saves

    private func policy(_ policy: OverlapPolicy) -> ConflictPolicy {
        switch policy {
        case .fail: .fail
        case .mine: .mine
        case .theirs: .theirs
        }
    }

    /// Names what a side has edited.
    private func nameEdits(_ side: OverlapSide<K>) throws {
        for (cell, state) in side.expected.cells where state.isEdited {
            switch cell.kind {
            case .propName: try side.props[cell.id].map(side.session.edit)
            case .dancerName, .dancerStage: try side.dancers[cell.id].map(side.session.edit)
            default: try side.stages[cell.id].map(side.session.edit)
            }
        }
    }

    private func save(_ side: OverlapSide<K>, _ policy: OverlapPolicy, only scope: SaveScope) async throws {
        if scope == .edited { try nameEdits(side) }
        let plan = side.expected.plan
        do {
            try await side.session.save(only: scope, onConflict: self.policy(policy))
        } catch let error as GraphError where error.kind == .conflict {
            try ensure(stored.applying(plan, policy) == nil, "\(place): a conflict without cause: \(error)")
            return
        }
        try commit(side, plan, policy)
    }

    private func commit(_ side: OverlapSide<K>, _ plan: NaiveStore.Plan, _ policy: OverlapPolicy) throws {
        guard let (store, final) = stored.applying(plan, policy) else {
            throw Violation(description: "\(place): a conflict was not told, planned was \(plan)")
        }
        stored = store
        side.expected.commit(plan, final)
    }

    // MARK: Loads

    private func load(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let session = side.session
        let id = 1 + command.two % 3
        switch command.one % 8 {
        case 0:
            try await session.refresh()
            readEverything(side)
        case 1:
            _ = try await session.models(Query(StageRow<K>.self))
            for id in 1...3 { read(side, OverlapCell.ofStage, id) }
        case 2:
            _ = try await session.models(Query(DancerRow<K>.self))
            for id in storedDancers { read(side, OverlapCell.ofDancer, id) }
        case 3:
            _ = try await session.models(Query(StageRow<K>.self), loading: .none)
            for id in 1...3 { readShallow(side, id) }
        case 4:
            if let stage = side.stages[id] { try await session.refresh(stage) }
            read(side, OverlapCell.ofStage, id)
        case 5:
            guard let stage = side.stages[id] else { return }
            let (path, kind): (PartialKeyPath<Stage<K>>, OverlapCell.Kind) =
                [(\.props, .props), (\.spares, .spares), (\.lead, .lead)][command.one / 8 % 3]
            try await session.load(stage, path)
            read(side, [.stageName, .stageNote, kind], id)
        case 6:
            _ = try await session.models(Query(PropRow<K>.self))
            for id in 0...5 { read(side, [.propName], id) }
        default:
            // One that is here is not read again.
            _ = try await session.find(StageRow<K>.self, K(number: id))
        }
    }

    /// A record that was made elsewhere is an edit of what is stored.
    private func merge(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let cell = OverlapCell(.propName, command.one % 6)
        // What the app has edited too would be a conflict.
        guard side.expected.cells[cell]?.isEdited == false else { return }
        try await side.session.merge([PropRow(id: K(number: cell.id), name: "\(command.two)")])
        read(side, [.propName], cell.id)
        side.expected.edit(cell, .text("\(command.two)"))
    }

    private var storedDancers: [Int] { stored.cells.keys.filter { $0.kind == .dancerName }.map(\.id) }

    private func read(_ side: OverlapSide<K>, _ kinds: [OverlapCell.Kind], _ id: Int) {
        for kind in kinds {
            guard let value = stored.cells[OverlapCell(kind, id)] else { continue }
            side.expected.read(OverlapCell(kind, id), value)
        }
    }

    private func readEverything(_ side: OverlapSide<K>) {
        for (cell, value) in stored.cells where side.expected.cells[cell] != nil && isKnown(side, cell) {
            side.expected.read(cell, value)
        }
    }

    /// Whether a refresh reads it: a new dancer that is not saved has no row.
    private func isKnown(_ side: OverlapSide<K>, _ cell: OverlapCell) -> Bool {
        side.expected.cells[cell]?.seen != nil || side.expected.cells[cell]?.isUnknown == true
    }

    /// Links that are not followed, and that another writer has changed, are no longer known, unless the app has edited them.
    private func readShallow(_ side: OverlapSide<K>, _ id: Int) {
        read(side, [.stageName, .stageNote], id)
        for kind in OverlapCell.links {
            let cell = OverlapCell(kind, id)
            guard let value = stored.cells[cell], let state = side.expected.cells[cell], !state.isUnknown else {
                continue
            }
            if value == state.seen || state.isEdited {
                side.expected.read(cell, value)
            } else {
                side.expected.cells[cell] = .init(seen: value, mine: empty(kind), isUnknown: true)
            }
        }
    }

    private func empty(_ kind: OverlapCell.Kind) -> OverlapValue {
        kind == .props ? .list([]) : kind == .spares ? .set([]) : .reference(nil)
    }

    // MARK: Undoing

    private func rollBack(_ side: OverlapSide<K>) throws {
        let before = side.expected
        try side.session.rollback()
        for (cell, state) in before.cells where state.isEdited {
            guard let seen = state.seen else {
                side.expected.forget(OverlapCell.ofDancer, cell.id)
                side.dancers[cell.id] = nil
                continue
            }
            side.expected.cells[cell] = .init(seen: seen, mine: seen)
        }
        try ensure(try side.session.changes().isEmpty, "\(place): not clean after a roll-back")
    }

    private func savepoint(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let isUndone = command.one % 2 == 0
        let before = (stored, side.expected, side.dancers)
        do {
            try await side.session.savepoint {
                for inner in command.inner { try await runInside(inner, side) }
                if isUndone { throw Undone() }
            }
        } catch is Undone {
            (stored, side.expected, side.dancers) = before
        }
    }

    /// Commands of one side, inside of its transaction.
    private func runInside(_ inner: OverlapCommand, _ side: OverlapSide<K>) async throws {
        switch inner.kind {
        case .save: try await save(side, .mine, only: .all)
        case .saveEdited: try await save(side, .mine, only: .edited)
        case .load: try await load(side, inner)
        case .merge: try await merge(side, inner)
        case .rollBack, .writeBeside: break
        default: try edit(side, inner)
        }
        try side.verify(stored, "\(place), inside \(inner)")
    }

    private func transaction(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let isUndone = command.one % 2 == 0
        let before = (stored, side.expected, side.dancers)
        do {
            try await theatre.store.write { tx in
                for inner in command.inner {
                    switch inner.kind {
                    case .save, .saveEdited:
                        let plan = side.expected.plan
                        try await side.session.save(onConflict: .mine, in: tx)
                        try commit(side, plan, .mine)
                    case .load:
                        _ = try side.session.models(Query(StageRow<K>.self), in: tx)
                        for id in 1...3 { read(side, OverlapCell.ofStage, id) }
                    case .rollBack, .merge: break
                    case .writeBeside: try await write(inner, in: tx)
                    // What the app types in a transaction of the store is its own.
                    default: if !isUndone { try edit(side, inner) }
                    }
                }
                if isUndone { throw Undone() }
            }
        } catch is Undone {
            (stored, side.expected, side.dancers) = before
        }
    }

    // MARK: Other writers

    private func writeBeside(_ command: OverlapCommand) async throws {
        try await theatre.store.write { tx in try await write(command, in: tx) }
    }

    private func write(_ command: OverlapCommand, in tx: WriteTransaction) async throws {
        let id = 1 + command.one % 3
        var row = try await tx.find(StageRow<K>.self, K(number: id))
        switch command.two {
        case 0: row?.name = "\(command.one)"
        case 1: row?.note = "\(command.one)"
        case 2: row?.props.insert(Ref(K(number: command.one % 6)), at: 0)
        case 3: row?.props.reverse()
        case 4: row?.spares.formSymmetricDifference([Ref(K(number: command.one % 6))])
        default: row?.lead = Ref(K(number: command.one % 6))
        }
        guard let row else { return }
        try await tx.upsert(row)
        stored.cells[OverlapCell(.stageName, id)] = .text(row.name)
        stored.cells[OverlapCell(.stageNote, id)] = .text(row.note)
        stored.cells[OverlapCell(.props, id)] = .list(row.props.map(\.id.number))
        stored.cells[OverlapCell(.spares, id)] = .set(Set(row.spares.map(\.id.number)))
        stored.cells[OverlapCell(.lead, id)] = .reference(row.lead?.id.number)
    }

    // MARK: Waiting

    /// What may be done while a side waits: at the commit the writer is taken.
    private func runMeanwhile(_ inner: OverlapCommand, _ side: OverlapSide<K>, _ point: WaitingStore.Point) async throws
    {
        let other = sides[inner.side]
        switch inner.kind {
        case .save, .saveEdited, .load, .merge, .writeBeside:
            if other !== side, point != .commit { try await run(inner) }
        case .rollBack: break
        default: try edit(other, inner)
        }
    }

    private func waitForSave(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let plan = side.expected.plan
        // A save of nothing does not wait.
        guard !plan.isEmpty else { return }
        let policy = OverlapPolicy(rawValue: command.two % 3) ?? .fail
        let point: WaitingStore.Point = command.one % 2 == 0 ? .writer : .commit
        let isFailing = command.one % 3 == 0
        // At the commit a conflict has been told already.
        if point == .commit, stored.applying(plan, policy) == nil { return }
        let (session, wanted) = (side.session, self.policy(policy))
        do {
            try await side.waiting.whileWaiting(point, failingWith: isFailing ? Undone() : nil) {
                try await session.save(onConflict: wanted)
            } edits: {
                for inner in command.inner { try await runMeanwhile(inner, side, point) }
            }
        } catch is Undone {
            return
        } catch let error as GraphError where error.kind == .conflict {
            try ensure(stored.applying(plan, policy) == nil, "\(place): a conflict without cause: \(error)")
            side.waiting.reset()
            return
        }
        try commit(side, plan, policy)
    }

    private func waitForLoad(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let kind = [0, 1, 2, 3, 6][command.one % 5]
        try await side.waiting.whileWaiting(.snapshot) { [self] in
            try await load(side, OverlapCommand(side: command.side, kind: .load, one: kind, two: command.two))
        } edits: {
            for inner in command.inner { try await runMeanwhile(inner, side, .snapshot) }
        }
    }

    private func waitForSavepoint(_ side: OverlapSide<K>, _ command: OverlapCommand) async throws {
        let (meanwhile, inside) = (command.inner.prefix(2), command.inner.dropFirst(2))
        let isUndone = command.one % 2 == 0
        var before = (stored, side.expected, side.dancers)
        do {
            try await side.waiting.whileWaiting(.writer) { [self] in
                try await side.session.savepoint {
                    // What was done until now is not the savepoint's.
                    before = (stored, side.expected, side.dancers)
                    for inner in inside { try await runInside(inner, side) }
                    if isUndone { throw Undone() }
                }
            } edits: {
                for inner in meanwhile { try await runMeanwhile(inner, side, .writer) }
            }
        } catch is Undone {
            (stored, side.expected, side.dancers) = before
        }
    }
}
