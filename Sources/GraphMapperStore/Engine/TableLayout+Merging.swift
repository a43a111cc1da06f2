extension TableLayout {
    /// The tables, those of one name as one: records that share a table have their columns side by side in it.
    ///
    /// - Throws: ``GraphError`` that lists what two records say differently of one table.
    static func merged(_ tables: [TableLayout]) throws -> [TableLayout] {
        var merged: [TableLayout] = []
        var diagnostics: [String] = []
        for table in tables {
            if let index = merged.firstIndex(where: { $0.name == table.name }) {
                merged[index].merge(table, &diagnostics)
            } else {
                merged.append(table)
            }
        }
        guard diagnostics.isEmpty else { throw GraphError(.invalidSchema, diagnostics.joined(separator: "\n")) }
        return merged
    }

    private mutating func merge(_ other: TableLayout, _ diagnostics: inout [String]) {
        func differ(_ what: String) {
            diagnostics.append(
                "\(name): \(record) and \(other.record) have another \(what); give it the same type in both")
        }
        if key != other.key { differ("key") }
        if isAdopted != other.isAdopted { differ("isAdopted") }
        for column in other.columns {
            if let own = columns.first(where: { $0.name == column.name }) {
                if own.storage != column.storage || own.isNullable != column.isNullable { differ(column.name) }
            } else {
                columns.append(column)
            }
        }
        for link in other.links {
            if let own = links.first(where: { $0.columns == link.columns }) {
                if own.target != link.target || own.onDelete != link.onDelete {
                    differ(link.columns.joined(separator: ", "))
                }
            } else if links.contains(where: { !Set($0.columns).isDisjoint(with: link.columns) }) {
                differ(link.columns.joined(separator: ", "))
            } else {
                links.append(link)
            }
        }
        if let other = other.text {
            if let own = text, own.columns != other.columns { differ("full-text index") }
            text = other
        }
        for added in other.indexes {
            if let index = indexes.firstIndex(where: { $0.columns == added.columns && $0.filter == added.filter }) {
                indexes[index].isUnique = indexes[index].isUnique || added.isUnique
            } else {
                indexes.append(added)
            }
        }
        record += " and \(other.record)"
    }
}
