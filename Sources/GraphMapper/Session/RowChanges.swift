extension Schema where D: Identifiable, D.ID: Storable {
    /// What inserts a DTO's row: the row, then its ordered links.
    public func insertion(of dto: D) -> (row: ChangeSet.Change, links: [ChangeSet.Change]) {
        var row = ChangeSet.Insertion(table: name, columns: columnNames, values: [], key: key(of: dto))
        row.values.reserveCapacity(columnNames.count)
        var links: [ChangeSet.Change] = []
        for property in properties where !property.isNested {
            if property.isList {
                let targets = property.stored(dto)
                if !targets.isEmpty { links.append(relink(property, row.key, [], targets)) }
            } else {
                property.encode(dto, &row.values)
                if property.isLazy, row.values.count < row.columns.count { leaveOut(property, &row) }
            }
        }
        return (.insert(row), links)
    }

    /// A lazy value that is not there encodes to nothing: its columns are left to the engine.
    private func leaveOut(_ property: Property<D>, _ row: inout ChangeSet.Insertion) {
        guard row.columns.dropFirst(row.values.count).starts(with: property.columnNames) else { return }
        row.columns.removeSubrange(row.values.count..<row.values.count + property.columns.count)
    }

    /// What makes `old` into `new`, but for what `new` leaves unset, the names of the properties that are written among it.
    ///
    /// - Parameter all: whether to write properties that are the same too.
    public func update(
        from old: D, to new: D, all: Bool = false
    ) -> (row: ChangeSet.Change?, links: [ChangeSet.Change], properties: [String]) {
        var row = ChangeSet.Update(
            table: name, keyColumns: keyColumns, key: key(of: old), columns: [], values: [], expected: [])
        var links: [ChangeSet.Change] = []
        var names: [String] = []
        for property in properties where !property.isNested && (all || !property.isSame(old, new)) {
            // What was not read cannot be compared with what is stored: it is set by a patch.
            if property.isUnset(new) || property.isLazy || property.isKey && all { continue }
            names.append(property.name)
            let before = property.stored(old)
            let after = property.stored(new)
            if property.isList {
                links.append(relink(property, row.key, before, after))
                continue
            }
            for (column, pair) in zip(property.columnNames, zip(before, after)) where all || pair.0 != pair.1 {
                row.columns.append(column)
                row.expected.append(pair.0)
                row.values.append(pair.1)
            }
        }
        return (row.columns.isEmpty ? nil : .update(row), links, names)
    }

    /// What deletes a DTO's row.
    public func deletion(of dto: D) -> ChangeSet.Change {
        .delete(.init(table: name, keyColumns: keyColumns, key: key(of: dto)))
    }

    private var keyColumns: [String] { key?.columnNames ?? [] }

    private func key(of dto: D) -> [StoredValue] {
        var key: [StoredValue] = []
        dto.id.encode(into: &key)
        return key
    }

    private func relink(
        _ property: Property<D>, _ key: [StoredValue], _ base: [StoredValue], _ targets: [StoredValue]
    ) -> ChangeSet.Change {
        let columns = linkColumns(of: property)
        return .relink(
            .init(
                table: name, property: property.name, key: key, base: base, targets: targets,
                ownerColumns: columns.owner, targetColumns: columns.target))
    }
}

extension Schema {
    /// The DTO of a row: what an insertion takes apart. For sources that keep rows as change sets have them.
    ///
    /// - Parameters:
    ///   - columns: the values by the columns' names; one that is missing counts as NULL.
    ///   - links: the targets' keys of each ordered link, one after the other, by the property's name.
    /// - Throws: ``GraphError`` that names the column which does not fit its property.
    public func dto(columns: [String: StoredValue], links: [String: [StoredValue]] = [:]) throws -> D {
        func rows(_ values: [StoredValue]) -> LinkRows {
            let rows = LinkRows()
            for value in values { rows.append(value) }
            rows.current = 0..<values.count
            return rows
        }
        let lists = properties.filter(\.isList).map { rows(links[$0.name] ?? []) }
        let names = properties.flatMap { $0.isLazy ? [] : $0.columnNames }
        return try rows(names.map { columns[$0] ?? .null }).withCursor(lists: LinkLists(lists)) { cursor in
            var isFirst = true
            let dtos = try decode(cursor) {
                defer { isFirst = false }
                return isFirst
            }
            return dtos[0]
        }
    }
}

extension Property {
    /// The property's stored values.
    func stored(_ dto: D) -> [StoredValue] {
        var values: [StoredValue] = []
        encode(dto, &values)
        return values
    }
}
