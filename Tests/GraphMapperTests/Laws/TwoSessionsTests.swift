import GraphMapperStore
import GraphMapperTesting
import Testing

/// Owners of children, by the children's foreign key, and of items, by an ordered list, a set and a link.
private final class Boss {
    let id: Int
    var name = ""
    var aides: [Aide] = []
    var tools: [Tool] = []
    var kit: Set<Tool> = []
    var best: Tool?
    init(id: Int) { self.id = id }
}
private final class Aide {
    let id: Int
    var name = ""
    weak var boss: Boss?
    init(id: Int) { self.id = id }
}
private final class Tool: Hashable {
    let id: Int
    init(id: Int) { self.id = id }
    static func == (left: Tool, right: Tool) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
private struct BossRow: StoredRecord {
    typealias Model = Boss
    let id: Int
    let name: String
    let tools: [Ref<ToolRow>]
    let kit: Set<Ref<ToolRow>>
    let best: Ref<ToolRow>?
    static let schema = Schema<Self>("boss") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), tools: row("tools", \.tools), kit: row("kit", \.kit),
            best: row("best", \.best))
    }
    static func mapping(_ aides: DeleteRule, _ tools: DeleteRule) -> Mapping<Self> {
        Mapping {
            Boss(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Many(AideRow.self, by: \.boss, \.aides).onDelete(aides)
            Many(\.tools, \.tools).onDelete(tools)
            Many(\.kit, \.kit)
            One(\.best, \.best)
        }
    }
}
private struct AideRow: StoredRecord {
    typealias Model = Aide
    let id: Int
    let name: String
    let boss: Ref<BossRow>?
    static let schema = Schema<Self>("aide") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), boss: row("boss", \.boss))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Aide(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Back(\.boss, \.boss)
        }
    }
}
private struct ToolRow: StoredRecord {
    typealias Model = Tool
    let id: Int
    static let schema = Schema<Self>("tool") { row in try Self(id: row("id", \.id)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Tool(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}

/// What an app does in one of two sessions; the numbers stand for whichever objects are there.
private struct Step: Sendable, CustomStringConvertible {
    let session: Int
    let kind: Int
    let one: Int
    let two: Int
    /// What happens inside, if it is a savepoint.
    var inner: [Step] = []

    var description: String { "\(session): \(kind) \(one) \(two)\(inner.isEmpty ? "" : " \(inner)")" }

    static func gen(nested: Bool) -> Gen<Step> {
        let place = Gen<Int>.int(in: 0...7)
        let plain = Gen<Int>.int(in: 0...1).zip(.int(in: 0...19)).zip(place.zip(place)).map { head, places in
            Step(session: head.0, kind: head.1, one: places.0, two: places.1)
        }
        guard nested else { return plain }
        return plain.zip(.array(of: gen(nested: false), count: 1...4)).map { step, inner in
            var step = step
            if step.kind == 17 { step.inner = inner }
            return step
        }
    }
}

@Suite struct `Two sessions on one store` {
    private final class Side {
        let session: GraphSession
        var bosses: [Boss] = []
        var aides: [Aide] = []
        var tools: [Tool] = []
        /// Aides that the app has given to others since the last save.
        var moved: Set<Int> = []

        init(_ session: GraphSession) { self.session = session }

        func load() async throws {
            bosses = try await session.models(Query(BossRow.self).sorted(by: \.id))
            aides = try await session.models(Query(AideRow.self).sorted(by: \.id))
            tools = try await session.models(Query(ToolRow.self).sorted(by: \.id))
        }

        func there<M: AnyObject>(_ models: [M], _ number: Int) -> M? {
            let there = models.filter { session.state(of: $0).map { $0 != .deleted } ?? false }
            return there.isEmpty ? nil : there[number % there.count]
        }
        func boss(_ number: Int) -> Boss? { there(bosses, number) }
        func aide(_ number: Int) -> Aide? { there(aides, number) }
        func tool(_ number: Int) -> Tool? { there(tools, number) }
    }

    private final class World {
        let store: GraphStore
        let sides: [Side]
        var next = 100

        init(_ rules: Int, _ retention: Retention) async throws {
            store = try await GraphStore.open(.inMemory, BossRow.self, AideRow.self, ToolRow.self)
            try await store.write { tx in
                for id in 0..<4 { try await tx.insert(ToolRow(id: id)) }
                for id in 0..<3 {
                    try await tx.insert(
                        BossRow(id: id, name: "", tools: [Ref(id), Ref(3), Ref(id)], kit: [Ref(id)], best: Ref(3 - id)))
                }
                for id in 0..<4 { try await tx.insert(AideRow(id: id, name: "", boss: id < 3 ? Ref(id / 2) : nil)) }
            }
            let all: [DeleteRule] = [.nullify, .cascade, .deleteOrphans]
            let store = store
            sides = (0..<2).map { _ in
                Side(
                    GraphSession(
                        store, BossRow.mapping(all[rules % 3], all[rules / 3 % 3]), AideRow.mapping, ToolRow.mapping,
                        retention: retention))
            }
            for side in sides { try await side.load() }
        }

        func run(_ step: Step) async throws {
            let side = sides[step.session]
            switch step.kind {
            case 13, 14: try await save(side, [ConflictPolicy.fail, .mine, .theirs][step.one % 3])
            case 15:
                // Both may have changed what an error names.
                do { try await side.session.refresh() } catch is GraphError { try await settle(side) }
            case 16:
                try side.session.rollback()
                side.moved = []
                try ensureClean(side, "a roll-back")
            case 17: try await undone(step, side)
            case 19: try await loadPart(step, side)
            default: try edit(step, side)
            }
        }

        /// Reads some objects again: what the app has not edited stays so.
        private func loadPart(_ step: Step, _ side: Side) async throws {
            let isClean = planned(side.session) == "no changes"
            if step.two % 2 == 0 {
                _ = try await side.session.models(Query(BossRow.self).where { $0.id % 3 == step.one % 3 })
            } else {
                _ = try await side.session.models(Query(AideRow.self).where { $0.id % 4 == step.one % 4 })
            }
            if isClean { try ensureClean(side, "a part was read") }
        }

        private func edit(_ step: Step, _ side: Side) throws {
            let session = side.session
            let (boss, tool) = (side.boss(step.one), side.tool(step.two))
            switch step.kind {
            case 0: boss?.name = "\(step.two)"
            case 1: side.aide(step.one)?.name = "\(step.two)"
            case 2: if let tool { boss?.tools.insert(tool, at: 0) }
            case 3: if boss?.tools.isEmpty == false { boss?.tools.removeLast() }
            case 4: boss?.best = tool
            case 5: if let boss, let tool, boss.kit.remove(tool) == nil { boss.kit.insert(tool) }
            case 6, 7:
                guard let aide = side.aide(step.one) else { return }
                // A merge may have brought an owner that the app has not asked for.
                for boss in side.bosses + [aide.boss].compactMap({ $0 }) { boss.aides.removeAll { $0 === aide } }
                aide.boss = step.two == 0 ? nil : side.boss(step.two)
                aide.boss?.aides.append(aide)
                side.moved.insert(aide.id)
            case 8:
                // By its own side alone.
                guard let aide = side.aide(step.one), let boss = side.boss(step.two), session.state(of: aide) != .new,
                    side.moved.insert(aide.id).inserted
                else { return }
                aide.boss = boss
                try session.relink()
            case 9:
                let aide = Aide(id: next)
                next += 1
                aide.boss = boss
                boss?.aides.append(aide)
                try session.add(aide)
                side.aides.append(aide)
            case 10:
                let boss = Boss(id: next)
                next += 1
                boss.tools = tool.map { [$0] } ?? []
                try session.add(boss)
                side.bosses.append(boss)
            case 11: if let boss, step.two % 2 == 0 { try session.delete(boss) }
            case 18:
                // Another one takes the place of a deleted one.
                guard let aide = side.aide(step.one), session.state(of: aide) != .new else { return }
                try session.delete(aide)
                for boss in side.bosses + [aide.boss].compactMap({ $0 }) { boss.aides.removeAll { $0 === aide } }
                let new = Aide(id: aide.id)
                if let boss = side.boss(step.two) { boss.aides.append(new) } else { try session.add(new) }
                side.aides.append(new)
                side.moved.insert(new.id)
            default:
                if step.two % 2 == 0 {
                    try side.aide(step.one).map(session.delete)
                } else {
                    try tool.map(session.delete)
                }
            }
        }

        private func ensureClean(_ side: Side, _ what: String) throws {
            let changes = try side.session.changes()
            try ensure(changes.isEmpty, "after \(what): \(changes)")
        }

        /// What a save would do, or the error that keeps it from being done.
        private func planned(_ session: GraphSession) -> String {
            do { return try session.changes().description } catch { return "\(error)" }
        }

        func save(_ side: Side, _ policy: ConflictPolicy) async throws {
            let before = planned(side.session)
            do {
                try await side.session.save(onConflict: policy)
                side.moved = []
                try ensureClean(side, "a save")
            } catch let error where error is GraphError || error is StoreError {
                let after = planned(side.session)
                try ensure(after == before, "after a save that failed: \(after), not \(before)")
                try await settle(side)
            }
        }

        private func undone(_ step: Step, _ side: Side) async throws {
            struct Stop: Error {}
            let (before, lists) = (planned(side.session), (side.bosses, side.aides, side.moved))
            do {
                try await side.session.savepoint {
                    for (place, inner) in step.inner.enumerated() {
                        if inner.kind < 13 || inner.kind == 18 { try edit(inner, side) }
                        if place == step.one % 4 { try await side.session.save() }
                    }
                    throw Stop()
                }
            } catch  where error is Stop || error is GraphError || error is StoreError {
                (side.bosses, side.aides, side.moved) = lists
                let after = planned(side.session)
                try ensure(after == before, "after a savepoint: \(after), not \(before)")
            }
        }

        /// Throws away what one session has edited: its models are what is stored.
        func settle(_ side: Side) async throws {
            try await side.session.refresh(.discardingChanges)
            side.moved = []
            try ensureClean(side, "edits are thrown away")
            try await side.load()
            let bosses = try await store.fetch(Query(BossRow.self).sorted(by: \.id))
            let aides = try await store.fetch(Query(AideRow.self).sorted(by: \.id))
            try ensure(
                side.bosses.map {
                    "\($0.id) \($0.name) \($0.tools.map(\.id)) \($0.kit.map(\.id).sorted()) \($0.best?.id ?? -1)"
                }
                    == bosses.map {
                        "\($0.id) \($0.name) \($0.tools.map(\.id)) \($0.kit.map(\.id).sorted()) \($0.best?.id ?? -1)"
                    }, "the models are what is stored")
            try ensure(
                side.aides.map { "\($0.id) \($0.name) \($0.boss?.id ?? -1)" }
                    == aides.map { "\($0.id) \($0.name) \($0.boss?.id ?? -1)" }, "the aides are what is stored")
            for boss in side.bosses {
                let expected = aides.filter { $0.boss?.id == boss.id }.map(\.id)
                try ensure(
                    boss.aides.map(\.id).sorted() == expected, "\(boss.id) has \(boss.aides.map(\.id)), not \(expected)"
                )
                for aide in boss.aides {
                    try ensure(side.aides.contains { $0 === aide }, "two instances of \(aide.id)")
                }
            }
        }
    }

    @Test(arguments: [Retention.strong, .weak])
    func `edits, conflicts, rules and savepoints in any order`(retention: Retention) async throws {
        let runs = Gen<Int>.int(in: 0...8).zip(.array(of: Step.gen(nested: true), count: 0...25))
        let name = "two sessions on one store, \(retention)"
        try await check(runs, name: name, count: times(150, soak: 10_000)) { rules, steps in
            let world = try await World(rules, retention)
            for step in steps { try await world.run(step) }
            for side in world.sides {
                try await world.save(side, .mine)
                try await world.settle(side)
            }
            try ensure(try await world.store.checkIntegrity().isSound, "the file is sound")
        }
    }
}
