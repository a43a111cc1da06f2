import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `One record, values and several queries` {
    /// Realm 6: what a patch leaves out is not touched, and not told of.
    @Test func `one record, by what has changed`() async throws {
        let store = try await openWares()
        try await store.write { try await $0.insert(contentsOf: [WareRecord(id: 1, name: "a"), WareRecord(id: 2)]) }
        var changes = store.changes(of: WareRecord.self, 1).makeAsyncIterator()
        guard case .initial(let first)? = try await changes.next() else { throw Violation(description: "not initial") }
        #expect(first.name == "a")
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 1)) }
        #expect(store.broadcaster.pendingCount == 0)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.name, nil).set(\.price, 2)) }
        guard case .changed(let second, let properties)? = try await changes.next() else {
            throw Violation(description: "not changed")
        }
        #expect(second.price == 2)
        #expect(
            properties == [
                PropertyChange(property: "name", old: [.text("a")], new: [.null]),
                PropertyChange(property: "price", old: [.real(0)], new: [.real(2)]),
            ])
        try await store.write { try await $0.execute("UPDATE ware SET \"group\" = 8 WHERE id = 1") }
        #expect(try await changes.next()?.record?.group == 8)
        try await store.write { _ = try await $0.delete(WareRecord.self, 1) }
        guard case .deleted? = try await changes.next() else { throw Violation(description: "not deleted") }
        try await store.write { try await $0.insert(WareRecord(id: 1, name: "b")) }
        guard case .initial(let third)? = try await changes.next() else { throw Violation(description: "not initial") }
        #expect(third.name == "b")
        var missing = store.changes(of: WareRecord.self, 9).makeAsyncIterator()
        guard case .deleted? = try await missing.next() else { throw Violation(description: "not deleted") }
    }

    @Test func `counts and other values`() async throws {
        let store = try await openWares()
        var counts = store.counts(of: Query(WareRecord.self).where { $0.price > 1 }).makeAsyncIterator()
        var names = store.values { tx in
            let wares = try await tx.fetch(Query(WareRecord.self).sorted(by: \.id))
            // What it reads depends on what it has read.
            guard let depot = wares.first?.depot else { return "-" }
            return try await tx.find(DepotRecord.self, depot.id)?.name ?? "?"
        }.makeAsyncIterator()
        #expect(try await counts.next() == 0)
        #expect(try await names.next() == "-")
        try await store.write { tx in
            try await tx.insert(DepotRecord(id: 1, name: "d"))
            try await tx.insert(WareRecord(id: 1, price: 1, depot: Ref(1)))
            try await tx.insert(WareRecord(id: 2, price: 2))
        }
        #expect(try await counts.next() == 1)
        #expect(try await names.next() == "d")
        try await store.write { _ = try await $0.apply(Patch(DepotRecord.self, 1).set(\.name, "e")) }
        #expect(try await names.next() == "e")
        // A change that leaves the count, then one that does not.
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.price, 3)) }
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 1).set(\.price, 3)) }
        #expect(try await counts.next() == 2)
    }

    @Test func `several queries in one event, of one moment`() async throws {
        let store = try await openWares()
        let even = Query(WareRecord.self).where { $0.group == 0 }
        let odd = Query(WareRecord.self).where { $0.group == 1 }
        var changes = store.changes(of: even, odd, Query(DepotRecord.self)).makeAsyncIterator()
        let first = try await changes.next()
        #expect(first?.0?.collection.isEmpty == true && first?.1 != nil && first?.2 != nil)
        try await store.write { try await $0.insert(contentsOf: (1...3).map { WareRecord(id: $0) }) }
        let second = try await changes.next()
        #expect(second?.0?.collection.count == 3 && second?.1 == nil && second?.2 == nil)
        try await store.write { _ = try await $0.apply(Patch(WareRecord.self, 2).set(\.group, 1)) }
        guard let third = try await changes.next() else { throw Violation(description: "it ended") }
        guard case .update(_, let deletions, _, _)? = third.0, case .update(_, _, let insertions, _)? = third.1
        else {
            throw Violation(description: "not both")
        }
        #expect(deletions == [1] && insertions == [0] && third.2 == nil)
    }
}

