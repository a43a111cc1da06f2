/// What an upsert did.
public enum UpsertOutcome: Sendable, Hashable {
    /// There was no such row; now there is.
    case inserted
    /// The properties that differed and were written, or all of them for ``UpsertPolicy/all``; lists count as one each.
    case updated([String])
    /// The row was there, and the same.
    case unchanged
}

/// What an upsert does with a row that is there.
///
/// | in the record | `.error` | `.modified` | `.all` |
/// |---|---|---|---|
/// | a value that the row has too | error | not written | written |
/// | another value, nil among them | error | written | written |
/// | nil where the row has nil | error | not written | written |
/// | an unset ``Tristate``, an unread ``Lazy`` | error | not written | not written |
/// | a set ``Lazy`` | error | written | written |
/// | a list | error | the rows that differ | the rows that differ |
/// | a `Ref` | error | the key, as a value | the key, as a value |
///
/// What a `Ref` or a list points to is never written: nested records are upserted by themselves, with a policy of their
/// own. A record without a row is inserted whatever the policy; a unique value that another row has is an error.
public enum UpsertPolicy: Sendable, Hashable {
    /// A row that is there is an error of kind `duplicateKey`.
    case error
    /// Writes the properties that differ; nil is a value like any other.
    case modified
    /// Writes every property.
    case all
}

extension WriteTransaction {
    /// Adds a record, or updates the row with its id as `policy` says.
    ///
    /// - Parameter paths: which properties of a row that is there may be written; nil for all.
    /// - Throws: ``GraphError`` if a path is no property of the schema; ``StoreError`` if the row is there and the policy is
    ///   `.error`, or if another row has a unique value.
    @discardableResult
    public func upsert<R: StoredRecord>(
        _ record: R, policy: UpsertPolicy = .modified, only paths: [any PartialKeyPath<R> & Sendable]? = nil
    ) async throws -> UpsertOutcome {
        try upsertNow(record, policy, Self.properties(paths), connection.table(R.self))
    }

    /// Writes the properties of a record in which it differs from its row. Adds none.
    ///
    /// - Returns: false if there is no such row.
    /// - Throws: ``StoreError`` if another row has a unique value, and for what else the table forbids.
    @discardableResult
    public func update<R: StoredRecord>(_ record: R) async throws -> Bool {
        try check()
        let table = connection.table(R.self)
        switch try table.presence(of: record, connection) {
        case .absent: return false
        case .same: return true
        default: return try table.find(record.id, connection).map { try update($0, to: record, .modified, nil) } != nil
        }
    }

    /// Upserts many records, in their order. A key that stands twice is one row: the later record is what it becomes.
    ///
    /// - Parameter paths: which properties of rows that are there may be written; nil for all.
    /// - Returns: an outcome for each record, in their order.
    /// - Throws: as for one record; nothing is undone of those before, which is what a ``savepoint(_:)`` is for.
    @discardableResult
    public func upsert<R: StoredRecord>(
        contentsOf records: some Sequence<R>, policy: UpsertPolicy = .modified,
        only paths: [any PartialKeyPath<R> & Sendable]? = nil
    ) async throws -> [UpsertOutcome] {
        let (table, only) = (connection.table(R.self), try Self.properties(paths))
        var outcomes: [UpsertOutcome] = []
        outcomes.reserveCapacity(records.underestimatedCount)
        for record in records { outcomes.append(try upsertNow(record, policy, only, table)) }
        return outcomes
    }

    private static func properties<R: StoredRecord>(
        _ paths: [any PartialKeyPath<R> & Sendable]?
    ) throws -> Set<AnyKeyPath>? {
        guard let paths else { return nil }
        for path in paths where R.schema.property(at: path) == nil {
            throw GraphError(
                .misuse, "an upsert writes whole properties of the record", type: R.schema.name, property: "\(path)")
        }
        return Set(paths)
    }

    private func upsertNow<R: StoredRecord>(
        _ record: R, _ policy: UpsertPolicy, _ only: Set<AnyKeyPath>?, _ table: RecordTable<R>
    ) throws -> UpsertOutcome {
        try check()
        let presence = policy == .error ? .absent : try table.presence(of: record, connection)
        if presence == .same, policy == .modified { return .unchanged }
        guard presence != .absent, let old = try table.find(record.id, connection) else {
            try insertNow(record, table)
            return .inserted
        }
        return try update(old, to: record, policy, only)
    }

    private func update<R: StoredRecord>(
        _ old: R, to new: R, _ policy: UpsertPolicy, _ only: Set<AnyKeyPath>?
    ) throws -> UpsertOutcome {
        let change = R.schema.update(from: old, to: new, all: policy == .all, only: only)
        if let row = change.row { try applyNow(row) }
        for link in change.links { try applyNow(link) }
        return change.properties.isEmpty ? .unchanged : .updated(change.properties)
    }
}
