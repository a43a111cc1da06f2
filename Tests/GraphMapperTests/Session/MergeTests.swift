import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapper
@testable import GraphMapperStore

/// A branch with those below it, nested.
private struct BranchPayload: DTO, Identifiable {
    typealias Model = Branch
    let id: Int
    let value: Tristate<String>
    let children: [BranchPayload]
    static let schema = Schema<Self>("branch") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), children: row.nested("children", \.children))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Branch(id: $0.id, value: $0.value.value ?? "")
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            Many(\.children, \.children)
        }
    }
}

@Suite struct `Graphs that were edited elsewhere` {
    enum Policy: CaseIterable, Sendable { case fail, mine, theirs }

    /// A property as the three see it.
    struct Sides<V: Equatable & Sendable>: Sendable {
        var base: V
        var mine: V
        var theirs: V

        var isClash: Bool { mine != base && theirs != base && mine != theirs }

        func merged(_ policy: Policy) -> V {
            if theirs == base { return mine }
            if mine == base { return theirs }
            return policy == .mine ? mine : theirs
        }
    }

    struct Case: Sendable {
        var policy: Policy
        var scope: ListScope
        var note: Tristate<String>
        var buyer: Tristate<Int>
        var name: Tristate<String>
        var goods: Tristate<[Int]>
        var myNote: String?
        var myBuyer: Int?
        var myName: String
        var myGoods: [Int]
    }

    static let cases: Gen<Case> = {
        let goods = Gen<[Int]>.array(of: .int(in: 1...4), count: 0...4).map { Array(Set($0)).sorted() }
        let theirs = Gen<Tristate<String>>.tristate(.element(of: ["gift", "rush"]))
            .zip(.tristate(.int(in: 7...9))).zip(.tristate(.element(of: ["hoon", "kim"]), nulls: false))
            .zip(.tristate(goods))
        let mine = Gen<String?>.element(of: ["gift", "slow", nil]).zip(.element(of: [7, 7, 8, nil]))
            .zip(.element(of: ["hoon", "lee"])).zip(.oneOf(.always([1, 2]), goods))
        let how = Gen<Policy>.element(of: Policy.allCases).zip(.element(of: [ListScope.whole, .partial]))
        return how.zip(theirs).zip(mine).map { parts in
            let (how, theirs) = parts.0
            let mine = parts.1
            return Case(
                policy: how.0, scope: how.1, note: theirs.0.0.0, buyer: theirs.0.0.1, name: theirs.0.1,
                goods: theirs.1, myNote: mine.0.0.0, myBuyer: mine.0.0.1, myName: mine.0.1, myGoods: mine.1)
        }
    }()

    private func open() async throws -> (GraphStore, Faults) {
        let statements = Faults()
        var options = GraphStore.Options()
        options.prepare = { connection in try connection.onStatement { _ in try statements.see() } }
        let store = try await GraphStore.open(
            .inMemory, options: options, PurchaseRow.self, BuyerRow.self, GoodRow.self)
        try await store.write { tx in
            try await tx.insert(
                contentsOf: [7, 8].map {
                    BuyerRow(id: $0, name: "hoon", email: "h@x", homepage: nil, age: 20)
                })
            try await tx.insert(contentsOf: (1...4).map { GoodRow(id: $0, name: "good \($0)", price: $0 * 10) })
            try await tx.insert(PurchaseRow(id: 1, note: "gift", buyer: Ref(7), goods: [Ref(1), Ref(2)]))
        }
        return (store, statements)
    }

