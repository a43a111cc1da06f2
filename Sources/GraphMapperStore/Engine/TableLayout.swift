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

    struct IndexLayout {
        var name: String
        var columns: [String]
        var isUnique: Bool
        /// The rows that it is of, as the definition has it; nil for all.
        var filter: String?
    }

    var name: String
    /// What declares it, for messages: record types, or properties of such.
    var record: String
    /// For the table of an ordered link: whose it is.
    var owner: ListOwner?
    var columns: [Column] = []
    let key: [String]
    var links: [Link] = []
    var indexes: [IndexLayout] = []
    /// The full-text index.
    var text: TextIndexLayout?
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
    mutating func add(_ columns: [String], isUnique: Bool, filter: String?) {
        if let index = indexes.firstIndex(where: { $0.columns == columns && $0.filter == filter }) {
            indexes[index].isUnique = indexes[index].isUnique || isUnique
        } else {
            let name = indexName(columns, isPartial: filter != nil)
            indexes.append(IndexLayout(name: name, columns: columns, isUnique: isUnique, filter: filter))
        }
    }

    /// Adds the indexes of links that have none yet.
    mutating func indexLinks() {
        for link in links {
            guard let name = link.indexName,
                !indexes.contains(where: { $0.columns == link.columns && $0.filter == nil })
            else { continue }
            indexes.append(IndexLayout(name: name, columns: link.columns, isUnique: false))
        }
    }

}

/// The full-text index of a table.
struct TextIndexLayout {
    let table: String
    let columns: [String]
    let key: [String]
    /// Whether the key is a row's number.
    let isNumbered: Bool

    /// - Parameters:
    ///   - columns: whose texts are indexed.
    ///   - key: the table's key.
    ///   - storage: how the key is stored.
    init(table: String, columns: [String], key: [String], storage: [StorageClass]) {
        self.table = table
        self.columns = columns
        self.key = key
        isNumbered = storage == [.integer]
    }
}

/// The tables in which the store keeps its own books.
enum StoreTables {
    /// What the file says of itself.
    static let header = "graphmapper"
    /// The change records.
    static let changes = "graphmapper_change"
    static let all: Set<String> = [header, changes]
}
