/// The ordered links that go with the rows of one fetch: for each link property of the schema, in its order, the lists
/// of all rows.
///
/// An engine fills it with one query a property before it decodes the rows.
public final class LinkLists {
    @usableFromInline let properties: [LinkRows]

    /// - Parameter properties: one for each link property.
    public init(_ properties: [LinkRows]) { self.properties = properties }
}

/// The lists of one link property as the engine read them: one cell a target, and which cells belong to the row that
/// is being decoded. A target whose key has several columns takes as many cells.
///
/// Cells are kept as the engine had them, so that an app's record type decodes them where its own types are known.
public final class LinkRows {
    /// The cells of the current row's targets.
    public var current: Range<Int> = 0..<0
    private var cells: [StoredCell] = []
    private var arena: [UInt8] = []

    /// Holds nothing yet.
    public init() {}

    /// How many cells there are, of all rows.
    public var count: Int { cells.count }

    /// Takes the target, or a part of its key, in a column of an engine's row.
    public func append(_ cursor: RowCursor, column: Int32) throws {
        for storage in [StorageClass.blob, .integer, .text, .real] {
            var cell = Cell()
            guard cursor.functions.pointee.cell(cursor.handle, column, storage.rawValue, &cell) == storage.rawValue
            else { continue }
            if storage == .blob || storage == .text {
                let offset = arena.count
                arena.append(contentsOf: cell.bytes)
                cell.bits = UInt64(offset)
            }
            cells.append(StoredCell(cell: cell, storage: storage.rawValue))
            return
        }
        throw ColumnMismatch(column: column, wanted: StorageClass.blob.rawValue, found: StorageClass.null.rawValue)
    }

    /// Calls `body` with a cursor whose columns are the cells.
    @usableFromInline func withCursor<R>(_ body: (RowCursor) throws -> R) rethrows -> R {
        try cells.withUnsafeBufferPointer { cells in
            try arena.withUnsafeBufferPointer { arena in
                var header = LinkHeader(cells: cells.baseAddress, arena: arena.baseAddress)
                return try withUnsafeMutablePointer(to: &header) { header in
                    try body(RowCursor(LinkReading.shared.functions, handle: OpaquePointer(header)))
                }
            }
        }
    }
}

private struct StoredCell {
    var cell: Cell
    var storage: Int32
}

/// What the reading function of ``LinkRows`` gets as its handle.
private struct LinkHeader {
    let cells: UnsafePointer<StoredCell>?
    let arena: UnsafePointer<UInt8>?
}

/// The table of functions that reads ``LinkRows``, made once and never changed or freed: safe to share.
private struct LinkReading: @unchecked Sendable {
    static let shared = LinkReading()
    let functions: UnsafePointer<CursorFunctions>

    private init() {
        let functions = UnsafeMutablePointer<CursorFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: CursorFunctions { handle, column, wanted, out in
                let header = UnsafePointer<LinkHeader>(handle)
                guard let cells = header.pointee.cells else { return StorageClass.null.rawValue }
                let stored = cells[Int(column)]
                guard stored.storage == wanted else { return stored.storage }
                var cell = stored.cell
                if wanted == StorageClass.blob.rawValue || wanted == StorageClass.text.rawValue {
                    cell.bits = UInt64(UInt(bitPattern: header.pointee.arena.map { $0 + Int(cell.bits) }))
                }
                out.storeBytes(of: cell, as: Cell.self)
                return wanted
            })
        self.functions = UnsafePointer(functions)
    }
}
