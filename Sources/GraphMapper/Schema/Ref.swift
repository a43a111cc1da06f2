import Foundation

/// A typed foreign key: the id of a `D`, and nothing else.
public struct Ref<D: DTO & Identifiable>: Hashable, Sendable where D.ID: Storable {
    /// The id of the object that it points to.
    public let id: D.ID
    /// A reference to the object of that id, which need not be there yet.
    @inlinable public init(_ id: D.ID) { self.id = id }

    /// Whether both point to one row: their ids are stored alike.
    @inlinable public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && D.ID.isSame(left.id, right.id)
    }
}

extension Ref: Storable {
    public static var columns: [Column] { D.ID.columns }
    public static var link: LinkTarget? { target(isList: false) }
    public static func probe(_ n: Int) throws -> Self { Ref(try .probe(n)) }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        Ref(try D.ID.read(cursor, at: &position))
    }
    @inlinable public static func readOptional(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self? {
        try D.ID.readOptional(cursor, at: &position).map { Ref($0) }
    }
    @inlinable public func encode(into values: inout [StoredValue]) { id.encode(into: &values) }

    static func target(isList: Bool) -> LinkTarget {
        LinkTarget(record: D.self, isList: isList, table: { D.schema.name }, keyColumns: D.ID.columns)
    }
}

/// In JSON, the id alone.
extension Ref: Decodable where D.ID: Decodable {
    public init(from decoder: any Decoder) throws { self.init(try D.ID(from: decoder)) }
}

extension Ref: Encodable where D.ID: Encodable {
    public func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }
}

/// Lists and sets of links are rows of a table of their own, not a column.
extension Ref: ListElement {
    public static var listLink: LinkTarget? { target(isList: true) }
    public static var listColumns: [Column] { [] }
    public static func listProbe(_ n: Int) throws -> [Self] { [try .probe(n)] }
    @inlinable public static func readList(_ cursor: RowCursor, at position: inout RowPosition) throws -> [Self] {
        defer { position.list += 1 }
        guard let lists = cursor.lists, position.list < lists.properties.count else { return [] }
        let rows = lists.properties[position.list]
        let range = rows.current
        guard !range.isEmpty else { return [] }
        if let form = keyForm, let keys = rows.currentKeys(form) {
            // A reference is its id and nothing else, and is stored as its bytes.
            return [Self](unsafeUninitializedCapacity: range.count) { list, count in
                UnsafeMutableRawBufferPointer(list).copyMemory(from: keys)
                count = range.count
            }
        }
        return try rows.withCursor { cells in
            var list: [Self] = []
            list.reserveCapacity(range.count)
            var place = RowPosition()
            place.column = Int32(truncatingIfNeeded: range.lowerBound)
            while Int(place.column) < range.upperBound { list.append(try read(cells, at: &place)) }
            return list
        }
    }
    /// What rows of links hold of ids that are stored as they lie in memory.
    @inlinable static var keyForm: LinkRows.Form? {
        if D.ID.self == UUID.self { return .sixteen }
        return D.ID.self == Int64.self || D.ID.self == Int.self && Int.bitWidth == 64 ? .integers : nil
    }
    /// The targets' keys, one after the other.
    @inlinable public static func encodeList(_ list: [Self], into values: inout [StoredValue]) {
        values.reserveCapacity(values.count + list.count)
        // Where the types are not known, the two most common ids are told apart once a list, not once an element.
        if D.ID.self == UUID.self { return encodeIDs(of: list, as: UUID.self, into: &values) }
        if D.ID.self == Int.self { return encodeIDs(of: list, as: Int.self, into: &values) }
        for element in list { element.encode(into: &values) }
    }

    /// - Parameter type: the type of the ids. A reference is its id and nothing else.
    @inlinable @inline(__always)
    static func encodeIDs<ID: Storable>(of list: [Self], as type: ID.Type, into values: inout [StoredValue]) {
        list.withUnsafeBufferPointer { list in
            list.withMemoryRebound(to: type) { ids in
                for id in ids { id.encode(into: &values) }
            }
        }
    }
}
