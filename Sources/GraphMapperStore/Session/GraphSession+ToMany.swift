extension GraphSession {
    /// The models of a query as a lazy collection. See ``GraphStore/toMany(_:pageSize:cachedPages:as:otherwise:)`` for what
    /// is read when, and what is seen when rows change.
    ///
    /// A page is loaded as ``models(_:loading:in:)`` loads: with what it links to, one instance for each object. The session
    /// holds the models as it holds all that it loads.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset.
    ///   - loading: how far links are followed.
    ///   - pageSize: how many models a page has.
    ///   - cachedPages: how many pages are kept, those used last.
    ///   - transform: what an element is made of its model, each time it is asked for.
    ///   - otherwise: what the subscript answers where reading failed, the row is gone, or a load or save of the session is
    ///     under way, by position and error.
    public func toMany<R: StoredRecord, Element>(
        _ query: Query<R>, loading: Loading = .all, pageSize: Int = 64, cachedPages: Int = 8,
        as transform: @escaping (R.Model) -> Element, otherwise: @escaping (Int, any Error) -> Element
    ) -> ToMany<Element> where R.Model: AnyObject {
        let pages = QueryPages(
            { try self.store() }, query, size: max(1, pageSize), kept: max(1, cachedPages),
            fetch: { try self.models($1, loading: loading, in: $0) })
        return ToMany(
            count: { try pages.count() }, at: { transform(try pages.item(at: $0)) }, otherwise: otherwise)
    }

    private func store() throws -> GraphStore {
        guard let store = store(of: backing) else {
            throw GraphError(.misuse, "queries need a session over a GraphStore, outside its savepoints")
        }
        return store
    }
}
