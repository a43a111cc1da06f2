/// How a record type lies in the file.
///
/// A table a record, keyed by the record's id; foreign keys by id, checked at commit; a table
/// `<record>_<property>` for each ordered link, clustered on (owner, position) with gaps between positions.
struct Layout {
    /// The record's own table, then those of its ordered links.
    let tables: [TableLayout]

    /// The distance between the positions of neighbours in a new list.
    static let gap: Int64 = 1 << 20

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

/// The record's table and the property that an ordered link's table belongs to.
struct ListOwner {
    let table: String
    let property: String
}

/// One table as the records want it.
struct TableLayout {
    struct Column {
        var name: String
        var storage: StorageClass
        var isNullable: Bool
        /// What the file has for a default, which the records do not say.
        var preset: String?
    }

    /// Columns that hold the key of a row of another table, which is checked at commit.
    struct Link {
        var columns: [String]
        var target: String
        /// What becomes of rows when the row that they point to goes.
        var onDelete: OnDelete
        /// What its index is called; nil if the table's key serves as one.
        var indexName: String?
    }

    enum OnDelete: Sendable {
        case nothing, cascade, setNull
    }

    struct Index {
        var name: String
        var columns: [String]
        var isUnique: Bool
        /// The rows that it is of, as the definition has it; nil for all.
        var filter: String?
    }

    var name: String
    /// What declares it, for messages: record types, or properties of such.
    private(set) var record: String
    /// For the table of an ordered link: whose it is.
    var owner: ListOwner?
    var columns: [Column] = []
    let key: [String]
    var links: [Link] = []
    var indexes: [Index] = []
    /// The full-text index.
    var text: TextIndex?
    /// Whether rows lie in the order of the key.
    var isClustered = false
    /// Whether something else has made it, and keeps it.
    var isAdopted = false

    init(name: String, record: String, key: [String]) {
        self.name = name
        self.record = record
        self.key = key
    }

    /// The name that the store gives an index.
    func indexName(_ columns: [String], isPartial: Bool = false) -> String {
        "\(name)_\(columns.joined(separator: "_"))\(isPartial ? "_where" : "")"
    }

    /// Adds an index. Of two with the same columns one is left, unique if one of them was.
    fileprivate mutating func add(_ columns: [String], isUnique: Bool, filter: String?) {
        if let place = indexes.firstIndex(where: { $0.columns == columns && $0.filter == filter }) {
            indexes[place].isUnique = indexes[place].isUnique || isUnique
        } else {
            let name = indexName(columns, isPartial: filter != nil)
            indexes.append(Index(name: name, columns: columns, isUnique: isUnique, filter: filter))
        }
    }

    /// Adds the indexes of links that have none yet.
    fileprivate mutating func indexLinks() {
        for link in links {
            guard let name = link.indexName,
                !indexes.contains(where: { $0.columns == link.columns && $0.filter == nil })
            else { continue }
            indexes.append(Index(name: name, columns: link.columns, isUnique: false))
        }
    }

    /// The tables, those of one name as one: records that share a table have their columns side by side in it.
    ///
    /// - Throws: ``GraphError`` that lists what two records say differently of one table.
    static func merged(_ tables: [TableLayout]) throws -> [TableLayout] {
        var merged: [TableLayout] = []
        var mistakes: [String] = []
        for table in tables {
            if let place = merged.firstIndex(where: { $0.name == table.name }) {
                merged[place].take(table, &mistakes)
            } else {
                merged.append(table)
            }
        }
        guard mistakes.isEmpty else { throw GraphError(.invalidSchema, mistakes.joined(separator: "\n")) }
        return merged
    }

    private mutating func take(_ other: TableLayout, _ mistakes: inout [String]) {
        func differ(_ what: String) {
            mistakes.append(
                "\(name): \(record) and \(other.record) have another \(what); give it the same type in both")
        }
        if key != other.key { differ("key") }
        if isAdopted != other.isAdopted { differ("isAdopted") }
        for column in other.columns {
            if let own = columns.first(where: { $0.name == column.name }) {
                if Dialect.type(own) != Dialect.type(column) { differ(column.name) }
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
        for index in other.indexes {
            if let place = indexes.firstIndex(where: { $0.columns == index.columns && $0.filter == index.filter }) {
                indexes[place].isUnique = indexes[place].isUnique || index.isUnique
            } else {
                indexes.append(index)
            }
        }
        record += " and \(other.record)"
    }

    /// FNV-1a of the definitions: changes when the layout does.
    var fingerprint: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let texts = [Dialect.create(self)] + indexes.map { Dialect.create($0, on: name) }.sorted()
        for byte in texts.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
