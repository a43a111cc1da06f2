extension ReadTransaction {
    /// The values of a ``Lazy`` property of many records, by their ids, in one statement. Records that are not there have
    /// none. Of texts that are ids and that Swift takes for equal though they are not the same bytes, ask for one at a time.
    ///
    /// - Complexity: O(ids), and the size of the values.
    public func lazyValues<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, ids: some Sequence<R.ID>
    ) async throws -> [R.ID: V] {
        Dictionary(try lazyPairs(type, path, ids: Array(ids)), uniquingKeysWith: { $1 })
    }

    func lazyPairs<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, ids: [R.ID]
    ) throws -> [(R.ID, V)] {
        try check()
        var found: [(R.ID, V)] = []
        let ids = Array(Set(ids.map { Ref<R>($0) }))
        let width = R.keyColumnNames.count
        let most = max(1, connection.variableLimit / width)
        for start in stride(from: 0, to: ids.count, by: most) {
            let part = ids[start..<min(start + most, ids.count)]
            let query = Query(R.self)
            let chosen = query.filtered(
                by: Condition(
                    .isOneOf(.together(query.tree.key), part.flatMap(\.storedValues), width: width), nil))
            let rows = try selected(chosen, distinct: false) { columns in
                let value: ColumnExpression<V> = columns.column(path)
                return (ColumnExpression<R.ID>(columns.key), value)
            }
            for (id, value) in rows { found.append((id, value)) }
        }
        return found
    }

    /// The value of a ``Lazy`` property of one record; nil if the record is not there.
    public func lazyValue<R: StoredRecord, V: Storable>(
        _ type: R.Type, _ path: any KeyPath<R, Lazy<V>> & Sendable, _ id: R.ID
    ) async throws -> V? { try lazyPairs(type, path, ids: [id]).first?.1 }
    /// The records with their ``Lazy`` values, in one statement.
    ///
    /// - Parameter records: no more than the engine binds keys of at once.
    func readingLazyValues<R: StoredRecord>(of records: [R]) throws -> [R] {
        let schema = R.schema
        guard schema.hasLazy, !records.isEmpty else { return records }
        let key = R.keyColumnNames
        let columns = Dialect.list(key + schema.properties.filter(\.isLazy).flatMap(\.columnNames))
        let isKey = Dialect.row(key.map(Dialect.quoted))
        let rows = try connection.rows(
            "SELECT \(columns) FROM \(table(R.self)) WHERE \(isKey) IN \(Dialect.choice(records.count, width: key.count))",
            records.flatMap(\.id.storedValues))
        let found = Dictionary(rows.map { (Array($0[..<key.count]), $0[key.count...]) }, uniquingKeysWith: { $1 })
        return try records.map { record in
            guard let values = found[record.id.storedValues] else { return record }
            return try schema.reading(values, of: record)
        }
    }
}
