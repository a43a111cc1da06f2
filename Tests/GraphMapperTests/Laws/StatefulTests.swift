import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// One thing that an app does. Numbers stand for whichever object is there.
private enum Command {
    case value(Int, String)
    case single(Int, Int?)
    case many(Int, [Int])
    case add
    case delete(Int)
    case save
    case refresh
    /// Another writer changes a value, and the session reads it.
    case theirs(Int, String)
    /// Another writer replaces the list, and the session reads it.
    case theirList(Int, [Int])
    case reload(Int)
    case restart
    case rollback
    /// A save, of which that statement fails.
    case fault(Int)
    /// The app lets go of an object, edited or not.
    case letGo(Int)
    /// Edits and saves, all of which are undone.
    case savepoint([(Int, String)])

    static var any: Gen<Command> {
        let place = Gen<Int>.int(in: 0...11)
        let text = Gen<Int>.int(in: 0...5).map { "text \($0)" }
        let list = Gen<[Int]>.array(of: place, count: 0...4)
        return .frequency(
            (3, place.zip(text).map { .value($0.0, $0.1) }),
            (3, place.zip(.optional(place)).map { .single($0.0, $0.1) }),
            (3, place.zip(list).map { .many($0.0, $0.1) }), (2, Gen { _ in .add }), (1, place.map { .delete($0) }),
            (3, Gen { _ in .save }), (1, Gen { _ in .refresh }), (1, place.zip(text).map { .theirs($0.0, $0.1) }),
            (1, place.zip(list).map { .theirList($0.0, $0.1) }), (1, place.map { .reload($0) }),
            (1, Gen { _ in .restart }), (1, Gen { _ in .rollback }), (1, place.map { .fault($0) }),
            (2, place.map { .letGo($0) }),
            (1, Gen<[(Int, String)]>.array(of: place.zip(text), count: 1...3).map { .savepoint($0) }))
    }
}

extension Optional {
    fileprivate func asyncMap<T>(_ transform: (Wrapped) async throws -> T) async rethrows -> T? {
        if let self { try await transform(self) } else { nil }
    }
}

/// The naive reference: what each object is, as values.
private struct Reference {
    struct Row: Equatable, CustomStringConvertible {
        var value: String
        var single: Int?
        var many: [Int]
        var description: String { "\(value) \(single.map(String.init) ?? "-") \(many)" }
    }

    var stored: [Int: Row] = [:]
    /// What the session last read or wrote.
    var base: [Int: Row] = [:]
    var live: [Int: Row] = [:]

    func id(_ number: Int) -> Int? {
        let ids = live.keys.sorted()
        return ids.isEmpty ? nil : ids[number % ids.count]
    }

    mutating func save() {
        stored = live
        base = live
    }

    mutating func refresh() {
        for (id, old) in base {
            guard let row = stored[id] else { continue }
            if live[id]?.value == old.value { live[id]?.value = row.value }
            if live[id]?.single == old.single { live[id]?.single = row.single }
            if live[id]?.many == old.many { live[id]?.many = row.many }
            base[id] = row
        }
    }
}

@Suite struct `Sessions against a naive reference` {
    private final class World {
        let faults = Faults()
        let store: GraphStore
        let retention: Retention
        var session: GraphSession
        /// What the app holds.
        var nodes: [Int: Node] = [:]
        var reference = Reference()
        var next = 0

        init(_ shape: GraphShape, _ retention: Retention) async throws {
            self.retention = retention
            var options = GraphStore.Options()
            options.prepare = { [faults] connection in try connection.onStatement { _ in try faults.see() } }
            store = try await GraphStore.open(.inMemory, options: options, NodeRecord.self)
            try await StoredGraph(nodeRecords(shape)).write(to: store.backing)
            session = GraphSession(store, NodeRecord.mapping, retention: retention)
            for record in nodeRecords(shape) {
                reference.stored[record.id] = .init(
                    value: record.value, single: record.single?.id, many: record.many.map(\.id))
            }
            next = shape.nodes
            try await restart()
        }

