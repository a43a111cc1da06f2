/// Which records, in which order: a value.
public struct Query<R: StoredRecord>: Sendable {
    private(set) var condition: Condition?
    private(set) var order: [OrderTerm] = []
    private(set) var limit: Int?
    private(set) var offset: Int?
    /// What is wrong with the order; running the query throws this.
    private var mistake: GraphError?

    /// All records of a type.
    public init(_ type: R.Type) {}

    /// Only records that satisfy every term.
    public func `where`(@ConditionBuilder _ terms: (Columns<R>) -> Condition) -> Self {
        var copy = self
        let new = terms(Columns())
        copy.condition = condition.map { $0 && new } ?? new
        return copy
    }

    /// Sorts by a property, or by `\.location.latitude`, a part of an embedded one, after those named before. NULL comes
    /// first, as SQLite has it. Running the query throws a ``GraphError`` if the property has no column.
    public func sorted<V: Storable>(
        by path: any KeyPath<R, V> & Sendable, descending: Bool = false
    ) -> Self {
        var copy = self
        do {
            copy.order += try R.columnNames(at: path).get().map(Dialect.quoted).map {
                OrderTerm(sql: Dialect.number($0, of: V.self) ?? $0, isDescending: descending)
            }
        } catch {
            copy.mistake = copy.mistake ?? error
        }
        return copy
    }

    /// At most so many records, or fewer if a smaller limit was given before. Negative is 0.
    public func limit(_ count: Int) -> Self {
        var copy = self
        copy.limit = max(0, limit.map { min($0, count) } ?? count)
        return copy
    }

    /// Skips so many records. Negative is 0.
    public func offset(_ count: Int) -> Self {
        var copy = self
        copy.offset = max(0, count)
        return copy
    }

    /// Throws a ``GraphError`` for a property that has no column.
    func check() throws {
        if let mistake = condition?.mistake ?? mistake { throw mistake }
    }

    /// What follows the table's name.
    ///
    /// - Throws: ``GraphError`` for a property that has no column.
    func tail() throws -> String {
        try check()
        var sql = ""
        if let condition { sql += "WHERE \(condition.sql) " }
        var order = order.map(\.description)
        if limit != nil || offset != nil {
            // A total order: the statement for the rows and those for their lists must choose the same page.
            order += (R.schema.key?.columnNames ?? ["id"]).map(Dialect.quoted)
        }
        if !order.isEmpty { sql += "ORDER BY \(order.joined(separator: ", ")) " }
        if limit != nil || offset != nil { sql += Dialect.page }
        return sql
    }

    var values: [StoredValue] {
        var values = condition?.values ?? []
        if limit != nil || offset != nil {
            values += Dialect.page(limit, offset)
        }
        return values
    }
}

/// What rows are sorted by, after the terms before it.
struct OrderTerm: Sendable, CustomStringConvertible {
    let sql: String
    let isDescending: Bool
    var description: String { "\(sql) \(isDescending ? "DESC" : "ASC")" }
}
