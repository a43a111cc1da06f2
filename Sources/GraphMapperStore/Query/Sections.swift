/// Records that have the same value somewhere, under that value.
public struct RecordSection<Key: Storable, R: StoredRecord>: Sendable {
    /// What they have in common.
    public let key: Key
    /// The records, in the query's order.
    public let records: [R]
}

extension ReadTransaction {
    /// The records of a query, those within its limit, in sections in the order of their keys:
    /// `sections(people) { $0.name.prefix(1) }`.
    ///
    /// - Parameters:
    ///   - descending: whether the section of the greatest key comes first.
    ///   - key: what the records of a section have in common.
    /// - Complexity: that of the query; the sections are computed in a statement of their own.
    public func sections<R: StoredRecord, Key: Storable>(
        _ query: Query<R>, descending: Bool = false, by key: (Columns<R>) -> ColumnExpression<Key>
    ) async throws -> [RecordSection<Key, R>] {
        let (ordered, _) = query.sortedFirst(descending: descending, telling: key)
        let keys = try selected(ordered, distinct: false) { key($0) }
        let records = try fetchNow(ordered)
        guard keys.count == records.count else {
            throw StoreError(.misuse, "a query that is read in sections has no groups")
        }
        var sections: [RecordSection<Key, R>] = []
        var start = 0
        func differ(_ left: Key, _ right: Key) -> Bool {
            left.storedValues.map(Touch.plain) != right.storedValues.map(Touch.plain)
        }
        for end in 1..<(records.count + 1) where end == records.count || differ(keys[end], keys[start]) {
            sections.append(RecordSection(key: keys[start], records: Array(records[start..<end])))
            start = end
        }
        return sections
    }
}

extension GraphStore {
    /// The records of a query in sections, in a read transaction of their own. See
    /// ``ReadTransaction/sections(_:descending:by:)``.
    public func sections<R: StoredRecord, Key: Storable>(
        _ query: Query<R>, descending: Bool = false, by key: (Columns<R>) -> ColumnExpression<Key>
    ) async throws -> [RecordSection<Key, R>] {
        try await read { try await $0.sections(query, descending: descending, by: key) }
    }
}

extension Query {
    /// Sorted by a value before all else, and the value as what rows of a section have in common.
    func sortedFirst<V: Storable>(
        descending: Bool, telling value: (Columns<R>) -> ColumnExpression<V>
    ) -> (query: Self, section: SectionKey) {
        let value = value(columns)
        let keys = V.ordering.keys(value.parts)
        let isPlain = V.ordering == .plain || V.ordering == .number
        let all = keys + (isPlain ? [] : value.parts)
        let query = settled().putting(all.map { Ordering($0, descending: descending) }, value.mistake)
        return (query, SectionKey(V.self, all.count - value.parts.count..<all.count))
    }
}
