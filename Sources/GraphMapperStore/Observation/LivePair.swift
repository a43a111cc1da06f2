extension GraphStore {
    /// Two queries that are observed together: each element is of one moment, with what has changed of either.
    ///
    /// - Parameter linked: which records that those of each query link to count as part of them.
    /// - Returns: two ``CollectionChange/initial(_:)``; then elements in which that is nil whose result is the same.
    public func changes<A: StoredRecord, B: StoredRecord>(
        of first: Query<A>, _ second: Query<B>, linked: (ObservedLinks<A>, ObservedLinks<B>) = (.none, .none)
    ) -> Changes<(CollectionChange<A>?, CollectionChange<B>?)> {
        Changes(self, LivePair(LiveLinked(first, nil, linked.0), LiveLinked(second, nil, linked.1)))
    }

    /// Three queries that are observed together. See the form for two.
    public func changes<A: StoredRecord, B: StoredRecord, C: StoredRecord>(
        of first: Query<A>, _ second: Query<B>, _ third: Query<C>,
        linked: (ObservedLinks<A>, ObservedLinks<B>, ObservedLinks<C>) = (.none, .none, .none)
    ) -> Changes<(CollectionChange<A>?, CollectionChange<B>?, CollectionChange<C>?)> {
        let two = LivePair(LiveLinked(first, nil, linked.0), LiveLinked(second, nil, linked.1))
        return Changes(self, LivePair(two, LiveLinked(third, nil, linked.2))) { ($0.0?.0, $0.0?.1, $0.1) }
    }
}

/// Two that are kept up to date in the same transactions.
struct LivePair<A: Live, B: Live>: Live {
    private var first: A
    private var second: B

    init(_ first: A, _ second: B) {
        self.first = first
        self.second = second
    }

    var interest: Interest {
        var both = Interest()
        both.add(first.interest)
        both.add(second.interest)
        return both
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws {
        try await first.prepare(tx, lists)
        try await second.prepare(tx, lists)
    }

    mutating func start(_ tx: ReadTransaction) async throws -> (A.Event?, B.Event?)? {
        (try await first.start(tx), try await second.start(tx))
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) async throws -> (A.Event?, B.Event?)? {
        let events = (try await first.advance(tx, pending), try await second.advance(tx, pending))
        return events.0 == nil && events.1 == nil ? nil : events
    }
}