    /// What a merge has to come to, property by property.
    private func run(_ plan: Case) async throws {
        let (store, _) = try await open()
        let session = purchaseSession(store, plan.scope)
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        let buyer = try #require(purchase.buyer)
        let other = try #require(try await session.find(BuyerRow.self, 8))
        let goods = try await session.models(Query(GoodRow.self).sorted(by: \.id))
        purchase.note = plan.myNote
        purchase.buyer = plan.myBuyer.map { $0 == 7 ? buyer : other }
        buyer.name = plan.myName
        purchase.goods = plan.myGoods.map { goods[$0 - 1] }

        let graph = PurchasePayload(
            id: 1, note: plan.note, buyer: plan.buyer.map { BuyerPayload(id: $0, name: plan.name) },
            goods: plan.goods.map { $0.map { GoodPayload(id: $0) } })
        let note = Sides(base: "gift", mine: plan.myNote, theirs: plan.note.isUnset ? "gift" : plan.note.value)
        let link = Sides(base: 7, mine: plan.myBuyer, theirs: plan.buyer.isUnset ? 7 : plan.buyer.value)
        let name = Sides(
            base: "hoon", mine: plan.myName, theirs: plan.buyer.value == 7 ? plan.name.value ?? "hoon" : "hoon")
        var list = plan.goods.isUnset ? [1, 2] : plan.goods.value ?? []
        if plan.scope == .partial, plan.goods.value != nil { list = Array(Set(list + [1, 2])).sorted() }
        let clashes = [note.isClash, link.isClash, name.isClash].count { $0 }

        let before = try session.changes()
        do {
            let policy: ConflictPolicy =
                switch plan.policy {
                case .fail: .fail
                case .mine: .mine
                case .theirs: .theirs
                }
            let models = try await session.merge([graph], onConflict: policy)
            try ensure(models[0] === purchase, "another instance")
            try ensure(plan.policy != .fail || clashes == 0, "it should have failed")
        } catch let error as GraphError {
            try ensure(plan.policy == .fail && clashes > 0, "\(error)")
            try ensure(error.kind == .conflict && error.conflicts.count == clashes, "\(error.conflicts)")
            let after = try session.changes()
            try ensure(after == before, "after a failure: \(after), not \(before)")
            try ensure(purchase.note == plan.myNote && buyer.name == plan.myName, "a model has changed")
            try ensure(purchase.goods.map(\.id) == plan.myGoods, "a list has changed")
            return
        }
        try await session.save()
        let again = try await session.save()
        try ensure(again.isEmpty, "a second save writes \(again)")
        let row = try #require(try await store.find(PurchaseRow.self, 1))
        try ensure(row.note == note.merged(plan.policy), "note \(row.note ?? "nil")")
        try ensure(row.buyer?.id == link.merged(plan.policy), "buyer \(String(describing: row.buyer))")
        let named = try #require(try await store.find(BuyerRow.self, 7))
        try ensure(named.name == name.merged(plan.policy), "name \(named.name)")
        try ensure(named.age == 20 && named.email == "h@x", "what nobody spoke of has changed")
        let merged = (1...4).filter { good in
            let inBase = good <= 2
            let (isMine, isTheirs) = (plan.myGoods.contains(good), list.contains(good))
            return inBase ? isMine && isTheirs : isMine || isTheirs
        }
        try ensure(row.goods.map(\.id).sorted() == merged, "goods \(row.goods.map(\.id)), not \(merged)")
        try ensure(try await store.find(GoodRow.self, 4)?.price == 40, "price")
        let isStored = try await store.find(BuyerRow.self, 9) != nil
        try ensure(isStored == (plan.buyer.value == 9), "a new buyer")
        guard plan.myNote == "gift", plan.myBuyer == 7, plan.myName == "hoon", plan.myGoods == [1, 2] else { return }
        let fresh = purchaseSession(store, plan.scope)
        try await fresh.merge([graph])
        let rest = try fresh.changes()
        try ensure(rest.isEmpty, "the second time: \(rest)")
    }

    @Test func `three sides come to what each has changed`() async throws {
        try await check(Self.cases, count: 300) { try await run($0) }
    }