        func restart() async throws {
            session = GraphSession(store, NodeRecord.mapping, retention: retention)
            nodes = [:]
            for node in try await session.models(Query(NodeRecord.self)) { nodes[node.id] = node }
            reference.base = reference.stored
            reference.live = reference.stored
        }

        /// An object that the app may have let go of.
        func node(_ id: Int) async throws -> Node {
            if let node = nodes[id] { return node }
            guard let node = try await session.find(NodeRecord.self, id) else {
                throw Violation(description: "\(id) is not found")
            }
            nodes[id] = node
            return node
        }

        func run(_ command: Command) async throws {
            switch command {
            case .value(let number, let text):
                guard let id = reference.id(number) else { return }
                try await node(id).value = text
                reference.live[id]?.value = text
            case .single(let number, let target):
                guard let id = reference.id(number) else { return }
                let target = target.flatMap(reference.id)
                let (node, other) = (try await node(id), try await target.asyncMap(node))
                node.single = other
                reference.live[id]?.single = target
            case .many(let number, let targets):
                guard let id = reference.id(number) else { return }
                let targets = targets.compactMap(reference.id)
                let node = try await node(id)
                var many: [Node] = []
                for target in targets { many.append(try await self.node(target)) }
                node.many = many
                reference.live[id]?.many = targets
            case .add:
                let node = Node(id: next)
                next += 1
                nodes[node.id] = node
                try session.add(node)
                reference.live[node.id] = .init(value: "", single: nil, many: [])
            case .delete(let number):
                guard let id = reference.id(number) else { return }
                // Rows that point to it and are not loaded would keep it.
                for id in reference.live.keys { _ = try await node(id) }
                let node = try await node(id)
                try session.delete(node)
                nodes[id] = nil
                reference.live[id] = nil
                for (other, row) in reference.live {
                    if row.single == id {
                        nodes[other]?.single = nil
                        reference.live[other]?.single = nil
                    }
                    guard row.many.contains(id) else { continue }
                    nodes[other]?.many.removeAll { $0 === node }
                    reference.live[other]?.many.removeAll { $0 == id }
                }
                // What is deleted but not saved makes a refresh another question.
                try await save()
            case .save: try await save()
            case .refresh:
                try await session.refresh()
                reference.refresh()
            case .theirs(let number, let text):
                guard let id = reference.id(number), var row = reference.stored[id] else { return }
                row.value = text
                try await theirs(id, row)
            case .theirList(let number, let targets):
                // A list that both have changed is merged by the save, element by element: a law of its own.
                guard let id = reference.id(number), var row = reference.stored[id],
                    reference.live[id]?.many == reference.base[id]?.many
                else { return }
                row.many = targets.compactMap(reference.id).filter { reference.stored[$0] != nil }
                try await theirs(id, row)
            case .reload(let number):
                guard let id = reference.id(number), reference.stored[id] != nil else { return }
                // Reads what it reaches again too; nobody else has written since the session read it.
                let again = try await session.load(NodeRecord.self) { try await $0.fetch(NodeRecord.self, ids: [id]) }
                if let node = nodes[id] { try ensure(again.first === node, "another instance of \(id)") }
                nodes[id] = again.first
            case .restart:
                try await save()
                try await restart()
            case .rollback:
                try session.rollback()
                reference.live = reference.base
                nodes = nodes.filter { reference.base[$0.key] != nil }
            case .fault(let place):
                faults.next = place
                defer { faults.next = nil }
                let expected = try session.changes()
                do {
                    try await session.save()
                    reference.save()
                } catch is Fault {
                    faults.next = nil
                    let after = try session.changes()
                    try ensure(after == expected, "after a fault: \(after), not \(expected)")
                }
            case .letGo(let number):
                // A new object that was not saved cannot be found.
                if let id = reference.id(number), reference.base[id] != nil { nodes[id] = nil }
            case .savepoint(let edits):
                struct Stop: Error {}
                let before = try session.changes()
                do {
                    try await session.savepoint {
                        for (number, text) in edits {
                            guard let id = reference.id(number) else { continue }
                            try await node(id).value = text
                        }
                        try await session.save()
                        throw Stop()
                    }
                } catch is Stop {}
                // What was found inside is forgotten with the rest.
                nodes = nodes.filter { session.state(of: $0.value) != nil }
                let after = try session.changes()
                try ensure(after == before, "after a savepoint: \(after), not \(before)")
            }
        }

