#if canImport(Observation)
    import Observation

    /// The models of a query as a list that a view shows: it follows the store, and the view follows it.
    ///
    /// It belongs to the session's actor, as its models do. Nothing happens until ``follow()`` runs, which a view's task does
    /// for as long as the view is there.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    @Observable
    public final class LiveResults<R: StoredRecord> where R.Model: AnyObject {
        /// The models, in the query's order.
        public private(set) var models: [R.Model] = []
        /// Whether the first result is there.
        public private(set) var isLoaded = false
        /// What has ended the following, if it was an error.
        public private(set) var error: (any Error)?

        @ObservationIgnored private let session: GraphSession
        @ObservationIgnored private let query: Query<R>
        @ObservationIgnored private let loading: Loading
        @ObservationIgnored private let linked: ObservedLinks<R>

        /// - Parameters:
        ///   - query: which records, in which order.
        ///   - session: the session whose models they become.
        ///   - loading: how far links are followed.
        ///   - linked: which records that they link to count as part of them: when one changes, so does the list.
        public init(
            _ query: Query<R>, in session: GraphSession, loading: Loading = .all, linked: ObservedLinks<R> = .none
        ) {
            self.query = query
            self.session = session
            self.loading = loading
            self.linked = linked
        }

        /// Keeps the list up to date until the task is cancelled. An error ends it, and is kept in ``error``.
        public func follow() async {
            error = nil
            do {
                try await session.follow(query, loading: loading, linked: linked) { change in
                    models = change.models
                    if !isLoaded { isLoaded = true }
                }
            } catch {
                self.error = error
            }
        }
    }

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    extension LiveResults: RandomAccessCollection {
        /// 0.
        public var startIndex: Int { 0 }
        /// The count.
        public var endIndex: Int { models.count }
        /// The model at a position from 0.
        public subscript(index: Int) -> R.Model { models[index] }
    }
#endif
