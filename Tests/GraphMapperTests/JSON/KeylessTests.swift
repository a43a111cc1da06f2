import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

/// A receipt whose lines and address have no ids in the payload; the store gives lines ids of their own.
final class Receipt {
    let id: Int
    var address: Address?
    var lines: [ReceiptLine] = []
    init(id: Int) { self.id = id }
}
final class Address {
    var city: String
    init(city: String) { self.city = city }
}
final class ReceiptLine {
    let id: UUID
    var quantity: Int
    var good: Good?
    var notes: [Address] = []
    init(id: UUID = UUID(), quantity: Int) {
        self.id = id
        self.quantity = quantity
    }
}

struct AddressPayload: KeylessDTO, Codable {
    typealias Model = Address
    var city: String
    static let schema = Schema<Self>("address") { row in try Self(city: row("city", \.city)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Address(city: $0.city)
        } properties: {
            Field(\.city, \.city)
        }
    }
}
struct LinePayload: KeylessDTO, Codable {
    typealias Model = ReceiptLine
    var quantity: Int
    var good: GoodPayload
    var notes: [AddressPayload]
    static let schema = Schema<Self>("line") { row in
        try Self(
            quantity: row("quantity", \.quantity), good: row.nested("good", \.good), notes: row.nested("notes", \.notes)
        )
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ReceiptLine(quantity: $0.quantity)
        } properties: {
            Field(\.quantity, \.quantity)
            One(\.good, \.good)
            Many(\.notes, \.notes)
        }
    }
}
struct ReceiptPayload: DTO, Identifiable, Codable, Equatable {
    typealias Model = Receipt
    var id: Int
    var address: AddressPayload?
    var lines: Tristate<[LinePayload]>
    static let schema = Schema<Self>("receipt") { row in
        try Self(id: row("id", \.id), address: row.nested("address", \.address), lines: row.nested("lines", \.lines))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Receipt(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.address, \.address)
            Many(\.lines, \.lines)
        }
    }
}

struct ReceiptRow: StoredRecord {
    typealias Model = Receipt
    let id: Int
    let lines: [Ref<LineRow>]
    static let schema = Schema<Self>("receipt") { row in try Self(id: row("id", \.id), lines: row("lines", \.lines)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Receipt(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.lines, \.lines)
        }
    }
}
struct LineRow: StoredRecord {
    typealias Model = ReceiptLine
    let id: UUID
    let quantity: Int
    let good: Ref<GoodRow>
    static let schema = Schema<Self>("line") { row in
        try Self(id: row("id", \.id), quantity: row("quantity", \.quantity), good: row("good", \.good))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ReceiptLine(id: $0.id, quantity: $0.quantity)
        } properties: {
            Field(\.id, \.id)
            Field(\.quantity, \.quantity)
            One(\.good, \.good)
        }
    }
}

private func mappings() -> [any AnyMapping] {
    [ReceiptPayload.mapping, LinePayload.mapping, AddressPayload.mapping, GoodPayload.mapping]
}

@Suite struct `DTOs without an id` {
    static let text =
        #"{"address":{"city":"a"},"id":1,"lines":[{"good":{"id":1,"price":"5"},"notes":[],"quantity":2},"#
        + #"{"good":{"id":1,"price":"5"},"notes":[{"city":"n"},{"city":"n"}],"quantity":2}]}"#

    @Test func `each is an object of its own, however equal; what they link to is shared`() throws {
        let session = GraphSession(nil, mappings())
        let receipts = try session.map([
            payload(ReceiptPayload.self, Self.text),
            ReceiptPayload(id: 2, address: AddressPayload(city: "a"), lines: .unset),
        ])
        let lines = receipts[0].lines
        #expect(lines.count == 2 && lines[0] !== lines[1] && lines[0].good === lines[1].good)
        #expect(lines[1].notes.count == 2 && lines[1].notes[0] !== lines[1].notes[1])
        #expect(receipts[0].address !== receipts[1].address)
        receipts[0].address?.city = "b"
        #expect(receipts[1].address?.city == "a")
        #expect(try session.record(ReceiptPayload.self, of: receipts[0]).address?.city == "b")
    }

