import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

@Suite struct `Payloads and records of one model` {
    @Test func `a payload's object is the record's, missing properties stay, null clears, values set`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let hoon = try #require(try await session.find(BuyerRow.self, 7))
        let same = try session.map([payload(BuyerPayload.self, #"{"id": 7, "name": "kim", "email": null}"#)])[0]
        #expect(same === hoon)
        #expect(hoon.name == "kim" && hoon.email == nil && hoon.homepage?.absoluteString == "https://x/h")
        #expect(hoon.age == 20)
        #expect(try session.changes().description == #"update buyer 7: name "hoon" → "kim", email "h@x" → NULL"#)
        try await session.save()
        #expect(try await session.save().isEmpty)
        let row = try #require(try await store.find(BuyerRow.self, 7))
        #expect(row.name == "kim" && row.email == nil && row.homepage == "https://x/h" && row.age == 20)
    }

    @Test func `a payload first: the save finds the row, and keeps what the payload does not say`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let hoon = try session.map([payload(BuyerPayload.self, #"{"id": 7, "name": "kim"}"#)])[0]
        let new = try session.map([payload(BuyerPayload.self, #"{"id": 8, "email": "n@x"}"#)])[0]
        let changes = try await session.save()
        #expect(changes.changes.count == 2, "\(changes)")
        #expect(changes.description.contains(#"update buyer 7: name "hoon" → "kim""#), "\(changes)")
        let row = try #require(try await store.find(BuyerRow.self, 7))
        #expect(row.name == "kim" && row.email == "h@x" && row.homepage == "https://x/h" && row.age == 20)
        #expect(hoon.email == "h@x" && hoon.age == 20)
        #expect(try await store.find(BuyerRow.self, 8)?.email == "n@x" && new.age == 18)
        #expect(try await session.save().isEmpty)
    }

    @Test func `what the app sets after the payload is saved, also where the payload said nothing`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let hoon = try session.map([payload(BuyerPayload.self, #"{"id": 7, "name": "kim"}"#)])[0]
        hoon.age = 30
        hoon.email = "new@x"
        try await session.save()
        let row = try #require(try await store.find(BuyerRow.self, 7))
        #expect(row.age == 30 && row.email == "new@x" && row.name == "kim" && row.homepage == "https://x/h")
    }

    @Test func `a record that is loaded after a payload does not undo it`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let text = #"{"id": 1, "note": null, "buyer": {"id": 7, "name": "kim"}, "goods": [{"id": 2}]}"#
        let purchase = try session.map([payload(PurchasePayload.self, text)])[0]
        purchase.buyer?.age = 21
        #expect(try await session.find(PurchaseRow.self, 1) === purchase)
        _ = try await session.models(Query(PurchaseRow.self))
        #expect(purchase.note == nil && purchase.goods.map(\.id) == [2] && purchase.buyer?.name == "kim")
        #expect(purchase.buyer?.age == 21 && purchase.buyer?.email == "h@x" && purchase.goods[0].price == 20)
        try await session.save()
        let row = try #require(try await store.find(PurchaseRow.self, 1))
        #expect(row.note == nil && row.goods == [Ref(2)] && row.buyer == Ref(7))
        let buyer = try #require(try await store.find(BuyerRow.self, 7))
        #expect(buyer.name == "kim" && buyer.age == 21 && buyer.email == "h@x")
        #expect(try await store.find(GoodRow.self, 2)?.price == 20)
    }

    @Test func `an app's edit outlives the first payload`() async throws {
        let session = purchaseSession(try await openPurchases())
        let hoon = try #require(try await session.find(BuyerRow.self, 7))
        hoon.name = "mine"
        try session.map([payload(BuyerPayload.self, #"{"id": 7, "name": "theirs", "email": "t@x"}"#)])
        #expect(hoon.name == "mine" && hoon.email == "t@x")
    }

    @Test func `what a refresh has brought is no edit of the app's to the next payload`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let first = #"{"id": 1, "buyer": {"id": 7, "name": "kim"}, "goods": [{"id": 1}]}"#
        let purchase = try session.map([payload(PurchasePayload.self, first)])[0]
        try await session.save()
        try await store.write { tx in
            _ = try await tx.upsert(BuyerRow(id: 7, name: "lee", email: "l@x", homepage: nil, age: 20))
            _ = try await tx.upsert(PurchaseRow(id: 1, note: "gift", buyer: Ref(7), goods: [Ref(2)]))
        }
        try await session.refresh()
        #expect(purchase.buyer?.name == "lee" && purchase.goods.map(\.id) == [2])
        purchase.buyer?.email = "mine"
        let second = #"{"id": 1, "buyer": {"id": 7, "name": "max", "email": "m@x"}, "goods": [{"id": 3}]}"#
        try session.map([payload(PurchasePayload.self, second)])
        #expect(purchase.buyer?.name == "max" && purchase.goods.map(\.id) == [3] && purchase.buyer?.email == "mine")
    }

    @Test(arguments: [true, false]) func `what was not saved is undone, a payload as an edit`(isByRefresh: Bool)
        async throws
    {
        let store = try await openPurchases()
        for mappings in [payloadMappings() + rowMappings(), rowMappings() + payloadMappings()] {
            let session = GraphSession(store, mappings)
            let purchase = try #require(try await session.find(PurchaseRow.self, 1))
            let text = #"{"id": 1, "note": "mine", "buyer": {"id": 7, "name": "kim"}, "goods": [{"id": 3}]}"#
            try session.map([payload(PurchasePayload.self, text)])
            purchase.buyer?.age = 30
            if isByRefresh { try await session.refresh(.discardingChanges) } else { try session.rollback() }
            #expect(purchase.note == "gift" && purchase.buyer?.name == "hoon" && purchase.buyer?.age == 20)
            #expect(purchase.goods.map(\.id) == [1, 2])
            #expect(try session.changes().isEmpty)
            try session.map([payload(PurchasePayload.self, text)])
            #expect(purchase.note == "mine" && purchase.buyer?.name == "kim" && purchase.goods.map(\.id) == [3])
        }
    }

    @Test func `a bare reference overwrites nothing`() async throws {
        let session = purchaseSession(try await openPurchases())
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        try session.map([
            payload(PurchasePayload.self, #"{"id": 1, "buyer": {"id": 7}, "goods": [{"id": 2}, {"id": 1}]}"#)
        ])
        #expect(purchase.buyer?.name == "hoon" && purchase.note == "gift")
        #expect(purchase.goods.map(\.id) == [2, 1] && purchase.goods.map(\.price) == [20, 10])
    }

    @Test func `null cannot clear what is not optional`() async throws {
        let session = purchaseSession(try await openPurchases())
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        let bad: PurchasePayload = try payload(#"{"id": 1, "note": "x", "buyer": {"id": 7, "name": null}}"#)
        #expect { try session.map([bad]) } throws: {
            "\($0)".contains("purchase(1).buyer.name") && "\($0)".contains("null")
        }
        #expect(purchase.note == "gift" && purchase.buyer?.name == "hoon")
        let odd: GoodPayload = try payload(#"{"id": 1, "price": "much"}"#)
        #expect { try session.map([odd]) } throws: { "\($0)".contains("good(1).price") }
    }

    @Test func `unset stays unset on the way back until the property changes`() throws {
        let session = GraphSession(nil, payloadMappings())
        let text = #"{"buyer":{"email":null,"id":7},"goods":[{"id":1,"price":"10"}],"id":1}"#
        let purchase = try session.map([payload(PurchasePayload.self, text)])[0]
        func back() throws -> String { try json(session.record(PurchasePayload.self, of: purchase)) }
        #expect(try back() == text)
        purchase.buyer?.name = "kim"
        purchase.goods[0].price = 11
        purchase.note = "x"
        #expect(
            try back()
                == #"{"buyer":{"email":null,"id":7,"name":"kim"},"goods":[{"id":1,"price":"11"}],"id":1,"note":"x"}"#)
        purchase.note = nil
        #expect(try !back().contains("note"))
        try session.map([payload(PurchasePayload.self, #"{"id": 1, "note": "y"}"#)])
        #expect(purchase.note == "y" && purchase.buyer?.name == "kim" && purchase.goods.count == 1)
        #expect(try back().contains(#""email":null"#))
        try session.rollback()
        #expect(purchase.note == "y" && purchase.buyer?.name == "" && purchase.goods[0].price == 10)
        #expect(try back().contains(#""buyer":{"email":null,"id":7}"#))
    }

    @Test func `links: unset, null, a value, and a new object`() throws {
        let session = GraphSession(nil, payloadMappings())
        let purchase = Purchase(id: 1)
        #expect(
            try json(session.record(PurchasePayload.self, of: purchase))
                == #"{"buyer":null,"goods":[],"id":1,"note":null}"#)
        let loaded = try session.map([
            payload(PurchasePayload.self, #"{"id": 2, "buyer": {"id": 7}, "goods": [{"id": 1}]}"#)
        ])[0]
        try session.map([payload(PurchasePayload.self, #"{"id": 2}"#)])
        #expect(loaded.buyer?.id == 7 && loaded.goods.count == 1)
        try session.map([payload(PurchasePayload.self, #"{"id": 2, "buyer": null, "goods": null}"#)])
        #expect(loaded.buyer == nil && loaded.goods.isEmpty)
        #expect(try json(session.record(PurchasePayload.self, of: loaded)) == #"{"buyer":null,"goods":null,"id":2}"#)
    }

    // MARK: Parts of a list

    @Test func `a part of a list takes nothing from it`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store, .partial)
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        let part = #"{"goods":[{"id":3},{"id":2,"price":"21"}],"id":1}"#
        try session.map([payload(PurchasePayload.self, part)])
        #expect(purchase.goods.map(\.id) == [1, 2, 3] && purchase.goods[1].price == 21)
        #expect(try json(session.record(PurchasePayload.self, of: purchase)) == part)
        try await session.save()
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(1), Ref(2), Ref(3)])
        purchase.goods.removeFirst()
        try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 1}]}"#)])
        #expect(purchase.goods.map(\.id) == [2, 3], "the app has taken it out")
        #expect(try session.record(PurchasePayload.self, of: purchase).goods.value?.map(\.id) == [2, 3])
        try await session.save()
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(2), Ref(3)])
    }

    @Test func `a part that comes before its record is added to what is stored`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store, .partial)
        let purchase = try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 3}]}"#)])[0]
        let changes = try await session.save()
        #expect(changes.changes.count == 1, "\(changes)")
        #expect(purchase.goods.map(\.id) == [1, 2, 3] && purchase.goods[2].price == 30)
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(1), Ref(2), Ref(3)])
        #expect(try await session.save().isEmpty)
    }

    @Test func `a whole list replaces, and null empties, also of a part`() async throws {
        let store = try await openPurchases()
        let whole = purchaseSession(store)
        try whole.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 3}]}"#)])
        try await whole.save()
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(3)])
        let part = purchaseSession(store, .partial)
        try part.map([payload(PurchasePayload.self, #"{"id": 1, "goods": null}"#)])
        try await part.save()
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [])
    }

    @Test func `pages of one list gather`() throws {
        let session = GraphSession(nil, payloadMappings(.partial))
        let purchase = try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 5}, {"id": 4}]}"#)])[
            0]
        try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 9}, {"id": 4}]}"#)])
        #expect(purchase.goods.map(\.id) == [5, 4, 9])
        #expect(try session.record(PurchasePayload.self, of: purchase).goods.value?.map(\.id) == [5, 4, 9])
    }
}

