import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// Rows before, and what an app does to them. Numbers stand for whichever object is there.
private struct Scenario {
    var alphas: [AlphaRow]
    var betas: [BetaRow]
    var edits: [(kind: Int, one: Int, two: Int)]

    static var any: Gen<Scenario> {
        let place = Gen<Int>.int(in: 0...3)
        let edit = Gen<Int>.int(in: 0...13).zip(place).zip(place)
        return Gen<Int>.int(in: 0...3).zip(.int(in: 0...2)).flatMap { alphas, betas in
            let links = Gen<[Int?]>.array(of: .optional(.int(in: 0...2)), count: 12...12)
            return links.zip(.array(of: edit, count: 1...7)).map { links, edits in
                make(alphas, alphas == 0 ? 0 : betas, links, edits)
            }
        }
    }

    private static func make(_ alphas: Int, _ betas: Int, _ links: [Int?], _ edits: [((Int, Int), Int)]) -> Scenario {
        func link(_ place: Int, _ count: Int) -> Int? { links[place].flatMap { $0 < count ? $0 : nil } }
        return Scenario(
            alphas: (0..<alphas).map { id in
                AlphaRow(
                    id: id, tag: id, label: id == 1 ? nil : id, next: link(id, alphas).map { Ref($0) },
                    beta: link(id + 3, betas).map { Ref($0) },
                    list: [link(id + 6, betas), link(id + 7, betas)].compactMap { $0 }.map { Ref($0) })
            },
            betas: (0..<betas).map { id in
                BetaRow(
                    id: id, code: id, alpha: Ref(link(id + 9, alphas) ?? 0),
                    other: link(id + 10, alphas).map { Ref($0) })
            }, edits: edits.map { ($0.0.0, $0.0.1, $0.1) })
    }

    /// The changes of a save after the edits, under some rules; nil if they make no sense.
    func changes(_ rules: Rules) async throws -> [ChangeSet.Change]? {
        let session = GraphSession(rules, [AlphaRow.mapping, BetaRow.mapping])
        var alphas = try await session.load(AlphaRow.self) { _ in self.alphas }
        var betas = try await session.load(BetaRow.self) { _ in self.betas }
        func alpha(_ place: Int) -> Alpha? { alphas.isEmpty ? nil : alphas[place % alphas.count] }
        func beta(_ place: Int) -> Beta? { betas.isEmpty ? nil : betas[place % betas.count] }
        for (number, edit) in edits.enumerated() {
            guard let one = alpha(edit.one) else { continue }
            switch edit.kind {
            case 0, 1:
                guard let two = alpha(edit.two) else { continue }
                (one.tag, two.tag) = (two.tag, one.tag)
            case 2:
                guard let two = alpha(edit.two) else { continue }
                (one.label, two.label) = (two.label, one.label)
            case 3: one.next = alpha(edit.two)
            case 4: one.beta = beta(edit.two)
            case 5: one.list = beta(edit.two).map { [$0] } ?? []
            case 6: beta(edit.two)?.alpha = one
            case 7: beta(edit.two)?.other = one
            case 8, 9, 12:
                // Takes the place of another, its unique values included.
                let new = Alpha(id: 10 + number, tag: 10 + number)
                new.beta = beta(edit.two)
                new.next = edit.two == 3 ? one : nil
                if edit.kind == 8 {
                    (new.tag, new.label) = (one.tag, one.label)
                    for beta in betas where beta.alpha === one { beta.alpha = new }
                    alphas.removeAll { $0 === one }
                    try session.delete(one)
                } else if edit.kind == 12 {
                    one.next = new
                }
                alphas.append(new)
                try session.add(new)
            case 10:
                guard !betas.contains(where: { $0.alpha === one }) else { continue }
                alphas.removeAll { $0 === one }
                try session.delete(one)
            case 11:
                guard let old = beta(edit.two) else { continue }
                betas.removeAll { $0 === old }
                try session.delete(old)
            default:
                let new = Beta(id: 10 + number, code: number)
                new.alpha = one
                one.beta = new
                one.list.append(new)
                betas.append(new)
                try session.add(new)
            }
        }
        return try session.changes().changes
    }

