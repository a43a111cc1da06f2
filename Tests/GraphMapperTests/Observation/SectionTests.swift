import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `Sections of a query` {
    @Test func `law: applied to the old sections, changes make the new ones`() async throws {
        try await check(WareStory.gen.zip(.int(in: 0...6)).zip(.bool), count: times(300, soak: 30_000)) { asked in
            let ((scenario, key), descending) = asked
            switch key {
            case 0: try await verify(scenario, descending) { $0.group }
            case 1: try await verify(scenario, descending) { $0.name }
            case 2: try await verify(scenario, descending) { $0.price }
            case 3: try await verify(scenario, descending) { $0.depot.name ?? "" }
            case 4: try await verify(scenario, descending) { $0.depot }
            case 5: try await verify(scenario, descending) { $0.name.prefix(1) }
            default: try await verify(scenario, descending) { $0.group % 2 }
            }
        }
    }

    private func verify<Key: Storable>(
        _ scenario: WareStory, _ descending: Bool, _ key: (Columns<WareRecord>) -> ColumnExpression<Key>
    ) async throws {
        let query = scenario.asked.query
        let (ordered, place) = query.sortedFirst(descending: descending, telling: key)
        var changes: Stepper<LiveSections<Key, WareRecord>>?
        var table = TableModel<SameWare>(sections: [])
        var moving = table
        var old: [RecordSection<Key, WareRecord>] = []
        try await scenario.run { store, round in
            let expected = try await store.sections(query.sorted(by: \.id), descending: descending, by: key)
            defer { old = expected }
            let rows = expected.map { $0.records.map(SameWare.init) }
            guard round != nil else {
                changes = try await Stepper(store, LiveSections(LiveLinked(ordered, section: place)))
                table = TableModel(sections: rows)
                moving = table
                return
            }
            let told = try await changes?.step()
            let isSame = old.map { $0.records.map(SameWare.init) } == rows && keys(old) == keys(expected)
            try ensure((told == nil) == isSame, told == nil ? "nothing is told" : "told of nothing")
            guard let change = told else { return }
            try ensure(change.sections.map { $0.map(SameWare.init) } == rows, "got \(change), expected \(rows)")
            try ensure(change.sections.map { plain($0.key) } == keys(expected), "other keys")
            try verify(change, old)
            try table.apply(change, moving: false, as: SameWare.init)
            try moving.apply(change, moving: true, as: SameWare.init)
            try ensure(table.sections == rows, "the table shows \(table.sections)")
            try ensure(moving.sections == rows, "the table with moves shows \(moving.sections)")
        }
    }

    private func plain(_ key: some Storable) -> [StoredValue] { key.storedValues.map(\.normalizedKey) }
    private func keys<Key: Storable>(_ sections: [RecordSection<Key, WareRecord>]) -> [[StoredValue]] {
        sections.map { plain($0.key) }
    }

    private func verify<Key: Storable>(
        _ change: SectionListChange<Key, WareRecord>, _ old: [RecordSection<Key, WareRecord>]
    ) throws {
        guard case .update(let new, let gone, let come, let deletions, let insertions, let modifications) = change
        else {
            throw Violation(description: "a second initial")
        }
        for sections in [gone, come] { try ensure(sections == sections.sorted(), "\(sections) do not ascend") }
        for paths in [deletions, insertions, modifications] { try ensure(paths == paths.sorted(), "\(paths)") }
        let were = Set(keys(old))
        let are = Set(new.map { plain($0.key) })
        try ensure(gone == old.indices.filter { !are.contains(plain(old[$0].key)) }, "deleted sections \(gone)")
        try ensure(come == new.indices.filter { !were.contains(plain(new[$0].key)) }, "inserted sections \(come)")
        func id(_ path: SectionPath) -> Int { old[path.section].records[path.item].id }
        for move in change.moves {
            try ensure(id(move.from) == new[move.to].id, "\(move) moves another row")
            try ensure(deletions.contains(move.from) && insertions.contains(move.to), "a move of its own")
        }
        let inNew = change.modificationsInNew
        try ensure(modifications.map(id) == inNew.map { new[$0].id }, "modificationsInNew")
    }

    private let byGroup: @Sendable (Columns<WareRecord>) -> ColumnExpression<Int> = { $0.group }

    @Test func `sections come and go, rows move between them`() async throws {
        let store = try await openWares()
        try await store.write { tx in
            for (id, group) in [(1, 1), (2, 1), (3, 2), (4, 4)] {
                try await tx.insert(WareRecord(id: id, name: "\(id)", group: group))
            }
        }
        let query = Query(WareRecord.self).sorted(by: \.name)
        var changes = store.changes(of: query, sectionedBy: byGroup).makeAsyncIterator()
        guard case .initial(let first)? = try await changes.next() else { throw Violation(description: "not initial") }
        #expect(first.map(\.key) == [1, 2, 4] && first.map { $0.map(\.id) } == [[1, 2], [3], [4]])
        #expect(first[SectionPath(section: 0, item: 1)].id == 2 && first.records.count == 4)
        try await store.write { tx in
            // The last of its section becomes the first of the next: it has not passed any other.
            _ = try await tx.apply(Patch(WareRecord.self, 2).set(\.group, 2))
            _ = try await tx.delete(WareRecord.self, 4)
            try await tx.insert(WareRecord(id: 5, name: "5", group: 3))
            _ = try await tx.apply(Patch(WareRecord.self, 1).set(\.price, 1))
        }
        guard case .update(let second, [2], [2], let gone, let come, let modified)? = try await changes.next() else {
            throw Violation(description: "not an update")
        }
        #expect(second.map(\.key) == [1, 2, 3] && second.map { $0.map(\.id) } == [[1], [2, 3], [5]])
        let (from, to) = (SectionPath(section: 0, item: 1), SectionPath(section: 1, item: 0))
        #expect(gone == [from] && come == [to] && modified == [SectionPath(section: 0, item: 0)])
        #expect(second.moves == [SectionMove(from: from, to: to)])
    }

    @Test @MainActor func `a write that the list knows of`() async throws {
        let store = try await openWares()
        try await store.write { try await $0.insert(contentsOf: (1...3).map { WareRecord(id: $0, group: $0) }) }
        let (told, tell) = AsyncStream<SectionListChange<Int, WareRecord>>.makeStream()
        let token = store.changes(of: Query(WareRecord.self), sectionedBy: byGroup).observe { tell.yield($0) }
        var events = told.makeAsyncIterator()
        #expect(await events.next()?.sections.count == 3)
        try await store.write(withoutNotifying: [token]) { _ = try await $0.delete(WareRecord.self, 1) }
        try await store.write { _ = try await $0.delete(WareRecord.self, 3) }
        guard case .update(let sections, let gone, _, _, _, _)? = await events.next() else {
            throw Violation(description: "not an update")
        }
        #expect(gone == [1] && sections.map(\.key) == [2])
        token.cancel()
    }
}
