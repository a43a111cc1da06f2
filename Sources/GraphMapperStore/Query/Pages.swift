/// One page of a query, and where the next one starts.
public struct RecordPage<R: StoredRecord>: Sendable {
    /// The records, in the query's order.
    public let records: [R]
    /// What to give for the next page; nil if this one is the last.
    public let next: PageMark?
}

/// A place in the order of a query: what its last record is sorted by, its key included.
///
/// It is a value that may be kept, and sent with a request. It fits queries of the same order alone.
public struct PageMark: Sendable, Hashable {
    let values: [StoredValue]
}

extension PageMark: CustomStringConvertible, LosslessStringConvertible {
    /// The values as SQL has them: `'ann', 7`.
    public var description: String { Literals.text(values) }
    /// A mark from its description; nil if it is none.
    public init?(_ description: String) {
        guard let values = Literals.values(description) else { return nil }
        self.values = values
    }
}

extension ReadTransaction {
    /// At most so many records of a query, after a mark.
    ///
    /// A page starts by what its records are sorted by, not by counting: rows that are inserted or deleted meanwhile are
    /// in it if they lie behind the mark, no record comes twice or is left out because of others, and a late page costs
    /// what the first one does, if an index has the order.
    ///
    /// - Parameters:
    ///   - query: a query without limit and offset. Its order is made total by the record's key.
    ///   - mark: `next` of the page before; nil for the first.
    ///   - size: how many records at most; less than 1 is 1.
    /// - Throws: ``GraphError`` if the query has a limit, or another order than the mark.
    public func page<R: StoredRecord>(
        _ query: Query<R>, after mark: PageMark? = nil, size: Int
    ) async throws -> RecordPage<R> {
        guard !query.rows.isPage else {
            throw GraphError(.misuse, "a query that is read in pages has no limit and no offset", type: R.schema.name)
        }
        let size = max(1, size)
        let found = try fetchNow(query.following(mark).limit(size + 1))
        guard found.count > size else { return RecordPage(records: found, next: nil) }
        let records = Array(found.prefix(size))
        return RecordPage(records: records, next: try records.last.map { try self.mark(of: $0.id, in: query) })
    }

    /// The place of a record among those of a query, from 0; nil if it is none of them.
    ///
    /// - Parameter query: a query without limit and offset. Its order is made total by the record's key.
    /// - Throws: ``GraphError`` if the query has a limit.
    /// - Complexity: that of counting the records before it.
    public func index<R: StoredRecord>(of id: R.ID, in query: Query<R>) async throws -> Int? {
        guard !query.rows.isPage else {
            throw GraphError(
                .misuse, "a query in which a place is asked for has no limit and no offset", type: R.schema.name)
        }
        let isIt = Formula.binary(.together(query.rows.key), .equal, .values(id.storedValues))
        guard try count(of: query.keeping(isIt)) > 0 else { return nil }
        let rest = Rows.follows(query.rows.totalOrder, try mark(of: id, in: query).values, orIsThere: true)
        return try count(of: query.keeping(.not(rest)))
    }

    /// What a record is sorted by in a query's order.
    private func mark<R: StoredRecord>(of id: R.ID, in query: Query<R>) throws -> PageMark {
        var one = Query(R.self).sharing(query)
        one = one.filtered(by: Condition(.binary(.together(query.rows.key), .equal, .values(id.storedValues)), nil))
        let (sql, values) = try one.selecting(query.rows.totalOrder.map(\.formula)).statement()
        return PageMark(values: try connection.rows(sql, values).first ?? [])
    }
}

extension GraphStore {
    /// The place of a record among those of a query, from 0, in a read transaction of its own. See
    /// ``ReadTransaction/index(of:in:)``.
    public func index<R: StoredRecord>(of id: R.ID, in query: Query<R>) async throws -> Int? {
        try await read { try await $0.index(of: id, in: query) }
    }

    /// At most so many records of a query, after a mark, in a read transaction of their own. See
    /// ``ReadTransaction/page(_:after:size:)``.
    public func page<R: StoredRecord>(
        _ query: Query<R>, after mark: PageMark? = nil, size: Int
    ) async throws -> RecordPage<R> {
        try await read { try await $0.page(query, after: mark, size: size) }
    }
}

extension Query {
    /// The records behind the mark.
    fileprivate func following(_ mark: PageMark?) throws -> Self {
        guard let mark else { return self }
        let order = rows.totalOrder
        guard mark.values.count == order.count else {
            throw GraphError(
                .misuse, "the mark has \(mark.values.count) values, and the query is sorted by \(order.count)",
                type: R.schema.name)
        }
        return keeping(Rows.follows(order, mark.values, orIsThere: false))
    }
}

extension Rows {
    /// What holds for rows that come after one which is sorted by these values, and for that one if so asked.
    static func follows(_ order: [Ordering], _ values: [StoredValue], orIsThere: Bool) -> Formula {
        if order.allSatisfy({ $0.isNeverNull && $0.isDescending == order[0].isDescending }) {
            let sign: Formula.Operator =
                order[0].isDescending ? orIsThere ? .lessOrEqual : .less : orIsThere ? .greaterOrEqual : .greater
            return .binary(.together(order.map(\.formula)), sign, .values(values))
        }
        var result = Formula.value(.integer(orIsThere ? 1 : 0))
        for (key, value) in zip(order, values).reversed() {
            let same = Formula.binary(.binary(key.formula, .isSame, .value(value)), .and, result)
            result = .binary(key.follows(value), .or, same)
        }
        // The first key once more, so that an index on it bounds the rows.
        guard let first = order.first, first.isNeverNull, order.count > 1 else { return result }
        let sign: Formula.Operator = first.isDescending ? .lessOrEqual : .greaterOrEqual
        return .binary(.binary(first.formula, sign, .value(values[0])), .and, result)
    }
}

extension Ordering {
    /// What holds for what this key puts after a value.
    fileprivate func follows(_ value: StoredValue) -> Formula {
        if value == .null { return isNullFirst ? .not(.isNull(formula)) : .value(.integer(0)) }
        let behind = Formula.binary(formula, isDescending ? .less : .greater, .value(value))
        guard !isNeverNull, !isNullFirst else { return behind }
        return .binary(behind, .or, .isNull(formula))
    }
}
