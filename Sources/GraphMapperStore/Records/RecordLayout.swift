/// How a record type lies in the file.
///
/// A table a record, keyed by the record's id; foreign keys by id, checked at commit; a table
/// `<record>_<property>` for each ordered link, clustered on (owner, position) with gaps between positions.
struct RecordLayout {
    /// The record's own table, then those of its ordered links.
    let tables: [TableLayout]

    /// The distance between the positions of neighbours in a new list.
    static let listSpacing: Int64 = 1 << 20

    /// The name of an ordered link's table.
    static func listTable(_ table: String, _ property: String) -> String { "\(table)_\(property)" }

    init<R: StoredRecord>(_ type: R.Type) {
        let schema = R.schema
        var table = TableLayout(name: schema.name, record: "\(R.self)", key: schema.key?.columnNames ?? [])
        var lists: [TableLayout] = []
        for property in schema.properties where !property.isNested {
            if let link = property.link, link.isList {
                lists.append(Self.list(schema, property, link))
                continue
            }
            table.columns += zip(property.columnNames, property.columns).map {
                TableLayout.Column(name: $0, storage: $1.storage, isNullable: $1.isNullable)
            }
            if let link = property.link {
                table.links.append(
                    .init(
                        columns: property.columnNames, target: link.table(),
                        onDelete: R.linkRule(at: property.path).map { $0.cascades ? .cascade : .setNull } ?? .nothing,
                        indexName: "\(schema.name)_\(property.name)_link"))
            }
        }
        for index in R.indexes {
            let columns = index.names
            if index.kind == .text {
                table.text = R.textIndex
            } else {
                // One whose filter cannot be written is a mistake, which opening raises before the layout is used.
                table.add(columns, isUnique: index.isUnique, filter: (try? index.filterText()) ?? nil)
            }
        }
        table.indexLinks()
        tables = ([table] + lists).map { table in
            var table = table
            table.isAdopted = R.isAdopted
            return table
        }
    }

    private static func list<R: StoredRecord>(
        _ schema: Schema<R>, _ property: Property<R>, _ link: LinkTarget
    ) -> TableLayout {
        let name = listTable(schema.name, property.name)
        let columns = schema.linkColumns(of: property)
        func typed(_ names: [String], _ key: [Column]) -> [TableLayout.Column] {
            zip(names, key).map { TableLayout.Column(name: $0, storage: $1.storage, isNullable: false) }
        }
        var table = TableLayout(name: name, record: "\(R.self).\(property.name)", key: columns.owner + ["position"])
        table.columns =
            typed(columns.owner, schema.key?.columns ?? [Column(.blob)])
            + [.init(name: "position", storage: .integer, isNullable: false)] + typed(columns.target, link.keyColumns)
        table.links = [
            .init(columns: columns.owner, target: schema.name, onDelete: .cascade, indexName: nil),
            .init(
                columns: columns.target, target: link.table(),
                onDelete: R.linkRule(at: property.path) == nil ? .nothing : .cascade, indexName: "\(name)_target"),
        ]
        table.isClustered = true
        table.owner = ListOwner(table: schema.name, property: property.name)
        table.indexLinks()
        return table
    }
}

extension StoredRecord {
    /// The record's full-text index.
    static var textIndex: TextIndexLayout? {
        guard let index = indexes.first(where: { $0.kind == .text }) else { return nil }
        return TextIndexLayout(
            table: schema.name, columns: index.names, key: keyColumnNames,
            storage: schema.key?.columns.map(\.storage) ?? [])
    }
}

extension LinkListSource {
    /// Nil if the schema does not read the list.
    init?<R: StoredRecord, S: StoredRecord>(_ type: R.Type, _ path: AnyKeyPath, _ target: S.Type) {
        guard let property = R.schema.property(at: path), property.isList else { return nil }
        table = RecordLayout.listTable(R.schema.name, property.name)
        (ownerColumns, targetColumns) = R.schema.linkColumns(of: property)
        self.target = S.schema.name
        targetKey = S.keyColumnNames
    }
}
