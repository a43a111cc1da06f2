/// Where records without a value stand in an order.
public enum NullPlacement: Sendable, Hashable {
    /// Before all others.
    case first
    /// After all others.
    case last
}

/// One key that rows are sorted by.
struct Ordering: Sendable {
    var expression: SQLExpression
    var isDescending = false
    /// Nil for what the engine does: NULL is less than all else.
    var nulls: NullPlacement?
    /// Whether it is known that no row has NULL here.
    var isNeverNull = false

    init(_ expression: SQLExpression, descending: Bool = false, nulls: NullPlacement? = nil) {
        self.expression = expression
        isDescending = descending
        self.nulls = nulls
    }

    /// - Parameter type: that of the value of which this is a part.
    init(_ expression: SQLExpression, descending: Bool, nulls: NullPlacement?, of type: any Storable.Type) {
        self.init(expression, descending: descending, nulls: nulls)
        if case .column = expression { isNeverNull = !type.columns.contains(where: \.isNullable) }
    }

    var isNullFirst: Bool { nulls.map { $0 == .first } ?? !isDescending }
}

extension Ordering {
    /// What holds for rows that come after one which is sorted by these values, and for that one if so asked.
    static func follows(_ order: [Ordering], _ values: [StoredValue], orIsThere: Bool) -> SQLExpression {
        if order.allSatisfy({ $0.isNeverNull && $0.isDescending == order[0].isDescending }) {
            let sign: SQLOperator =
                order[0].isDescending ? orIsThere ? .lessOrEqual : .less : orIsThere ? .greaterOrEqual : .greater
            return .binary(.together(order.map(\.expression)), sign, .values(values))
        }
        var result = SQLExpression.value(.integer(orIsThere ? 1 : 0))
        for (key, value) in zip(order, values).reversed() {
            let same = SQLExpression.binary(.binary(key.expression, .isSame, .value(value)), .and, result)
            result = .binary(key.follows(value), .or, same)
        }
        // The first key once more, so that an index on it bounds the rows.
        guard let first = order.first, first.isNeverNull, order.count > 1 else { return result }
        let sign: SQLOperator = first.isDescending ? .lessOrEqual : .greaterOrEqual
        return .binary(.binary(first.expression, sign, .value(values[0])), .and, result)
    }
}

extension Ordering {
    /// What holds for what this key puts after a value.
    fileprivate func follows(_ value: StoredValue) -> SQLExpression {
        if value == .null { return isNullFirst ? .not(.isNull(expression)) : .value(.integer(0)) }
        let behind = SQLExpression.binary(expression, isDescending ? .less : .greater, .value(value))
        guard !isNeverNull, !isNullFirst else { return behind }
        return .binary(behind, .or, .isNull(expression))
    }
}
