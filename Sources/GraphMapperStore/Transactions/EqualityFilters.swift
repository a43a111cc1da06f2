extension WriteTransaction {
    /// Looks at what a row that is about to be written holds in columns that observers have pinned: so those whom it
    /// concerned until now are told, and no others.
    ///
    /// - Parameter columns: what will be written; nil for the whole row.
    func noteBefore(
        _ table: String, _ keyColumns: @autoclosure () -> [String],
        _ rowKey: @autoclosure () -> [StoredValue], _ columns: @autoclosure () throws -> [String]? = nil
    ) throws {
        guard let pinned = pins[table], try columns()?.contains(where: pinned.contains) ?? true else { return }
        let key = rowKey()
        guard log.wantsBefore(table, key) else { return }
        let sql = "SELECT \(Dialect.list(pinned)) FROM \(Dialect.quoted(table)) WHERE \(Dialect.match(keyColumns()))"
        guard let row = try connection.peekAll(sql, key).first else { return }
        let values = Dictionary(zip(pinned, row.map(Touch.plain)), uniquingKeysWith: { $1 })
        log.note(before: values, table, key)
    }

    /// What was written, with the values of columns that observers have pinned: one look at the rows for all of them.
    static func touches(_ log: ChangeLog, _ hub: Hub, _ connection: Connection) throws -> [Touch] {
        var touches = log.touches
        let pinned = hub.pinnedColumns
        for (table, columns) in pinned {
            let places = touches.indices.filter { touches[$0].table == table && touches[$0].key != nil }
            guard let first = places.first, let stored = try StoredTable(table, connection),
                touches[first].key?.count == stored.key.count
            else { continue }
            let match = Dialect.match(stored.key)
            let sql = "SELECT \(Dialect.list(columns)) FROM \(Dialect.quoted(table)) WHERE \(match)"
            for place in places where touches[place].kind != .delete {
                guard let row = try connection.peekAll(sql, touches[place].key ?? []).first else {
                    // It is gone by now, which is told of by itself.
                    touches[place].values = touches[place].before
                    continue
                }
                for (column, value) in zip(columns, row) { touches[place].values[column] = Touch.plain(value) }
            }
        }
        return touches
    }
}

/// The observers that look at rows with one value in a column.
struct PinIndex: Sendable {
    /// By table, column and value.
    private var ids: [String: [String: [StoredValue: Set<Hub.ID>]]] = [:]

    var columns: [String: [String]] { ids.mapValues { $0.keys.sorted() } }

    mutating func add(_ pin: Interest.Pin, _ id: Hub.ID) {
        ids[pin.table, default: [:]][pin.column, default: [:]][pin.value, default: []].insert(id)
    }

    mutating func remove(_ pin: Interest.Pin, _ id: Hub.ID) {
        ids[pin.table]?[pin.column]?[pin.value]?.remove(id)
        if ids[pin.table]?[pin.column]?[pin.value]?.isEmpty == true { ids[pin.table]?[pin.column]?[pin.value] = nil }
        if ids[pin.table]?[pin.column]?.isEmpty == true { ids[pin.table]?[pin.column] = nil }
        if ids[pin.table]?.isEmpty == true { ids[pin.table] = nil }
    }

    /// Whom a write may concern.
    func concerned(_ touch: Touch) -> [Hub.ID] {
        guard let columns = ids[touch.table] else { return [] }
        return columns.flatMap { column, byValue -> [Hub.ID] in
            guard let values = touch.values(of: column) else { return byValue.values.flatMap { Array($0) } }
            return values.flatMap { Array(byValue[$0] ?? []) }
        }
    }
}
