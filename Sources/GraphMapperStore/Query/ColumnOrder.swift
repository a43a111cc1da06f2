import Foundation

/// How values of a type are ordered in a query, where that is not how the engine orders what is stored.
enum ColumnOrder {
    /// As the engine does.
    case plain
    /// Floating-point numbers, of which NaN is a text.
    case number
    /// Decimal numbers, which are texts.
    case decimal
    /// Unsigned numbers of 64 bits, of which the greater half is negative.
    case unsigned

    /// What to compare and to sort by.
    func keys(_ parts: [SQLExpression]) -> [SQLExpression] {
        switch self {
        case .plain, .number: parts
        case .decimal: parts.map { .call(.decimalOrder, [$0]) }
        case .unsigned: parts.flatMap { [.binary($0, .less, .value(.integer(0))), $0] }
        }
    }

    /// Whether one value is less or greater than another; NULL and NaN never are.
    func compare(_ left: [SQLExpression], _ sign: SQLOperator, _ right: [SQLExpression]) -> SQLExpression {
        let test = SQLExpression.binary(.together(keys(left)), sign, .together(keys(right)))
        guard self == .number else { return test }
        // NaN is a text, which is more than any number: the greater one must be a number.
        let isLess = sign == .less || sign == .lessOrEqual
        let greater = SQLExpression.together(isLess ? right : left)
        switch greater {
        case .value(.text): return .value(.integer(0))
        case .value: return test
        default: break
        }
        if case .value(.text) = SQLExpression.together(isLess ? left : right) { return .value(.integer(0)) }
        return .binary(test, .and, .binary(greater, .lessOrEqual, .value(.real(.infinity))))
    }
}

extension Storable {
    static var ordering: ColumnOrder {
        if let type = self as? any OrderedApart.Type { return type.columnOrder }
        // An enum is stored as its raw value, and ordered by it.
        return (self as? any RawRepresentable.Type)?.rawOrder ?? .plain
    }
}

extension RawRepresentable {
    fileprivate static var rawOrder: ColumnOrder { (RawValue.self as? any Storable.Type)?.ordering ?? .plain }
}

/// The types that are.
private protocol OrderedApart {
    static var columnOrder: ColumnOrder { get }
}

extension Double: OrderedApart { static var columnOrder: ColumnOrder { .number } }
extension Float: OrderedApart { static var columnOrder: ColumnOrder { .number } }
extension Decimal: OrderedApart { static var columnOrder: ColumnOrder { .decimal } }
extension UInt64: OrderedApart { static var columnOrder: ColumnOrder { .unsigned } }
extension UInt: OrderedApart { static var columnOrder: ColumnOrder { .unsigned } }
extension Optional: OrderedApart where Wrapped: Storable {
    static var columnOrder: ColumnOrder { Wrapped.ordering }
}
/// By what is stored.
extension Converted: OrderedApart { static var columnOrder: ColumnOrder { Form.Stored.ordering } }
/// By the target's key.
extension Ref: OrderedApart {
    static var columnOrder: ColumnOrder { D.ID.ordering }
}