        func theirs(_ id: Int, _ row: Reference.Row) async throws {
            let record = NodeRecord(
                id: id, value: row.value, single: row.single.map { Ref($0) }, many: row.many.map { Ref($0) })
            _ = try await store.write { try await $0.upsert(record) }
            reference.stored[id] = row
            // Where both have changed a value, reading alone settles nothing.
            try await session.refresh(.merging { _ in .mine })
            reference.refresh()
        }

        func save() async throws {
            let expected = try session.changes()
            let written = try await session.save()
            try ensure(written == expected, "changes() said \(expected), save() wrote \(written)")
            let isClean = reference.base == reference.live
            try ensure(written.isEmpty == isClean, "the reference says \(isClean ? "clean" : "dirty"): \(written)")
            reference.save()
            let again = try session.changes()
            try ensure(again.isEmpty, "save, then save: \(again)")
            var rows: [Int: Reference.Row] = [:]
            for record in try await store.fetch(Query(NodeRecord.self)) {
                rows[record.id] = .init(
                    value: record.value, single: record.single?.id, many: record.many.map(\.id))
            }
            try compare(rows, reference.stored, "the store")
        }

        func ensureSame() throws {
            let rows = nodes.mapValues {
                Reference.Row(value: $0.value, single: $0.single?.id, many: $0.many.map(\.id))
            }
            try compare(rows, reference.live.filter { nodes[$0.key] != nil }, "the models")
            for node in nodes.values {
                for target in [node.single].compactMap({ $0 }) + node.many {
                    guard let known = nodes[target.id] else { continue }
                    try ensure(known === target, "two instances of \(target.id)")
                }
            }
        }

        private func compare(_ found: [Int: Reference.Row], _ expected: [Int: Reference.Row], _ what: String) throws {
            for id in Set(found.keys).union(expected.keys).sorted() where found[id] != expected[id] {
                func text(_ row: Reference.Row?) -> String { row?.description ?? "nothing" }
                throw Violation(
                    description: "\(what): \(id) is \(text(found[id])), expected \(text(expected[id]))")
            }
        }
    }

    @Test(arguments: [Retention.strong, .weak]) func `any sequence of commands`(retention: Retention) async throws {
        let runs = Gen.anyShape(maxNodes: 6).zip(.array(of: Command.any, count: 0...25))
        let name = "any sequence of commands, \(retention)"
        try await check(runs, name: name, count: times(120, soak: 10_000)) { shape, commands in
            let world = try await World(shape, retention)
            try world.ensureSame()
            for command in commands {
                try await world.run(command)
                try world.ensureSame()
            }
            try await world.save()
            try await world.restart()
            try world.ensureSame()
        }
    }
}

/// Objects held by the other side's foreign key: who holds a branch is its parent.
@Suite struct `Trees against a naive reference` {
    private final class World {
        let faults = Faults()
        let store: GraphStore
        let session: GraphSession
        /// What the app holds.
        var branches: [Int: Branch] = [:]
        /// Who is whose parent, and what there is: now, and as last read or saved.
        var parents: [Int: Int] = [:]
        var ids: Set<Int>
        var saved: (parents: [Int: Int], ids: Set<Int>)
        var next: Int

        init(_ shape: GraphShape, _ retention: Retention) async throws {
            var options = GraphStore.Options()
            options.prepare = { [faults] connection in try connection.onStatement { _ in try faults.see() } }
            store = try await GraphStore.open(.inMemory, options: options, BranchRecord.self)
            try await StoredGraph(branchRecords(shape)).write(to: store.backing)
            session = GraphSession(store, BranchRecord.mapping, retention: retention)
            for record in branchRecords(shape) { parents[record.id] = record.parent?.id }
            (next, ids) = (shape.nodes, Set(0..<shape.nodes))
            saved = (parents, ids)
            for branch in try await session.models(Query(BranchRecord.self)) { branches[branch.id] = branch }
        }