@Suite struct `Copies in payloads` {
    static let buyer = Gen<Int>.int(in: 7...8).zip(.tristate(.element(of: ["a", "b"]), nulls: false))
        .zip(.tristate(.element(of: ["e"])))
        .map { BuyerPayload(id: $0.0.0, name: $0.0.1, email: $0.1) }
    static let good = Gen<Int>.int(in: 1...3).map {
        GoodPayload(id: $0, name: .value("good"), price: $0 == 1 ? .unset : .value("5"))
    }
    static let purchase = Gen<Int>.int(in: 1...3).zip(.tristate(.element(of: ["n"]), nulls: false))
        .zip(.tristate(buyer)).zip(.tristate(.array(of: good, count: 0...2)))
        .map { PurchasePayload(id: $0.0.0.0, note: $0.0.0.1, buyer: $0.0.1, goods: $0.1) }

    @Test(arguments: [ListScope.whole, .partial]) func laws(_ scope: ListScope) async throws {
        // What a part shows of a list is not all of it: of copies, each shows less than the model has.
        let laws = Set(Law.allCases).subtracting(scope == .partial ? [.roundTrip] : [])
        try await checkLaws(
            of: payloadMappings(scope), roots: .array(of: Self.purchase, count: 0...4), laws: laws, count: 300)
    }

