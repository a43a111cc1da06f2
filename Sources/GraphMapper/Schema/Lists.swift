import Foundation

/// What an array, a set, and a dictionary's values are made of: links, which are rows of a table of their own, and
/// scalars, which are one column of JSON.
///
/// A type of one's own that takes one column joins with `extension Kind: ListElement {}`.
public protocol ListElement: Storable {
    /// What a list points to; nil for scalars.
    static var listLink: LinkTarget? { get }
    /// The columns that a list takes.
    static var listColumns: [Column] { get }
    /// A list that differs from that of other numbers, where the type has enough values.
    static func listProbe(_ n: Int) throws -> [Self]
    /// Reads a list at `position` and moves it past the list.
    static func readList(_ cursor: RowCursor, at position: inout RowPosition) throws -> [Self]
    /// Appends what is stored of a list.
    static func encodeList(_ list: [Self], into values: inout [StoredValue])
}

/// Scalars: a JSON array in one column, such as `["a","b"]`. Bytes are hexadecimal text in it, infinities and NaN the
/// texts `inf`, `-inf` and `nan`.
extension ListElement {
    public static var listLink: LinkTarget? { nil }
    public static var listColumns: [Column] { [Column(.text)] }
    /// One more element than the number has twos in it, so that types of two values have many lists.
    public static func listProbe(_ n: Int) throws -> [Self] {
        try (0..<8).filter { n >> $0 & 1 == 1 }.map { try .probe($0) }
    }
    /// Reads the JSON; text that is not that of such a list is an error.
    public static func readList(_ cursor: RowCursor, at position: inout RowPosition) throws -> [Self] {
        let text = try String.read(cursor, at: &position)
        guard case .array(let items)? = ScalarJSON(text) else { throw ScalarJSON.mismatch(text, [Self].self) }
        return try ScalarJSON.elements(items)
    }
    /// Appends the JSON.
    public static func encodeList(_ list: [Self], into values: inout [StoredValue]) {
        values.append(ScalarJSON.stored(list))
    }
}

extension Bool: ListElement {}
extension Int: ListElement {}
extension Int8: ListElement {}
extension Int16: ListElement {}
extension Int32: ListElement {}
extension Int64: ListElement {}
extension UInt8: ListElement {}
extension UInt16: ListElement {}
extension UInt32: ListElement {}
extension UInt64: ListElement {}
extension UInt: ListElement {}
extension Double: ListElement {}
extension Float: ListElement {}
extension String: ListElement {}
extension Decimal: ListElement {}
extension Data: ListElement {}
extension Date: ListElement {}
extension UUID: ListElement {}
extension URL: ListElement {}

/// Lists, which may repeat: of links in a table of their own, of scalars in one column.
extension Array: Storable where Element: ListElement {
    public static var columns: [Column] { Element.listColumns }
    public static var link: LinkTarget? { Element.listLink }
    public static func probe(_ n: Int) throws -> [Element] { try Element.listProbe(n) }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> [Element] {
        try Element.readList(cursor, at: &position)
    }
    @inlinable public func encode(into values: inout [StoredValue]) { Element.encodeList(self, into: &values) }
    /// Element by element, by what is stored.
    public static func isSame(_ left: [Element], _ right: [Element]) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { Element.isSame($0, $1) }
    }
}

/// Sets, stored as lists in the order of their elements' stored values. Copies of one element in the file are one.
extension Set: Storable where Element: ListElement {
    public static var columns: [Column] { Element.listColumns }
    public static var link: LinkTarget? { Element.listLink }
    public static func probe(_ n: Int) throws -> Set { Set(try Element.listProbe(n)) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Set {
        Set(try Element.readList(cursor, at: &position))
    }
    public func encode(into values: inout [StoredValue]) {
        let sorted = map { ($0, $0.storedValues) }.sorted { $0.1.lexicographicallyPrecedes($1.1) { $0.precedes($1) } }
        Element.encodeList(sorted.map(\.0), into: &values)
    }
    /// By what is stored: for floating-point numbers -0.0 is not 0.0, and all NaNs are one.
    public static func isSame(_ left: Set, _ right: Set) -> Bool {
        guard left.count == right.count else { return false }
        let isSame = left.allSatisfy { element in
            right.firstIndex(of: element).map { Element.isSame(right[$0], element) } ?? false
        }
        return isSame || left.storedValues == right.storedValues
    }
}

/// Dictionaries of scalars by text: a JSON object in one column, its keys sorted.
extension Dictionary: Storable where Key == String, Value: ListElement {
    public static var columns: [Column] { [Column(.text)] }
    public static var schemaMistakes: [String] {
        Value.listLink == nil
            ? [] : ["a dictionary has scalars for values; keep links in a list, or as records of their own"]
    }
    public static func probe(_ n: Int) throws -> [String: Value] { ["\(n)": try .probe(n)] }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> [String: Value] {
        let text = try String.read(cursor, at: &position)
        guard case .object(let items)? = ScalarJSON(text) else { throw ScalarJSON.mismatch(text, Self.self) }
        let values: [Value] = try ScalarJSON.elements(items.map(\.1))
        return [String: Value](zip(items.map(\.0), values)) { $1 }
    }
    public func encode(into values: inout [StoredValue]) {
        values.append(ScalarJSON.stored(sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }))
    }
    public static func isSame(_ left: Self, _ right: Self) -> Bool { left.storedValues == right.storedValues }
}
