import Foundation
import GraphMapperStore
import Testing

/// What other systems' tests assert of imports: absent keys, lists, duplicates, nil, and objects without ids.
@Suite struct `Cases of payloads` {
    @Test func `absent keys keep values, nil overwrites, also in nested objects`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let text = #"{"id": 1, "note": null, "buyer": {"id": 7, "email": null}}"#
        try session.map([payload(PurchasePayload.self, text)])
        let changes = try await session.save()
        #expect(changes.changes.count == 2, "\(changes)")
        let buyer = try #require(try await store.find(BuyerRow.self, 7))
        #expect(buyer.email == nil && buyer.name == "hoon" && buyer.homepage == "https://x/h")
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(1), Ref(2)])
    }

    @Test func `a list is replaced, a child with a known id is updated, not made again`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        let second = purchase.goods[1]
        let text = #"{"id": 1, "goods": [{"id": 2, "price": "25"}, {"id": 9, "name": "new"}]}"#
        try session.map([payload(PurchasePayload.self, text)])
        #expect(purchase.goods.count == 2 && purchase.goods[0] === second && second.price == 25)
        try await session.save()
        #expect(try await store.find(GoodRow.self, 2)?.price == 25)
        #expect(try await store.find(GoodRow.self, 1)?.price == 10, "it leaves the list, not the store")
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(2), Ref(9)])
    }

    @Test func `a graph that comes again unchanged writes nothing; one nested edit writes one column`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        func text(_ price: Int) -> String {
            #"{"id": 5, "buyer": {"id": 7, "name": "hoon"}, "goods": [{"id": 1, "price": "\#(price)"}]}"#
        }
        try session.map([payload(PurchasePayload.self, text(10))])
        try await session.save()
        try session.map([payload(PurchasePayload.self, text(10))])
        #expect(try await session.save().isEmpty)
        try session.map([payload(PurchasePayload.self, text(11))])
        #expect(try session.changes().description == "update good 1: price 10 → 11")
    }

    @Test func `one key twice in a list: one object in both places, or an error`() throws {
        let session = GraphSession(nil, payloadMappings())
        let equal = #"{"id": 1, "goods": [{"id": 1, "price": "5"}, {"id": 1, "price": "5"}]}"#
        let goods = try session.map([payload(PurchasePayload.self, equal)])[0].goods
        #expect(goods.count == 2 && goods[0] === goods[1])
        let differing = #"{"id": 2, "goods": [{"id": 1, "price": "5"}, {"id": 1, "price": "6"}]}"#
        #expect { try session.map([payload(PurchasePayload.self, differing)]) } throws: {
            let text = "\($0)"
            return text.contains("purchase(2).goods[0].price") && text.contains("purchase(2).goods[1].price")
        }
    }

    @Test func `two copies of one object in one payload, of equal values, are accepted`() throws {
        let session = GraphSession(nil, payloadMappings())
        let text = #"[{"id": 1, "buyer": {"id": 7, "name": "a"}}, {"id": 2, "buyer": {"id": 7, "name": "a"}}]"#
        let purchases = try session.map(payload([PurchasePayload].self, text))
        #expect(purchases[0].buyer === purchases[1].buyer)
    }

    @Test func `a failing payload leaves the session as it was, and the next one works`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let bad = #"{"id": 1, "note": "x", "goods": [{"id": 8}, {"id": 9, "price": "?"}]}"#
        #expect(throws: GraphError.self) { try session.map([payload(PurchasePayload.self, bad)]) }
        #expect(try await session.save().isEmpty)
        let good = #"{"id": 1, "note": "x", "goods": [{"id": 8}]}"#
        try session.map([payload(PurchasePayload.self, good)])
        try await session.save()
        #expect(try await store.find(PurchaseRow.self, 1)?.goods == [Ref(8)])
    }

    @Test func `what a save will do with an object is told by what is stored`() async throws {
        let session = purchaseSession(try await openPurchases())
        let hoon = try #require(try await session.find(BuyerRow.self, 7))
        try session.map([payload(BuyerPayload.self, #"{"id": 7, "name": "hoon"}"#)])
        #expect(session.state(of: hoon) == .clean)
        hoon.name = "mine"
        #expect(session.state(of: hoon) == .changed)
        try await session.save()
        #expect(session.state(of: hoon) == .clean)
        let new = try session.map([payload(BuyerPayload.self, #"{"id": 8, "name": "new"}"#)])[0]
        #expect(session.state(of: new) == .new)
        try await session.save()
        #expect(session.state(of: new) == .clean)
        let alone = GraphSession(nil, payloadMappings())
        #expect(try alone.state(of: alone.map([payload(BuyerPayload.self, #"{"id": 8}"#)])[0]) == .clean)
    }

    @Test func `a reference is its id in JSON`() throws {
        struct Visit: Codable, Equatable {
            var buyer: Ref<BuyerRow>
            var goods: [Ref<GoodRow>]
            var host: Tristate<Ref<BuyerRow>>
        }
        let text = #"{"buyer":7,"goods":[1,2,1],"host":null}"#
        let visit: Visit = try payload(text)
        #expect(visit == Visit(buyer: Ref(7), goods: [Ref(1), Ref(2), Ref(1)], host: .null))
        #expect(try json(visit) == text)
    }

    @Test func `an object of a payload is deleted like any other`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let purchase = try #require(try await session.find(PurchaseRow.self, 1))
        try session.map([payload(PurchasePayload.self, #"{"id": 1, "note": "x", "goods": [{"id": 1}, {"id": 2}]}"#)])
        try session.delete(purchase.goods[0])
        try await session.save()
        #expect(purchase.goods.map(\.id) == [2])
        #expect(try await store.find(GoodRow.self, 1) == nil)
        #expect(try session.record(PurchasePayload.self, of: purchase).goods.value?.map(\.id) == [2])
        #expect(try await session.save().isEmpty)
    }
}