    /// Any order of copies gives the same models, or the same error.
    @Test(arguments: [ListScope.whole, .partial]) func `whatever the order`(_ scope: ListScope) throws {
        func outcome(_ roots: [PurchasePayload]) throws -> String {
            let session = GraphSession(nil, payloadMappings(scope))
            do {
                let models = try session.map(roots)
                let ids = Dictionary(zip(roots.map(\.id), models)) { first, _ in first }
                return try ids.sorted { $0.key < $1.key }.map {
                    try "\($0.value.goods.map(\.id)) " + json(session.record(PurchasePayload.self, of: $0.value))
                }.joined()
            } catch let error as GraphError where error.kind == .conflict { return error.description }
        }
        try check(Gen<[PurchasePayload]>.array(of: Self.purchase, count: 2...4), count: 300) { roots in
            let first = try outcome(roots)
            for turned in [roots.reversed(), roots.shuffled(), Array(roots[1...] + roots[..<1])] {
                let other = try outcome(turned)
                try ensure(other == first, "\(first)\n\(other)")
            }
        }
    }

    @Test func `copies that say different things merge`() throws {
        let session = GraphSession(nil, payloadMappings())
        let models = try session.map([
            payload(PurchasePayload.self, #"{"id": 1, "buyer": {"id": 7, "name": "hoon"}}"#),
            payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 1, "price": "5"}], "note": null}"#),
            payload(
                PurchasePayload.self,
                #"{"id": 1, "buyer": {"id": 7, "email": "h@x"}, "goods": [{"id": 1, "name": "g"}]}"#),
        ])
        #expect(models[0] === models[2])
        #expect(
            try json(session.record(PurchasePayload.self, of: models[0]))
                == #"{"buyer":{"email":"h@x","id":7,"name":"hoon"},"goods":[{"id":1,"name":"g","price":"5"}],"id":1,"note":null}"#
        )
    }

    @Test func `the certificate names values and places, and leaves out who says nothing`() throws {
        let roots = [
            #"{"id": 1, "buyer": {"id": 7}}"#, #"{"id": 2, "buyer": {"id": 7, "email": null}}"#,
            #"{"id": 3, "buyer": {"id": 7, "email": "h@x"}}"#,
        ]
        func certificate(_ roots: [String]) throws -> String {
            let payloads = try roots.map { try payload(PurchasePayload.self, $0) }
            do {
                try GraphSession(nil, payloadMappings()).map(payloads)
                return "none"
            } catch { return "\(error)" }
        }
        let text = try certificate(roots)
        #expect(try certificate(roots.reversed()) == text)
        #expect(try certificate([roots[2], roots[0], roots[1]]) == text)
        #expect(text.contains(#""h@x" at purchase(3).buyer.email"#) && text.contains("NULL at purchase(2).buyer.email"))
        #expect(!text.contains("purchase(1)"))
    }

    @Test func `lists that differ are named, too`() throws {
        let roots = [#"{"id": 1, "goods": [{"id": 1}]}"#, #"{"id": 1, "goods": [{"id": 1}, {"id": 2}]}"#]
        let payloads = try roots.map { try payload(PurchasePayload.self, $0) }
        #expect { try GraphSession(nil, payloadMappings()).map(payloads) } throws: {
            "\($0)".contains("purchase(1).goods") && "\($0)".contains("good(1), good(2) at")
        }
    }
}
