extension Storable {
    /// The value whose stored values these are, as ``storedValues`` has them.
    ///
    /// - Throws: ``GraphError`` of kind `.conversion` if they do not fit the type.
    public static func decode(_ values: [StoredValue]) throws -> Self {
        guard values.count == columns.count else {
            throw GraphError(.conversion, "\(Self.self) has \(columns.count) columns, not \(values.count)")
        }
        return try StoredCells.withCursor(over: values) { cursor in
            var position = RowPosition()
            do {
                return try read(cursor, at: &position)
            } catch let mismatch as ColumnMismatch {
                throw GraphError(.conversion, mismatch.text)
            }
        }
    }
}

/// Stored values, laid out for a cursor to read.
private struct StoredCells {
    var cells: [(cell: Cell, storage: Int32)] = []

    static func withCursor<R>(over values: [StoredValue], _ body: (RowCursor) throws -> R) rethrows -> R {
        // The bytes of texts and blobs, which cells point to.
        let count = values.reduce(1) { $0 + $1.bytes.count }
        let arena = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { arena.deallocate() }
        var stored = StoredCells()
        var used = 0
        for value in values {
            var cell = Cell()
            switch value {
            case .integer(let number): cell.bits = UInt64(bitPattern: number)
            case .real(let number): cell.bits = number.bitPattern
            case .text, .blob:
                let bytes = value.bytes
                cell.count = bytes.count
                cell.bits = UInt64(UInt(bitPattern: arena.baseAddress.map { $0 + used }))
                UnsafeMutableRawBufferPointer(rebasing: arena[used...]).copyBytes(from: bytes)
                used += bytes.count
            case .null: break
            }
            stored.cells.append((cell, value.storage.rawValue))
        }
        return try withUnsafeMutablePointer(to: &stored) { stored in
            try body(RowCursor(StoredReading.shared.functions, handle: OpaquePointer(stored)))
        }
    }
}

/// The table of functions that reads ``StoredCells``, made once and never changed or freed: safe to share.
private struct StoredReading: @unchecked Sendable {
    static let shared = StoredReading()
    let functions: UnsafePointer<CursorFunctions>

    private init() {
        let functions = UnsafeMutablePointer<CursorFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: CursorFunctions { handle, column, wanted, out in
                let stored = UnsafePointer<StoredCells>(handle).pointee.cells[Int(column)]
                if stored.storage == wanted { out.storeBytes(of: stored.cell, as: Cell.self) }
                return stored.storage
            })
        self.functions = UnsafePointer(functions)
    }
}

extension StoredValue {
    fileprivate var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .blob(let bytes): Array(bytes)
        default: []
        }
    }

    fileprivate var storage: StorageClass {
        switch self {
        case .null: .null
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }
}
