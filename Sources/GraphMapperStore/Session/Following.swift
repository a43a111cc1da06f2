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
            let store = try store
            var live = LiveLinked(query, nil, linked)
            try await store.read { tx in try live.prepare(tx, store.lists) }
            let id = store.broadcaster.add(live.region)
            defer { store.broadcaster.remove(id) }
            store.watch()
            var models: [R.Model] = []
            var isFirst = true
            repeat {
                let found = try await advance(&live, isFirst ? nil : id, store, loading)
                store.broadcaster.widen(id, live.region)
                isFirst = false
                guard let (change, loaded) = found else { continue }
                switch change {
                case .initial:
                    models = loaded
                    try await body(.initial(models))
                case .update(_, let deletions, let insertions, let modifications):
                    models.edit(deletions: deletions, insertions: Array(zip(insertions, loaded)))
                    try await body(
                        .update(models, deletions: deletions, insertions: insertions, modifications: modifications))
                }
            } while try await store.broadcaster.wait(id)
            try Task.checkCancellation()
        }
    }

    /// Brings a query up to date, and loads the models of what has come or changed, both in one snapshot: the list and the
    /// models are of one moment.
    ///
    /// - Parameter id: the observer; nil reads everything.
    /// - Returns: nil if nothing has changed; the models are those of what came, then of what was modified.
    private func advance<R: StoredRecord>(
        _ live: inout LiveLinked<R>, _ id: ObserverID?, _ store: GraphStore, _ loading: Loading
    ) async throws -> (CollectionChange<R>, [R.Model])? where R.Model: AnyObject {
        var change: CollectionChange<R>?
        // Before the snapshot: what is written in between is found by the records of changes.
        let written = id.map(store.broadcaster.take)
        let models = try await load(R.self, loading: loading) { source in
            guard let tx = source as? ReadTransaction else {
                throw GraphError(.misuse, "queries need a session over a GraphStore")
            }
            if let (taken, told) = written {
                change = try live.advance(tx, try store.pending(taken, told, live.region, tx))
            } else {
                change = try live.start(tx)
            }
            switch change {
            case .initial(let records)?: return Array(records)
            case .update(let records, _, let insertions, _)?:
                return insertions.map { records[$0] } + (change?.modificationsInNew ?? []).map { records[$0] }
            case nil: return []
            }
        }
        return change.map { ($0, models) }
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
