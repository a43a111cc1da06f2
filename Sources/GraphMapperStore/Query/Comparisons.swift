extension ColumnExpression where V: Storable {
    fileprivate static func same(_ left: Self, _ sign: SQLOperator, _ right: V) -> Condition {
        // A parameter that is NULL is not known to be while the engine looks for an index.
        if right.isStoredAsNull { return sign == .isSame ? left.isNil : !left.isNil }
        return left.condition(.binary(left.expression, sign, .values(right.storedValues)))
    }

    fileprivate static func order(_ left: Self, _ sign: SQLOperator, _ right: V) -> Condition {
        order(left, sign, Self(right.storedValues.map { .value($0) }))
    }

    fileprivate static func order(_ left: Self, _ sign: SQLOperator, _ right: Self) -> Condition {
        Condition(V.ordering.compare(left.parts, sign, right.parts), left.diagnostic ?? right.diagnostic)
    }

    /// Whether the column has that value; nil is compared like any other.
    public static func == (left: Self, right: V) -> Condition { same(left, .isSame, right) }
    /// Whether the column has another value; nil is compared like any other.
    public static func != (left: Self, right: V) -> Condition { same(left, .isOther, right) }
    /// Whether the column is less; NULL never is.
    public static func < (left: Self, right: V) -> Condition { order(left, .less, right) }
    /// Whether the column is less or equal; NULL never is.
    public static func <= (left: Self, right: V) -> Condition { order(left, .lessOrEqual, right) }
    /// Whether the column is greater; NULL never is.
    public static func > (left: Self, right: V) -> Condition { order(left, .greater, right) }
    /// Whether the column is greater or equal; NULL never is.
    public static func >= (left: Self, right: V) -> Condition { order(left, .greaterOrEqual, right) }

    /// Whether two columns have the same value; nil is compared like any other.
    public static func == (left: Self, right: Self) -> Condition {
        Condition(.binary(left.expression, .isSame, right.expression), left.diagnostic ?? right.diagnostic)
    }
    /// Whether two columns have different values; nil is compared like any other.
    public static func != (left: Self, right: Self) -> Condition {
        Condition(.binary(left.expression, .isOther, right.expression), left.diagnostic ?? right.diagnostic)
    }
    /// Whether a column is less than another; NULL never is, and nothing is less than NULL.
    public static func < (left: Self, right: Self) -> Condition { order(left, .less, right) }
    /// Whether a column is less than another, or equal; NULL never is.
    public static func <= (left: Self, right: Self) -> Condition { order(left, .lessOrEqual, right) }
    /// Whether a column is greater than another; NULL never is.
    public static func > (left: Self, right: Self) -> Condition { order(left, .greater, right) }
    /// Whether a column is greater than another, or equal; NULL never is.
    public static func >= (left: Self, right: Self) -> Condition { order(left, .greaterOrEqual, right) }

    /// Whether the column has one of the values; nil is a value like any other.
    public func isIn(_ values: some Sequence<V>) -> Condition {
        guard V.columns.contains(where: \.isNullable) else {
            return condition(.isOneOf(expression, values.flatMap(\.storedValues), width: parts.count))
        }
        return condition(.isAny(parts, of: values.map(\.storedValues)))
    }

    /// Whether the column is NULL; of an embedded value, all its columns.
    public var isNil: Condition { condition(.areNull(parts)) }

    /// Whether the value lies in a range, both ends included: `$0.age.isIn(18...30)`. NULL never does.
    public func isIn(_ range: ClosedRange<V>) -> Condition where V: Comparable {
        Self.order(self, .greaterOrEqual, range.lowerBound) && Self.order(self, .lessOrEqual, range.upperBound)
    }
    /// Whether the value lies in a range without its upper end. NULL never does.
    public func isIn(_ range: Range<V>) -> Condition where V: Comparable {
        Self.order(self, .greaterOrEqual, range.lowerBound) && Self.order(self, .less, range.upperBound)
    }
    /// The same for an optional column.
    public func isIn<W: Storable>(_ range: ClosedRange<W>) -> Condition where V == W? {
        Self.order(self, .greaterOrEqual, range.lowerBound) && Self.order(self, .lessOrEqual, range.upperBound)
    }
    /// The same for an optional column.
    public func isIn<W: Storable>(_ range: Range<W>) -> Condition where V == W? {
        Self.order(self, .greaterOrEqual, range.lowerBound) && Self.order(self, .less, range.upperBound)
    }

    /// Whether the value is among those of a column of a query: `$0.city.isIn(Query(…).where { … }, \.city)`. NULL never is.
    public func isIn<R: StoredRecord>(_ query: Query<R>, _ path: any KeyPath<R, V> & Sendable) -> Condition {
        isAmong(query, query.columns.column(path))
    }

    /// Whether the link points to a record of a query.
    public func isIn<R: StoredRecord>(_ query: Query<R>) -> Condition where V == Ref<R> {
        isAmong(query, ColumnExpression(query.tree.key))
    }

    /// Whether the optional link points to a record of a query; nil never does.
    public func isIn<R: StoredRecord>(_ query: Query<R>) -> Condition where V == Ref<R>? {
        isAmong(query, ColumnExpression(query.tree.key))
    }

    private func isAmong<R: StoredRecord>(_ query: Query<R>, _ column: Self) -> Condition {
        var rows = query.tree
        rows.selected = column.parts
        return Condition(.isAmong(expression, rows), diagnostic ?? query.diagnostic ?? column.diagnostic)
    }

    /// The value, or another where there is none because an optional link on the way is nil.
    public static func ?? (left: Self, right: V) -> Self {
        Self(zip(left.parts, right.storedValues).map { .call(.coalesce, [$0, .value($1)]) }, left.diagnostic)
    }

    /// The value as an optional one, for what is selected behind an optional link: nil where there is none.
    public var orNil: ColumnExpression<V?> { ColumnExpression<V?>(parts, diagnostic) }

    /// The value, or another where it is NULL.
    public static func ?? <W: Storable>(left: Self, right: W) -> ColumnExpression<W> where V == W? {
        ColumnExpression<W>(
            zip(left.parts, right.storedValues).map { .call(.coalesce, [$0, .value($1)]) }, left.diagnostic)
    }
}

extension Condition {
    /// What a column of truth values says.
    public init(_ column: ColumnExpression<Bool>) { self.init(column.expression, column.diagnostic) }
}

extension ColumnExpression where V == Bool {
    /// Whether the column is not true.
    public static prefix func ! (column: Self) -> Condition { !Condition(column) }
}

extension ColumnExpression where V == Bool? {
    /// Whether the column is not true: false, or NULL.
    public static prefix func ! (column: Self) -> Condition { !Condition(column.expression, column.diagnostic) }
}

/// Comparisons with a value of another type. They are never called: they are what the compiler finds instead of some
/// other operator, so that it says what is wrong.
extension ColumnExpression {
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func == <W>(left: Self, right: W) -> Condition {
        .never
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func != <W>(left: Self, right: W) -> Condition {
        .never
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func < <W>(left: Self, right: W) -> Condition {
        .never
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func <= <W>(left: Self, right: W) -> Condition {
        .never
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func > <W>(left: Self, right: W) -> Condition {
        .never
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func >= <W>(left: Self, right: W) -> Condition {
        .never
    }
}
