/// What an engine answers for one column: a number's bits, or the address and length of text or bytes that stay
/// valid until the cursor moves on.
public struct Cell {
    /// An integer, a real number's bit pattern, or the address of text or bytes.
    public var bits: UInt64 = 0
    /// The length of text or bytes, in bytes.
    public var count: Int = 0
    /// A cell to be filled.
    @inlinable public init() {}

    @inlinable @inline(__always) var string: String { String(decoding: bytes, as: UTF8.self) }
    @inlinable @inline(__always) var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(bits)), count: count)
    }
}

/// An engine's reading functions: plain C functions, so that a column costs one indirect call and no reference
/// counting. One table per engine; this is the engine seam for reading.
public struct CursorFunctions: Sendable {
    /// `(handle, column, wanted storage class, cell)`: fills the cell when the column has the wanted class, and
    /// answers the class that it found.
    public let cell: @convention(c) (OpaquePointer, Int32, Int32, UnsafeMutableRawPointer) -> Int32

    /// A table of an engine's functions.
    public init(cell: @escaping @convention(c) (OpaquePointer, Int32, Int32, UnsafeMutableRawPointer) -> Int32) {
        self.cell = cell
    }
}

/// The row that an engine stands on. Valid only while the engine's statement is: never keep one.
public struct RowCursor {
    @usableFromInline let functions: UnsafePointer<CursorFunctions>
    @usableFromInline let handle: OpaquePointer
    @usableFromInline unowned(unsafe) let lists: LinkLists?

    /// - Parameter lists: the ordered links of the rows, for schemas that have such properties. The caller keeps them for
    ///   as long as it uses the cursor.
    @inlinable public init(_ functions: UnsafePointer<CursorFunctions>, handle: OpaquePointer, lists: LinkLists? = nil)
    {
        self.functions = functions
        self.handle = handle
        self.lists = lists
    }

    /// The cell of `column` if it has storage class `wanted`; throws a ``GraphError`` otherwise.
    @inlinable @inline(__always)
    func cell(_ wanted: StorageClass, _ column: Int32) throws -> Cell {
        var cell = Cell()
        let found = functions.pointee.cell(handle, column, wanted.rawValue, &cell)
        if found != wanted.rawValue { throw mismatch(column, wanted, found) }
        return cell
    }

    /// The same, where NULL answers nil.
    @inlinable @inline(__always)
    func optionalCell(_ wanted: StorageClass, _ column: Int32) throws -> Cell? {
        var cell = Cell()
        let found = functions.pointee.cell(handle, column, wanted.rawValue, &cell)
        if found == wanted.rawValue { return cell }
        if found == StorageClass.null.rawValue { return nil }
        throw mismatch(column, wanted, found)
    }

    // Out of line, since each property of a record would make an error otherwise.
    @usableFromInline func mismatch(_ column: Int32, _ wanted: StorageClass, _ found: Int32) -> any Error {
        ColumnMismatch(column: column, wanted: wanted.rawValue, found: found)
    }

    @inlinable func isNull(_ column: Int32) -> Bool {
        var cell = Cell()
        return functions.pointee.cell(handle, column, StorageClass.null.rawValue, &cell) == StorageClass.null.rawValue
    }
}

extension RowCursor {
    /// A value of the row that no schema reads.
    ///
    /// - Throws: ``GraphError`` that names the type which the columns do not fit.
    package func read<V: Storable>(_ type: V.Type, at position: inout RowPosition) throws -> V {
        do { return try V.read(self, at: &position) } catch let mismatch as ColumnMismatch {
            throw GraphError(.conversion, "\(mismatch.text), which is \(V.self)")
        }
    }
}

/// Where in a row a reader stands: columns and ordered link lists are counted apart.
public struct RowPosition: Sendable {
    /// The next column.
    public var column: Int32 = 0
    /// The next ordered link list.
    public var list: Int = 0
    /// The start of a row.
    @inlinable public init() {}
}

/// A column that does not hold what its property needs. The reader turns it into a ``GraphError`` that names
/// the property.
@usableFromInline struct ColumnMismatch: Error {
    let column: Int32
    let wanted: Int32
    let found: Int32
    @usableFromInline init(column: Int32, wanted: Int32, found: Int32) {
        self.column = column
        self.wanted = wanted
        self.found = found
    }

    var text: String {
        func name(_ code: Int32) -> String { StorageClass(rawValue: code).map { "\($0)" } ?? "class \(code)" }
        return "the column holds \(name(found)), the property needs \(name(wanted))"
    }
}
