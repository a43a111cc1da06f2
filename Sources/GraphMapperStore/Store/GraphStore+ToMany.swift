extension GraphStore {
    /// A query as a lazy collection: what a list on screen shows, without copying the records.
    ///
    /// `count` counts the rows, and reads none. The first element that is asked for makes a list of where each page
    /// starts, one statement that hands over a row a page; from then on each element costs at most one page, the last as
    /// much as the first, and none if its page is among those kept.
    ///
    /// **Consistency.** A page shows the rows between its start and that of the next as they are when it is read, each
    /// page in a snapshot of its own. So a row that is updated is seen as it is now when its page is read again; one that
    /// goes, or is sorted elsewhere, lets those behind it in its page move up by one, and the last place of the page is
    /// empty; one that is inserted pushes the last one of its page out of view. Other pages stay as they were. `count`
    /// stays as it was. `reloaded()` starts afresh, for all copies of the collection.
    ///
    /// Reading waits with the thread: for a file, only as long as SQLite takes.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset.
    ///   - pageSize: how many records a page has.
    ///   - cachedPages: how many pages are kept, those used last.
    ///   - transform: what an element is made of its record, each time it is asked for.
    ///   - otherwise: what the subscript answers where reading failed, or the row is gone, by position and error.
    public func toMany<R: StoredRecord, Element>(
        _ query: Query<R>, pageSize: Int = 64, cachedPages: Int = 8, as transform: @escaping (R) -> Element,
        otherwise: @escaping (Int, any Error) -> Element
    ) -> ToMany<Element> {
        let pages = QueryPages(
            { self }, query, size: max(1, pageSize), kept: max(1, cachedPages), fetch: { try $0.fetchNow($1) })
        return ToMany(
            count: { try pages.count() }, at: { transform(try pages.item(at: $0)) }, otherwise: otherwise)
    }
}
