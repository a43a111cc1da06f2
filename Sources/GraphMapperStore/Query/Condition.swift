import Foundation

/// What a record must satisfy. One concrete type, which keeps mistakes in long filters quick to report.
public struct Condition: Sendable {
    let formula: Formula
    /// What is wrong with a column that it names; a query with it throws this.
    let mistake: GraphError?

    init(_ formula: Formula, _ mistake: GraphError?) {
        self.formula = formula
        self.mistake = mistake
    }

    fileprivate static func join(_ left: Self, _ sign: Formula.Operator, _ right: Self) -> Self {
        Condition(.binary(left.formula, sign, right.formula), left.mistake ?? right.mistake)
    }

    /// Every row.
    public static let always = Condition(.always, nil)
    /// No row.
    public static let never = Condition(.value(.integer(0)), nil)

    /// Both conditions.
    public static func && (left: Self, right: Self) -> Self { join(left, .and, right) }
    /// Either condition, or both.
    public static func || (left: Self, right: Self) -> Self { join(left, .or, right) }
    /// What does not satisfy the condition, rows for which it is unknown because of NULL included.
    public static prefix func ! (condition: Self) -> Self { Condition(.not(condition.formula), condition.mistake) }
}

/// Joins terms, one a line, with *and*. A term may stand under `if`, and in a loop.
@resultBuilder public enum ConditionBuilder {
    /// A term.
    public static func buildExpression(_ term: Condition) -> Condition { term }
    /// A column of truth values: whether it is true.
    @_disfavoredOverload public static func buildExpression(_ column: ColumnExpression<Bool>) -> Condition {
        Condition(column)
    }
    /// The same of an optional one; NULL is not true.
    @_disfavoredOverload public static func buildExpression(_ column: ColumnExpression<Bool?>) -> Condition {
        Condition(column.formula, column.mistake)
    }
    /// All terms; without any, everything.
    public static func buildBlock(_ terms: Condition...) -> Condition { all(terms) }
    /// A term under an `if` that does not hold: everything.
    public static func buildOptional(_ term: Condition?) -> Condition { term ?? .always }
    /// The term of an `if`.
    public static func buildEither(first term: Condition) -> Condition { term }
    /// The term of an `else`.
    public static func buildEither(second term: Condition) -> Condition { term }
    /// All terms of a loop.
    public static func buildArray(_ terms: [Condition]) -> Condition { all(terms) }

    private static func all(_ terms: [Condition]) -> Condition {
        guard let first = terms.first else { return .always }
        return terms.dropFirst().reduce(first) { $0 && $1 }
    }
}

/// A column, one reached through a link, or something computed of such: in a condition, an order, or what is selected.
@dynamicMemberLookup
public struct ColumnExpression<V>: Sendable {
    /// The columns that the value spans.
    let parts: [Formula]
    /// What is wrong with it, if the records have no such column.
    let mistake: GraphError?
    /// The columns of the optional embedded value that it is a part of.
    let whole: [Formula]?
    var formula: Formula { .together(parts) }

    init(_ parts: [Formula], _ mistake: GraphError? = nil, partOf whole: [Formula]? = nil) {
        self.parts = parts
        self.mistake = mistake
        self.whole = whole
    }

    /// A property of a record.
    init<R: StoredRecord>(_ type: R.Type, _ path: AnyKeyPath, _ earlier: GraphError?, column: (String) -> Formula) {
        switch R.columnNames(at: path) {
        case .success(let names): self.init(names.map(column), earlier)
        // The formula never runs: the query throws.
        case .failure(let error): self.init([.value(.null)], earlier ?? error)
        }
    }

    func condition(_ formula: Formula) -> Condition { Condition(formula, mistake) }

    /// A column of the record that the link points to.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R> { through(path) }

