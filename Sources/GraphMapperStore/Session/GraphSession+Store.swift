extension GraphSession {
    /// A session over a store, with one mapping for each record type that it maps.
    ///
    /// - Parameter retention: which models it holds that nobody else does.
    public convenience init(
        _ store: GraphStore, _ mappings: any AnyMapping..., retention: Retention = .strong,
        isolation: (any Actor)? = #isolation
    ) {
        self.init(store, mappings, retention: retention, isolation: isolation)
    }

    /// The same with the mappings as an array.
    public convenience init(
        _ store: GraphStore, _ mappings: [any AnyMapping], retention: Retention = .strong,
        isolation: (any Actor)? = #isolation
    ) {
        self.init(store.backing, mappings, retention: retention, isolation: isolation)
    }

    /// The store that a backing is of; nil for another database's.
    func store(of backing: (any GraphBacking)?) -> GraphStore? { (backing as? StoreBacking)?.store }

    /// The models of a query, in its order, with what they link to as far as `loading` says.
    public func models<R: StoredRecord>(_ query: Query<R>, loading: Loading = .all) async throws -> [R.Model]
    where R.Model: AnyObject {
        try await load(R.self, loading: loading) { source in
            guard let transaction = source as? ReadTransaction else {
                throw GraphError(.misuse, "queries need a session over a GraphStore")
            }
            return try await transaction.fetch(query)
        }
    }

    /// The first model of a query.
    public func first<R: StoredRecord>(_ query: Query<R>, loading: Loading = .all) async throws -> R.Model?
    where R.Model: AnyObject {
        try await models(query.limit(1), loading: loading).first
    }

    /// Writes what changed inside a transaction that is open; if that is undone, the session is as before, too.
    ///
    /// See ``GraphSession/save(only:onConflict:)`` for the rest.
    @discardableResult
    public func save(
        only scope: SaveScope = .all, onConflict policy: ConflictPolicy = .fail, in transaction: WriteTransaction
    ) async throws -> ChangeSet {
        try await join(transaction) { try await save(only: scope, onConflict: policy) }
    }

    /// The models of a query inside a transaction, in its order: what the transaction has written is seen. Nothing is
    /// awaited.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save of the session is under way.
    public func models<R: StoredRecord>(
        _ query: Query<R>, loading: Loading = .all, in transaction: ReadTransaction
    ) throws -> [R.Model] where R.Model: AnyObject {
        try load(transaction.fetchNow(query), loading: loading, from: transaction)
    }

    /// The first model of a query inside a transaction.
    public func first<R: StoredRecord>(
        _ query: Query<R>, loading: Loading = .all, in transaction: ReadTransaction
    ) throws -> R.Model? where R.Model: AnyObject {
        try models(query.limit(1), loading: loading, in: transaction).first
    }
}

extension GraphSession {
    /// Reads a ``Lazy`` property of many models, in two statements: `session.load(photos, \PhotoRecord.image)`. Their other
    /// fields are read again, too, as a second load does; edits stay.
    ///
    /// - Throws: ``GraphError`` if the session is over no ``GraphStore``, and whatever else a load throws.
    /// - Complexity: O(models), and the size of the values.
    public func load<R: StoredRecord, V: Storable>(
        _ models: [R.Model], _ path: any KeyPath<R, Lazy<V>> & Sendable
    ) async throws where R.Model: AnyObject {
        let ids = try models.map { try id(R.self, of: $0) }
        try await load(R.self, loading: .none) { source in
            guard let transaction = source as? ReadTransaction else {
                throw GraphError(.misuse, "lazy values need a session over a GraphStore")
            }
            let found = try transaction.lazyPairs(R.self, path, ids: ids)
            let values = Dictionary(found.map { (Ref<R>($0.0), $0.1) }, uniquingKeysWith: { $1 })
            return try await transaction.fetch(R.self, ids: found.map(\.0)).map { record in
                guard let value = values[Ref(record.id)] else { return record }
                return try R.schema.replacing(path, of: record, with: Lazy(value))
            }
        }
    }

    /// Reads a ``Lazy`` property of one model.
    public func load<R: StoredRecord, V: Storable>(
        _ model: R.Model, _ path: any KeyPath<R, Lazy<V>> & Sendable
    ) async throws where R.Model: AnyObject { try await load([model], path) }
}
