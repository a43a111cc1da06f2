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
    func keys(_ parts: [Formula]) -> [Formula] {
        switch self {
        case .plain, .number: parts
        case .decimal: parts.map { .call(.decimalOrder, [$0]) }
        case .unsigned: parts.flatMap { [.binary($0, .less, .value(.integer(0))), $0] }
        }
    }
}

extension Storable {
    static var ordering: ColumnOrder { (self as? any OrderedApart.Type)?.columnOrder ?? .plain }
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
extension Optional: OrderedApart where Wrapped: OrderedApart {
    static var columnOrder: ColumnOrder { Wrapped.columnOrder }
}