    func database(defers: Bool) throws -> StrictDatabase {
        var database = StrictDatabase(defers: true)
        for row in alphas.map({ AlphaRow.schema.insertion(of: $0) }) + betas.map({ BetaRow.schema.insertion(of: $0) }) {
            for change in [row.row] + row.links { try database.apply(change) }
        }
        database.defers = defers
        return database
    }
}

/// Tries every order of some changes, each of which may be made in two steps.
private struct BruteForce {
    let changes: [ChangeSet.Change]

    /// The fewest rows that have to be written twice; nil if no order works.
    func fewestExtra(in start: StrictDatabase) -> Int? {
        var best: [[UInt8]: Int] = [:]
        // 0: not yet; 1: the first of two steps; 2: done.
        let all = [UInt8](repeating: 2, count: changes.count)
        var layer: [([UInt8], StrictDatabase)] = [([UInt8](repeating: 0, count: changes.count), start)]
        var extra = 0
        while !layer.isEmpty {
            var next: [([UInt8], StrictDatabase)] = []
            while let (state, database) = layer.popLast() {
                guard best[state] == nil else { continue }
                best[state] = extra
                if state == all { return extra }
                for place in changes.indices where state[place] < 2 {
                    func go(_ change: ChangeSet.Change?, _ to: UInt8, isExtra: Bool) {
                        var after = database
                        guard let change, (try? after.apply(change)) != nil else { return }
                        var new = state
                        new[place] = to
                        if isExtra { next.append((new, after)) } else { layer.append((new, after)) }
                    }
                    let steps = twoSteps(place)
                    if state[place] == 1 {
                        go(steps?.second, 2, isExtra: false)
                    } else {
                        go(changes[place], 2, isExtra: false)
                        if case .relink = changes[place] {
                            go(steps?.first, 1, isExtra: false)
                        } else {
                            go(steps?.first, 1, isExtra: true)
                        }
                    }
                }
            }
            layer = next
            extra += 1
        }
        return nil
    }

    /// The first step leaves out everything that can be left out.
    private func twoSteps(_ place: Int) -> (first: ChangeSet.Change, second: ChangeSet.Change)? {
        let unused = StoredValue.integer(-1 - Int64(place))
        func stand(_ table: String, _ column: String) -> StoredValue? {
            if StrictDatabase.nullable[table]?.contains(column) == true { return .null }
            return (table == "alpha" && column == "tag") || (table == "beta" && column == "code") ? unused : nil
        }
        func early(
            _ table: String, _ key: [StoredValue], _ columns: [String], _ expected: inout [StoredValue]
        ) -> ChangeSet.Change? {
            var first = ChangeSet.Update(
                table: table, keyColumns: ["id"], key: key, columns: [], values: [], expected: [])
            for (index, column) in columns.enumerated() {
                guard let value = stand(table, column), value != expected[index] else { continue }
                first.columns.append(column)
                first.expected.append(expected[index])
                first.values.append(value)
                expected[index] = value
            }
            return first.columns.isEmpty ? nil : .update(first)
        }
        switch changes[place] {
        case .insert(var row):
            var late = ChangeSet.Update(
                table: row.table, keyColumns: ["id"], key: row.key, columns: [], values: [], expected: [])
            for (index, column) in row.columns.enumerated() {
                guard let value = stand(row.table, column), value != row.values[index] else { continue }
                late.columns.append(column)
                late.values.append(row.values[index])
                late.expected.append(value)
                row.values[index] = value
            }
            return late.columns.isEmpty ? nil : (.insert(row), .update(late))
        case .update(var row):
            return early(row.table, row.key, row.columns, &row.expected).map { ($0, .update(row)) }
        case .delete(var row):
            return early(row.table, row.key, row.columns, &row.expected).map { ($0, .delete(row)) }
        case .relink(var link):
            var first = link
            var left = link.targets
            first.targets = link.base.filter { target in
                guard let index = left.firstIndex(of: target) else { return false }
                left.remove(at: index)
                return true
            }
            link.base = first.targets
            return (.relink(first), .relink(link))
        }
    }
}

