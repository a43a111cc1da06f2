/// What can be observed of a store.
extension GraphStore {
    /// The records of a query, and then how they change.
    ///
    /// They are in the query's order, and where that leaves it open in that of their keys.
    ///
    /// - Parameters:
    ///   - query: which records, in which order.
    ///   - properties: those whose changes count as modifications; nil for all. What a change to another one has made of a
    ///     record is seen with the next change that counts.
    ///   - linked: which records that they link to count as part of them, and so as modifications when they change.
    /// - Returns: an ``CollectionChange/initial(_:)``, then updates. Iterating throws a ``GraphError`` for a property that
    ///   has no column, and ``StoreError`` if reading fails.
    /// - Complexity: a commit costs O(log count) for each row of the table that it has touched and the query or the
    ///   properties look at, and nothing if there is none. See ``explainChanges(of:)`` for queries that are run again.
    public func changes<R: StoredRecord>(
        of query: Query<R>, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none
    ) -> Changes<CollectionChange<R>> {
        Changes(self, LiveLinked(query, properties, linked))
    }

    /// The records of a query in sections, and then how they change:
    /// `store.changes(of: people, sectionedBy: { $0.city })`.
    ///
    /// - Parameters:
    ///   - query: which records; its order is that inside of the sections.
    ///   - descending: whether the section of the greatest key comes first.
    ///   - properties: those whose changes count as modifications; nil for all.
    ///   - linked: which records that they link to count as part of them.
    ///   - key: what the records of a section have in common: a property, or what is computed of a record, through links
    ///     too.
    /// - Returns: a ``SectionListChange/initial(_:)``, then updates. Iterating throws as
    ///   ``changes(of:observing:linked:)`` does, and a ``GraphError`` for a key that does not fit its type.
    /// - Complexity: a commit costs what it does for ``changes(of:observing:linked:)``, and if it changes anything
    ///   O(sections) besides.
    public func changes<R: StoredRecord, Key: Storable>(
        of query: Query<R>, descending: Bool = false, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none, sectionedBy key: (Columns<R>) -> ColumnExpression<Key>
    ) -> Changes<SectionListChange<Key, R>> {
        let (ordered, section) = query.sortedFirst(descending: descending, telling: key)
        return Changes(self, LiveSections(LiveLinked(ordered, properties, linked, section: section)))
    }

    /// One record, and then how it changes.
    ///
    /// - Parameters:
    ///   - type: the record's type.
    ///   - id: its id.
    ///   - properties: those whose changes count; nil for all.
    ///   - linked: which records that it links to count, too. A change of one is told as that of the link which leads
    ///     there, whose old and new values are the same.
    /// - Returns: ``ObjectChange/initial(_:)``, or ``ObjectChange/deleted`` if there is none; then what happens to it. The
    ///   sequence goes on after a deletion: a row of that id may come again. Iterating throws as
    ///   ``changes(of:observing:linked:)`` does.
    /// - Complexity: a commit that does not write to this row costs nothing.
    public func changes<R: StoredRecord>(
        of type: R.Type, _ id: R.ID, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none
    ) -> Changes<ObjectChange<R>> {
        Changes(self, LiveObject(LiveLinked(Query(type).having(id), properties, linked)))
    }

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
