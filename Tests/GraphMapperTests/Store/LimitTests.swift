import GraphMapperStore
import GraphMapperTesting
import Testing

/// What is computed of a query, and the sections that it is cut into, are of the records that it has.
@Suite struct `The records of a query, whatever is asked of them` {
    private struct Choice: Sendable {
        var limit: Int?
        var offset: Int
        var isDistinct: Bool

        static let gen = Gen<Int>.int(in: 0...6).zip(.int(in: 0...3)).zip(.int(in: 0...1)).map { pair, distinct in
            Choice(limit: pair.0 == 0 ? nil : pair.0 - 1, offset: pair.1, isDistinct: distinct == 1)
        }

        var query: Query<WareRecord> {
            var query = Query(WareRecord.self).sorted(by: \.name, descending: true)
            if isDistinct { query = query.distinct(by: \.group) }
            if let limit { query = query.limit(limit) }
            return query.offset(offset)
        }
    }

    @Test func `aggregates and sections, read and observed`() async throws {
        let wares = Gen<[(Int, Int)]>.array(of: Gen<Int>.int(in: 0...3).zip(.int(in: 0...3)), count: 0...8)
        try await check(wares.zip(Choice.gen), count: times(80, soak: 4000)) { wares, choice in
            let store = try await openWares()
            try await store.write { tx in
                for (id, ware) in wares.enumerated() {
                    try await tx.insert(WareRecord(id: id, name: "\(ware.0)", group: ware.1))
                }
            }
            let query = choice.query
            let records = try await store.fetch(query)
            let sum = records.map(\.group).reduce(0, +)
            try ensure(try await store.value(query) { $0.group.sum() } == sum, "the sum")
            try ensure(try await store.value(query) { $0.count() } == records.count, "the count")
            try ensure(try await store.value(query) { $0.group.max() } == .some(records.map(\.group).max()), "the most")
            let both = try await store.select(query) { ($0.group.sum(), $0.count()) }
            try ensure(both.map(\.0) == [sum] && both.map(\.1) == [records.count], "both")
            try ensure(try await store.value(query) { $0.id } == records.first?.id, "the first")

            let sections = try await store.sections(query, descending: true) { $0.group }
            try ensure(sections.map(\.key) == Set(records.map(\.group)).sorted(by: >), "keys")
            for section in sections {
                let expected = records.filter { $0.group == section.key }
                try ensure(section.records == expected, "section \(section.key): \(section.records), not \(expected)")
            }
            for try await value in store.values(of: query, { $0.group.sum() }) {
                try ensure(value == sum, "the observed sum")
                break
            }
            for try await change in store.changes(of: query, sectionedBy: { $0.group }) {
                let seen = change.sections.map { Array($0) }
                try ensure(seen == sections.reversed().map(\.records), "the observed sections: \(seen)")
                break
            }
        }
    }

    @Test func `a limited list in sections follows its rows`() async throws {
        let store = try await openWares()
        try await store.write { tx in
            for (id, name) in ["a", "b", "c", "d"].enumerated() {
                try await tx.insert(WareRecord(id: id, name: name, group: 3 - id))
            }
        }
        let query = Query(WareRecord.self).sorted(by: \.name).limit(2)
        var seen: [[[Int]]] = []
        for try await change in store.changes(of: query, sectionedBy: { $0.group }) {
            seen.append(change.sections.map { $0.map(\.id) })
            if seen.count == 2 { break }
            try await store.write { tx in _ = try await tx.delete(WareRecord.self, 0) }
        }
        #expect(seen == [[[1], [0]], [[2], [1]]])
    }
}
