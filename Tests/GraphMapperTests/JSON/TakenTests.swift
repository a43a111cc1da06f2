import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// Histories of payloads, loads, refreshes, other writers, edits, saves and roll-backs, against the rule in two sentences:
/// a payload replaces what the session last took for a property, from anywhere; what the model has besides is the app's
/// until it is saved.
@Suite struct `What a payload replaces` {
    enum Event: Sendable {
        case purchase(note: Tristate<String>, buyer: Tristate<Int>, goods: Tristate<[Int]>)
        case buyer(name: Tristate<String>, email: Tristate<String>)
        case setNote(String?)
        case setBuyer(Int?)
        case setGoods([Int])
        case setName(String)
        case setEmail(String?)
        case save
        case load
        case rollback
        case other(note: String?, buyer: Int?, goods: [Int], name: String, email: String?)
    }

    static let texts = ["a", "b", "c"]
    static let goods = Gen<[Int]>.array(of: .int(in: 1...4), count: 0...3).map { ids in
        ids.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
    }
    static let purchases = Gen<Tristate<String>>.tristate(.element(of: texts)).zip(.tristate(.int(in: 7...8)))
        .zip(.tristate(goods)).map { Event.purchase(note: $0.0.0, buyer: $0.0.1, goods: $0.1) }
    static let buyers = Gen<Tristate<String>>.tristate(.element(of: texts), nulls: false)
        .zip(.tristate(.element(of: texts))).map { Event.buyer(name: $0.0, email: $0.1) }
    static let edits = Gen<Event>.oneOf(
        Gen<String?>.optional(.element(of: texts)).map { .setNote($0) },
        Gen<Int?>.optional(.int(in: 7...8)).map { .setBuyer($0) }, goods.map { .setGoods($0) },
        Gen<String>.element(of: texts).map { .setName($0) },
        Gen<String?>.optional(.element(of: texts)).map { .setEmail($0) })
    static let others = Gen<String?>.optional(.element(of: texts)).zip(.optional(.int(in: 7...8))).zip(goods)
        .zip(.element(of: texts)).zip(.optional(.element(of: texts)))
        .map { Event.other(note: $0.0.0.0.0, buyer: $0.0.0.0.1, goods: $0.0.0.1, name: $0.0.1, email: $0.1) }
    static let events = Gen<Event>.frequency(
        (4, purchases), (4, buyers), (6, edits), (2, others), (3, .always(.save)), (1, .always(.load)),
        (1, .always(.rollback)))

    /// What a property should be.
    struct Expected<Value: Equatable> {
        var model: Value
        var stored: Value
        /// What a payload has given it, unless a record or a save has given it something else since.
        private var payload: Value?
        /// What the model had before anything came.
        private let initial: Value
        private var isLoaded: Bool

        init(_ stored: Value, initial: Value, isLoaded: Bool) {
            (self.stored, self.initial, self.isLoaded) = (stored, initial, isLoaded)
            model = initial
        }

        var taken: Value { payload ?? (isLoaded ? stored : initial) }
        var isEdited: Bool { model != taken }

        mutating func take(_ value: Value) {
            if !isEdited { (model, payload) = (value, value) }
        }

        /// A page of a list puts the model's on to what was taken.
        mutating func put(_ value: Value, taken: Value) { (model, payload) = (value, taken) }

        mutating func load(together: (Value, Value) -> Value = { $1 }) {
            if payload == nil, !isLoaded { model = isEdited ? together(stored, model) : stored }
            isLoaded = true
            compare()
        }

        mutating func refresh(_ new: Value) {
            if model == stored { model = new }
            stored = new
            compare()
        }

        mutating func save() {
            stored = model
            compare()
        }

        mutating func rollBack() {
            model = stored
            payload = nil
        }

        private mutating func compare() {
            if model == stored, payload != model { payload = nil }
        }
    }

    struct World {
        var note: Expected<String?>
        var buyer: Expected<Int?>
        var goods: Expected<[Int]>
        var name = Expected("hoon", initial: "hoon", isLoaded: true)
        var email = Expected<String?>("h@x", initial: "h@x", isLoaded: true)
        var isLoaded: Bool

        init(isLoaded: Bool) {
            note = Expected("gift", initial: isLoaded ? "gift" : nil, isLoaded: isLoaded)
            buyer = Expected(7, initial: isLoaded ? 7 : nil, isLoaded: isLoaded)
            goods = Expected([1, 2], initial: isLoaded ? [1, 2] : [], isLoaded: isLoaded)
            self.isLoaded = isLoaded
        }

