/// Which indexes are dropped, and which made.
extension Installation {
    func indexChanges(_ tables: [(TableLayout, [StoredTable.StoredIndex])]) throws -> [Step] {
        var drops: [Step] = []
        var makes: [(TableLayout, TableLayout.IndexLayout)] = []
        var names = Set(try connection.foldedNames())
        for table in self.tables { names.insert(.text(table.name.lowercased())) }
        for (table, stored) in tables {
            let isStoreOwned = stored.map { $0.isOwn && Self.isStoreOwned($0, table) }
            var used: Set<String> = []
            for index in table.indexes {
                // A unique index serves as a plain one, but for the store's own, which the record no longer declares.
                let serving = zip(stored, isStoreOwned).first { found, isStoreOwned in
                    if index.filter != nil {
                        var same = index
                        same.name = found.name
                        return found.sql == Dialect.create(same, on: table.name)
                    }
                    return found.columns == index.columns && found.isPlain && !found.isKey
                        && (found.isUnique == index.isUnique || found.isUnique && !isStoreOwned)
                }
                if let serving { used.insert(serving.0.name) } else { makes.append((table, index)) }
            }
            for (index, isStoreOwned) in zip(stored, isStoreOwned) where isStoreOwned && !used.contains(index.name) {
                drops.append(Step(sql: "DROP INDEX \(Dialect.quoted(index.name))"))
                names.remove(.text(index.name.lowercased()))
            }
        }
        return drops
            + makes.map { table, index in
                var index = index
                index.name = Self.free(index.name, &names)
                return Step(sql: Dialect.create(index, on: table.name), unique: index.isUnique ? (table, index) : nil)
            }
    }

    /// Whether the index has the name that the store would have given it.
    private static func isStoreOwned(_ index: StoredTable.StoredIndex, _ table: TableLayout) -> Bool {
        guard let columns = index.columns else { return false }
        let partial = [table.indexName(columns, isPartial: true)]
        let names =
            !index.isPlain
            ? partial
            : [table.indexName(columns)] + table.links.filter { $0.columns == columns }.compactMap(\.indexName)
        return names.contains { name in
            guard index.name.hasPrefix(name) else { return false }
            let rest = index.name.dropFirst(name.count)
            return rest.isEmpty || rest.first == " " && Int(rest.dropFirst()) != nil
        }
    }

    /// Whether the index has a name that the store would have given it in such a table, whatever the record.
    static func isStoreOwned(_ index: StoredTable.StoredIndex, of table: String) -> Bool {
        guard index.isOwn, let columns = index.columns else { return false }
        let layout = TableLayout(name: table, record: table, key: [])
        let words = index.name.split(separator: " ")
        let end = words.count > 1 && words.last.flatMap { Int($0) } != nil ? " \(words.last ?? "")" : ""
        let name = index.name.dropLast(end.count)
        if !index.isPlain { return name == layout.indexName(columns, isPartial: true) }
        return name == layout.indexName(columns) || name == "\(table)_target"
            || name.hasPrefix("\(table)_") && name.hasSuffix("_link")
    }

    /// The name, with a number if something else in the file is called so.
    private static func free(_ name: String, _ names: inout Set<StoredValue>) -> String {
        var free = name
        var number = 2
        while !names.insert(.text(free.lowercased())).inserted {
            free = "\(name) \(number)"
            number += 1
        }
        return free
    }

    func duplicates(_ table: TableLayout, _ index: TableLayout.IndexLayout) throws -> StoreError {
        let columns = Dialect.list(index.columns)
        let isThere =
            (index.columns.map { "\(Dialect.quoted($0)) IS NOT NULL" } + (index.filter.map { ["(\($0))"] } ?? []))
            .joined(separator: " AND ")
        let row =
            try connection.peekAll(
                "SELECT count(*), \(columns) FROM \(Dialect.quoted(table.name)) WHERE \(isThere) GROUP BY \(columns) "
                    + "HAVING count(*) > 1 LIMIT 1", []
            ).first ?? []
        let path = "\(table.name).\(index.columns.joined(separator: ", "))"
        let values = row.dropFirst().map(\.description).joined(separator: ", ")
        return StoreError(
            .schemaMismatch,
            "\(table.record) says that \(path) is unique, and \(row.first?.description ?? "several") rows have \(values); "
                + "give them values of their own, or declare the index with .on",
            table: table.name, column: index.columns.joined(separator: ", "))
    }
}
