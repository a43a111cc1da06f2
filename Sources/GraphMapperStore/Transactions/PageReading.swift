extension ReadTransaction {
    /// At most so many records of a query, after a cursor.
    ///
    /// A page starts by what its records are sorted by, not by counting: rows that are inserted or deleted meanwhile are
    /// in it if they lie behind the cursor, no record comes twice or is left out because of others, and a late page costs
    /// what the first one does, if an index has the order.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset. Its order is made total by the record's key.
    ///   - cursor: `next` of the page before; nil for the first.
    ///   - size: how many records at most; less than 1 is 1.
    /// - Throws: ``GraphError`` if the query has a limit, or another order than the cursor.
    public func page<R: StoredRecord>(
        _ query: Query<R>, after cursor: PageCursor? = nil, size: Int
    ) async throws -> RecordPage<R> {
        guard !query.tree.isPage else {
            throw GraphError(.misuse, "a query that is read in pages has no limit and no offset", type: R.schema.name)
        }
        let size = max(1, size)
        let found = try fetchNow(query.following(cursor).limit(size + 1))
        guard found.count > size else { return RecordPage(records: found, next: nil) }
        let records = Array(found.prefix(size))
        return RecordPage(records: records, next: try records.last.map { try position(of: $0.id, in: query) })
    }

    /// The index of a record among those of a query, from 0; nil if it is none of them.
    ///
    /// - Parameter query: a query without limit and offset. Its order is made total by the record's key.
    /// - Throws: ``GraphError`` if the query has a limit.
    /// - Complexity: that of counting the records before it.
    public func index<R: StoredRecord>(of id: R.ID, in query: Query<R>) async throws -> Int? {
        guard !query.tree.isPage else {
            throw GraphError(
                .misuse, "a query in which an index is asked for has no limit and no offset", type: R.schema.name)
        }
        let isIt = SQLExpression.binary(.together(query.tree.key), .equal, .values(id.storedValues))
        guard try count(of: query.keeping(isIt)) > 0 else { return nil }
        let rest = Ordering.follows(query.tree.totalOrder, try position(of: id, in: query).values, orIsThere: true)
        return try count(of: query.keeping(.not(rest)))
    }

    /// What a record is sorted by in a query's order.
    private func position<R: StoredRecord>(of id: R.ID, in query: Query<R>) throws -> PageCursor {
        var one = Query(R.self).sharing(query)
        one = one.filtered(by: Condition(.binary(.together(query.tree.key), .equal, .values(id.storedValues)), nil))
        let (sql, values) = try one.selecting(query.tree.totalOrder.map(\.expression)).statement()
        return PageCursor(values: try connection.rows(sql, values).first ?? [])
    }
}
