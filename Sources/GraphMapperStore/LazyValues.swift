extension ReadTransaction {
    /// The values of a ``Lazy`` property of many records, by their ids, in one statement. Records that are not there have
    /// none.
    ///
    /// - Complexity: O(ids), and the size of the values.
    public func values<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, ids: some Sequence<R.ID>
    ) async throws -> [R.ID: V] {
        try check()
        var found: [R.ID: V] = [:]
        let ids = Array(Set(ids))
        let width = R.keyColumnNames.count
        let most = max(1, connection.variableLimit / width)
        for start in stride(from: 0, to: ids.count, by: most) {
            let part = ids[start..<min(start + most, ids.count)]
            let query = Query(R.self)
            let chosen = query.filtered(
                by: Condition(
                    .isOneOf(.together(query.rows.key), part.flatMap(\.storedValues), width: width), nil))
            let rows = try selected(chosen, distinct: false) { columns in
                let value: ColumnExpression<V> = columns.column(path)
                return (ColumnExpression<R.ID>(columns.key), value)
            }
            for (id, value) in rows { found[id] = value }
        }
        return found
    }

    /// The value of a ``Lazy`` property of one record; nil if the record is not there.
    public func value<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, _ id: R.ID
    ) async throws -> V? { try await values(type, path, ids: [id])[id] }
}

extension GraphStore {
    /// The values of a ``Lazy`` property of many records, in a read transaction of their own.
    public func values<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, ids: some Sequence<R.ID>
    ) async throws -> [R.ID: V] {
        try await read { try await $0.values(type, path, ids: ids) }
    }
}
