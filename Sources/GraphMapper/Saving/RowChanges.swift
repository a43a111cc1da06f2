extension Schema where D: Identifiable, D.ID: Storable {
    /// What inserts a DTO's row: the row, then its ordered links.
    public func insertion(of dto: D) -> (row: ChangeSet.Change, links: [ChangeSet.Change]) {
        if hasLazy { return insertion(leavingOutUnread: dto) }
        var row = ChangeSet.Insertion(table: name, columns: columnNames, values: [], key: key(of: dto))
        row.values.reserveCapacity(columnNames.count)
        encode(dto, &row.values)
        return (.insert(row), insertedLinks(of: dto, row.key))
    }

    /// A lazy value that is unread encodes to nothing: its columns are left to the engine.
    private func insertion(leavingOutUnread dto: D) -> (row: ChangeSet.Change, links: [ChangeSet.Change]) {
        var row = ChangeSet.Insertion(table: name, columns: [], values: [], key: key(of: dto))
        for property in properties where !property.isNested && !property.isList {
            let before = row.values.count
            property.encode(dto, &row.values)
            if row.values.count > before { row.columns += property.columnNames }
        }
        return (.insert(row), insertedLinks(of: dto, row.key))
    }

    /// What inserts the ordered links of a row that is new.
    package func insertedLinks(of dto: D, _ key: [StoredValue]) -> [ChangeSet.Change] {
        var links: [ChangeSet.Change] = []
        for place in lists {
            let targets = properties[place].stored(dto)
            if !targets.isEmpty { links.append(relink(properties[place], key, [], targets, of: [])) }
        }
        return links
    }

    /// What makes `old` into `new`, but for what `new` leaves unset, the names of the properties that are written among it.
    ///
    /// - Parameters:
    ///   - all: whether to write properties that are the same too.
    ///   - only: the properties that may be written; nil for all.
    public func update(
        from old: D, to new: D, all: Bool = false, only: Set<AnyKeyPath>? = nil
    ) -> (row: ChangeSet.Change?, links: [ChangeSet.Change], properties: [String]) {
        var row = ChangeSet.Update(
            table: name, keyColumns: keyColumns, key: key(of: old), columns: [], values: [], expected: [])
        var links: [ChangeSet.Change] = []
        var names: [String] = []
        for place in properties.indices
        where !properties[place].isNested && only?.contains(properties[place].path) != false {
            if hasLazy, properties[place].isLazy, properties[place].stored(old).isEmpty {
                // What was not read is not compared; what is not read now is left.
                let values = properties[place].stored(new)
                guard !values.isEmpty else { continue }
                names.append(properties[place].name)
                row.unread += properties[place].columnNames
                row.unreadValues += values
                continue
            }
            if !all, properties[place].isSame(old, new) { continue }
            let property = properties[place]
            if property.isUnset(new) || property.isKey && all { continue }
            let before = property.stored(old)
            let after = property.stored(new)
            if property.isLazy, after.isEmpty { continue }
            names.append(property.name)
            if property.isList {
                links.append(relink(property, row.key, before, after, of: keyColumns))
                continue
            }
            // The columns of a foreign key mean something only together.
            let isWhole = all || property.link != nil
            for (column, pair) in zip(property.columnNames, zip(before, after)) where isWhole || pair.0 != pair.1 {
                row.columns.append(column)
                row.expected.append(pair.0)
                row.values.append(pair.1)
            }
        }
        return (row.columns.isEmpty && row.unread.isEmpty ? nil : .update(row), links, names)
    }

    /// Lets an update be applied only if what is stored is as in `base`.
    func expect(
        _ base: D, in change: inout (row: ChangeSet.Change?, links: [ChangeSet.Change], properties: [String])
    ) {
        var columns: [String: StoredValue] = [:]
        var lists: [String: [StoredValue]] = [:]
        for property in properties where !property.isNested {
            let values = property.stored(base)
            if property.isList {
                lists[property.name] = values
            } else {
                for (column, value) in zip(property.columnNames, values) { columns[column] = value }
            }
        }
        if case .update(var row) = change.row {
            for (place, column) in row.columns.enumerated() {
                if let value = columns[column] { row.expected[place] = value }
            }
            change.row = .update(row)
        }
        change.links = change.links.map { link in
            guard case .relink(var link) = link else { return link }
            link.base = lists[link.property] ?? link.base
            return .relink(link)
        }
    }

    /// What deletes a DTO's row, if its columns still hold what the DTO has.
    public func deletion(of dto: D) -> ChangeSet.Change {
        var row = ChangeSet.Deletion(table: name, keyColumns: keyColumns, key: key(of: dto))
        for property in properties
        where !property.isNested && !property.isList && !property.isKey && !property.isLazy {
            row.columns += property.columnNames
            property.encode(dto, &row.expected)
        }
        return .delete(row)
    }

    private var keyColumns: [String] { key?.columnNames ?? [] }

    private func key(of dto: D) -> [StoredValue] {
        var key: [StoredValue] = []
        dto.id.encode(into: &key)
        return key
    }

    @usableFromInline func relink(
        _ property: Property<D>, _ key: [StoredValue], _ base: [StoredValue], _ targets: [StoredValue],
        of keyColumns: [String]
    ) -> ChangeSet.Change {
        let columns = linkColumns(of: property)
        return .relink(
            .init(
                table: name, property: property.name, key: key, base: base, targets: targets,
                keyColumns: keyColumns, ownerColumns: columns.owner, targetColumns: columns.target))
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