        mutating func load() {
            if buyer.stored == 7 {
                name.refresh(name.stored)
                email.refresh(email.stored)
            }
            note.load()
            buyer.load()
            goods.load { stored, mine in stored + mine.filter { !stored.contains($0) } }
            isLoaded = true
        }

        mutating func add(_ page: [Int]) {
            let new = page.filter { !goods.model.contains($0) && !goods.taken.contains($0) }
            let taken = goods.isEdited ? goods.taken : goods.model
            goods.put(goods.model + new, taken: taken + new)
        }
    }

    func run(_ scope: ListScope, _ isLoaded: Bool, _ history: [Event]) async throws {
        let store = try await openPurchases()
        try await store.write { tx in
            try await tx.insert(BuyerRow(id: 8, name: "x", email: nil, homepage: nil, age: 1))
            try await tx.insert(GoodRow(id: 4, name: "good 4", price: 40))
        }
        let session = purchaseSession(store, scope)
        let goods = Dictionary(
            uniqueKeysWithValues: try await session.models(Query(GoodRow.self)).map { ($0.id, $0) })
        let buyers = Dictionary(
            uniqueKeysWithValues: try await session.models(Query(BuyerRow.self)).map { ($0.id, $0) })
        let buyer = try #require(buyers[7])
        let purchase =
            isLoaded
            ? try #require(try await session.find(PurchaseRow.self, 1)) : try session.map([PurchasePayload(id: 1)])[0]
        var world = World(isLoaded: isLoaded)

        func step(_ event: Event) async throws {
            switch event {
            case .purchase(let note, let buyer, let goods):
                let text = try json(
                    PurchasePayload(
                        id: 1, note: note, buyer: buyer.map { BuyerPayload(id: $0) },
                        goods: goods.map { $0.map { GoodPayload(id: $0) } }))
                try session.map([payload(PurchasePayload.self, text)])
                if !note.isUnset { world.note.take(note.value) }
                if !buyer.isUnset { world.buyer.take(buyer.value) }
                if scope == .partial, let page = goods.value {
                    world.add(page)
                } else if !goods.isUnset {
                    world.goods.take(goods.value ?? [])
                }
            case .buyer(let name, let email):
                try session.map([payload(BuyerPayload.self, json(BuyerPayload(id: 7, name: name, email: email)))])
                if let name = name.value { world.name.take(name) }
                if !email.isUnset { world.email.take(email.value) }
            case .setNote(let note):
                purchase.note = note
                world.note.model = note
            case .setBuyer(let id):
                purchase.buyer = id.flatMap { buyers[$0] }
                world.buyer.model = id
            case .setGoods(let ids):
                purchase.goods = ids.compactMap { goods[$0] }
                world.goods.model = ids
            case .setName(let name):
                buyer.name = name
                world.name.model = name
            case .setEmail(let email):
                buyer.email = email
                world.email.model = email
            case .load:
                _ = try await session.models(Query(PurchaseRow.self))
                world.load()
            case .save:
                // What another writer has changed, too, is a conflict, whether it was read since or not: the app's wins.
                try await session.save(onConflict: .mine)
                if !world.isLoaded { world.load() }
                world.note.save()
                world.buyer.save()
                world.goods.save()
                world.name.save()
                world.email.save()
                try ensure(try session.changes().isEmpty, "a second save would write")
            case .rollback:
                guard world.isLoaded else { return }
                try session.rollback()
                world.note.rollBack()
                world.buyer.rollBack()
                world.goods.rollBack()
                world.name.rollBack()
                world.email.rollBack()
            case .other(let newNote, let newBuyer, let newGoods, let newName, let newEmail):
                // What both have changed is merged by the save, or is a conflict: laws of their own.
                func theirs<V: Equatable>(_ value: V, _ expected: Expected<V>) -> V {
                    expected.model == expected.stored ? value : expected.stored
                }
                let (note, buyer) = (theirs(newNote, world.note), theirs(newBuyer, world.buyer))
                let (goods, name) = (theirs(newGoods, world.goods), theirs(newName, world.name))
                let email = theirs(newEmail, world.email)
                try await store.write { tx in
                    let row = PurchaseRow(id: 1, note: note, buyer: buyer.map { Ref($0) }, goods: goods.map { Ref($0) })
                    _ = try await tx.upsert(row)
                    _ = try await tx.upsert(BuyerRow(id: 7, name: name, email: email, homepage: nil, age: 20))
                }
                try await session.refresh()
                world.name.refresh(name)
                world.email.refresh(email)
                guard world.isLoaded else {
                    (world.note.stored, world.buyer.stored, world.goods.stored) = (note, buyer, goods)
                    return
                }
                world.note.refresh(note)
                world.buyer.refresh(buyer)
                world.goods.refresh(goods)
            }
        }
        for (place, event) in history.enumerated() {
            try await step(event)
            let place = "after \(place): \(event)"
            let note = world.note.model
            try ensure(purchase.note == note, "\(place): note \(purchase.note ?? "nil"), not \(note ?? "nil")")
            let link = "buyer \(purchase.buyer?.id ?? 0), not \(world.buyer.model ?? 0)"
            try ensure(purchase.buyer?.id == world.buyer.model, "\(place): \(link)")
            let list = purchase.goods.map(\.id)
            try ensure(list == world.goods.model, "\(place): goods \(list), not \(world.goods.model)")
            try ensure(buyer.name == world.name.model, "\(place): name \(buyer.name), not \(world.name.model)")
            let email = world.email.model
            try ensure(buyer.email == email, "\(place): email \(buyer.email ?? "nil"), not \(email ?? "nil")")
        }
        let row = try #require(try await store.find(PurchaseRow.self, 1))
        try ensure(row.note == world.note.stored && row.buyer?.id == world.buyer.stored, "stored: \(row)")
        try ensure(row.goods.map(\.id) == world.goods.stored, "stored: \(row)")
    }