        /// One that the app may have let go of.
        func branch(_ id: Int) async throws -> Branch {
            if let branch = branches[id] { return branch }
            guard let branch = try await session.find(BranchRecord.self, id) else {
                throw Violation(description: "\(id) is not found")
            }
            branches[id] = branch
            return branch
        }

        func pick(_ number: Int) async throws -> Branch? {
            let all = ids.sorted()
            return all.isEmpty ? nil : try await branch(all[number % all.count])
        }

        func detach(_ branch: Branch) async throws {
            if let parent = parents[branch.id] { try await self.branch(parent).children.removeAll { $0 === branch } }
            parents[branch.id] = nil
        }

        func reaches(_ id: Int, from start: Int) -> Bool {
            var now: Int? = start
            while let here = now {
                if here == id { return true }
                now = parents[here]
            }
            return false
        }

        func save() async throws {
            try await session.save()
            saved = (parents, ids)
        }

        func run(_ kind: Int, _ one: Branch?, _ two: Branch?, _ number: Int) async throws {
            switch kind {
            case 0...3:
                guard let one, let two, !reaches(one.id, from: two.id) else { return }
                try await detach(one)
                two.children.append(one)
                parents[one.id] = two.id
                one.parent = two
            case 4:
                guard let one else { return }
                try await detach(one)
                one.parent = nil
            case 5, 6:
                let new = Branch(id: next, value: "new")
                next += 1
                if let two {
                    two.children.append(new)
                    parents[new.id] = two.id
                }
                // It may be detached before it is saved.
                try session.add(new)
                branches[new.id] = new
                ids.insert(new.id)
            case 7:
                guard let one else { return }
                for child in one.children {
                    parents[child.id] = nil
                    child.parent = nil
                }
                one.children = []
                try await detach(one)
                branches[one.id] = nil
                ids.remove(one.id)
                try session.delete(one)
                try await save()
            case 8:
                try await save()
                try await session.refresh()
            case 9:
                // Another writer moves a branch to the top; the session has saved, and reads it.
                try await save()
                guard let one else { return }
                _ = try await store.write { transaction in
                    try await transaction.upsert(BranchRecord(id: one.id, value: one.value, parent: nil))
                }
                parents[one.id] = nil
                saved.parents[one.id] = nil
                try await session.refresh()
            case 10:
                try session.rollback()
                (parents, ids) = saved
                branches = branches.filter { ids.contains($0.key) }
            case 11:
                let expected = try session.changes()
                faults.next = number
                defer { faults.next = nil }
                do { try await save() } catch is Fault {
                    faults.next = nil
                    let after = try session.changes()
                    try ensure(after == expected, "after a fault: \(after), not \(expected)")
                }
            default: branches = branches.filter { $0.value === two || !saved.ids.contains($0.key) }
            }
        }

        func ensureStored() async throws {
            let again = try session.changes()
            try ensure(again.isEmpty, "save, then save: \(again)")
            let rows = try await store.fetch(Query(BranchRecord.self))
            try ensure(Set(rows.map(\.id)) == ids, "rows \(rows.map(\.id)), not \(ids)")
            for row in rows {
                let expected = parents[row.id]
                try ensure(row.parent?.id == expected, "\(row.id) is in \(row.parent as Any), not \(expected as Any)")
                let children = Set(try await branch(row.id).children.map(\.id))
                let held = Set(parents.filter { $0.value == row.id }.keys)
                try ensure(children == held, "\(row.id) has \(children), not \(held)")
            }
        }
    }

    @Test(arguments: [Retention.strong, .weak]) func `branches move, come and go`(retention: Retention) async throws {
        let step = Gen<Int>.int(in: 0...12).zip(.int(in: 0...9)).zip(.int(in: 0...9))
        let runs = Gen.forest(maxNodes: 6).zip(.array(of: step, count: 0...20))
        let name = "branches move, come and go, \(retention)"
        try await check(runs, name: name, count: times(120, soak: 10_000)) { shape, steps in
            let world = try await World(shape, retention)
            for ((kind, first), second) in steps {
                let (one, two) = (try await world.pick(first), try await world.pick(second))
                try await world.run(kind, one, two, second)
            }
            try await world.save()
            try await world.ensureStored()
        }
    }
}
