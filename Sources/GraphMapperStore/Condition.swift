import Foundation

/// What a record must satisfy. One concrete type, which keeps mistakes in long filters quick to report.
public struct Condition: Sendable {
    let sql: String
    let values: [StoredValue]

    /// Both conditions.
    public static func && (left: Self, right: Self) -> Self {
        Condition(sql: "(\(left.sql) AND \(right.sql))", values: left.values + right.values)
    }
    /// Either condition, or both.
    public static func || (left: Self, right: Self) -> Self {
        Condition(sql: "(\(left.sql) OR \(right.sql))", values: left.values + right.values)
    }
    /// What does not satisfy the condition, rows for which it is unknown because of NULL included.
    public static prefix func ! (condition: Self) -> Self {
        Condition(sql: "NOT coalesce(\(condition.sql), 0)", values: condition.values)
    }
}

/// Joins terms, one a line, with *and*.
@resultBuilder public enum ConditionBuilder {
    /// All terms; without any, everything.
    public static func buildBlock(_ terms: Condition...) -> Condition {
        guard let first = terms.first else { return Condition(sql: "1", values: []) }
        return terms.dropFirst().reduce(first) { $0 && $1 }
    }
}

/// A column, or one reached through a link, in a condition.
@dynamicMemberLookup
public struct ColumnExpression<V>: Sendable {
    /// The columns that the value spans.
    let parts: [String]
    var sql: String { Layout.row(parts) }

    /// A column of the record that the link points to.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R> { through(path) }

    /// The same for an optional link: NULL where there is none.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R>? { through(path) }

    private func through<R: StoredRecord, W>(_ path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W> {
        let table = Layout.quoted(R.schema.name)
        let key = Layout.row((R.schema.key?.columnNames ?? ["id"]).map { "t.\(Layout.quoted($0))" })
        return ColumnExpression<W>(
            parts: R.columnNames(at: path).map { "(SELECT t.\($0) FROM \(table) AS t WHERE \(key) = \(sql))" })
    }

    /// A property of an embedded value.
    public subscript<W>(dynamicMember path: any KeyPath<V, W> & Sendable) -> ColumnExpression<W>
    where V: EmbeddedValue { within(V.self, path) }

    /// A property of an optional embedded value: NULL where there is none.
    public subscript<E: EmbeddedValue, W>(dynamicMember path: any KeyPath<E, W> & Sendable) -> ColumnExpression<W>
    where V == E? { within(E.self, path) }

    private func within<E: EmbeddedValue, W>(
        _ type: E.Type, _ path: any KeyPath<E, W> & Sendable
    ) -> ColumnExpression<W> {
        ColumnExpression<W>(parts: E.columnRange(of: path).map { Array(parts[$0]) } ?? [Layout.quoted("")])
    }
}

extension StoredRecord {
    /// The quoted columns of a property; for one that the schema does not read, a name that no table has.
    static func columnNames(at path: AnyKeyPath) -> [String] {
        (schema.columnNames(at: path).flatMap { $0.isEmpty ? nil : $0 } ?? [""]).map(Layout.quoted)
    }
}

/// A record's columns, by its properties' names.
@dynamicMemberLookup
public struct Columns<R: StoredRecord>: Sendable {
    /// The column of a property.
    public subscript<V>(dynamicMember path: any KeyPath<R, V> & Sendable) -> ColumnExpression<V> {
        ColumnExpression(parts: R.columnNames(at: path).map { "\(Layout.quoted(R.schema.name)).\($0)" })
    }
}

extension ColumnExpression where V: Storable {
    private static func compare(_ left: Self, _ sign: String, _ right: V) -> Condition {
        Condition(sql: "\(left.sql) \(sign) \(Layout.marks(left.parts.count))", values: right.storedValues)
    }

    private static func order(_ left: Self, _ sign: String, _ right: V) -> Condition {
        guard let number = Layout.number("?", of: V.self) else { return compare(left, sign, right) }
        return Condition(sql: "\(Layout.number(left.sql, of: V.self) ?? "") \(sign) \(number)", values: [right.stored])
    }

    /// Whether the column has that value; nil is compared like any other.
    public static func == (left: Self, right: V) -> Condition { compare(left, "IS", right) }
    /// Whether the column has another value; nil is compared like any other.
    public static func != (left: Self, right: V) -> Condition { compare(left, "IS NOT", right) }
    /// Whether the column is less; NULL never is.
    public static func < (left: Self, right: V) -> Condition { order(left, "<", right) }
    /// Whether the column is less or equal; NULL never is.
    public static func <= (left: Self, right: V) -> Condition { order(left, "<=", right) }
    /// Whether the column is greater; NULL never is.
    public static func > (left: Self, right: V) -> Condition { order(left, ">", right) }
    /// Whether the column is greater or equal; NULL never is.
    public static func >= (left: Self, right: V) -> Condition { order(left, ">=", right) }

    /// Whether the column has one of the values; NULL never has.
    public func isIn(_ values: [V]) -> Condition {
        Condition(
            sql: "\(sql) IN \(Layout.choice(values.count, width: parts.count))", values: values.flatMap(\.storedValues))
    }

    /// Whether the column is NULL; of an embedded value, all its columns.
    public var isNil: Condition {
        Condition(sql: "(\(parts.map { "\($0) IS NULL" }.joined(separator: " AND ")))", values: [])
    }
}

/// Comparisons with a value of another type. They are never called: they are what the compiler finds instead of some
/// other operator, so that it says what is wrong.
extension ColumnExpression {
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func == <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func != <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func < <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func <= <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func > <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
    @available(*, unavailable, message: "a column is compared with a value of the column's own type")
    @_disfavoredOverload public static func >= <W>(left: Self, right: W) -> Condition {
        Condition(sql: "0", values: [])
    }
}
