import Foundation
import GraphMapperStore
import GraphMapperTesting
import ShopModels
import Testing

@testable import ShoppingCart

/// A backing that is no store.
final class Tables: GraphBacking, GraphSource, ChangeSink {
    struct Row {
        var columns: [String: StoredValue]
        var links: [String: [StoredValue]] = [:]
    }
    private var tables: [String: [[StoredValue]: Row]] = [:]  // by the key's values

    func snapshot(_ body: nonisolated(nonsending) (any GraphSource) async throws -> Void) async throws {
        try await body(self)
    }

    func transaction(_ body: nonisolated(nonsending) (any ChangeSink) async throws -> Void) async throws {
        let before = tables
        do {
            try await body(self)
        } catch {
            tables = before
            throw error
        }
    }

    func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D] where D.ID: Storable & Hashable {
        let table = tables[D.schema.name] ?? [:]
        return try ids.compactMap { table[$0.storedValues] }.compactMap { try dto(of: $0) }
    }

    func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable {
        let columns = D.schema.properties.first { $0.name == name }?.columnNames ?? []
        let wanted = Set(owners.map(\.storedValues))
        let rows = (tables[D.schema.name] ?? [:]).values
        return try rows.filter { row in wanted.contains(columns.compactMap { row.columns[$0] }) }
            .compactMap { try dto(of: $0) }
    }

    func all<D: DTO & Identifiable>(_ type: D.Type) throws -> [D] {
        try (tables[D.schema.name] ?? [:]).values.compactMap { try dto(of: $0) }
    }

    private func dto<D: DTO>(of row: Row) throws -> D? {
        try D.schema.dto(columns: row.columns, links: row.links) as? D
    }

    func apply(_ change: ChangeSet.Change) async throws {
        switch change {
        case .insert(let row):
            guard tables[row.table]?[row.key] == nil else { throw conflict(row.table, row.key) }
            let columns = Dictionary(uniqueKeysWithValues: zip(row.columns, row.values))
            tables[row.table, default: [:]][row.key] = Row(columns: columns)
        case .update(let row):
            for (column, (old, new)) in zip(row.columns, zip(row.expected, row.values)) {
                guard tables[row.table]?[row.key]?.columns[column] == old else { throw conflict(row.table, row.key) }
                tables[row.table]?[row.key]?.columns[column] = new
            }
        case .relink(let row):
            let found = tables[row.table]?[row.key]?.links[row.property] ?? []
            guard found == row.base else { throw conflict(row.table, row.key) }
            tables[row.table]?[row.key]?.links[row.property] = row.targets
        case .delete(let row): tables[row.table]?[row.key] = nil
        }
    }

    private func conflict(_ table: String, _ key: [StoredValue]) -> GraphError {
        GraphError(.conflict, "another writer was there; refresh and save again", type: table, id: "\(key)")
    }
}

@Suite struct `A backing that is no store` {
    private func seeded() async throws -> Tables {
        let tables = Tables()
        _ = try await seed(tables, carts: [[0, 1, 0], [1], []], items: 3)
        return tables
    }

    private func shape(_ users: [User]) -> [String] {
        users.sorted { $0.name < $1.name }.map { user in
            "\(user.name), \(user.age), \(user.homepage?.absoluteString ?? "-"): "
                + (user.cart?.items.map { "\($0.name) \($0.price)" }.joined(separator: ", ") ?? "no cart")
        }
    }

    @Test func `what is edited and saved is loaded again, and a second save applies nothing`() async throws {
        let tables = try await seeded()
        let ids = try tables.all(UserRecord.self).map(\.id)
        func load(_ session: GraphSession) async throws -> [User] {
            try await session.load(UserRecord.self) { try await $0.fetch(UserRecord.self, ids: ids) }
        }
        let session = shopSession(tables)
        let users = try await load(session)
        #expect(try session.changes().isEmpty)
        let user = try #require(users.first { $0.name == "user 0" })
        let cart = try #require(user.cart)
        #expect(cart.owner === user && cart.items.map(\.name) == ["item 0", "item 1", "item 0"])
        #expect(cart.items[0] === cart.items[2])

        cart.items[1].price = 7
        cart.items.append(ShopItem(name: "new", price: 1))
        cart.items.removeFirst()
        user.age = 40
        user.homepage = URL(string: "https://x.example")
        try session.delete(try #require(users.first { $0.name == "user 2" }?.cart))
        let planned = try session.changes()
        #expect(try await session.save() == planned)
        #expect(planned.changes.count == 5, "\(planned)")
        #expect(try await session.save().isEmpty)

        let other = shopSession(tables)
        #expect(shape(try await load(other)) == shape(users))
        #expect(try other.changes().isEmpty)
    }

    @Test func `a failed save changes nothing, and other writers are noticed`() async throws {
        let tables = try await seeded()
        let id = try #require(try tables.all(ItemRecord.self).first { $0.name == "item 0" }?.id)
        let sessions = [shopSession(tables), shopSession(tables)]
        let mine = try #require(try await sessions[0].find(ItemRecord.self, id))
        let theirs = try #require(try await sessions[1].find(ItemRecord.self, id))
        theirs.price = 1
        try await sessions[1].save()
        mine.price = 2
        try sessions[0].add(ShopItem(name: "new", price: 0))
        let error = await #expect(throws: GraphError.self) { try await sessions[0].save() }
        #expect(error?.kind == .conflict)
        #expect(try tables.all(ItemRecord.self).count == 3)
        // Reading again settles nothing by itself.
        try await sessions[0].refresh(.merging { _ in .mine })
        #expect(try await sessions[0].save().changes.count == 2)
        #expect(try tables.all(ItemRecord.self).map(\.price).sorted() == [0, 2, 251, 252])
    }

    @Test func `an object made under a stored id is found`() async throws {
        let tables = try await seeded()
        let item = try #require(try tables.all(ItemRecord.self).first)
        let session = shopSession(tables)
        try session.add(ShopItem(id: item.id, name: "again", price: item.price), ifStored: .update)
        #expect(try await session.save().description.hasPrefix("update item"))
        #expect(try tables.all(ItemRecord.self).map(\.name).contains("again"))
    }

    @Test func `the laws hold`() async throws {
        try await checkLaws(
            of: [NodeRecord.mapping], rows: Gen.anyShape().map { StoredGraph(nodeRecords($0)) }
        ) { Tables() }
        try await checkLaws(
            of: [UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping],
            rows: `Laws of sessions over a store`.shops
        ) { Tables() }
    }

    @Test func `a row that does not fit names the column`() {
        let columns: [String: StoredValue] = ["id": UUID().stored, "name": .text("x"), "price": .text("dear")]
        let error = #expect(throws: GraphError.self) { try ItemRecord.schema.dto(columns: columns) }
        #expect(error?.type == "item" && error?.property == "price" && error?.kind == .conversion)
    }

    @Test func `the guide shows it`() throws {
        let source = try Compiler.text("Tests/GraphMapperTests/Session/BackingTests.swift")
        let shown = try #require(source.components(separatedBy: "\n\n@Suite").first)
        let tables = try #require(shown.components(separatedBy: "is no store.\n").last)
        #expect(try Compiler.text("docs/write-back.md").contains("```swift\n\(tables)\n```"))
    }
}
