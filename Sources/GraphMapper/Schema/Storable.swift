import Foundation

/// A column's type as an engine declares it.
public struct Column: Sendable, Hashable {
    /// What is appended to the property's name; empty for values of one column.
    public var suffix: String
    /// How the engine stores it.
    public var storage: StorageClass
    /// Whether NULL may stand in it.
    public var isNullable: Bool
    /// A column; by default one that may not be NULL and needs no suffix.
    public init(_ storage: StorageClass, suffix: String = "", isNullable: Bool = false) {
        self.suffix = suffix
        self.storage = storage
        self.isNullable = isNullable
    }
}

/// A type that a property of a record can have.
public protocol Storable: Equatable, Sendable {
    /// The columns that a value spans; none for ordered links, which have a table of their own.
    static var columns: [Column] { get }
    /// What the property points to, if it is a link.
    static var link: LinkTarget? { get }
    /// A value that differs from `probe(m)` for `m != n` where the type has enough values.
    static func probe(_ n: Int) throws -> Self
    /// What is wrong with the type's own schema, if it has one, in sentences.
    static var schemaMistakes: [String] { get }
    /// Reads a value at `position` and moves it past the value's columns.
    static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self
    /// The same, where NULL answers nil: in the first column, or in all of them if the value is embedded.
    static func readOptional(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self?
    /// Appends one stored value a column.
    func encode(into values: inout [StoredValue])
    /// Whether the stored representations are the same, bit for bit.
    static func isSame(_ left: Self, _ right: Self) -> Bool
    /// Whether the value is stored as nil is: NULL in every column.
    var isStoredAsNull: Bool { get }
}

extension Storable {
    public static var link: LinkTarget? { nil }
    public static var schemaMistakes: [String] { [] }
    @inlinable public var isStoredAsNull: Bool { false }
    @inlinable public static func isSame(_ left: Self, _ right: Self) -> Bool { left == right }
    @inlinable
    public static func readOptional(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self? {
        if cursor.isNull(position.column) {
            position.column += Int32(columns.count)
            return nil
        }
        return try read(cursor, at: &position)
    }
    /// The value's single stored value, or its first one.
    public var stored: StoredValue { storedValues.first ?? .null }
    /// The value's stored values, one a column.
    public var storedValues: [StoredValue] {
        var values: [StoredValue] = []
        encode(into: &values)
        return values
    }
}

/// What a link property points to.
public struct LinkTarget: Sendable {
    /// The DTO type that is pointed to.
    public let record: any DTO.Type
    /// Whether it is an ordered list, kept in a table of its own.
    public let isList: Bool
    /// The target's table and the columns of its key. A closure, since schemas may refer to each other.
    public let table: @Sendable () -> String
    /// The columns of the target's key.
    public let keyColumns: [Column]
}

extension Bool: Storable {
    public static var columns: [Column] { [Column(.integer)] }
    public static func probe(_ n: Int) -> Bool { n & 1 == 1 }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Bool {
        defer { position.column &+= 1 }
        return try cursor.cell(.integer, position.column).bits != 0
    }
    @inlinable public func encode(into values: inout [StoredValue]) { values.append(.integer(self ? 1 : 0)) }
}

extension FixedWidthInteger where Self: Storable {
    /// One integer column.
    public static var columns: [Column] { [Column(.integer)] }
    /// The number itself, cut to the type's width.
    public static func probe(_ n: Int) -> Self { Self(truncatingIfNeeded: n) }
    /// Reads the number; one that does not fit is an error, never cut.
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        defer { position.column &+= 1 }
        let wide = Int64(bitPattern: try cursor.cell(.integer, position.column).bits)
        if Self.bitWidth == 64 { return Self(truncatingIfNeeded: wide) }
        guard let value = Self(exactly: wide) else { throw outOfRange(wide, Self.self) }
        return value
    }
    /// 64-bit unsigned values are stored by bit pattern, as SQLite has no unsigned integers.
    @inlinable public func encode(into values: inout [StoredValue]) {
        values.append(.integer(Int64(truncatingIfNeeded: self)))
    }
}

@usableFromInline func outOfRange(_ value: Int64, _ type: Any.Type) -> GraphError {
    GraphError(.conversion, "\(value) does not fit into \(type)")
}

extension Int: Storable {}
extension Int8: Storable {}
extension Int16: Storable {}
extension Int32: Storable {}
extension Int64: Storable {}
extension UInt8: Storable {}
extension UInt16: Storable {}
extension UInt32: Storable {}
extension UInt64: Storable {}
extension UInt: Storable {}

extension Double: Storable {
    /// One column of real numbers.
    public static var columns: [Column] { [Column(.real)] }
    /// The number itself.
    public static func probe(_ n: Int) -> Double { Double(n) }
    /// SQLite turns NaN into NULL, so NaN is stored as the text `nan`, which sorts after all numbers. Whole numbers may
    /// be stored as integers.
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Double {
        defer { position.column &+= 1 }
        var cell = Cell()
        let found = cursor.functions.pointee.cell(cursor.handle, position.column, StorageClass.real.rawValue, &cell)
        if found == StorageClass.real.rawValue { return Double(bitPattern: cell.bits) }
        return try readOther(cursor, position.column, found)
    }
    @usableFromInline static func readOther(_ cursor: RowCursor, _ column: Int32, _ found: Int32) throws -> Double {
        switch StorageClass(rawValue: found) {
        case .integer: return Double(Int64(bitPattern: try cursor.cell(.integer, column).bits))
        case .text where try cursor.cell(.text, column).string == "nan": return .nan
        default: throw ColumnMismatch(column: column, wanted: StorageClass.real.rawValue, found: found)
        }
    }
    /// Appends the number.
    @inlinable public func encode(into values: inout [StoredValue]) {
        values.append(isNaN ? .text("nan") : .real(self))
    }
    /// Bit for bit, so that -0.0 differs from 0.0; all NaNs are one.
    @inlinable public static func isSame(_ left: Double, _ right: Double) -> Bool {
        left.bitPattern == right.bitPattern || (left.isNaN && right.isNaN)
    }
}

extension Float: Storable {
    public static var columns: [Column] { [Column(.real)] }
    public static func probe(_ n: Int) -> Float { Float(n) }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Float {
        Float(try Double.read(cursor, at: &position))
    }
    @inlinable public func encode(into values: inout [StoredValue]) { Double(self).encode(into: &values) }
    @inlinable public static func isSame(_ left: Float, _ right: Float) -> Bool {
        left.bitPattern == right.bitPattern || (left.isNaN && right.isNaN)
    }
}

extension String: Storable {
    public static var columns: [Column] { [Column(.text)] }
    public static func probe(_ n: Int) -> String { String(n) }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> String {
        defer { position.column &+= 1 }
        return try cursor.cell(.text, position.column).string
    }
    @inlinable
    public static func readOptional(_ cursor: RowCursor, at position: inout RowPosition) throws -> String? {
        defer { position.column &+= 1 }
        return try cursor.optionalCell(.text, position.column)?.string
    }
    @inlinable public func encode(into values: inout [StoredValue]) { values.append(.text(self)) }
    /// Compares UTF-8, since `==` holds canonically equivalent spellings for equal.
    @inlinable public static func isSame(_ left: String, _ right: String) -> Bool {
        // Copies that share their storage, which is what most copies do, have the same two words.
        unsafeBitCast(left, to: (UInt64, UInt64).self) == unsafeBitCast(right, to: (UInt64, UInt64).self)
            || hasSameBytes(left, right)
    }
}

extension String {
    @usableFromInline static func hasSameBytes(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        let same = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(start, other, left.count) == 0
            }
        }
        return (same ?? nil) ?? left.utf8.elementsEqual(right.utf8)
    }
}

