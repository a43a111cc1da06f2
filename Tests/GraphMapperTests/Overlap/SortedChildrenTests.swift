import GraphMapperStore
import Testing

@testable import GraphMapper

private final class Program {
    let id: Int
    var items: [ProgramItem] = []
    init(id: Int) { self.id = id }
}
private final class ProgramItem {
    let id: Int
    var title = ""
    var act: Int?
    var position = 0
    weak var program: Program?
    init(id: Int) { self.id = id }
}
private struct ProgramRow: StoredRecord {
    typealias Model = Program
    let id: Int
    static let schema = Schema<Self>("program") { row in try Self(id: row("id", \.id)) }
    static func mapping(_ order: ItemOrder) -> Mapping<Self> {
        Mapping {
            Program(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            order.applied(to: Many(ItemRow.self, by: \.program, \.items))
        }
    }
}
private struct ItemRow: StoredRecord {
    typealias Model = ProgramItem
    let id: Int
    var title = ""
    var act: Int?
    var position = 0
    var program: Ref<ProgramRow>?
    static let schema = Schema<Self>("item") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), act: row("act", \.act),
            position: row("position", \.position), program: row("program", \.program))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            ProgramItem(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Field(\.act, \.act)
            Field(\.position, \.position)
            Back(\.program, \.program)
        }
    }
}

private enum ItemOrder: CaseIterable, Sendable {
    case position, positionDescending, title, titleDescending, actThenPosition, actDescendingThenTitle

    func applied(to many: Many<ProgramRow, ItemRow>) -> Many<ProgramRow, ItemRow> {
        switch self {
        case .position: many.sorted(by: \.position)
        case .positionDescending: many.sorted(by: \.position, descending: true)
        case .title: many.sorted(by: \.title)
        case .titleDescending: many.sorted(by: \.title, descending: true)
        case .actThenPosition: many.sorted(by: \.act).sorted(by: \.position)
        case .actDescendingThenTitle: many.sorted(by: \.act, descending: true).sorted(by: \.title)
        }
    }

    /// Whether one comes before the other, equal keys by the id.
    func sorted(_ rows: [ItemRow]) -> [Int] {
        rows.sorted { left, right in
            let keys: [(Int, Int)]
            switch self {
            case .position: keys = [(left.position, right.position)]
            case .positionDescending: keys = [(-left.position, -right.position)]
            case .title: keys = [(Self.rank(left.title), Self.rank(right.title))]
            case .titleDescending: keys = [(-Self.rank(left.title), -Self.rank(right.title))]
            case .actThenPosition: keys = [(left.act ?? -1, right.act ?? -1), (left.position, right.position)]
            case .actDescendingThenTitle:
                keys = [(-(left.act ?? -1), -(right.act ?? -1)), (Self.rank(left.title), Self.rank(right.title))]
            }
            for (one, other) in keys where one != other { return one < other }
            return left.id < right.id
        }.map(\.id)
    }

    /// Titles are of one letter.
    private static func rank(_ title: String) -> Int { Int(title.utf8.first ?? 0) }
}
private enum SortedReading: CaseIterable, Sendable {
    case load, link, refresh, refreshOne, merge, itemsFirst, inTransaction
}

@Suite struct `Children in the order that the mapping says` {
    private func opened() async throws -> GraphStore {
        let store = try await GraphStore.open(.inMemory, ProgramRow.self, ItemRow.self)
        try await store.write { tx in
            try await tx.insert(ProgramRow(id: 1))
            let titles = ["b", "a", "a", "d", "c", "B"]
            for id in [4, 2, 6, 1, 5, 3] {
                try await tx.insert(
                    ItemRow(
                        id: id, title: titles[id - 1], act: id % 3 == 0 ? nil : id % 3, position: (id * 7) % 4,
                        program: Ref(1)))
            }
        }
        return store
    }

    @Test(arguments: ItemOrder.allCases, SortedReading.allCases)
    private func `whatever reads them`(order: ItemOrder, reading: SortedReading) async throws {
        let store = try await opened()
        let session = GraphSession(store, ProgramRow.mapping(order), ItemRow.mapping)
        let query = Query(ProgramRow.self)
        let isFresh = [.load, .link, .itemsFirst, .inTransaction].contains(reading)
        var program = isFresh ? nil : try await session.first(query)
        // A key changes, and an object comes.
        try await store.write { tx in
            _ = try await tx.apply(
                Patch(ItemRow.self, 4).set(\.position, -3).set(\.title, "z").set(\.act, 9))
            try await tx.insert(ItemRow(id: 7, title: "a", act: 1, position: 1, program: Ref(1)))
        }
        switch reading {
        case .load: program = try await session.first(query)
        case .link:
            let found = try #require(try await session.first(query, loading: .none))
            try await session.load(found, \.items)
            program = found
        case .refresh: try await session.refresh()
        case .refreshOne: try await session.refresh(#require(program))
        case .merge: try await session.merge([ProgramRow(id: 1)])
        case .itemsFirst:
            _ = try await session.models(Query(ItemRow.self), loading: .none)
            program = try await session.first(query)
        case .inTransaction: program = try await store.read { try session.first(query, in: $0) }
        }
        // What was read before is brought up to date with its owner's list.
        let rows = try await store.fetch(Query(ItemRow.self))
        #expect(program?.items.map(\.id) == order.sorted(rows))
        #expect(try session.changes().isEmpty)
    }

    @Test func `what the app puts in, or changes the key of, stays where it is until the next load`() async throws {
        let store = try await opened()
        let session = GraphSession(store, ProgramRow.mapping(.position), ItemRow.mapping)
        let program = try #require(try await session.first(Query(ProgramRow.self)))
        let before = program.items.map(\.id)
        let new = ProgramItem(id: 9)
        (new.position, new.program) = (100, program)
        program.items.insert(new, at: 0)
        program.items[3].position = -100
        try await session.save()
        #expect(program.items.map(\.id) == [9] + before)
        try await session.refresh()
        let rows = try await store.fetch(Query(ItemRow.self))
        #expect(program.items.map(\.id) == ItemOrder.position.sorted(rows))
        #expect(program.items.last === new && program.items[0].position == -100)
        #expect(try session.changes().isEmpty)
    }
}