@Suite struct `The order of a save` {
    /// A database that checks everything at once takes the changes in their order, with as few extra ones as any order
    /// needs; and where the session says that there is none, there is none.
    @Test(arguments: [false, true]) func `is right, and the shortest of all`(defers: Bool) async throws {
        var seen = (orders: 0, extras: 0)
        try await check(Scenario.any, name: "shortest \(defers)", count: times(400, soak: 4000)) { scenario in
            var lenient = Rules(alphas: scenario.alphas, betas: scenario.betas, hasUniques: false)
            lenient.defersForeignKeys = true
            let raw: [ChangeSet.Change]
            // A required link that the edits have emptied.
            do { raw = try await scenario.changes(lenient) ?? [] } catch { return }
            guard raw.count <= times(6, soak: 8) else { return }
            var end = try scenario.database(defers: true)
            do {
                var rest = raw.sorted { left, _ in if case .delete = left { true } else { false } }[...]
                // The end has to be sound, whatever the way there.
                while let change = rest.popFirst() { try? end.apply(change) }
                try end.check(isCommit: true)
                end.defers = false
                try end.check(isCommit: false)
            } catch { return }
            var strict = Rules(alphas: scenario.alphas, betas: scenario.betas)
            strict.defersForeignKeys = defers
            let start = try scenario.database(defers: defers)
            let fewest = BruteForce(changes: raw).fewestExtra(in: start)
            let ordered: [ChangeSet.Change]
            do {
                ordered = try await scenario.changes(strict) ?? []
            } catch let error as GraphError where error.kind == .cycle {
                try ensure(fewest == nil, "\(error), but there is an order: \(ChangeSet(raw))")
                return
            }
            var database = start
            for change in ordered { try database.apply(change) }
            database.defers = false
            try database.check(isCommit: false)
            try ensure(
                Set(ordered.filter(\.isRow).map(\.place)) == Set(raw.filter(\.isRow).map(\.place)), "other rows")
            let extra = ordered.count(where: \.isRow) - raw.count(where: \.isRow)
            try ensure(extra == fewest, "\(extra) more, not \(fewest as Any): \(ChangeSet(ordered))")
            let again = try await scenario.changes(strict)
            try ensure(again == ordered, "another order the second time")
            seen.orders += raw.count > 1 ? 1 : 0
            seen.extras += extra > 0 ? 1 : 0
        }
        // The scenarios are worth something.
        #expect(seen.orders > 40 && seen.extras > 2, "\(seen)")
    }