    /// The same for an optional link: NULL where there is none.
    public subscript<R: StoredRecord, W>(dynamicMember path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W>
    where V == Ref<R>? { through(path) }

    /// The records of a list that the record has which the link points to.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R> { LinkedRecords(of: R.self, path, owner: parts, mistake) }

    /// The same for an optional link: none where there is none.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R>? { LinkedRecords(of: R.self, path, owner: parts, mistake) }

    /// The records of a set that the record has which the link points to.
    public subscript<R: StoredRecord, S: StoredRecord>(
        dynamicMember path: any KeyPath<R, Set<Ref<S>>> & Sendable
    ) -> LinkedRecords<S> where V == Ref<R> { LinkedRecords(of: R.self, path, owner: parts, mistake) }

    private func through<R: StoredRecord, W>(_ path: any KeyPath<R, W> & Sendable) -> ColumnExpression<W> {
        ColumnExpression<W>(R.self, path, mistake) {
            .lookUp(column: $0, table: R.schema.name, keyColumns: R.keyColumnNames, key: formula)
        }
    }

    /// A property of an embedded value.
    public subscript<W>(dynamicMember path: any KeyPath<V, W> & Sendable) -> ColumnExpression<W>
    where V: EmbeddedValue { within(V.self, path, whole) }

    /// A property of an optional embedded value: NULL where there is none.
    public subscript<E: EmbeddedValue, W>(dynamicMember path: any KeyPath<E, W> & Sendable) -> ColumnExpression<W>
    where V == E? { within(E.self, path, parts) }

    private func within<E: EmbeddedValue, W>(
        _ type: E.Type, _ path: any KeyPath<E, W> & Sendable, _ whole: [Formula]?
    ) -> ColumnExpression<W> {
        guard let range = E.columnRange(of: path), !range.isEmpty, range.upperBound <= parts.count else {
            return ColumnExpression<W>([.value(.null)], mistake ?? .noColumn(path, E.schema))
        }
        return ColumnExpression<W>(Array(parts[range]), mistake, partOf: whole)
    }
}

extension GraphError {
    /// A key path that leads to no column of a schema.
    fileprivate static func noColumn<D>(_ path: AnyKeyPath, _ schema: Schema<D>) -> GraphError {
        let names = schema.properties.filter { !$0.columns.isEmpty }.flatMap {
            // The parts of a property without a name have names of their own.
            $0.name.isEmpty ? $0.columnNames : [$0.name]
        }.joined(separator: ", ")
        let what =
            schema.property(at: path) == nil
            ? "the schema does not read it" : "it is kept apart from the row, as lists and nested values are"
        let optional = schema.properties.first { $0.type is any OptionalEmbedded.Type }?.name
        // A key path through `?` says nothing of what it is made of.
        let advice = optional.map {
            ". A part of \($0), which is optional, is named in a closure, as in .sorted { $0.\($0).part }; "
                + "a patch sets \($0) as a whole"
        }
        return GraphError(
            .misuse, "\(what); name one of the columns \(names)\(advice ?? "")", type: schema.name,
            property: "\(path)")
    }
}

private protocol OptionalEmbedded {}
extension Optional: OptionalEmbedded where Wrapped: EmbeddedValue {}

extension StoredRecord {
    /// The columns of a property, or of a part of an embedded one; an error that names the property if it has none.
    static func columnNames(at path: AnyKeyPath) -> Result<[String], GraphError> {
        guard let names = schema.columnNames(at: path), !names.isEmpty else { return .failure(.noColumn(path, schema)) }
        return .success(names)
    }

    static var keyColumnNames: [String] { schema.key?.columnNames ?? ["id"] }
}

/// A record's columns, by its properties' names.
@dynamicMemberLookup
public struct Columns<R: StoredRecord>: Sendable {
    let scope: Scope
    /// The record's key.
    var key: [Formula] { R.keyColumnNames.map { .column(scope, $0) } }

    /// The column of a property.
    public subscript<V>(dynamicMember path: any KeyPath<R, V> & Sendable) -> ColumnExpression<V> { column(path) }

    /// The records of a list of links.
    public subscript<S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> { LinkedRecords(of: R.self, path, owner: key, nil) }

    /// The records of a set of links.
    public subscript<S: StoredRecord>(
        dynamicMember path: any KeyPath<R, Set<Ref<S>>> & Sendable
    ) -> LinkedRecords<S> { LinkedRecords(of: R.self, path, owner: key, nil) }

    func column<V>(_ path: AnyKeyPath) -> ColumnExpression<V> {
        ColumnExpression(R.self, path, nil) { .column(scope, $0) }
    }

    /// The records of another type that point to this one: `$0.many(CommentRecord.self, by: \.place).count`.
    public func many<S: StoredRecord>(_ type: S.Type, by path: any KeyPath<S, Ref<R>> & Sendable) -> LinkedRecords<S> {
        LinkedRecords(pointing: S.self, path, to: key)
    }

    /// The same by an optional link.
    public func many<S: StoredRecord>(_ type: S.Type, by path: any KeyPath<S, Ref<R>?> & Sendable) -> LinkedRecords<S> {
        LinkedRecords(pointing: S.self, path, to: key)
    }
}
