/// One column set to a value, or to what is computed of the row as it was.
public struct Assignment<R: StoredRecord>: Sendable {
    let columns: [String]
    let values: [SQLExpression]
    let diagnostic: GraphError?
}

extension ColumnExpression where V: Storable {
    /// Sets the column to a value: `$0.age.set(to: 18)`, `$0.name.set(to: nil)`.
    public func set<R: StoredRecord>(to value: V) -> Assignment<R> {
        assignment(value.storedValues.map { .value($0) }, nil)
    }

    /// Sets the column to what is computed of the row as it was: `$0.age.set(to: $0.age + 1)`.
    ///
    /// A whole number that the column's type has not is an error when the update runs.
    public func set<R: StoredRecord>(to value: Self) -> Assignment<R> {
        guard let range = V.wholeNumbers, let number = value.parts.first, !number.isStored else {
            return assignment(value.parts, value.diagnostic)
        }
        let ends = [range.lowerBound, range.upperBound].map { SQLExpression.value(.integer($0)) }
        return assignment([.call(.integerInRange, [number] + ends)], value.diagnostic)
    }

    /// Where an optional value is nil, none of its parts can be set: half a value is none.
    private func assignment<R: StoredRecord>(_ values: [SQLExpression], _ other: GraphError?) -> Assignment<R> {
        let values = whole.map { whole in values.map { .call(.whereTrue, [.not(.areNull(whole)), $0]) } } ?? values
        var columns: [String] = []
        for part in parts {
            guard case .column(_, let name) = part else {
                let wrong = GraphError(
                    .misuse,
                    "only a column of the record itself can be set, not one behind a link, nor what is computed",
                    type: R.schema.name)
                return Assignment(columns: [], values: [], diagnostic: diagnostic ?? wrong)
            }
            columns.append(name)
        }
        return Assignment(columns: columns, values: values, diagnostic: diagnostic ?? other)
    }
}

extension SQLExpression {
    /// Whether it is what a column holds.
    fileprivate var isStored: Bool { if case .column = self { true } else { false } }
}

extension Storable {
    /// The whole numbers that the type has, if it can be calculated with.
    fileprivate static var wholeNumbers: ClosedRange<Int64>? {
        if let optional = self as? any OptionalColumn.Type { return optional.wrapped.wholeNumbers }
        func range<N: FixedWidthInteger>(_: N.Type) -> ClosedRange<Int64>? {
            guard let least = Int64(exactly: N.min), let most = Int64(exactly: N.max) else { return nil }
            return least...most
        }
        return (self as? any FixedWidthInteger.Type).flatMap { range($0) }
    }
}

private protocol OptionalColumn { static var wrapped: any Storable.Type { get } }
extension Optional: OptionalColumn where Wrapped: Storable {
    static var wrapped: any Storable.Type { Wrapped.self }
}

/// Lists assignments, one a line.
@resultBuilder public enum AssignmentBuilder<R: StoredRecord> {
    /// One assignment.
    public static func buildExpression(_ assignment: Assignment<R>) -> [Assignment<R>] { [assignment] }
    /// All assignments.
    public static func buildBlock(_ assignments: [Assignment<R>]...) -> [Assignment<R>] { assignments.flatMap { $0 } }
    /// Those under an `if`.
    public static func buildOptional(_ assignments: [Assignment<R>]?) -> [Assignment<R>] { assignments ?? [] }
    /// Those of an `if`.
    public static func buildEither(first: [Assignment<R>]) -> [Assignment<R>] { first }
    /// Those of an `else`.
    public static func buildEither(second: [Assignment<R>]) -> [Assignment<R>] { second }
}