extension Data: Storable {
    public static var columns: [Column] { [Column(.blob)] }
    public static func probe(_ n: Int) -> Data { Data(String(n).utf8) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Data {
        defer { position.column &+= 1 }
        return Data(try cursor.cell(.blob, position.column).bytes)
    }
    @inlinable public func encode(into values: inout [StoredValue]) { values.append(.blob([UInt8](self))) }
}

extension UUID: Storable {
    public static var columns: [Column] { [Column(.blob)] }
    public static func probe(_ n: Int) -> UUID {
        UUID(
            uuid: (
                1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: n >> 8),
                UInt8(truncatingIfNeeded: n)
            ))
    }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> UUID {
        defer { position.column &+= 1 }
        let bytes = try cursor.cell(.blob, position.column).bytes
        guard bytes.count == 16 else { throw GraphError(.conversion, "a UUID has 16 bytes, not \(bytes.count)") }
        return bytes.loadUnaligned(as: UUID.self)
    }
    @inlinable public func encode(into values: inout [StoredValue]) {
        values.append(.blob(withUnsafeBytes(of: uuid) { Bytes($0) }))
    }
}

/// Stored as whole microseconds since 1970.
extension Date: Storable {
    public static var columns: [Column] { [Column(.integer)] }
    public static func probe(_ n: Int) -> Date { Date(timeIntervalSince1970: Double(n)) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Date {
        Date(timeIntervalSince1970: Double(try Int64.read(cursor, at: &position)) / 1_000_000)
    }
    /// Nil for NaN, which is no date.
    var microseconds: Int64? {
        let value = (timeIntervalSince1970 * 1_000_000).rounded()
        if value.isNaN { return nil }
        return Int64(exactly: value) ?? (value < 0 ? .min : .max)
    }
    /// Appends the microseconds; a date that is not a number stays NaN, which no engine takes.
    public func encode(into values: inout [StoredValue]) {
        values.append(microseconds.map { .integer($0) } ?? .real(.nan))
    }
    public static func isSame(_ left: Date, _ right: Date) -> Bool { left.microseconds == right.microseconds }
}

/// Stored as its absolute text, exactly.
extension URL: Storable {
    public static var columns: [Column] { [Column(.text)] }
    public static func probe(_ n: Int) -> URL { URL(fileURLWithPath: "/\(n)") }
    /// Reads a URL; text that is none as it stands is an error.
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> URL {
        let text = try String.read(cursor, at: &position)
        guard let url = URL(string: text), String.isSame(url.absoluteString, text) else {
            throw GraphError(
                .conversion, "\"\(text)\" is no URL as it stands; read it as a String, and map it using .url")
        }
        return url
    }
    @inlinable public func encode(into values: inout [StoredValue]) { values.append(.text(absoluteString)) }
    public static func isSame(_ left: URL, _ right: URL) -> Bool {
        String.isSame(left.absoluteString, right.absoluteString)
    }
}

extension Optional: Storable where Wrapped: Storable {
    public static var columns: [Column] {
        Wrapped.columns.map { Column($0.storage, suffix: $0.suffix, isNullable: true) }
    }
    public static var link: LinkTarget? { Wrapped.link }
    public static var schemaMistakes: [String] {
        Wrapped.schemaMistakes
            + (Wrapped.self is any LazyValue.Type
                ? ["an optional value that is read later is a Lazy<V?>, not a Lazy<V>?"] : [])
    }
    public static func probe(_ n: Int) throws -> Wrapped? { .some(try .probe(n)) }
    @inlinable public var isStoredAsNull: Bool { self?.isStoredAsNull ?? true }
    @inlinable public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Wrapped? {
        try Wrapped.readOptional(cursor, at: &position)
    }
    @inlinable public func encode(into values: inout [StoredValue]) {
        if let self { self.encode(into: &values) } else { for _ in Wrapped.columns { values.append(.null) } }
    }
    @inlinable public static func isSame(_ left: Wrapped?, _ right: Wrapped?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): Wrapped.isSame(left, right)
        case (let value?, nil), (nil, let value?): value.isStoredAsNull
        }
    }
}

/// Raw-representable enums are stored as their raw value; `extension Kind: Storable {}` is all it takes.
extension RawRepresentable where Self: Storable & CaseIterable, RawValue: Storable {
    /// The raw value's columns.
    public static var columns: [Column] { RawValue.columns }
    /// The cases, in turn.
    public static func probe(_ n: Int) -> Self {
        let cases = Array(allCases)
        return cases[n % cases.count]
    }
    /// Reads the raw value; one that no case has is an error that names it.
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        let raw = try RawValue.read(cursor, at: &position)
        guard let value = Self(rawValue: raw) else {
            throw GraphError(.conversion, "\(Self.self) has no case with the raw value \(raw)")
        }
        return value
    }
    /// Appends the raw value.
    @inlinable public func encode(into values: inout [StoredValue]) { rawValue.encode(into: &values) }
}
