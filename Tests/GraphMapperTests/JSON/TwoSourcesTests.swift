import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// A stored object, a payload of it and the app's edits, in every order: whoever says something last and on purpose wins,
/// and what nobody says stays.
@Suite struct `Payload, record and app` {
    enum Course: CaseIterable, Sendable {
        case recordFirst, payloadFirst, recordFoundBySave
    }

    struct Case: Sendable {
        var course: Course
        var name: Tristate<String>
        var email: Tristate<String>
        var goods: Tristate<[Int]>
        /// What the app sets before the payload comes, and after.
        var early: String?
        var late: String?
        var lateAge: Int?
        /// A good that the app appends after the payload came.
        var appended: Int?
    }

    static let cases = Gen<Course>.element(of: Course.allCases)
        .zip(.tristate(.element(of: ["hoon", "kim"]), nulls: false)).zip(.tristate(.element(of: ["h@x", "k@x"])))
        .zip(.tristate(.array(of: .int(in: 1...3), count: 0...3)))
        .zip(.optional(.element(of: ["early"]))).zip(.optional(.element(of: ["late"])))
        .zip(.optional(.int(in: 40...41))).zip(.optional(.int(in: 7...7)))
        .map { parts in
            let early = parts.0.0.0.1
            return Case(
                course: parts.0.0.0.0.0.0.0, name: parts.0.0.0.0.0.0.1, email: parts.0.0.0.0.0.1,
                goods: parts.0.0.0.0.1.map { Array(Set($0)).sorted() }, early: early, late: parts.0.0.1,
                lateAge: parts.0.1, appended: parts.1)
        }

    func run(_ scope: ListScope, _ plan: Case) async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store, scope)
        var early: String?
        if plan.course == .recordFirst {
            let loaded = try #require(try await session.find(PurchaseRow.self, 1))
            if let name = plan.early {
                loaded.buyer?.name = name
                early = name
            }
        }
        let text = try json(
            PurchasePayload(
                id: 1, buyer: .value(BuyerPayload(id: 7, name: plan.name, email: plan.email)),
                goods: plan.goods.map { $0.map { GoodPayload(id: $0) } }))
        let purchase = try session.map([payload(PurchasePayload.self, text)])[0]
        let buyer = try #require(purchase.buyer)
        if let name = plan.late { buyer.name = name }
        if let age = plan.lateAge { buyer.age = age }
        if let id = plan.appended {
            let good = Good(id: id)
            good.name = "new"
            purchase.goods.append(good)
        }
        if plan.course == .payloadFirst { _ = try await session.models(Query(PurchaseRow.self)) }
        try await session.save()
        try ensure(try await session.save().isEmpty, "a second save writes something")

        let row = try #require(try await store.find(BuyerRow.self, 7))
        let name = plan.late ?? early ?? plan.name.value ?? "hoon"
        let email = plan.email.isUnset ? "h@x" : plan.email.value
        try ensure(row.name == name && buyer.name == name, "name: \(row.name), \(buyer.name), not \(name)")
        try ensure(row.email == email && buyer.email == email, "email: \(row.email ?? "nil")")
        try ensure(row.age == plan.lateAge ?? 20 && buyer.age == row.age, "age: \(row.age)")
        try ensure(row.homepage == "https://x/h", "homepage: \(row.homepage ?? "nil")")
        let stored = try #require(try await store.find(PurchaseRow.self, 1))
        try ensure(stored.note == "gift" && purchase.note == "gift", "note")
        try ensure(stored.goods.map(\.id) == purchase.goods.map(\.id), "the store has \(stored.goods)")
        var goods = plan.goods.isUnset ? [1, 2] : plan.goods.value ?? []
        if scope == .partial, let part = plan.goods.value { goods = [1, 2] + part.filter { $0 == 3 } }
        goods += plan.appended.map { [$0] } ?? []
        try ensure(stored.goods.map(\.id).sorted() == goods.sorted(), "goods: \(stored.goods), not \(goods)")
        try ensure(try await store.find(GoodRow.self, 2)?.price == 20, "price")
    }

    @Test(arguments: [ListScope.whole, .partial]) func `in every order`(_ scope: ListScope) async throws {
        try await check(Self.cases, count: 150) { try await run(scope, $0) }
    }
}