    @Test(arguments: [ListScope.whole, .partial]) func `is what the session last took`(_ scope: ListScope) async throws
    {
        let histories = Gen<[Event]>.array(of: Self.events, count: 1...14)
        try await check(histories, count: times(150, soak: 3000)) { try await run(scope, true, $0) }
    }

    @Test func `is what the session last took, the payload first`() async throws {
        let histories = Gen<[Event]>.array(of: Self.events, count: 1...14)
        try await check(histories, count: times(150, soak: 3000)) { try await run(.whole, false, $0) }
    }

    // MARK: What the histories have found, and what made them be written

    @Test func `a payload that says nothing brings nothing back`() async throws {
        let store = try await openPurchases()
        let session = purchaseSession(store)
        let hoon = try #require(try await session.find(BuyerRow.self, 7))
        try session.map([payload(BuyerPayload.self, #"{"id": 7, "email": "server"}"#)])
        hoon.email = "h@x"
        try session.map([payload(BuyerPayload.self, #"{"id": 7}"#)])
        #expect(hoon.email == "h@x", "back to what is stored")
        hoon.email = "app"
        try await session.save()
        try session.map([payload(BuyerPayload.self, #"{"id": 7}"#)])
        #expect(hoon.email == "app")
        #expect(try session.changes().isEmpty)
        try session.map([payload(BuyerPayload.self, #"{"id": 7, "email": "server"}"#)])
        #expect(hoon.email == "server", "what is saved is replaced")
    }

    @Test(arguments: [#"{"id": 7, "name": "n"}"#, #"{"id": 7, "email": "app"}"#])
    func `an edit outlives payloads that say nothing of it, or the same`(_ between: String) async throws {
        let session = purchaseSession(try await openPurchases())
        let hoon = try #require(try await session.find(BuyerRow.self, 7))
        hoon.email = "app"
        try session.map([payload(BuyerPayload.self, between)])
        try session.map([payload(BuyerPayload.self, #"{"id": 7, "email": "server"}"#)])
        #expect(hoon.email == "app")
    }

    @Test func `pages without a store: an edited list takes what is new`() throws {
        let session = GraphSession(nil, payloadMappings(.partial))
        let purchase = try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 1}, {"id": 2}]}"#)])[
            0]
        purchase.goods.removeFirst()
        try session.map([payload(PurchasePayload.self, #"{"id": 1, "goods": [{"id": 1}, {"id": 3}]}"#)])
        #expect(purchase.goods.map(\.id) == [2, 3])
        #expect(try session.record(PurchasePayload.self, of: purchase).goods.value?.map(\.id) == [2, 3])
    }
}
