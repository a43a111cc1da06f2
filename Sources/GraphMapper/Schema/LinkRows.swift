/// The ordered links that go with the rows of one fetch: for each link property of the schema, in its order, the lists
/// of all rows.
///
/// An engine fills it with one query a property before it decodes the rows.
public final class LinkLists {
    @usableFromInline package let properties: [LinkRows]

    /// - Parameter properties: one for each link property.
    public init(_ properties: [LinkRows]) { self.properties = properties }
}

/// The lists of one link property as the engine read them: one cell a target, and which cells belong to the row that
/// is being decoded. A target whose key has several columns takes as many cells.
///
/// Cells are kept as the engine had them, so that an app's record type decodes them where its own types are known. Keys
/// that are all of sixteen bytes, as UUIDs are, or all whole numbers, lie one after the other.
public final class LinkRows {
    /// The cells of the current row's targets.
    @exclusivity(unchecked) public var current: Range<Int> = 0..<0
    // Exclusivity is not checked at run time: an engine fills the rows, then they are read, and no closure of an app
    // reaches them.
    @exclusivity(unchecked) private var cells: ContiguousArray<StoredCell> = []
    /// What all cells are, if they are alike: ``cells`` then is empty, and the arena says it all.
    @exclusivity(unchecked) private var form = Form.empty
    @exclusivity(unchecked) private var arena: UnsafeMutableRawBufferPointer = .allocate(byteCount: 1024, alignment: 8)
    @exclusivity(unchecked) private var used = 0

    /// Holds nothing yet.
    public init() {}

    deinit { arena.deallocate() }

    /// What cells are.
    @usableFromInline enum Form {
        case empty, sixteen, integers, mixed

        /// The bytes that each takes, if all are alike.
        var width: Int? {
            switch self {
            case .empty, .mixed: nil
            case .sixteen: 16
            case .integers: 8
            }
        }
    }

    /// How many cells there are, of all rows.
    public var count: Int { form.width.map { used / $0 } ?? cells.count }

    /// Takes the target, or a part of its key, in a column of an engine's row.
    ///
    /// - Throws: ``GraphError`` for NULL, which is no key.
    public func append(_ cursor: RowCursor, column: Int32) throws {
        var cell = Cell()
        let read = cursor.functions.pointee.cell
        // Most keys are bytes; the first call says what it is if not.
        let found = read(cursor.handle, column, StorageClass.blob.rawValue, &cell)
        if found == StorageClass.blob.rawValue { return append(cell.bytes, found) }
        _ = read(cursor.handle, column, found, &cell)
        if found == StorageClass.text.rawValue { return append(cell.bytes, found) }
        if found == StorageClass.null.rawValue {
            throw GraphError(.conversion, "the list of links holds null, which is no key")
        }
        if found == StorageClass.integer.rawValue { return append(integer: Int64(bitPattern: cell.bits)) }
        append(StoredCell(cell: cell, storage: found))
    }

    /// Takes a key of sixteen bytes, as two words.
    package func append(sixteen words: (UInt64, UInt64)) {
        if hasForm(.sixteen) { return keep(words) }
        withUnsafeBytes(of: words) { append($0, StorageClass.blob.rawValue) }
    }

    /// Takes a whole number.
    package func append(integer number: Int64) {
        if hasForm(.integers) { return keep(number) }
        var cell = Cell()
        cell.bits = UInt64(bitPattern: number)
        spread()
        cells.append(StoredCell(cell: cell, storage: StorageClass.integer.rawValue))
    }

    /// Whether all cells are so; none are whatever the first one is.
    private func hasForm(_ wanted: Form) -> Bool {
        if form == .empty { form = wanted }
        return form == wanted
    }

    private func keep<T>(_ value: T) {
        let size = MemoryLayout<T>.size
        if used + size > arena.count { grow(to: used + size) }
        UnsafeMutableRawBufferPointer(rebasing: arena[used...]).storeBytes(of: value, as: T.self)
        used += size
    }

    /// Takes a value that is at hand: the target, or a part of its key.
    public func append(_ value: StoredValue) {
        var cell = Cell()
        switch value {
        case .null: append(StoredCell(cell: cell, storage: StorageClass.null.rawValue))
        case .integer(let number): append(integer: number)
        case .real(let number):
            cell.bits = number.bitPattern
            append(StoredCell(cell: cell, storage: StorageClass.real.rawValue))
        case .text(var text):
            text.withUTF8 { append(UnsafeRawBufferPointer($0), StorageClass.text.rawValue) }
        case .blob(let bytes): bytes.withUnsafeBytes { append($0, StorageClass.blob.rawValue) }
        }
    }

