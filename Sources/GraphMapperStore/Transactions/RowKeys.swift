/// Keys of rows of some tables. Most often they are asked for in the order in which they came.
struct RowKeys {
    private struct Table {
        let name: String
        var keys: [RowKey] = []
        /// The one that was asked for last.
        var next = 0
        /// All of them, once another order was seen.
        var all: Set<RowKey>?

        mutating func has(_ key: RowKey) -> Bool {
            if let all { return all.contains(key) }
            while next < keys.count {
                if keys[next] == key { return true }
                next += 1
            }
            let all = Set(keys)
            self.all = all
            return all.contains(key)
        }
    }

    private var tables: [Table] = []

    mutating func insert(_ key: [StoredValue], _ table: String) {
        let index = index(of: table) ?? tables.count
        if index == tables.count { tables.append(Table(name: table)) }
        let key = RowKey(key[...])
        tables[index].keys.append(key)
        tables[index].all?.insert(key)
    }

    mutating func has(_ key: [StoredValue], _ table: String) -> Bool {
        guard let index = index(of: table) else { return false }
        return tables[index].has(RowKey(key[...]))
    }

    mutating func removeAll() { tables.removeAll() }

    private func index(of table: String) -> Int? {
        for index in tables.indices where tables[index].name == table { return index }
        return nil
    }
}