    @Test func `out as they came in, and with what the app changed and added`() throws {
        let session = GraphSession(nil, mappings())
        let receipt = try session.map([payload(ReceiptPayload.self, Self.text)])[0]
        #expect(try json(session.record(ReceiptPayload.self, of: receipt)) == Self.text)
        let new = ReceiptLine(quantity: 9)
        new.good = receipt.lines[0].good
        receipt.lines = [new, receipt.lines[0]]
        receipt.address = nil
        let back = try session.record(ReceiptPayload.self, of: receipt)
        #expect(back.lines.value?.map(\.quantity) == [9, 2] && back.address == nil)
        new.good = nil
        #expect(throws: GraphError.self) { try session.record(ReceiptPayload.self, of: receipt) }
    }

    @Test func `a payload that comes again finds the objects by their places`() throws {
        let session = GraphSession(nil, mappings())
        var dto: ReceiptPayload = try payload(Self.text)
        let receipt = try session.map([dto])[0]
        let lines = receipt.lines
        let address = receipt.address
        dto.lines = .value([LinePayload(quantity: 7, good: GoodPayload(id: 2), notes: [])])
        dto.address?.city = "z"
        try session.map([dto])
        #expect(receipt.lines.count == 1 && receipt.lines[0] === lines[0] && lines[0].quantity == 7)
        #expect(lines[0].good?.id == 2 && receipt.address === address && address?.city == "z")
        lines[0].quantity = 8
        try session.map([dto])
        #expect(lines[0].quantity == 8, "the app's edit stays")
    }

    @Test func `equal copies merge, differing ones are a conflict whatever the order`() throws {
        var dto: ReceiptPayload = try payload(Self.text)
        let copy = dto
        #expect(try GraphSession(nil, mappings()).map([dto, copy])[1].lines.count == 2)
        dto.lines = .value(dto.lines.value?.map { LinePayload(quantity: 3, good: $0.good, notes: $0.notes) } ?? [])
        func certificate(_ roots: [ReceiptPayload]) -> String {
            do {
                try GraphSession(nil, mappings()).map(roots)
                return "none"
            } catch { return "\(error)" }
        }
        let text = certificate([dto, copy])
        #expect(text == certificate([copy, dto]))
        #expect(text.contains("2 at receipt(1).lines[0].quantity") && text.contains("3 at"), "\(text)")
        dto.lines = .value([])
        #expect(certificate([dto, copy]).contains("receipt(1).lines"))
    }

    @Test func `as roots`() throws {
        let session = GraphSession(nil, mappings())
        let roots = [AddressPayload(city: "a"), AddressPayload(city: "a")]
        let models = try session.map(roots)
        #expect(models.count == 2 && models[0] !== models[1] && models.map(\.city) == ["a", "a"])
        let again = try session.map(roots)
        #expect(again[0] !== models[0])
        #expect(try session.record(AddressPayload.self, of: models[0]) == roots[0])
    }

