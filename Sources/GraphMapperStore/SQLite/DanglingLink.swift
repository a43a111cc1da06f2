/// Says which link keeps a transaction from being committed.
struct DanglingLink {
    private let connection: Connection
    private let lists: [String: ListOwner]

    /// - Parameter lists: the tables of ordered links.
    init(_ connection: Connection, _ lists: [String: ListOwner]) {
        self.connection = connection
        self.lists = lists
    }

    /// The error with the place of the first such link. Reads every table that has links; the transaction must be open
    /// still.
    func located(_ error: StoreError) throws -> StoreError {
        let found = try connection.peekAll(
            "SELECT \"table\", fkid, count(*), sum(count(*)) OVER () FROM pragma_foreign_key_check GROUP BY 1, 2", [])
        for row in found {
            guard case .text(let table) = row[0], case .integer(let number) = row[1], case .integer(let all) = row[3],
                let stored = try StoredTable(table, connection),
                let reference = try stored.references(connection).first(where: { $0.number == number }),
                let link = try link(stored, reference)
            else { continue }
            var error = error
            error.table = link.table
            error.key = link.key
            error.column = link.column
            error.message =
                "\(link.table)(\(link.key)).\(link.column) points to \(link.target), which is not there; insert it in "
                + "the same transaction, or clear the link"
            if all > 1 { error.message += "; \(all) links are so" }
            return error
        }
        return error
    }

    private typealias Link = (table: String, key: String, column: String, target: String)

    private func link(_ table: StoredTable, _ reference: StoredTable.Reference) throws -> Link? {
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
        let row = try connection.peekAll(
            "SELECT \(columns) FROM \(Dialect.quoted(table.name)) AS c WHERE \(test.joined(separator: " AND ")) LIMIT 1",
            []
        ).first
        guard let row else { return nil }
        func text(_ values: some Sequence<StoredValue>) -> String { values.map(\.description).joined(separator: ", ") }
        let key = row.prefix(table.key.count)
        let missing = "\(reference.target)(\(text(row.dropFirst(table.key.count))))"
        // A row of an ordered link is a property of its owner, whose key stands before the position.
        if let list = lists[table.name], reference.columns != table.key.dropLast() {
            return (list.table, text(key.dropLast()), list.property, missing)
        }
        return (table.name, text(key), reference.columns.joined(separator: ", "), missing)
    }
}