    /// Forgets the cells.
    package func removeAll() {
        cells.removeAll(keepingCapacity: true)
        form = .empty
        used = 0
        current = 0..<0
    }

    /// Whether the cells of the current row are these values, bit for bit.
    package func holds(_ values: [StoredValue]) -> Bool {
        guard current.count == values.count else { return false }
        spread()
        return zip(current, values).allSatisfy { place, value in
            let stored = cells[place]
            switch value {
            case .null: return stored.storage == StorageClass.null.rawValue
            case .integer(let number):
                return stored.storage == StorageClass.integer.rawValue && stored.cell.bits == UInt64(bitPattern: number)
            case .real(let number):
                return stored.storage == StorageClass.real.rawValue && stored.cell.bits == number.bitPattern
            case .text(let text):
                return stored.storage == StorageClass.text.rawValue && kept(stored.cell).elementsEqual(text.utf8)
            case .blob(let bytes):
                return stored.storage == StorageClass.blob.rawValue && kept(stored.cell).elementsEqual(bytes)
            }
        }
    }

    private func kept(_ cell: Cell) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: arena[Int(cell.bits)..<Int(cell.bits) + cell.count])
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ storage: Int32) {
        if bytes.count == 16, storage == StorageClass.blob.rawValue, hasForm(.sixteen) {
            _ = keep(bytes)
            return
        }
        var cell = Cell()
        spread()
        cell.count = bytes.count
        cell.bits = keep(bytes)
        cells.append(StoredCell(cell: cell, storage: storage))
    }

    private func append(_ cell: StoredCell) {
        spread()
        cells.append(cell)
    }

    /// Gives each of the cells until now an entry of its own.
    private func spread() {
        guard form != .mixed else { return }
        let width = form.width
        let storage = form == .integers ? StorageClass.integer : .blob
        form = .mixed
        guard let width else { return }
        for start in stride(from: 0, to: used, by: width) {
            var cell = Cell()
            if storage == .integer {
                cell.bits = arena.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            } else {
                (cell.count, cell.bits) = (16, UInt64(start))
            }
            cells.append(StoredCell(cell: cell, storage: storage.rawValue))
        }
    }

    /// Copies bytes to the arena and answers where they lie in it.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        if arena.count - used < bytes.count { grow(to: used + bytes.count) }
        UnsafeMutableRawBufferPointer(rebasing: arena[used...]).copyMemory(from: bytes)
        used += bytes.count
        return UInt64(used - bytes.count)
    }

    private func grow(to count: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(arena.count * 2, count), alignment: 8)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: arena[..<used]))
        arena.deallocate()
        arena = larger
    }

    /// The current row's targets one after the other, if all are of this form.
    @usableFromInline func currentKeys(_ wanted: Form) -> UnsafeRawBufferPointer? {
        guard form == wanted, let width = form.width, current.upperBound * width <= used else { return nil }
        return UnsafeRawBufferPointer(rebasing: arena[current.lowerBound * width..<current.upperBound * width])
    }

    /// Calls `body` with a cursor whose columns are the cells.
    @usableFromInline func withCursor<R>(lists: LinkLists? = nil, _ body: (RowCursor) throws -> R) rethrows -> R {
        spread()
        return try cells.withUnsafeBufferPointer { cells in
            var header = LinkHeader(cells: cells.baseAddress, arena: UnsafeRawPointer(arena.baseAddress))
            return try withUnsafeMutablePointer(to: &header) { header in
                try body(RowCursor(LinkReading.shared.functions, handle: OpaquePointer(header), lists: lists))
            }
        }
    }
}

extension Storable {
    /// The value whose stored values these are, as ``storedValues`` has them.
    ///
    /// - Throws: ``GraphError`` of kind `.conversion` if they do not fit the type.
    public static func decode(_ values: [StoredValue]) throws -> Self {
        guard values.count == columns.count else {
            throw GraphError(.conversion, "\(Self.self) has \(columns.count) columns, not \(values.count)")
        }
        let rows = LinkRows()
        for value in values { rows.append(value) }
        return try rows.withCursor { cursor in
            var position = RowPosition()
            do {
                return try read(cursor, at: &position)
            } catch let mismatch as ColumnMismatch {
                throw GraphError(.conversion, mismatch.text)
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
    let arena: UnsafeRawPointer?
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
