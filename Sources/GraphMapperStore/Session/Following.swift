/// What an observer of a query gets through a session: the models, and how their list came from the one before.
public enum ModelsChange<Model: AnyObject> {
    /// The first result.
    case initial([Model])
    /// The list, with indices as in ``CollectionChange``.
    case update([Model], deletions: [Int], insertions: [Int], modifications: [Int])

    /// The list as it is now.
    public var models: [Model] {
        switch self {
        case .initial(let models), .update(let models, _, _, _): models
        }
    }
}

extension GraphSession {
    /// Keeps the session's models up to date with the store until the task is cancelled: properties take what others have
    /// written, in place and on the session's actor; those that the app has changed are kept, as with a refresh.
    ///
    /// ```
    /// let following = Task { try await session.follow() }
    /// ```
    ///
    /// It waits for loads and saves of the session, and they for it.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` for a session without a store; what reading throws.
    /// - Complexity: for each commit, what reading the written rows that the session holds costs. Owners of links that
    ///   another table's foreign key decides are all read again when that table is written.
    public func follow() async throws {
        try await untilCancelled {
            let tables = storedTables
            for try await pending in Changes(try store, LiveTouches(tables: tables)) {
                var rows: [String: WrittenRows] = [:]
                for table in tables {
                    switch pending.isEverything ? .all : pending.tables[table] {
                    case .all?: rows[table] = .all
                    case .keys(let keys)?: rows[table] = .keys(keys.all)
                    case nil: break
                    }
                }
                try await refresh(rows: rows)
            }
        }
    }

    /// Calls `body` with the models of a query, and then with how their list changes, until the task is cancelled. The
    /// models are the session's own; what differs in them is read as by a second load.
    ///
    /// - Parameters:
    ///   - query: which records, in which order.
    ///   - loading: how far links are followed.
    ///   - linked: which records that they link to count as part of them, and so as modifications when they change.
    ///   - body: what to do with a change, on the session's actor.
    public func follow<R: StoredRecord>(
        _ query: Query<R>, loading: Loading = .all, linked: ObservedLinks<R> = .none,
        _ body: (ModelsChange<R.Model>) async throws -> Void
    ) async throws where R.Model: AnyObject {
        try await untilCancelled {
            var models: [R.Model] = []
            for try await change in try store.changes(of: query, linked: linked) {
                switch change {
                case .initial(let records):
                    models = try await self.models(of: Array(records), loading)
                    try await body(.initial(models))
                case .update(let records, let deletions, let insertions, let modifications):
                    let coming = insertions.map { records[$0] }
                    let loaded = try await self.models(
                        of: coming + change.modificationsInNew.map { records[$0] }, loading)
                    models.edit(deletions: deletions, insertions: Array(zip(insertions, loaded)))
                    try await body(
                        .update(models, deletions: deletions, insertions: insertions, modifications: modifications))
                }
            }
        }
    }

    /// A task that is cancelled has not failed.
    private func untilCancelled(_ body: () async throws -> Void) async throws {
        do { try await body() } catch is CancellationError where Task.isCancelled {}
    }

    private var store: GraphStore {
        get throws {
            guard let store = store(of: database) else {
                throw GraphError(.misuse, "the session is not over a GraphStore, so there is nothing to follow")
            }
            return store
        }
    }

    /// A model for each record. One whose row is gone by now is made of the record alone; what comes next removes it.
    private func models<R: StoredRecord>(of records: [R], _ loading: Loading) async throws -> [R.Model]
    where R.Model: AnyObject {
        var found: Set<Ref<R>> = []
        _ = try await load(R.self, loading: loading) { source in
            let rows = try await source.fetch(R.self, ids: records.map(\.id))
            found = Set(rows.map { Ref($0.id) })
            return rows
        }
        let gone = records.filter { !found.contains(Ref($0.id)) }
        if !gone.isEmpty { _ = try await load(R.self, loading: .none) { _ in gone } }
        var models: [R.Model] = []
        models.reserveCapacity(records.count)
        for record in records {
            guard let model = try await find(R.self, record.id, loading: loading) else { continue }
            models.append(model)
        }
        return models
    }
}

extension Array {
    /// Takes out some elements, and puts in others at the positions that they have afterwards.
    fileprivate mutating func edit(deletions: [Int], insertions: [(Int, Element)]) {
        let old = self
        var gone = deletions[...]
        var come = insertions[...]
        removeAll(keepingCapacity: true)
        for (index, element) in old.enumerated() {
            if gone.first == index {
                gone.removeFirst()
                continue
            }
            while let next = come.first, next.0 == count { append(come.removeFirst().1) }
            append(element)
        }
        for (_, element) in come { append(element) }
    }
}

/// What is written to some tables.
private struct LiveTouches: LiveQuery {
    let region: ObservedRegion

    init(tables: [String]) {
        var region = ObservedRegion()
        for table in tables { region.add(table, nil) }
        self.region = region
    }

    func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) {}

    /// Whatever was read before it began may have been written since.
    func start(_ tx: ReadTransaction) -> PendingChanges? {
        var all = PendingChanges()
        all.addEverything()
        return all
    }

    func advance(_ tx: ReadTransaction, _ pending: PendingChanges) -> PendingChanges? {
        pending.isEmpty ? nil : pending
    }
}