    @Test func `rows that need each other are an error with the whole way, before anything is written`() async throws {
        let session = GraphSession(Undeferred(store: try await openTown()), [YinRow.mapping, YangRow.mapping])
        let (yin, yang) = (Yin(id: 1), Yang(id: 2))
        yin.yang = yang
        yang.yin = yin
        try session.add(yin)
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { try await session.save() }
            #expect(error?.kind == .cycle)
            #expect(error?.path == "yang(2) → yin(1) → yang(2)", "\(error as Any)")
            #expect(error?.message.contains("yang(2) before yin(1) (yang points to it)") == true)
        }
    }

    @Test func `rows that need each other are written where keys are checked at commit`() async throws {
        let store = try await openTown()
        let session = GraphSession(store, YinRow.mapping, YangRow.mapping)
        let (yin, yang) = (Yin(id: 1), Yang(id: 2))
        yin.yang = yang
        yang.yin = yin
        try session.add(yin)
        #expect(try await session.save().changes.count == 2)
        #expect(try await store.find(YinRow.self, 1)?.yang == Ref(2))
    }

    /// The tables of this file check their foreign keys statement by statement.
    @Test func `a file whose foreign keys are checked at once`() async throws {
        var options = GraphStore.Options()
        options.prepare = { connection in
            let node = "REFERENCES node (id)"
            let list = "owner INTEGER NOT NULL \(node) ON DELETE CASCADE, position INTEGER NOT NULL"
            try connection.execute(
                "CREATE TABLE node (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL, single INTEGER \(node))")
            try connection.execute(
                "CREATE TABLE node_many (\(list), target INTEGER NOT NULL \(node), PRIMARY KEY (owner, position))")
        }
        let store = try await GraphStore.open(.inMemory, options: options, NodeRecord.self)
        let session = GraphSession(Undeferred(store: store), [NodeRecord.mapping])
        // A chain in the wrong order, and a circle of three.
        let nodes = (0..<6).map { Node(id: $0) }
        for index in 0..<3 { nodes[index].single = nodes[index + 1] }
        (nodes[3].single, nodes[4].single, nodes[5].single) = (nodes[4], nodes[5], nodes[3])
        nodes[0].many = [nodes[5], nodes[0], nodes[5]]
        for node in nodes { try session.add(node) }
        #expect(try await session.save().changes.count == 6 + 1 + 1)
        #expect(try await session.save().isEmpty)
        let loaded = GraphSession(Undeferred(store: store), [NodeRecord.mapping])
        let again = try await loaded.load(NodeRecord.self) { try await $0.fetch(NodeRecord.self, ids: Array(0..<6)) }
            .sorted { $0.id < $1.id }
        #expect(again[0].many.map(\.id) == [5, 0, 5] && again[5].single === again[3])
        // A new one takes the place of one that goes.
        let new = Node(id: 9)
        again[2].single = new
        new.single = again[4]
        again[0].many = [again[0], new]
        try loaded.delete(again[3])
        try loaded.delete(again[5])
        again[4].single = nil
        try await loaded.save()
        #expect(try await store.find(NodeRecord.self, 0)?.many.map(\.id) == [0, 9])
        #expect(try await store.count(Query(NodeRecord.self)) == 5)
        // And all of it goes, circle and all.
        again[4].single = again[1]
        try await loaded.save()
        for node in again + [new] where loaded.state(of: node) != nil { try loaded.delete(node) }
        #expect(try await loaded.save().changes.count == 5 + 1)
        #expect(try await store.count(Query(NodeRecord.self)) == 0)
    }
}

