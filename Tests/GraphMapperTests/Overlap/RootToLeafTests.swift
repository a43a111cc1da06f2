import GraphMapperStore
import Testing

@testable import GraphMapper

/// What was made, in order.
private final class Making {
    var log: [String] = []
}

private final class Owner {
    let id: Int
    var cart: Basket?
    init(id: Int) { self.id = id }
}
private final class Basket {
    let id: Int
    weak var owner: Owner?
    var goods: [Article] = []
    init(id: Int) { self.id = id }
}
private final class Article {
    let id: Int
    var maker: Maker?
    init(id: Int) { self.id = id }
}
private final class Maker {
    let id: Int
    init(id: Int) { self.id = id }
}

// As records: the basket holds its owner's key, and a list of articles.
private struct OwnerRow: StoredRecord {
    typealias Model = Owner
    let id: Int
    static let schema = Schema<Self>("owner") { row in try Self(id: row("id", \.id)) }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("owner \($0.id)")
            return Owner(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(BasketRow.self, by: \.owner, \.cart)
        }
    }
}
private struct BasketRow: StoredRecord {
    typealias Model = Basket
    let id: Int
    var owner: Ref<OwnerRow>?
    var goods: [Ref<ArticleRow>] = []
    static let schema = Schema<Self>("basket") { row in
        try Self(id: row("id", \.id), owner: row("owner", \.owner), goods: row("goods", \.goods))
    }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("basket \($0.id)")
            return Basket(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.owner, \.owner)
            Many(\.goods, \.goods)
        }
    }
}
private struct ArticleRow: StoredRecord {
    typealias Model = Article
    let id: Int
    var maker: Ref<MakerRow>?
    static let schema = Schema<Self>("article") { row in try Self(id: row("id", \.id), maker: row("maker", \.maker)) }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("article \($0.id)")
            return Article(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.maker, \.maker)
        }
    }
}
private struct MakerRow: StoredRecord {
    typealias Model = Maker
    let id: Int
    static let schema = Schema<Self>("maker") { row in try Self(id: row("id", \.id)) }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("maker \($0.id)")
            return Maker(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}

// Nested.
private struct OwnerDTO: DTO, Identifiable {
    typealias Model = Owner
    let id: Int
    var cart: BasketDTO?
    static let schema = Schema<Self>("owner") { row in try Self(id: row("id", \.id), cart: row.nested("cart", \.cart)) }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("owner \($0.id)")
            return Owner(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.cart, \.cart)
        }
    }
}
private struct BasketDTO: DTO, Identifiable {
    typealias Model = Basket
    let id: Int
    var goods: [ArticleDTO] = []
    static let schema = Schema<Self>("basket") { row in
        try Self(id: row("id", \.id), goods: row.nested("goods", \.goods))
    }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("basket \($0.id)")
            return Basket(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.goods, \.goods)
        }
    }
}
private struct ArticleDTO: DTO, Identifiable {
    typealias Model = Article
    let id: Int
    var maker: MakerDTO?
    static let schema = Schema<Self>("article") { row in
        try Self(id: row("id", \.id), maker: row.nested("maker", \.maker))
    }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("article \($0.id)")
            return Article(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.maker, \.maker)
        }
    }
}
private struct MakerDTO: DTO, Identifiable {
    typealias Model = Maker
    let id: Int
    static let schema = Schema<Self>("maker") { row in try Self(id: row("id", \.id)) }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("maker \($0.id)")
            return Maker(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}

// Classes.
private final class OwnerObject: DTO, Identifiable {
    typealias Model = Owner
    typealias Row = OwnerObject
    var id = 0
    var cart: BasketObject?
    static let schema = Schema<OwnerObject>("owner", OwnerObject.init) { row in
        row("id", \.id)
        row.one("cart", \.cart)
    }
    static func mapping(_ making: Making) -> Mapping<OwnerObject> {
        Mapping {
            making.log.append("owner \($0.id)")
            return Owner(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.cart, \.cart)
        }
    }
}
private final class BasketObject: DTO, Identifiable {
    typealias Model = Basket
    typealias Row = BasketObject
    var id = 0
    weak var owner: OwnerObject?
    var goods: [ArticleObject] = []
    static let schema = Schema<BasketObject>("basket", BasketObject.init) { row in
        row("id", \.id)
        row.one("owner", \.owner)
        row.many("goods", \.goods)
    }
    static func mapping(_ making: Making) -> Mapping<BasketObject> {
        Mapping {
            making.log.append("basket \($0.id)")
            return Basket(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.owner, \.owner)
            Many(\.goods, \.goods)
        }
    }
}
private final class ArticleObject: DTO, Identifiable {
    typealias Model = Article
    typealias Row = ArticleObject
    var id = 0
    var maker: MakerObject?
    static let schema = Schema<ArticleObject>("article", ArticleObject.init) { row in
        row("id", \.id)
        row.one("maker", \.maker)
    }
    static func mapping(_ making: Making) -> Mapping<ArticleObject> {
        Mapping {
            making.log.append("article \($0.id)")
            return Article(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.maker, \.maker)
        }
    }
}
private final class MakerObject: DTO, Identifiable {
    typealias Model = Maker
    typealias Row = MakerObject
    var id = 0
    static let schema = Schema<MakerObject>("maker", MakerObject.init) { row in row("id", \.id) }
    static func mapping(_ making: Making) -> Mapping<MakerObject> {
        Mapping {
            making.log.append("maker \($0.id)")
            return Maker(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}

private enum Form: CaseIterable, Sendable { case stored, storedInTransaction, nested, objects }

@Suite struct `Models are made root to leaf` {
    /// All orders of the numbers 0 to 3.
    private static let orders: [[Int]] = (0..<256).map { [$0 & 3, $0 >> 2 & 3, $0 >> 4 & 3, $0 >> 6] }.filter {
        Set($0).count == 4
    }

    /// Two owners with a basket each, which list one article together.
    private static let levels: [Set<String>] = [
        ["owner 1", "owner 2"], ["basket 1", "basket 2"], ["article 1", "article 2", "article 3"],
        ["maker 1", "maker 2"],
    ]

    private func ordered<T>(_ mappings: [T], _ order: [Int]) -> [T] { order.map { mappings[$0] } }

    private func open() async throws -> GraphStore {
        let store = try await GraphStore.open(
            .inMemory, OwnerRow.self, BasketRow.self, ArticleRow.self, MakerRow.self)
        try await store.write { tx in
            for id in 1...2 {
                try await tx.insert(OwnerRow(id: id))
                try await tx.insert(MakerRow(id: id))
            }
            for id in 1...3 { try await tx.insert(ArticleRow(id: id, maker: Ref(id % 2 + 1))) }
            try await tx.insert(BasketRow(id: 1, owner: Ref(1), goods: [Ref(1), Ref(2)]))
            try await tx.insert(BasketRow(id: 2, owner: Ref(2), goods: [Ref(2), Ref(3)]))
        }
        return store
    }

    private func storedSession(_ store: GraphStore, _ making: Making, _ order: [Int]) -> GraphSession {
        let mappings: [any AnyMapping] = [
            OwnerRow.mapping(making), BasketRow.mapping(making), ArticleRow.mapping(making), MakerRow.mapping(making),
        ]
        return GraphSession(store, ordered(mappings, order))
    }

    private func load(_ form: Form, _ making: Making, _ order: [Int]) async throws -> [Owner] {
        switch form {
        case .stored:
            return try await storedSession(open(), making, order).models(Query(OwnerRow.self))
        case .storedInTransaction:
            let store = try await open()
            let session = storedSession(store, making, order)
            return try await store.read { try session.models(Query(OwnerRow.self), in: $0) }
        case .nested:
            let mappings: [any AnyMapping] = [
                OwnerDTO.mapping(making), BasketDTO.mapping(making), ArticleDTO.mapping(making),
                MakerDTO.mapping(making),
            ]
            let articles = (1...3).map { ArticleDTO(id: $0, maker: MakerDTO(id: $0 % 2 + 1)) }
            return try GraphSession(nil, ordered(mappings, order)).map([
                OwnerDTO(id: 1, cart: BasketDTO(id: 1, goods: [articles[0], articles[1]])),
                OwnerDTO(id: 2, cart: BasketDTO(id: 2, goods: [articles[1], articles[2]])),
            ])
        case .objects:
            let mappings: [any AnyMapping] = [
                OwnerObject.mapping(making), BasketObject.mapping(making), ArticleObject.mapping(making),
                MakerObject.mapping(making),
            ]
            let makers = (1...2).map { id in
                let maker = MakerObject()
                maker.id = id
                return maker
            }
            let articles = (1...3).map { id in
                let article = ArticleObject()
                (article.id, article.maker) = (id, makers[id % 2])
                return article
            }
            let owners = (1...2).map { id in
                let (owner, basket) = (OwnerObject(), BasketObject())
                (owner.id, basket.id) = (id, id)
                (owner.cart, basket.owner) = (basket, owner)
                basket.goods = [articles[id - 1], articles[id]]
                return owner
            }
            return try GraphSession(nil, ordered(mappings, order)).map(owners)
        }
    }

    @Test(arguments: Form.allCases)
    private func `by levels, whichever order the mappings are listed in`(form: Form) async throws {
        for order in Self.orders {
            let making = Making()
            let owners = try await load(form, making, order)
            #expect(owners[0].cart?.goods[1] === owners[1].cart?.goods[0])
            var rest = making.log[...]
            for level in Self.levels {
                #expect(Set(rest.prefix(level.count)) == level, "mappings \(order): \(making.log)")
                rest = rest.dropFirst(level.count)
            }
            #expect(rest.isEmpty)
        }
    }

    /// Entered from a basket, the owner is one link away, as the articles are.
    @Test func `whatever is the root is made first`() async throws {
        for order in Self.orders {
            let (store, making) = (try await open(), Making())
            let session = storedSession(store, making, order)
            let basket = try #require(try await session.find(BasketRow.self, 1))
            #expect(basket.owner?.cart === basket)
            #expect(try session.changes().isEmpty)
            #expect(making.log.first == "basket 1", "mappings \(order): \(making.log)")
            let levels = [1, 3, 1, 2]
            #expect(making.log.count <= levels.reduce(0, +))
            let makers = making.log.indices.filter { making.log[$0].hasPrefix("maker") }
            let articles = making.log.indices.filter { making.log[$0].hasPrefix("article") }
            #expect(makers.allSatisfy { maker in articles.allSatisfy { $0 < maker } }, "\(order): \(making.log)")
        }
    }

    /// A branch with two below it, one of which has one more: one type at many levels.
    @Test func `a type that leads to itself is made level by level`() async throws {
        let making = Making()
        let session = GraphSession(TwigDTO.mapping(making))
        let tree = TwigDTO(
            id: 1, twigs: [TwigDTO(id: 2, twigs: [TwigDTO(id: 4)]), TwigDTO(id: 3, twigs: [TwigDTO(id: 5)])])
        let root = try session.map([tree])[0]
        #expect(root.twigs.map(\.id) == [2, 3])
        #expect(making.log.first == "twig 1")
        #expect(Set(making.log[1...2]) == ["twig 2", "twig 3"] && Set(making.log[3...]) == ["twig 4", "twig 5"])
    }
}

private final class Twig {
    let id: Int
    var twigs: [Twig] = []
    init(id: Int) { self.id = id }
}
private struct TwigDTO: DTO, Identifiable {
    typealias Model = Twig
    let id: Int
    var twigs: [TwigDTO] = []
    static let schema = Schema<Self>("twig") { row in try Self(id: row("id", \.id), twigs: row.nested("twigs", \.twigs))
    }
    static func mapping(_ making: Making) -> Mapping<Self> {
        Mapping {
            making.log.append("twig \($0.id)")
            return Twig(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.twigs, \.twigs)
        }
    }
}
