import Foundation

/// What a record must satisfy. One concrete type, which keeps mistakes in long filters quick to report.
public struct Condition: Sendable {
    let sql: String
    let values: [StoredValue]
    /// What is wrong with a column that it names; a query with it throws this.
    var mistake: GraphError?
    /// Columns, as SQL, that have one value in every row which satisfies it: so observers find who is concerned.
    var pins: [(column: String, value: StoredValue)] = []

    private static func join(_ left: Self, _ word: String, _ right: Self) -> Self {
        Condition(
            sql: "(\(left.sql) \(word) \(right.sql))", values: left.values + right.values,
            mistake: left.mistake ?? right.mistake)
    }

    /// Both conditions.
    public static func && (left: Self, right: Self) -> Self {
        var both = join(left, "AND", right)
        both.pins = left.pins + right.pins
        return both
    }
    /// Either condition, or both.
    public static func || (left: Self, right: Self) -> Self { join(left, "OR", right) }
    /// What does not satisfy the condition, rows for which it is unknown because of NULL included.
    public static prefix func ! (condition: Self) -> Self {
        Condition(
            sql: Dialect.not(condition.sql), values: condition.values, mistake: condition.mistake)
    }
}

/// Joins terms, one a line, with *and*.
@resultBuilder public enum ConditionBuilder {
    /// All terms; without any, everything.
    public static func buildBlock(_ terms: Condition...) -> Condition {
        guard let first = terms.first else { return Condition(sql: Dialect.always, values: []) }
        return terms.dropFirst().reduce(first) { $0 && $1 }
    }
}

/// A column, or one reached through a link, in a condition.
@dynamicMemberLookup
public struct ColumnExpression<V>: Sendable {
    /// The columns that the value spans.
    let parts: [String]
    /// What is wrong with it, if the records have no such column.
    let mistake: GraphError?
    var sql: String { Dialect.row(parts) }

    fileprivate init(
        _ names: Result<[String], GraphError>, after earlier: GraphError? = nil, text: (String) -> String
    ) {
        switch names {
        case .success(let names): (parts, mistake) = (names.map(text), earlier)
        // The SQL never runs: the query throws.
        case .failure(let error): (parts, mistake) = (["NULL"], earlier ?? error)
        }
    }

    /// A condition on this column.
    func condition(_ sql: String, _ values: [StoredValue]) -> Condition {
        Condition(sql: sql, values: values, mistake: mistake)
    }

    /// A column of the record that the link points to.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R> { through(path) }

    /// The same for an optional link: NULL where there is none.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R>? { through(path) }

    private func through<R: StoredRecord, W>(_ path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W> {
        let table = Dialect.quoted(R.schema.name)
        let key = Dialect.row((R.schema.key?.columnNames ?? ["id"]).map { "t.\(Dialect.quoted($0))" })
        return ColumnExpression<W>(R.columnNames(at: path), after: mistake) {
            "(SELECT t.\(Dialect.quoted($0)) FROM \(table) AS t WHERE \(key) = \(sql))"
        }
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
        guard let range = E.columnRange(of: path), !range.isEmpty, range.upperBound <= parts.count else {
            return ColumnExpression<W>(.failure(.noColumn(path, E.schema)), after: mistake) { $0 }
        }
        return ColumnExpression<W>(.success(Array(parts[range])), after: mistake) { $0 }
    }
}

extension GraphError {
    /// A key path that leads to no column of a schema.
    fileprivate static func noColumn<D>(_ path: AnyKeyPath, _ schema: Schema<D>) -> GraphError {
        let names = schema.properties.filter { !$0.columns.isEmpty }.map(\.name).joined(separator: ", ")
        let what =
            schema.property(at: path) == nil
            ? "the schema does not read it" : "it is kept apart from the row, as lists and nested values are"
        return GraphError(
            .misuse, "\(what); name one of the columns \(names)", type: schema.name, property: "\(path)")
    }
}

extension StoredRecord {
    /// The columns of a property, or of a part of an embedded one; an error that names the property if it has none.
    static func columnNames(at path: AnyKeyPath) -> Result<[String], GraphError> {
        guard let names = schema.columnNames(at: path), !names.isEmpty else { return .failure(.noColumn(path, schema)) }
        return .success(names)
    }
}

/// A record's columns, by its properties' names.
@dynamicMemberLookup
public struct Columns<R: StoredRecord>: Sendable {
    /// The column of a property.
    public subscript<V>(dynamicMember path: any KeyPath<R, V> & Sendable) -> ColumnExpression<V> {
        ColumnExpression(R.columnNames(at: path)) {
            "\(Dialect.quoted(R.schema.name)).\(Dialect.quoted($0))"
        }
    }
}

extension ColumnExpression where V: Storable {
    private static func compare(_ left: Self, _ sign: String, _ right: V) -> Condition {
        left.condition("\(left.sql) \(sign) \(Dialect.marks(left.parts.count))", right.storedValues)
    }

    private static func order(_ left: Self, _ sign: String, _ right: V) -> Condition {
        guard let number = Dialect.number("?", of: V.self) else { return compare(left, sign, right) }
        return left.condition("\(Dialect.number(left.sql, of: V.self) ?? "") \(sign) \(number)", [right.stored])
    }

    /// Whether the column has that value; nil is compared like any other.
    public static func == (left: Self, right: V) -> Condition {
        var condition = compare(left, Dialect.isSame, right)
        let values = right.storedValues
        if left.parts.count == values.count { condition.pins = Array(zip(left.parts, values)) }
        return condition
    }
    /// Whether the column has another value; nil is compared like any other.
    public static func != (left: Self, right: V) -> Condition { compare(left, Dialect.isOther, right) }
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
        condition("\(sql) IN \(Dialect.choice(values.count, width: parts.count))", values.flatMap(\.storedValues))
    }

    /// Whether the column is NULL; of an embedded value, all its columns.
    public var isNil: Condition {
        condition("(\(parts.map { "\($0) IS NULL" }.joined(separator: " AND ")))", [])
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
