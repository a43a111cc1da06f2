/// What a session asks for: records by their ids, or by a foreign key.
extension ReadTransaction {
    public func fetchNow<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) throws -> [D]
    where D.ID: Storable & Hashable {
        guard let record = type as? any StoredRecord.Type else { throw notStored(type) }
        func fetch<R: StoredRecord>(_ record: R.Type) throws -> [D] {
            try Self.same(select(record, where: record.keyColumnNames, isIn: Self.encoded(ids)))
        }
        return try fetch(record)
    }

    public func fetchNow<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) throws -> [D] where D.ID: Storable & Hashable {
        guard let record = type as? any StoredRecord.Type else { throw notStored(type) }
        func fetch<R: StoredRecord>(_ record: R.Type) throws -> [D] {
            let columns = R.schema.properties.first { $0.name == name }?.columnNames ?? [name]
            return try Self.same(select(record, where: columns, isIn: Self.encoded(owners)))
        }
        return try fetch(record)
    }

    /// The records as what they are; a cast would copy each.
    private static func same<R, D>(_ records: [R]) -> [D] {
        R.self == D.self ? unsafeBitCast(records, to: [D].self) : []
    }

    private static func encoded(_ ids: [some Storable]) -> [StoredValue] {
        var values: [StoredValue] = []
        values.reserveCapacity(ids.count)
        for id in ids { id.encode(into: &values) }
        return values
    }

    private func notStored(_ type: Any.Type) -> GraphError {
        GraphError(.misuse, "\(type) is not a StoredRecord, so the store has no table for it")
    }
}
