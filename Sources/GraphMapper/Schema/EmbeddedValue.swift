/// A value of several columns in its owner's row, `location_latitude` and `location_longitude`; also a key of several
/// properties.
///
/// ```swift
/// struct Location: EmbeddedValue {
///     var latitude: Double
///     var longitude: Double
///     static let schema = Schema<Self> { row in
///         try Self(latitude: row("latitude", \.latitude), longitude: row("longitude", \.longitude))
///     }
/// }
/// ```
///
/// Its properties are columns, optional ones and embedded values among them; links are the record's. An optional
/// embedded value is nil when all its columns are NULL. One whose properties are all optional and all nil is stored
/// the same as nil: it counts as nil, and is read as nil.
public protocol EmbeddedValue: Storable {
    /// The value's properties, and how it is made from them.
    static var schema: Schema<Self> { get }
}

extension Schema where D: EmbeddedValue {
    /// The schema of a value that has no table of its own.
    @inlinable @inline(__always)
    public init(_ make: @escaping @Sendable (inout RowReader<D>) throws -> D) { self.init("\(D.self)", make) }
}

extension EmbeddedValue {
    public static var columns: [Column] { schema.columns }

    public static var schemaMistakes: [String] {
        schema.diagnostics
            + schema.properties.filter { $0.link != nil || $0.columns.isEmpty || $0.isLazy }.map {
                "\(schema.name).\($0.name): an embedded value has columns only; "
                    + "\($0.isLazy ? "lazy values" : "links") belong to the record"
            } + (schema.columns.isEmpty ? ["\(schema.name): an embedded value needs a column"] : [])
    }

    public static func probe(_ n: Int) throws -> Self {
        var reader = RowReader<Self>(probe: n)
        return try schema.make(&reader)
    }

    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        var reader = RowReader<Self>(cursor, at: position)
        defer { position.column = reader.position.column }
        return try schema.make(&reader)
    }

    public static func readOptional(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self? {
        let end = position.column + Int32(schema.columns.count)
        for column in position.column..<end where !cursor.isNull(column) { return try read(cursor, at: &position) }
        position.column = end
        return nil
    }

    public func encode(into values: inout [StoredValue]) {
        for property in Self.schema.properties { property.encode(self, &values) }
    }

    public static func isSame(_ left: Self, _ right: Self) -> Bool {
        schema.properties.allSatisfy { $0.isSame(left, right) }
    }

    public var isStoredAsNull: Bool { storedValues.allSatisfy { $0 == .null } }

    /// The key paths from `path`, which leads to such a value, to its parts, with the columns that each takes.
    static func parts(of path: AnyKeyPath) -> [(AnyKeyPath, Range<Int>)] {
        var parts: [(AnyKeyPath, Range<Int>)] = []
        var start = 0
        for property in schema.properties {
            let first = start
            start += property.columns.count
            guard let whole = path.appending(path: property.path) else { continue }
            parts.append((whole, first..<start))
            guard let type = property.type as? any EmbeddedValue.Type else { continue }
            parts += type.parts(of: whole).map { ($0, first + $1.lowerBound..<first + $1.upperBound) }
        }
        return parts
    }

    /// The value's columns that one of its properties takes, by their places.
    public static func columnRange(of path: AnyKeyPath) -> Range<Int>? {
        var start = 0
        for property in schema.properties {
            if property.path == path { return start..<start + property.columns.count }
            start += property.columns.count
        }
        return nil
    }
}
