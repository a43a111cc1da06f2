/// Values that are observed, and how all that is observed is found.
extension GraphStore {
    /// Whatever can be read in one transaction, and then each value that differs from the one before.
    ///
    /// It is read again when something that it has read may have been written; the store notes which tables and columns
    /// that is. For what is computed of several queries.
    ///
    /// - Parameter read: reads the value. Called again after commits; should depend on nothing but the store.
    /// - Returns: the values. Iterating throws what `read` throws.
    public func values<T: Sendable & Equatable>(
        _ read: @escaping @Sendable (ReadTransaction) async throws -> T
    ) -> Changes<T> {
        Changes(self, LiveValue(isSame: ==, read))
    }

    /// An aggregate of a query, and then each value that differs from the one before:
    /// `store.values(of: people) { $0.age.max() }`.
    ///
    /// - Parameter column: what to compute of all records, or one column of the first.
    /// - Returns: the values; nil if there is no record of which to compute it. Iterating throws ``GraphError`` for a
    ///   property that has no column and for a value that does not fit its type, and ``StoreError`` if reading fails.
    /// - Complexity: that of computing it, for each commit that may change the value.
    public func values<R: StoredRecord, V: Storable>(
        of query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) -> Changes<V?> {
        Changes(self, LiveValue(of: query, column(query.columns)))
    }

    /// How many records a query has, and then each count that differs from the one before.
    ///
    /// - Complexity: that of counting, for each commit that may change the count.
    public func counts<R: StoredRecord>(of query: Query<R>) -> Changes<Int> {
        Changes(
            self, LiveValue(isSame: ==, narrowed: { $0.narrow(query, besides: [], $1) }) { try $0.count(of: query) })
    }

    /// How changes of a query are found.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    public func explainChanges<R: StoredRecord>(of query: Query<R>) async throws -> ObservationPlan {
        try await read { tx in
            let plan = try RowsPlan(query, observing: nil, section: nil, tx, lists)
            return ObservationPlan(
                plan.region, needsQuery: plan.needsQuery, isWindow: plan.limit != nil, others: plan.others.sorted())
        }
    }

    /// How changes of an aggregate are found.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    public func explainChanges<R: StoredRecord, V: Storable>(
        of query: Query<R>, _ column: (Columns<R>) -> ColumnExpression<V>
    ) async throws -> ObservationPlan {
        let column = column(query.columns)
        return try await read { tx in
            var live = LiveValue(of: query, column)
            try await live.prepare(tx, lists)
            return ObservationPlan(live.region, needsQuery: "it is computed of all rows")
        }
    }

    /// Calls `body` on the main actor with the records of a query, and then with each of their changes, for as long as the
    /// token is kept. See ``changes(of:observing:linked:)``.
    ///
    /// - Parameters:
    ///   - query: which records, in which order.
    ///   - properties: those whose changes count as modifications; nil for all.
    ///   - linked: which records that they link to count as part of them.
    ///   - onError: called with what ends the observation.
    ///   - body: what to do with a change. Never called after the token is released on the main actor.
    /// - Returns: the token to keep.
    @MainActor
    public func observe<R: StoredRecord>(
        _ query: Query<R>, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none, onError: (@MainActor (any Error) -> Void)? = nil,
        _ body: @escaping @MainActor (CollectionChange<R>) -> Void
    ) -> ObservationToken {
        changes(of: query, observing: properties, linked: linked).observe(onError: onError, body)
    }
}