private struct Town: StoredRecord {
    let id: Int
    var name: String
    var size = 0
    var near: [Ref<Town>] = []
    var capital: Ref<Town>?
    static let schema = Schema<Self>("town") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), size: row("size", \.size), near: row("near", \.near),
            capital: row("capital", \.capital))
    }
}

/// Realm 32.
@Suite struct `Linked records` {
    @Test func `the same depth for several queries`() async throws {
        let store = try await chain()
        let first = Query(Town.self).where { $0.id == 1 }
        var changes = store.changes(of: first, first, linked: (.depth(1), .depth(2))).makeAsyncIterator()
        _ = try await changes.next()
        try await store.write { _ = try await $0.apply(Patch(Town.self, 3).set(\.name, "new")) }
        guard case (nil, .update(_, [], [], [0])?)? = try await changes.next() else {
            throw Violation(description: "to depth 2 alone")
        }
        try await store.write { _ = try await $0.apply(Patch(Town.self, 2).set(\.name, "new")) }
        guard case (.update(_, [], [], [0])?, .update(_, [], [], [0])?)? = try await changes.next() else {
            throw Violation(description: "to both")
        }
    }

    /// 1 → 2 → 3 → 4, by `capital`.
    private func chain() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { tx in
            for id in 1...4 {
                try await tx.insert(Town(id: id, name: "\(id)", capital: id < 4 ? Ref(id + 1) : nil))
            }
        }
        return store
    }

    /// Whether a change to the town of that id is one of the first.
    private func reaches(_ id: Int, _ linked: ObservedLinks<Town>, name: Bool = true) async throws -> Bool {
        let store = try await chain()
        var changes = try await Stepper(store, LiveLinked(Query(Town.self).where { $0.id == 1 }, nil, linked))
        let patch = Patch(Town.self, id)
        try await store.write { _ = try await $0.apply(name ? patch.set(\.name, "new") : patch.set(\.size, 1)) }
        return try await changes.step() != nil
    }

    @Test func `to a depth`() async throws {
        #expect(try await !reaches(2, .none))
        #expect(try await reaches(2, .depth(1)))
        #expect(try await !reaches(3, .depth(1)))
        #expect(try await reaches(3, .depth(2)))
        #expect(try await !reaches(4, .depth(2)))
        #expect(try await reaches(4, .depth(3)))
    }

    @Test func `along paths`() async throws {
        let path = ObservedLinks<Town>.along { $0.capital.capital.name }
        #expect(try await !reaches(2, path))
        #expect(try await reaches(3, path))
        #expect(try await !reaches(3, path, name: false))
        #expect(try await reaches(3, .along { $0.capital.capital }, name: false))
    }

    @Test func `what changes nothing is not told of, also by statements of one's own`() async throws {
        let store = try await chain()
        var changes = store.changes(of: Query(Town.self), linked: .along { $0.near.name }).makeAsyncIterator()
        _ = try await changes.next()
        _ = try await store.write {
            try await $0.upsert(Town(id: 1, name: "1", near: [Ref(3), Ref(4)], capital: Ref(2)))
        }
        guard case .update(_, [], [], [0])? = try await changes.next() else { throw Violation(description: "relink") }
        try await store.write { try await $0.execute("UPDATE town SET name = name") }
        try await store.write { _ = try await $0.apply(Patch(Town.self, 4).set(\.name, "four")) }
        guard case .update(_, [], [], [0, 3])? = try await changes.next() else { throw Violation(description: "both") }
        // Out of the list, it is nothing to the first any more.
        _ = try await store.write { try await $0.upsert(Town(id: 1, name: "1", near: [Ref(3)], capital: Ref(2))) }
        guard case .update(_, [], [], [0])? = try await changes.next() else { throw Violation(description: "relink") }
        try await store.write { _ = try await $0.apply(Patch(Town.self, 4).set(\.name, "4")) }
        guard case .update(_, [], [], [3])? = try await changes.next() else { throw Violation(description: "alone") }
        var one = store.changes(of: Town.self, 1, linked: .depth(1)).makeAsyncIterator()
        _ = try await one.next()
        try await store.write { _ = try await $0.apply(Patch(Town.self, 3).set(\.size, 4)) }
        guard case .changed(_, let properties)? = try await one.next() else { throw Violation(description: "changed") }
        #expect(properties.map(\.property) == ["near"])
    }

    @Test func `what nobody links to any more is forgotten`() async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        let count = 1500
        try await store.write { tx in for id in 1...count { try await tx.insert(Town(id: id, name: "")) } }
        var changes = try await Stepper(
            store, LiveLinked(Query(Town.self).where { $0.id == 1 }, nil, .along { $0.capital.name }))
        for id in 2...count {
            try await store.write { _ = try await $0.apply(Patch(Town.self, 1).set(\.capital, Ref(id))) }
            #expect(try await changes.step() != nil)
        }
        #expect(changes.live.seenCount < 1100)
        try await store.write { _ = try await $0.apply(Patch(Town.self, 5).set(\.name, "old")) }
        #expect(try await changes.step() == nil)
        try await store.write { _ = try await $0.apply(Patch(Town.self, count).set(\.name, "new")) }
        #expect(try await changes.step() != nil)
    }

    @Test func `what a row links to counts also if the row came in unwritten`() async throws {
        let store = try await GraphStore.open(.inMemory, Town.self)
        try await store.write { tx in
            for id in 1...3 { try await tx.insert(Town(id: id, name: "", capital: id == 2 ? Ref(3) : nil)) }
        }
        let first = Query(Town.self).sorted(by: \.id).limit(1)
        var changes = try await Stepper(store, LiveLinked(first, nil, .along { $0.capital.name }))
        try await store.write { _ = try await $0.delete(Town.self, 1) }
        #expect(try await changes.step() != nil)
        try await store.write { _ = try await $0.apply(Patch(Town.self, 3).set(\.name, "new")) }
        guard case .update(_, [], [], [0])? = try await changes.step() else {
            throw Violation(description: "it is told nothing of the capital")
        }
    }

    /// A row is modified if, and only if, what it shows of what it links to differs.
    @Test func `law: what is seen along a path is what is told`() async throws {
        let edits = Gen<[(Int, Int, Int)]>.array(
            of: Gen<Int>.int(in: 1...5).zip(.int(in: 0...5)).zip(.int(in: 0...4)).map { ($0.0, $0.1, $1) },
            count: 1...6)
        try await check(Gen<[[(Int, Int, Int)]]>.array(of: edits, count: 1...5), count: 150) { rounds in
            let store = try await GraphStore.open(.inMemory, Town.self)
            try await store.write { tx in for id in 1...5 { try await tx.insert(Town(id: id, name: "0")) } }
            let query = Query(Town.self).sorted(by: \.id)
            var changes = try await Stepper(
                store,
                LiveLinked(
                    query, [],
                    .along {
                        $0.capital.name
                        $0.near.capital.name
                    }))
            func seen() async throws -> [[String]] {
                let towns = try await store.fetch(query)
                return towns.map { town in
                    let near = town.near.compactMap { towns[$0.id - 1].capital }
                    let others = town.near.map { "\($0.id) \(towns[$0.id - 1].capital?.id ?? 0)" }
                    return ["\(town.capital?.id ?? 0) \(town.capital.map { towns[$0.id - 1].name } ?? "")"] + others
                        + near.map { towns[$0.id - 1].name }
                }
            }
            var old = try await seen()
            for round in rounds {
                try await store.write { tx in
                    for (id, other, kind) in round {
                        let ref = other == 0 ? nil : Ref<Town>(other)
                        switch kind {
                        case 0: _ = try await tx.apply(Patch(Town.self, id).set(\.name, "\(other)"))
                        case 1: _ = try await tx.apply(Patch(Town.self, id).set(\.capital, ref))
                        case 2:
                            guard var town = try await tx.find(Town.self, id) else { continue }
                            town.near = ref.map { town.near + [$0] } ?? []
                            try await tx.upsert(town)
                        case 3: _ = try await tx.apply(Patch(Town.self, id).set(\.size, other))
                        default: try await tx.execute("UPDATE town SET name = '\(other)' WHERE id > \(id)")
                        }
                    }
                }
                let new = try await seen()
                let expected = old.indices.filter { old[$0] != new[$0] }
                old = new
                let change = try await changes.step()
                var told: [Int] = []
                if case .update(_, [], [], let modifications)? = change { told = modifications }
                try ensure(told == expected, "told \(change.map { "\($0)" } ?? "nothing"), expected \(expected)")
            }
        }
    }
}