    @Test func `what is stored already is not written`() async throws {
        let (store, statements) = try await open()
        let exporting = purchaseSession(store)
        let models = try await exporting.models(Query(PurchaseRow.self))
        let text = try json(models.map { try exporting.record(PurchasePayload.self, of: $0) })
        let session = purchaseSession(store)
        // Twice the same: copies.
        let graph: [PurchasePayload] = try payload(text) + payload(text)
        try await session.merge(graph)
        let seen = statements.seen
        #expect(try await session.save().isEmpty)
        #expect(statements.seen == seen)
        #expect(graph.count == 2)
    }

    @Test func `as many queries for many as for few`() async throws {
        var counts: [Int] = []
        for count in [2, 60] {
            let (store, statements) = try await open()
            let session = purchaseSession(store)
            let seen = statements.seen
            let models = try await session.merge(
                (1...count).map { id in
                    PurchasePayload(
                        id: id, buyer: .value(BuyerPayload(id: 7 + id % 9, name: .value("n"))),
                        goods: .value([GoodPayload(id: id), GoodPayload(id: 1)]))
                })
            counts.append(statements.seen - seen)
            #expect(Set(models.map(\.id)).count == count)
            try await session.save()
            #expect(try await store.fetch(Query(PurchaseRow.self)).count == count)
        }
        #expect(counts[1] <= counts[0])
    }

