/// Says which link keeps a transaction from being committed.
struct DanglingLink {
    private let connection: Connection
    private let lists: [String: ListOwner]
    private let wasWritten: (_ table: String, _ key: [StoredValue]) -> Bool

    /// - Parameters:
    ///   - lists: the tables of ordered links.
    ///   - wasWritten: whether the transaction wrote that row, or may have.
    init(
        _ connection: Connection, _ lists: [String: ListOwner],
        wasWritten: @escaping (_ table: String, _ key: [StoredValue]) -> Bool
    ) {
        self.connection = connection
        self.lists = lists
        self.wasWritten = wasWritten
    }

    /// The error with the path of such a link: one that the transaction wrote or whose target it deleted, rather than
    /// one that was in the file before. Reads every table that has links; the transaction must be open still.
    func located(_ error: StoreError) throws -> StoreError {
        let counts = try LinkFaults(connection).counts
        var links: [Link] = []
        for foreignKey in counts.keys.sorted(by: { ($0.table, $0.number) < ($1.table, $1.number) }) {
            guard let stored = try StoredTable(foreignKey.table, connection),
                let reference = try stored.references(connection).first(where: { $0.number == foreignKey.number })
            else { continue }
            links += try self.links(stored, reference)
        }
        let own = links.first { wasWritten($0.table, $0.key) || wasWritten($0.target, $0.targetKey) }
        guard let link = own ?? links.first else { return error }
        func text(_ key: [StoredValue]) -> String { key.map(\.description).joined(separator: ", ") }
        var error = error
        error.table = link.table
        error.key = text(link.key)
        error.column = link.column
        error.message =
            "\(link.table)(\(text(link.key))).\(link.column) points to \(link.target)(\(text(link.targetKey))), which is "
            + "not there; insert it in the same transaction, or clear the link"
        let count = counts.values.reduce(0, +)
        if count > 1 { error.message += "; \(count) links are so" }
        return error
    }

    private typealias Link = (
        table: String, key: [StoredValue], column: String, target: String, targetKey: [StoredValue]
    )

    /// The first of the links to nothing that a foreign key has.
    private func links(_ table: StoredTable, _ reference: StoredTable.Reference) throws -> [Link] {
        let target = try StoredTable(reference.target, connection)
        let targetColumns = reference.targetColumns.isEmpty ? target?.key ?? [] : reference.targetColumns
        var test = reference.columns.map { "c.\(Dialect.quoted($0)) IS NOT NULL" }
        if target != nil {
            let same = zip(targetColumns, reference.columns).map {
                "t.\(Dialect.quoted($0)) = c.\(Dialect.quoted($1))"
            }
            test.append(
                "NOT EXISTS (SELECT 1 FROM \(Dialect.quoted(reference.target)) AS t "
                    + "WHERE \(same.joined(separator: " AND ")))")
        }
        let columns = (table.key + reference.columns).map { "c.\(Dialect.quoted($0))" }.joined(separator: ", ")
        let rows = try connection.peekAll(
            "SELECT \(columns) FROM \(Dialect.quoted(table.name)) AS c WHERE \(test.joined(separator: " AND ")) "
                + "LIMIT 1000", [])
        return rows.map { row in
            let key = Array(row.prefix(table.key.count))
            let missing = Array(row.dropFirst(table.key.count))
            // A row of an ordered link is a property of its owner, whose key stands before the position.
            if let list = lists[table.name], reference.columns != table.key.dropLast() {
                return (list.table, key.dropLast(), list.property, reference.target, missing)
            }
            return (table.name, key, reference.columns.joined(separator: ", "), reference.target, missing)
        }
    }
}
