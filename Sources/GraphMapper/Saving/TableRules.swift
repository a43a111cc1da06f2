/// What a database checks about the rows of one table: the order of a save follows from it.
struct TableRules {
    /// A foreign key: the columns, and the table whose key they hold.
    struct Reference {
        var columns: [String]
        var table: String
        var property: String
    }

    var columns: [String] = []
    var key: [String] = []
    var nullable: Set<String> = []
    /// The columns of each unique index, the key's not among them.
    var unique: [[String]] = []
    var references: [Reference] = []
    /// For each ordered link, the table that it points to.
    var lists: [String: String] = [:]
    /// The property that a column belongs to.
    var properties: [String: String] = [:]
    /// The column that counts a row's updates, if there is one.
    var version: String?

    /// Whether an update may change a part of a unique value or of a foreign key: then what the rest of the row holds
    /// must be known.
    var hasCompounds: Bool { unique.contains { $0.count > 1 } || references.contains { $0.columns.count > 1 } }

    init<D>(_ schema: Schema<D>) {
        for property in schema.properties where !property.isNested {
            if let link = property.link {
                if link.isList {
                    lists[property.name] = link.table()
                } else {
                    references.append(
                        Reference(columns: property.columnNames, table: link.table(), property: property.name))
                }
            }
            for (name, column) in zip(property.columnNames, property.columns) {
                columns.append(name)
                properties[name] = property.name
                if column.isNullable { nullable.insert(name) }
            }
        }
        key = schema.key?.columnNames ?? []
    }

    /// Two DTO types may describe one table.
    mutating func merge(_ other: TableRules) {
        columns += other.columns.filter { !columns.contains($0) }
        nullable.formUnion(other.nullable)
        references += other.references.filter { new in !references.contains { $0.columns == new.columns } }
        lists.merge(other.lists) { old, _ in old }
        properties.merge(other.properties) { old, _ in old }
        version = version ?? other.version
    }
}

/// A row of whichever table.
package struct RowID: Hashable {
    package var table: String
    package var key: [StoredValue]
}

extension ChangeSet.Change {
    /// The row that the change is of; for links, the row that has them.
    package var row: RowID {
        switch self {
        case .insert(let row): RowID(table: row.table, key: row.key)
        case .update(let row): RowID(table: row.table, key: row.key)
        case .relink(let link): RowID(table: link.table, key: link.key)
        case .delete(let row): RowID(table: row.table, key: row.key)
        }
    }
}

extension RowID: CustomStringConvertible {
    package var description: String { "\(table)(\(key.map(\.description).joined(separator: ", ")))" }
}

extension SessionCore {
    /// The rules of a table.
    func rules(of name: String) -> TableRules? {
        var rules: TableRules?
        for table in order where table.name == name {
            guard let found = table.rules else { continue }
            if rules == nil { rules = found } else { rules?.merge(found) }
        }
        rules?.unique = uniqueColumns(name)
        return rules
    }

    /// The rules of the tables that a change set touches, by name.
    func rules(for changes: [ChangeSet.Change]) -> [String: TableRules] {
        var rules: [String: TableRules] = [:]
        var last: String?
        for change in changes where change.table != last {
            let name = change.table
            last = name
            if rules[name] == nil { rules[name] = self.rules(of: name) }
        }
        return rules
    }
}

extension EntityTable {
    /// What a save may need to know of an updated row besides the columns that it writes.
    func note(_ old: D, _ new: D, in plan: inout WritePlan) {
        plan.whole.append { D.schema.insertion(of: new) }
        guard hasCompounds else { return }
        var key: [StoredValue] = []
        old.id.encode(into: &key)
        plan.images[RowID(table: D.schema.name, key: key)] = columnValues(of: old)
    }

    /// What a save may need to know of a deleted row.
    func noteDeleted(_ old: D, in plan: inout WritePlan) {
        guard !core.defersForeignKeys() else { return }
        var key: [StoredValue] = []
        old.id.encode(into: &key)
        var held: [RowID] = []
        for property in D.schema.properties where property.isList {
            guard let link = property.link else { continue }
            let width = max(1, link.keyColumns.count)
            let values = property.stored(old)
            for start in stride(from: 0, to: values.count, by: width) {
                held.append(RowID(table: link.table(), key: Array(values[start..<start + width])))
            }
        }
        if !held.isEmpty { plan.held[RowID(table: D.schema.name, key: key)] = held }
    }

    /// The values of a row's columns, in the order of ``TableRules/columns``.
    func columnValues(of dto: D) -> [StoredValue] {
        var values: [StoredValue] = []
        for property in D.schema.properties where !property.isNested && !property.isList {
            property.encode(dto, &values)
        }
        return values
    }

    /// The slots of loaded objects by their keys. Complexity: O(objects).
    func keySlots() -> [[StoredValue]: Int] {
        var slots: [[StoredValue]: Int] = [:]
        for slot in snapshots.indices {
            guard let old = snapshots[slot] else { continue }
            var key: [StoredValue] = []
            old.id.encode(into: &key)
            slots[key] = slot
        }
        return slots
    }
}

extension ChangeSet.Change {
    /// The name of the table.
    var table: String {
        switch self {
        case .insert(let row): row.table
        case .update(let row): row.table
        case .relink(let link): link.table
        case .delete(let row): row.table
        }
    }
}