    @Test func `lists that a foreign key holds merge child by child`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (1...5).map {
                    BranchRecord(id: $0, value: "", parent: $0 > 1 && $0 < 5 ? Ref(1) : nil)
                })
        }
        let session = GraphSession(store, BranchPayload.mapping, BranchRecord.mapping)
        let all = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
        let new = Branch(id: 10, value: "mine")
        all[0].children.append(new)
        all[0].children.removeAll { $0 === all[1] }
        // Without 3, and with 5, which is to have another value.
        let children = [2, 4, 5].map {
            BranchPayload(id: $0, value: $0 == 5 ? .value("theirs") : .unset, children: [])
        }
        try await session.merge([BranchPayload(id: 1, value: .unset, children: children)])
        #expect(Set(all[0].children.map(\.id)) == [4, 5, 10])
        try await session.save()
        let rows = try await store.fetch(Query(BranchRecord.self))
        #expect(Set(rows.filter { $0.parent?.id == 1 }.map(\.id)) == [4, 5, 10])
        #expect(rows.first { $0.id == 5 }?.value == "theirs")
        #expect(all[2].parent == nil && new.parent === all[0])
    }

    @Test func `what only an on-demand link of a record leads to is read`() async throws {
        let store = try await openTown()
        try await store.write { tx in
            for id in 1...3 {
                try await tx.insert(PersonRow(id: id, name: "", boss: nil, friend: id == 1 ? Ref(2) : nil, secret: 0))
            }
        }
        let session = townSession(store)
        let merged = try await session.merge([PersonRow(id: 1, name: "n", boss: nil, friend: Ref(3), secret: 0)])
        #expect(merged[0].friend?.id == 3)
        try await session.save()
        #expect(try await store.find(PersonRow.self, 1)?.friend == Ref(3))
    }

    @Test func `what another writer has deleted is stored again`() async throws {
        for isDeleted in [false, true] {
            let (store, _) = try await open()
            let session = purchaseSession(store)
            let buyer = try #require(try await session.find(BuyerRow.self, 7))
            if isDeleted { try session.delete(buyer) }
            try await store.write { tx in
                try await tx.execute("UPDATE purchase SET buyer = NULL")
                _ = try await tx.delete(BuyerRow.self, 7)
            }
            let merged = try await session.merge([BuyerPayload(id: 7, name: .value("back"))])
            #expect(merged.map(ObjectIdentifier.init) == [ObjectIdentifier(buyer)])
            try await session.save()
            // Also if the app has deleted it, too.
            #expect(try await store.find(BuyerRow.self, 7)?.name == "back")
            #expect(try session.changes().isEmpty)
        }
    }

    @Test func `what the app has deleted stays deleted unless the graph has changed it`() async throws {
        for (price, policy) in [(nil, ConflictPolicy.fail), ("5", .fail), ("5", .mine), ("5", .theirs)] {
            let (store, _) = try await open()
            let session = purchaseSession(store)
            let good = try #require(try await session.find(GoodRow.self, 3))
            try session.delete(good)
            let graph = GoodPayload(id: 3, name: .value("good 3"), price: price.map { .value($0) } ?? .unset)
            let isFailing = price != nil && policy.resolve == nil
            do {
                try await session.merge([graph], onConflict: policy)
                #expect(!isFailing)
            } catch let error as GraphError {
                #expect(isFailing && error.conflicts.map(\.kind) == [.deletedByMe])
                #expect(error.conflicts.first?.path == "good(3).price")
                #expect(good.price == 30)
            }
            try await session.save()
            let stored = try await store.find(GoodRow.self, 3)
            let isTaken =
                try price != nil
                && policy.resolve?(
                    Conflict(
                        .value, type: "", id: "", property: "", base: [], mine: [], theirs: [])) == .theirs
            #expect(stored?.price == (isTaken ? 5 : nil))
        }
    }

    @Test func `merged values are what the policy says, and nonsense is refused`() async throws {
        let (store, _) = try await open()
        let session = purchaseSession(store)
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        let goods = try await session.models(Query(GoodRow.self).sorted(by: \.id))
        purchase.note = "slow"
        purchase.goods = [goods[1], goods[0]]
        let graph = PurchasePayload(
            id: 1, note: .value("rush"), goods: .value([3, 2, 1].map { GoodPayload(id: $0) }))
        // Both have put the list into another order.
        var asked: [Conflict] = []
        try await session.merge(
            [graph],
            onConflict: .merge { conflict in
                asked.append(conflict)
                return conflict.property == "note" ? .merged([.text("both")]) : .merged([.integer(2), .integer(3)])
            })
        #expect(asked.map(\.path).contains("purchase(1).note"))
        #expect(purchase.note == "both")
        if asked.contains(where: { $0.kind == .list }) { #expect(purchase.goods.map(\.id) == [2, 3]) }
        purchase.note = "slow"
        let changes = try session.changes()
        await #expect(throws: GraphError.self) {
            _ = try await session.merge([graph], onConflict: .merge { _ in .merged([]) })
        }
        #expect(purchase.note == "slow")
        #expect(try session.changes() == changes)
    }

    @Test func `without ids they are those in their places, and the rest is new`() async throws {
        let statements = Faults()
        var options = GraphStore.Options()
        options.prepare = { connection in try connection.onStatement { _ in try statements.see() } }
        let store = try await GraphStore.open(
            .inMemory, options: options, ReceiptRow.self, LineRow.self, GoodRow.self)
        func session() -> GraphSession {
            GraphSession(
                store,
                [ReceiptPayload.mapping, LinePayload.mapping, AddressPayload.mapping, GoodPayload.mapping]
                    + [ReceiptRow.mapping, LineRow.mapping, GoodRow.mapping] as [any AnyMapping])
        }
        func graph(_ quantities: Int...) -> ReceiptPayload {
            let good = GoodPayload(id: 1, name: .value("g"), price: .value("5"))
            return ReceiptPayload(
                id: 1, address: nil,
                lines: .value(quantities.map { LinePayload(quantity: $0, good: good, notes: []) }))
        }
        let first = session()
        try await first.merge([graph(1, 2)])
        #expect(try await first.save().changes.count == 5)
        let lines = try await store.fetch(Query(LineRow.self).sorted(by: \.quantity))
        let second = session()
        try await second.merge([graph(1, 2)])
        let seen = statements.seen
        #expect(try await second.save().isEmpty && statements.seen == seen)
        // The app and the graph have both changed one that has no id.
        let receipt = try #require(try await second.find(ReceiptRow.self, 1))
        receipt.lines[1].quantity = 7
        let error = await #expect(throws: GraphError.self) { _ = try await second.merge([graph(1, 3)]) }
        #expect(error?.conflicts.map(\.property) == ["quantity"])
        #expect(receipt.lines[1].quantity == 7)
        try await second.merge([graph(1, 3, 4)], onConflict: .theirs)
        try await second.save()
        let stored = try await store.fetch(Query(LineRow.self).sorted(by: \.quantity))
        #expect(stored.map(\.quantity) == [1, 3, 4])
        #expect(stored.prefix(2).map(\.id) == lines.map(\.id))
    }

    @Test func `what an earlier payload has said is not said again`() async throws {
        let (store, _) = try await open()
        let session = purchaseSession(store)
        try await session.merge([BuyerPayload(id: 7, name: .value("kim"))])
        try await session.save()
        _ = try await store.write { tx in
            try await tx.upsert(BuyerRow(id: 7, name: "park", email: "h@x", homepage: nil, age: 20))
        }
        try await session.merge([BuyerPayload(id: 7, email: .value("p@x"))])
        try await session.save()
        let row = try #require(try await store.find(BuyerRow.self, 7))
        #expect(row.name == "park" && row.email == "p@x")
    }

    @Test func `a payload does not undo what the app has put into a list that a foreign key holds`() async throws {
        for isEdited in [false, true] {
            let store = try await openNodes()
            try await store.write { tx in
                try await tx.insert(
                    contentsOf: (1...3).map { BranchRecord(id: $0, value: "", parent: $0 > 1 ? Ref(1) : nil) })
            }
            let session = GraphSession(store, BranchPayload.mapping, BranchRecord.mapping)
            let all = try await session.models(Query(BranchRecord.self).sorted(by: \.id))
            if isEdited { all[0].children = [all[1], Branch(id: 9, value: "mine")] }
            let children = [BranchPayload(id: 3, value: .unset, children: [])]
            try session.map([BranchPayload(id: 1, value: .unset, children: children)])
            #expect(Set(all[0].children.map(\.id)) == (isEdited ? [2, 9] : [3]))
            try await session.save()
            let rows = try await store.fetch(Query(BranchRecord.self)).filter { $0.parent?.id == 1 }
            #expect(Set(rows.map(\.id)) == (isEdited ? [2, 9] : [3]))
        }
    }

    // MARK: Records

    @Test func `rows that were edited elsewhere`() async throws {
        let store = try await openNodes()
        try await store.write { tx in
            try await tx.insert(
                contentsOf: (1...4).map { BranchRecord(id: $0, value: "\($0)", parent: $0 == 1 ? nil : Ref(1)) })
        }
        let session = GraphSession(store, BranchRecord.mapping)
        func rows() async throws -> [BranchRecord] {
            try await store.fetch(Query(BranchRecord.self).sorted(by: \.id))
        }
        // Unchanged, and twice: nothing.
        let before = try await rows()
        let models = try await session.merge(before + before)
        #expect(models.count == 8 && models[0] === models[4] && models[0].children.count == 3)
        #expect(try await session.save().isEmpty)
        // A value, a move, and a new one; what is not named stays.
        try await session.merge([
            BranchRecord(id: 2, value: "two", parent: Ref(1)), BranchRecord(id: 3, value: "3", parent: Ref(2)),
            BranchRecord(id: 9, value: "new", parent: Ref(3)),
        ])
        #expect(models[1].value == "two" && models[2].parent === models[1])
        let added = try #require(try await session.find(BranchRecord.self, 9))
        #expect(session.state(of: added) == .new && session.state(of: models[1]) == .changed)
        let written = try await session.save()
        #expect(written.changes.count == 3, "\(written)")
        #expect(try await rows().map { $0.parent?.id } == [nil, 1, 2, 1, 3])
        #expect(models[0].children.map(\.id).sorted() == [2, 4] && models[1].children.map(\.id) == [3])
        #expect(added.parent === models[2] && models[2].children.first === added)
        #expect(try await session.save().isEmpty)
        // Rolled back, it is as if it had not come.
        try await session.merge([
            BranchRecord(id: 2, value: "x", parent: nil), BranchRecord(id: 10, value: "", parent: nil),
        ])
        try session.rollback()
        #expect(try await session.save().isEmpty)
        #expect(models[1].value == "two" && models[1].parent === models[0])
        #expect(try await session.find(BranchRecord.self, 10) == nil)
    }

    @Test func `rows that differ from what the app has changed`() async throws {
        for policy in Policy.allCases {
            let store = try await openNodes()
            try await store.write { tx in
                try await tx.insert(
                    contentsOf: (1...3).map {
                        NodeRecord(id: $0, value: "", single: nil, many: $0 == 1 ? [Ref(2)] : [])
                    })
            }
            let session = GraphSession(store, NodeRecord.mapping)
            let nodes = try await session.models(Query(NodeRecord.self).sorted(by: \.id))
            nodes[0].value = "mine"
            nodes[0].many.append(nodes[2])
            nodes[1].value = "kept"
            let graph = [
                NodeRecord(id: 1, value: "theirs", single: Ref(3), many: [Ref(1), Ref(2)]),
                NodeRecord(id: 2, value: "", single: nil, many: []),
            ]
            switch policy {
            case .fail:
                let error = await #expect(throws: GraphError.self) { _ = try await session.merge(graph) }
                #expect(error?.conflicts.map(\.path) == ["node(1).value"])
                #expect(nodes[0].value == "mine" && nodes[0].single == nil && nodes[0].many.count == 2)
            case .mine, .theirs:
                try await session.merge(graph, onConflict: policy == .mine ? .mine : .theirs)
                try await session.save()
                let row = try #require(try await store.find(NodeRecord.self, 1))
                #expect(row.value == (policy == .mine ? "mine" : "theirs") && row.single == Ref(3))
                #expect(Set(row.many.map(\.id)) == [1, 2, 3])
                #expect(try await store.find(NodeRecord.self, 2)?.value == "kept")
                #expect(try await session.save().isEmpty)
            }
        }
    }

    /// SA versioning `test_merge_…_version`: an edit of version 1 of a row that has version 2.
    @Test func `a row that was made of another version`() async throws {
        for policy in Policy.allCases {
            let store = try await GraphStore.open(.inMemory, CountedRow.self)
            let id = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000001"))
            func row(_ text: String, version: Int) -> CountedRow {
                CountedRow(id: id, text: text, count: 0, version: version, parts: [])
            }
            try await store.write { tx in try await tx.insert(row("stored", version: 2)) }
            let session = GraphSession(store, CountedRow.mapping)
            switch policy {
            case .fail:
                let error = await #expect(throws: GraphError.self) {
                    _ = try await session.merge([row("stale", version: 1)])
                }
                #expect(error?.conflicts.map(\.property) == ["version"])
                #expect(try await session.save().isEmpty)
                try await session.merge([row("new", version: 2)])
            case .mine: try await session.merge([row("stale", version: 1)], onConflict: .mine)
            case .theirs: try await session.merge([row("new", version: 1)], onConflict: .theirs)
            }
            #expect(try await session.save().isEmpty == (policy == .mine))
            let stored = try #require(try await store.find(CountedRow.self, id))
            #expect(stored.text == (policy == .mine ? "stored" : "new"))
            #expect(stored.version == (policy == .mine ? 2 : 3))
        }
    }

    @Test func `without a database there is nothing to merge with`() async throws {
        let none = GraphSession(PurchasePayload.mapping, BuyerPayload.mapping, GoodPayload.mapping)
        await #expect(throws: GraphError.self) { _ = try await none.merge([GoodPayload(id: 1)]) }
    }
}
