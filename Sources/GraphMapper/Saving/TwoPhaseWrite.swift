/// How a row is written in two steps, of which the first lets something in between.
extension WriteOrder {
    func twoPhases(_ place: Int) -> (first: ChangeSet.Change, second: ChangeSet.Change) {
        let change = changes[place]
        var patched: [String] = []
        for edge in edges {
            let column =
                edge.from == place ? edge.fromPatch : edge.to == place && isInsertion(place) ? edge.toPatch : nil
            if let column, !patched.contains(column) { patched.append(column) }
        }
        let nullable = rules[change.table]?.nullable ?? []
        func placeholder(_ column: String, _ value: StoredValue) -> StoredValue {
            nullable.contains(column) ? .null : value.unused(by: change.row)
        }
        switch change {
        case .insert(var row):
            var update = ChangeSet.Update(
                table: row.table, keyColumns: rules[row.table]?.key ?? [], key: row.key, columns: [], values: [],
                expected: [])
            for (place, column) in row.columns.enumerated() where patched.contains(column) {
                let value = row.values[place]
                row.values[place] = placeholder(column, value)
                update.columns.append(column)
                update.values.append(value)
                update.expected.append(row.values[place])
            }
            return (.insert(row), .update(update))
        case .update(var row):
            let first = placeholders(change, row.keyColumns, row.columns, &row.expected, patched, placeholder)
            return (first, .update(row))
        case .delete(var row):
            let first = placeholders(change, row.keyColumns, row.columns, &row.expected, patched, placeholder)
            return (first, .delete(row))
        case .relink(var link):
            var first = link
            first.targets = link.parted(link.base).kept(in: link.parted(link.targets)).flatMap { $0 }
            link.base = first.targets
            return (.relink(first), .relink(link))
        }
    }

    /// The update that comes first, and makes what the second step expects.
    private func placeholders(
        _ change: ChangeSet.Change, _ keyColumns: [String], _ columns: [String], _ expected: inout [StoredValue],
        _ patched: [String], _ placeholder: (String, StoredValue) -> StoredValue
    ) -> ChangeSet.Change {
        var first = ChangeSet.Update(
            table: change.table, keyColumns: keyColumns, key: change.row.key, columns: [], values: [], expected: [],
            isInterim: true)
        for (place, column) in columns.enumerated() where patched.contains(column) {
            first.columns.append(column)
            first.expected.append(expected[place])
            expected[place] = placeholder(column, expected[place])
            first.values.append(expected[place])
        }
        return .update(first)
    }
}

extension [[StoredValue]] {
    /// Those that the other list has too, as often as it has them.
    fileprivate func kept(in other: [[StoredValue]]) -> [[StoredValue]] {
        var left: [[StoredValue]: Int] = [:]
        for key in other { left[key, default: 0] += 1 }
        return filter { key in
            guard let count = left[key], count > 0 else { return false }
            left[key] = count - 1
            return true
        }
    }
}

extension StoredValue {
    /// A value of the same kind that no row has, the same each time: it is made from the row's key, and is gone before
    /// the transaction ends.
    fileprivate func unused(by row: RowID) -> StoredValue {
        let name = "\u{1}graphmapper: making room for \(row)"
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let number = hash & (1 << 62 - 1)
        switch self {
        case .integer: return .integer(Int64.min + Int64(number))
        case .real: return .real(-Double(number) * 1e280)
        case .blob: return .blob(Array(name.utf8))
        case .text, .null: return .text(name)
        }
    }
}