@Suite struct `The plan of a save` {
    @Test func `what runs is the plan, word for word`() async throws {
        let commands = Gen<Int>.int(in: 0...6).zip(.int(in: 0...9)).zip(.int(in: 0...9))
        try await check(Gen.anyShape(maxNodes: 8).zip(.array(of: commands, count: 1...12)), count: 80) { shape, steps in
            let log = Statements()
            var options = GraphStore.Options()
            options.prepare = { connection in try connection.onStatement { log.add($0) } }
            let store = try await GraphStore.open(
                .inMemory, options: options, NodeRecord.self, StrongRecord.self, BranchRecord.self, ShelfRow.self)
            try await StoredGraph(nodeRecords(shape)).write(to: store.backing)
            try await StoredGraph((0..<5).map { ShelfRow(id: $0, number: $0, books: [], next: nil) }).write(
                to: store.backing)
            let session = GraphSession(store, [NodeRecord.mapping, ShelfRow.mapping])
            let nodes = try await session.models(Query(NodeRecord.self).sorted(by: \.id))
            let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
            for (number, ((kind, first), second)) in steps.enumerated() where !nodes.isEmpty {
                let one = nodes[first % nodes.count]
                let two = nodes[second % nodes.count]
                switch kind {
                case 0: one.value = "v\(number)"
                case 1: one.single = two
                case 2: one.many.append(two)
                case 3: if !one.many.isEmpty { one.many.remove(at: second % one.many.count) }
                case 4: one.many.shuffle()
                case 5:
                    let (left, right) = (shelves[first % 5], shelves[second % 5])
                    (left.number, right.number) = (right.number, left.number)
                default:
                    let new = Node(id: 100 + number)
                    try session.add(new)
                    one.many.insert(new, at: 0)
                }
            }
            let plan = try await session.plan()
            let changes = try session.changes()
            try ensure(plan.changes == changes, "another plan than changes(): \(plan)")
            try ensure(plan.steps.flatMap { Array($0.changes) } == Array(changes.changes.indices), "steps: \(plan)")
            // In a piece of work it is the same.
            if steps.count % 2 == 0 {
                struct Stop: Error {}
                do {
                    try await session.savepoint {
                        let inner = try await session.plan()
                        try ensure(inner == plan, "\(inner), not \(plan)")
                        throw Stop()
                    }
                } catch is Stop {}
            }
            log.clear()
            try await session.save()
            let ran = log.all.filter { $0 != "BEGIN IMMEDIATE" && $0 != "COMMIT" && !$0.contains("graphmapper_change") }
            try ensure(ran == plan.statements, "\(plan)\nruns\n\(ran.joined(separator: "\n"))\nnot\n\(plan.statements)")
            let next = try await session.plan()
            try ensure(next.isEmpty, "\(next)")
        }
    }

    @Test func `it reads as a person would say it`() async throws {
        let store = try await GraphStore.open(.inMemory, ShelfRow.self)
        try await store.write { tx in
            for id in 0..<4 { try await tx.insert(ShelfRow(id: id, number: id, books: [], next: nil)) }
        }
        let session = GraphSession(store, ShelfRow.mapping)
        let shelves = try await session.models(Query(ShelfRow.self).sorted(by: \.id))
        (shelves[0].number, shelves[1].number) = (1, 0)
        try session.delete(shelves[3])
        let new = Shelf(id: 9, number: 3)
        new.books = [shelves[0], shelves[1]]
        try session.add(new)
        try await session.load(shelves[0], \.books)
        #expect(
            try await session.plan().description == """
                1. delete shelf: 1 row
                2. update shelf set number: 3 rows
                3. insert shelf (id, number, next): 1 row
                     after 1: it frees the unique number
                4. relink shelf.books: 2 rows
                """)
        #expect(try await session.plan().edges.contains { $0.reason == .twoSteps })
        #expect(try await GraphSession(store, ShelfRow.mapping).plan().description == "nothing to do")
    }
}

/// A store whose foreign keys are to be satisfied all the time.
struct Undeferred: GraphBacking {
    let store: GraphStore
    var defersForeignKeys: Bool { false }
    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        try await store.backing.snapshot(body)
    }
    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        try await store.backing.transaction(body)
    }
    func uniqueColumns(of table: String) -> [[String]] { store.backing.uniqueColumns(of: table) }
    func statements(for changes: ChangeSet) async throws -> [[String]] {
        try await store.backing.statements(for: changes)
    }
}

/// What has run. One task at a time adds to it.
final class Statements: @unchecked Sendable {
    private(set) var all: [String] = []
    func add(_ sql: String) { all.append(sql) }
    func clear() { all = [] }
}

extension ChangeSet.Change {
    fileprivate var isRow: Bool { if case .relink = self { false } else { true } }
    fileprivate var place: String {
        switch self {
        case .insert(let row): "\(row.table) \(row.key)"
        case .update(let row): "\(row.table) \(row.key)"
        case .delete(let row): "\(row.table) \(row.key)"
        case .relink(let link): "\(link.table) \(link.key)"
        }
    }
}