    @Test func `a failing conversion names the place`() throws {
        let bad = LinePayload(quantity: 1, good: GoodPayload(id: 1, price: .value("much")), notes: [])
        let receipt = ReceiptPayload(id: 4, address: nil, lines: .value([bad]))
        #expect { try GraphSession(nil, mappings()).map([receipt]) } throws: {
            "\($0)".contains("receipt(4).lines[0].good.price")
        }
    }

    @Test func `a part of a list needs ids`() {
        let mapping = Mapping<ReceiptPayload> {
            Receipt(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.address, \.address)
            Many(\.lines, \.lines, .partial)
        }
        let session = GraphSession(mapping, LinePayload.mapping, AddressPayload.mapping, GoodPayload.mapping)
        #expect { try session.validate() } throws: { "\($0)".contains("receipt: lines lists DTOs without an id") }
    }

    /// Same values without ids: rows of their own.
    @Test func `stored, they get ids of their own`() async throws {
        let store = try await GraphStore.open(.inMemory, ReceiptRow.self, LineRow.self, GoodRow.self)
        let session = GraphSession(store, mappings() + [ReceiptRow.mapping, LineRow.mapping, GoodRow.mapping])
        let receipt = try session.map([payload(ReceiptPayload.self, Self.text)])[0]
        try session.add(receipt)
        try await session.save()
        #expect(try await store.count(Query(LineRow.self)) == 2)
        #expect(try await session.save().isEmpty)
        receipt.lines[1].quantity = 5
        let changes = try await session.save()
        #expect(changes.changes.count == 1 && changes.description.contains("quantity 2 → 5"), "\(changes)")
        let rows = try await store.fetch(Query(LineRow.self).sorted(by: \.quantity))
        #expect(rows.map(\.quantity) == [2, 5] && rows.allSatisfy { $0.good == Ref(1) })
        let fresh = GraphSession(store, mappings() + [ReceiptRow.mapping, LineRow.mapping, GoodRow.mapping])
        let loaded = try #require(try await fresh.find(ReceiptRow.self, 1))
        let back = try fresh.record(ReceiptPayload.self, of: loaded)
        #expect(back.lines.value?.map(\.quantity) == [2, 5])
        // The first payload of an object that came by a record finds its lines by their places.
        let lines = loaded.lines
        try fresh.map([payload(ReceiptPayload.self, Self.text)])
        #expect(loaded.lines.count == 2 && loaded.lines[0] === lines[0] && loaded.lines[1] === lines[1])
        #expect(try fresh.changes().description.hasSuffix("quantity 5 → 2"))
    }

    @Test func `what was rolled back comes again with the payload; a saved edit is replaced, an unsaved one is not`()
        async throws
    {
        let store = try await GraphStore.open(.inMemory, ReceiptRow.self, LineRow.self, GoodRow.self)
        let session = GraphSession(store, mappings() + [ReceiptRow.mapping, LineRow.mapping, GoodRow.mapping])
        func text(_ quantity: Int) -> String {
            #"{"id":1,"lines":[{"good":{"id":1},"notes":[],"quantity":1},"#
                + #"{"good":{"id":1},"notes":[],"quantity":\#(quantity)}]}"#
        }
        let receipt = try session.map([payload(ReceiptPayload.self, text(2))])[0]
        try await session.save()
        try session.map([payload(ReceiptPayload.self, text(9))])
        try session.rollback()
        #expect(receipt.lines.map(\.quantity) == [1, 2])
        try session.map([payload(ReceiptPayload.self, text(9))])
        #expect(receipt.lines.map(\.quantity) == [1, 9])
        receipt.lines[1].quantity = 5
        try session.map([payload(ReceiptPayload.self, text(7))])
        #expect(receipt.lines.map(\.quantity) == [1, 5])
        try await session.save()
        try session.map([payload(ReceiptPayload.self, text(7))])
        #expect(receipt.lines.map(\.quantity) == [1, 7])
        #expect(try session.changes().changes.count == 1)
    }

    /// An import that loads what is stored first.
    @Test func `an unchanged payload of a loaded receipt writes nothing in a fresh session`() async throws {
        let store = try await GraphStore.open(.inMemory, ReceiptRow.self, LineRow.self, GoodRow.self)
        for day in 1...3 {
            let session = GraphSession(store, mappings() + [ReceiptRow.mapping, LineRow.mapping, GoodRow.mapping])
            _ = try await session.find(ReceiptRow.self, 1)
            try session.map([payload(ReceiptPayload.self, Self.text)])
            let changes = try await session.save()
            #expect(changes.isEmpty == (day > 1), "\(day): \(changes)")
        }
        #expect(try await store.count(Query(LineRow.self)) == 2)
    }

    static let receipts = Gen<Int>.int(in: 1...3)
        .zip(Gen<[Int]>.array(of: .int(in: 1...2), count: 0...3)).zip(.optional(.element(of: ["a", "b"])))
        .map { parts in
            let lines = parts.0.1.map { quantity in
                let good = GoodPayload(id: quantity, price: .value("\(quantity)"))
                let notes = (0..<quantity).map { AddressPayload(city: "\($0)") }
                return LinePayload(quantity: quantity, good: good, notes: notes)
            }
            let address = parts.1.map { AddressPayload(city: $0) }
            return ReceiptPayload(id: parts.0.0, address: address, lines: lines.isEmpty ? .unset : .value(lines))
        }

    @Test func laws() async throws {
        try await checkLaws(of: mappings(), roots: .array(of: Self.receipts, count: 0...3), count: 200)
    }
}
