/// What happens to something in a store, as it happens: iterate it with `for try await`.
///
/// Each iteration is an observation of its own, which begins with its first step and ends with the loop, with the task, or
/// with an error, which the loop throws. The first element is the state at the beginning. After that each element comes
/// after a commit, never inside a transaction, in the order of commits. What is committed while the loop is busy is put
/// together, so a slow loop holds up no writer, and takes no more memory than the state itself. What cancels out is not
/// told of. A loop inside a transaction throws a ``StoreError`` of kind `.misuse`, as reading there does.
public struct Changes<Element: Sendable>: AsyncSequence, Sendable {
    private let start: @Sendable (ObserverHandle?) -> @Sendable () async throws -> Element?

    init<L: Live>(_ store: GraphStore, _ live: L) where L.Event == Element { self.init(store, live) { $0 } }

    init<L: Live>(_ store: GraphStore, _ live: L, _ element: @escaping @Sendable (L.Event) -> Element) {
        start = { handle in
            let feed = Feed(store, live, handle: handle)
            return { try await feed.next().map(element) }
        }
    }

    /// Begins an observation.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(step: start(nil)) }

    /// The same for an observation that others know.
    func makeAsyncIterator(_ handle: ObserverHandle) -> AsyncIterator { AsyncIterator(step: start(handle)) }

    /// One observation.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let step: @Sendable () async throws -> Element?

        /// Waits for the next element; nil once the task is cancelled, and after an error.
        public mutating func next() async throws -> Element? { try await step() }
    }
}

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

    /// How changes of a query are found.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    public func explainChanges<R: StoredRecord>(of query: Query<R>) async throws -> ObservationPlan {
        try await read { tx in
            let plan = try RowsPlan(query, observing: nil, section: nil, tx, lists)
            return ObservationPlan(
                plan.interest, needsQuery: plan.needsQuery, isWindow: plan.limit != nil, others: plan.others.sorted())
        }
    }
}

/// How the changes of a query are found.
public struct ObservationPlan: Sendable, Hashable, CustomStringConvertible {
    /// Why each change of a row that may be in the result makes the query run again; nil if only the rows that were
    /// written are looked at.
    public let needsQuery: String?
    /// Whether the query also runs again when a full window loses a row.
    public let isWindow: Bool
    /// What is looked at: columns and ordered links, by table. Writes elsewhere cost nothing.
    public let tables: [String: [String]]
    /// The tables whose changes make the query run again, since it looks into them through links.
    public let others: [String]

    init(_ interest: Interest, needsQuery: String?, isWindow: Bool = false, others: [String] = []) {
        self.needsQuery = needsQuery
        self.isWindow = isWindow
        tables = interest.tables.mapValues { $0?.sorted() ?? [] }
        self.others = others
    }

    public var description: String {
        let how = needsQuery.map { "runs the query again: \($0)" } ?? "looks at the rows that were written"
        let columns = tables.sorted { $0.key < $1.key }.map { "\($0.key)(\($0.value.joined(separator: ", ")))" }
        let refills = isWindow && needsQuery == nil ? "; runs the query again when a full window loses a row" : ""
        return "\(how); watches \(columns.joined(separator: ", "))\(refills)"
            + (others.isEmpty ? "" : "; runs the query again when \(others.joined(separator: ", ")) changes")
    }
}
