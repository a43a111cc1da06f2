internal import CSQLite

/// `graphmapper_elements(json, storage)`: the elements of a column of JSON as rows of `key` and `value`, read by what
/// reads the column for a record. SQLite's own `json_each` ends a text at a NUL, rounds numbers, and knows nothing of the
/// infinities and bytes that stand in the JSON as texts.
enum ElementRows {
    static let name = "graphmapper_elements"

    static func install(in database: OpaquePointer) throws {
        let code = sqlite3_create_module_v2(database, name, Module.shared.pointer, nil, nil)
        guard code == SQLITE_OK else {
            throw StoreError(code: code, String(cString: sqlite3_errmsg(database)), in: "functions")
        }
    }

    /// The columns, in their order; the last two are the arguments.
    fileprivate enum Column: Int32 {
        case key, value, json, storage
    }
    fileprivate static let definition = "CREATE TABLE elements (key, value, json HIDDEN, storage HIDDEN)"

    /// Tells SQLite which arguments it has to give, json first. Both are needed.
    fileprivate static func plan(_ info: UnsafeMutablePointer<sqlite3_index_info>) -> Int32 {
        for index in 0..<Int(info.pointee.nConstraint) {
            let constraint = info.pointee.aConstraint[index]
            guard constraint.iColumn >= Column.json.rawValue, constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ)
            else { continue }
            if constraint.usable == 0 { return SQLITE_CONSTRAINT }
            info.pointee.aConstraintUsage[index].argvIndex = constraint.iColumn - Column.value.rawValue
            info.pointee.aConstraintUsage[index].omit = 1
        }
        info.pointee.estimatedCost = 10
        info.pointee.estimatedRows = 10
        return SQLITE_OK
    }

    /// The elements of a text; nil if it is not the JSON of such a collection.
    fileprivate static func elements(_ json: OpaquePointer?, _ storage: OpaquePointer?) -> [ScalarJSON.Item]? {
        switch sqlite3_value_type(json) {
        case SQLITE_NULL: return []
        case SQLITE_TEXT:
            let bytes = UnsafeBufferPointer(start: sqlite3_value_text(json), count: Int(sqlite3_value_bytes(json)))
            return ScalarJSON(String(decoding: bytes, as: UTF8.self))?
                .items(StorageClass(rawValue: sqlite3_value_int(storage)) ?? .null)
        default: return nil
        }
    }
}

/// What a cursor is at.
private final class ElementPosition {
    var items: [ScalarJSON.Item] = []
    var index = 0
}

/// A cursor as SQLite knows it, and behind that what it is at.
private struct ElementCursor {
    var base: sqlite3_vtab_cursor
    var position: Unmanaged<ElementPosition>

    static func of(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<ElementCursor>? {
        cursor.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: ElementCursor.self) }
    }
    static func position(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> ElementPosition? {
        of(cursor)?.pointee.position.takeUnretainedValue()
    }
}

/// SQLite's table of the functions, made once and never freed or changed: safe to share.
private struct Module: @unchecked Sendable {
    let pointer: UnsafePointer<sqlite3_module>

    static let shared = Module()

    private init() {
        var module = sqlite3_module()
        // Without a function that creates tables it is there as a function of SELECTs alone.
        module.xConnect = { database, _, _, _, table, _ in
            let code = sqlite3_declare_vtab(database, ElementRows.definition)
            guard code == SQLITE_OK else { return code }
            let made = UnsafeMutablePointer<sqlite3_vtab>.allocate(capacity: 1)
            made.initialize(to: sqlite3_vtab())
            table?.pointee = made
            return SQLITE_OK
        }
        module.xDisconnect = { table in
            table?.deallocate()
            return SQLITE_OK
        }
        module.xBestIndex = { _, info in info.map(ElementRows.plan) ?? SQLITE_ERROR }
        module.xOpen = { _, cursor in
            let made = UnsafeMutablePointer<ElementCursor>.allocate(capacity: 1)
            made.initialize(
                to: ElementCursor(base: sqlite3_vtab_cursor(), position: Unmanaged.passRetained(ElementPosition())))
            cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        module.xClose = { cursor in
            let made = ElementCursor.of(cursor)
            made?.pointee.position.release()
            made?.deallocate()
            return SQLITE_OK
        }
        module.xFilter = { cursor, _, _, count, arguments in
            guard let position = ElementCursor.position(cursor), let arguments, count == 2,
                let items = ElementRows.elements(arguments[0], arguments[1])
            else {
                Module.explain(cursor, "a column that is a list or a dictionary has something else than its JSON")
                return SQLITE_ERROR
            }
            (position.items, position.index) = (items, 0)
            return SQLITE_OK
        }
        module.xNext = { cursor in
            ElementCursor.position(cursor)?.index += 1
            return SQLITE_OK
        }
        module.xEof = { cursor in
            guard let position = ElementCursor.position(cursor) else { return 1 }
            return position.index < position.items.count ? 0 : 1
        }
        module.xColumn = { cursor, context, column in
            guard let position = ElementCursor.position(cursor), position.index < position.items.count else {
                return SQLITE_ERROR
            }
            let item = position.items[position.index]
            switch ElementRows.Column(rawValue: column) {
            case .key: EngineFunctions.answer(context, item.key.map { .text($0) } ?? .null)
            case .value: EngineFunctions.answer(context, item.value)
            default: sqlite3_result_null(context)
            }
            return SQLITE_OK
        }
        module.xRowid = { cursor, number in
            number?.pointee = Int64(ElementCursor.position(cursor)?.index ?? 0)
            return SQLITE_OK
        }
        let made = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        made.initialize(to: module)
        pointer = UnsafePointer(made)
    }

    /// Leaves SQLite a message in memory that it frees.
    private static func explain(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?, _ message: String) {
        guard let table = cursor?.pointee.pVtab else { return }
        let bytes = Array(message.utf8CString)
        guard let text = sqlite3_malloc64(UInt64(bytes.count))?.assumingMemoryBound(to: CChar.self) else { return }
        text.initialize(from: bytes, count: bytes.count)
        sqlite3_free(table.pointee.zErrMsg)
        table.pointee.zErrMsg = text
    }
}
