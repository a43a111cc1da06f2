/// Ordered links, whose rows stand in a table of their own.
extension WriteTransaction {
    /// The statements of a link's table, which most often is the one before.
    private func listTable(_ link: ChangeSet.Relink) -> ListTable {
        let isNew = link.isOfNewRow
        if let last = lastList, last.table == link.table, last.property == link.property, last.isNew == isNew {
            return last.list
        }
        let list = ListTable(link)
        lastList = (link.table, link.property, isNew, list)
        return list
    }

    /// Edits the rows of an ordered link: as few as the longest common subsequence allows, for a move one.
    func relink(_ link: ChangeSet.Relink) throws -> ChangeSet.Found? {
        let (list, id) = (listTable(link), ListID(link))
        let isEmpty = link.base.isEmpty && link.targets.count >= link.targetColumns.count
        let edits = isEmpty ? nil : try edits(list, link, id)
        // If an edit fails, nothing is known of the list.
        context.knownLists.forget(id)
        if isEmpty {
            if let found = try fill(list, link) { return found }
        } else if let edits {
            for edit in edits { try execute(list.bound(edit, link)) }
        } else {
            let rows = try rows(list, link)
            let found = rows.flatMap(\.target)
            guard found == link.base else {
                if found.isEmpty, try isGone(link) { return .gone }
                return .list(found)
            }
            for edit in list.edits(link, of: rows) { try execute(edit) }
        }
        if link.targets.count >= KnownLists.least {
            context.knownLists.learn(link.targets, id, at: try databaseVersion())
        }
        return nil
    }

    /// Writes the rows of a list that is empty.
    private func fill(_ list: ListTable, _ link: ChangeSet.Relink) throws -> ChangeSet.Found? {
        let width = link.targetColumns.count
        let count = link.targets.count / width
        if link.isOfNewRow, newOwners.has(link.key, link.table) {
            try fill(list.filling(connection), link, 0..<count)
            context.knownLists.noteOrderly(count)
            return nil
        }
        // The first row goes in only if nobody else filled the list: no statement is spent on looking.
        try connection.execute(
            list.insertFirst,
            link.key + [.integer(RecordLayout.listSpacing)] + link.targets[..<width] + link.key
                + (link.isOfNewRow ? [] : link.key))
        if connection.changeCount == 0 {
            return try isGone(link) ? .gone : .list(rows(list, link).flatMap(\.target))
        }
        if count > 1 { try fill(list.filling(connection), link, 1..<count) }
        context.knownLists.noteOrderly(count)
        return nil
    }

    /// Adds the rows of an ordered link at these indices, which nobody has taken.
    private func fill(_ insert: Statement, _ link: ChangeSet.Relink, _ indices: Range<Int>) throws {
        let width = link.targetColumns.count
        let position = link.key.count
        try connection.executeEach(insert, indices) { index in
            if index == indices.lowerBound { try insert.bind(link.key[...], at: 0) }
            try insert.bind(.integer(Int64(index + 1) * RecordLayout.listSpacing), at: position)
            for part in 0..<width { try insert.bind(link.targets[index * width + part], at: position + 1 + part) }
        }
    }

    private func execute(_ statement: RowStatements.Bound) throws {
        try connection.execute(statement.sql, statement.values)
        noteOrderly()
    }

    /// The edits of a list that is stored as the link has read it; nil if it is not, or if all rows need other positions.
    private func edits(_ list: ListTable, _ link: ChangeSet.Relink, _ id: ListID) throws -> [ListEdit]? {
        let ranges = link.differing
        let width = link.targetColumns.count
        let last = link.base.count / width - ranges.base.lowerBound
        let found: [ListRow]?
        if last <= Self.few, link.base.count >= KnownLists.least,
            context.knownLists.holds(link.base, id, at: try databaseVersion())
        {
            found = try lastRows(list, link, last)
        } else {
            found = try rows(list, link, at: ranges.base)
        }
        guard let rows = found?.prefix(ranges.base.count) else { return nil }
        let targets = link.targets[ranges.targets.lowerBound * width..<ranges.targets.upperBound * width]
        return ListEdit.edits(
            from: rows.map(\.target), rows.map(\.position), to: link.parted(Array(targets)),
            gap: RecordLayout.listSpacing)
    }

    /// How many rows from the end are read of a list that is known.
    private static let few = 16

    /// Whether the row that the links are of is gone.
    private func isGone(_ link: ChangeSet.Relink) throws -> Bool {
        guard !link.keyColumns.isEmpty else { return false }
        return try connection.rows(RowStatements.select(link.table, [], link.keyColumns), link.key).isEmpty
    }

    private func databaseVersion() throws -> KnownLists.DatabaseVersion {
        if dataVersion == nil { dataVersion = try connection.dataVersion() }
        return context.knownLists.databaseVersion(dataVersion, changes: connection.totalChangeCount)
    }
}
