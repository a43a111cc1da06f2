extension ReadTransaction {

    /// The last rows of an ordered link, so many, if they are as the link has read them.
    func lastRows(_ table: ListTable, _ link: ChangeSet.Relink, _ count: Int) throws -> [ListRow]? {
        let width = link.targetColumns.count
        let rows = try connection.rows(table.last, link.key + [.integer(Int64(count))]).reversed()
        guard rows.flatMap({ $0.dropFirst() }) == Array(link.base.suffix(count * width)) else { return nil }
        var found: [ListRow] = []
        for row in rows {
            guard case .integer(let position) = row[0] else { return nil }
            found.append(ListRow(position: position, target: Array(row.dropFirst())))
        }
        return found
    }

    /// The rows of an ordered link at these indices, if the whole is stored as the link has read it; else nil.
    ///
    /// Every row is looked at and none but these is kept. Complexity: O(the list), without an allocation a row.
    func rows(_ table: ListTable, _ link: ChangeSet.Relink, at indices: Range<Int>) throws -> [ListRow]? {
        let width = link.targetColumns.count
        var rows: [ListRow] = []
        var next = 0
        var isSame = true
        try connection.run(table.select, link.key) { row in
            let values = next * width..<(next + 1) * width
            isSame = isSame && values.upperBound <= link.base.count && row.holds(link.base[values], from: 1)
            guard isSame, indices.contains(next) else {
                next += 1
                return
            }
            next += 1
            guard case .integer(let position) = row.value(0) else {
                isSame = false
                return
            }
            rows.append(ListRow(position: position, target: Array(link.base[values])))
        }
        return isSame && next * width == link.base.count ? rows : nil
    }

    /// The rows of an ordered link, in order.
    func rows(_ table: ListTable, _ link: ChangeSet.Relink) throws -> [ListRow] {
        try connection.rows(table.select, link.key).map { row in
            guard case .integer(let position)? = row.first else {
                throw StoreError(
                    .constraint, "a position in the list is \(row[0]), not a whole number; correct it in the file",
                    table: RecordLayout.listTable(link.table, link.property),
                    key: link.key.map(\.description).joined(separator: ", "), column: "position")
            }
            return ListRow(position: position, target: Array(row.dropFirst()))
        }
    }
}
