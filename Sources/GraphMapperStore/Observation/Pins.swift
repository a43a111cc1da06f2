extension WriteTransaction {
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
                let row = try connection.peekAll(sql, touches[place].key ?? []).first ?? []
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
            if touch.key != nil, let value = touch.lasting(column) { return Array(byValue[value] ?? []) }
            return byValue.values.flatMap { Array($0) }
        }
    }
}
