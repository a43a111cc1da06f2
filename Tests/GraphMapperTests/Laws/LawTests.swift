import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

@testable import ShoppingCart

@Suite struct `Laws of sessions that only map` {
    static let line = Gen<Int>.int(in: 0...3).zip(.optional(.element(of: ["https://x/a.png", "https://x/b.png"])))
        .map { LineDTO(id: $0.0, price: $0.0 * 10, picture: $0.0 == 0 ? $0.1 : nil) }
    static let customer = Gen<Int>.int(in: 0...2).map { CustomerDTO(id: $0, name: "customer \($0)") }
    static let order = Gen<Int>.int(in: 0...3).zip(Gen<[LineDTO]>.array(of: line, count: 0...3))
        .zip(.optional(customer))
        .map { OrderDTO(id: $0.0.0, title: "order", lines: $0.0.1, customer: $0.1) }

    @Test func `nested DTOs`() async throws {
        try await checkLaws(
            of: [OrderDTO.mapping, LineDTO.mapping, CustomerDTO.mapping], roots: .array(of: Self.order, count: 0...4),
            count: 300)
    }

    @Test func `any shape`() async throws {
        try await checkLaws(of: [NodeRecord.mapping], roots: Gen.anyShape().map(nodeRecords))
    }

    @Test func forests() async throws {
        try await checkLaws(of: [BranchRecord.mapping], roots: Gen.forest().map(branchRecords))
    }
}

@Suite struct `Laws of sessions over a store` {
    private func nodes(_ gen: Gen<GraphShape>, count: Int = 50, name: String = #function) async throws {
        try await checkLaws(
            of: [NodeRecord.mapping], rows: gen.map { StoredGraph(nodeRecords($0)) }, name: name, count: count
        ) { try await openNodes().backing }
    }

    private func strong(_ gen: Gen<GraphShape>, count: Int = 25, name: String = #function) async throws {
        try await checkLaws(
            of: [StrongRecord.mapping], rows: gen.map { StoredGraph(strongRecords($0)) }, name: name, count: count
        ) { try await openNodes().backing }
    }

    @Test func `any shape`() async throws { try await nodes(.anyShape(), count: 150) }
    @Test func `self-loops`() async throws { try await nodes(.selfLoops()) }
    @Test func sharing() async throws { try await strong(.shared()) }
    @Test func diamonds() async throws { try await strong(.diamond()) }
    @Test func trees() async throws { try await strong(.tree()) }
    @Test(arguments: 1...12) func cycles(_ count: Int) async throws { try await nodes(.cycle(count), count: 4) }
    @Test func `deep chains`() async throws {
        try await strong(.chain(1000), count: 2)
        try await nodes(.chain(1000), count: 2)
    }

    @Test func forests() async throws {
        try await checkLaws(
            of: [BranchRecord.mapping], rows: Gen.forest().map { StoredGraph(branchRecords($0)) }
        ) { try await openNodes().backing }
    }

    static let shops = Gen<[[Int]]>.array(of: .array(of: .int(in: 0...4), count: 0...5), count: 0...4).map { carts in
        func id(_ kind: UInt8, _ number: Int) -> UUID {
            UUID(uuid: (kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
        }
        let users = carts.indices.map { number in
            UserRecord(
                id: id(1, number), name: "e\u{301} \(number)", age: number,
                homepage: number % 2 == 0 ? nil : "https://example.org/\(number)")
        }
        let rows = carts.enumerated().map { number, items in
            CartRecord(id: id(2, number), user: Ref(id(1, number)), items: items.map { Ref(id(3, $0)) })
        }
        let items = (0...4).map { ItemRecord(id: id(3, $0), name: "item \($0)", price: $0, picture: nil) }
        return StoredGraph(users).adding(rows).adding(items)
    }

    @Test func shop() async throws {
        try await checkLaws(of: [UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping], rows: Self.shops) {
            try await openShop().backing
        }
    }
}

@Suite struct `Laws find bad mappings` {
    private func broken(_ mapping: Mapping<NodeRecord>, _ law: String) async {
        let shapes = Gen.anyShape().map { StoredGraph(nodeRecords($0)) }
        let error = await #expect(throws: PropertyFailure.self) {
            try await checkLaws(of: [mapping], rows: shapes) { try await openNodes().backing }
        }
        #expect(error.map { "\($0.underlying)".contains(law) } == true, "\(error.map { "\($0)" } ?? "no error")")
    }

    @Test func `a conversion that loses`() async {
        await broken(
            Mapping {
                Node(id: $0.id)
            } properties: {
                Field(\.id, \.id)
                Field(
                    \.value, \.value, using: Conversion(decode: { (text: String) in text }, encode: { _ in "always" }))
                One(\.single, \.single)
                Many(\.many, \.many)
            }, "DTO → model → DTO")
    }

    @Test func `strong cycles leak`() async {
        let cycles = Gen.cycle(3).map(strongRecords)
        let error = await #expect(throws: PropertyFailure.self) {
            try await checkLaws(of: [StrongRecord.mapping], roots: cycles)
        }
        let broken = error?.underlying as? BrokenLaw
        #expect(broken?.law == .leaks && broken?.underlying is LeakFailure)
        #expect("\(error as Any)".contains("make the one that leads back weak"))
    }

    @Test func `a model whose setter drops a link`() async {
        final class Forgetful {
            let id: Int
            var value = ""
            var kept: [Forgetful] = []
            weak var single: Forgetful?
            var many: [Forgetful] {
                get { kept }
                set { kept = Array(newValue.prefix(1)) }
            }
            init(id: Int) { self.id = id }
        }
        struct ForgetfulRecord: DTO, Identifiable {
            typealias Model = Forgetful
            let id: Int
            let many: [Ref<ForgetfulRecord>]
            static let schema = Schema<Self>("node") { row in
                try Self(id: row("id", \.id), many: row("many", \.many))
            }
            static var mapping: Mapping<Self> {
                Mapping {
                    Forgetful(id: $0.id)
                } properties: {
                    Field(\.id, \.id)
                    Many(\.many, \.many)
                }
            }
        }
        let roots = Gen.always([
            ForgetfulRecord(id: 0, many: [Ref(1), Ref(1)]), ForgetfulRecord(id: 1, many: []),
        ])
        let error = await #expect(throws: PropertyFailure.self) {
            try await checkLaws(of: [ForgetfulRecord.mapping], roots: roots)
        }
        #expect(error.map { "\($0.underlying)".contains("load, then save") } == true)
    }
}
