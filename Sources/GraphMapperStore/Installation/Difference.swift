/// What a table in the file has otherwise than its record, and what to do about it.
struct Difference: CustomStringConvertible {
    let table: String
    let column: String?
    private let text: String
    private let advice: String

    init(_ table: String, _ column: String?, _ text: String, _ advice: String) {
        self.table = table
        self.column = column
        self.text = text
        self.advice = advice
    }

    var description: String { "\(text) (\(advice))" }

    static func between(
        _ table: TableLayout, _ stored: StoredTable, _ connection: Connection
    ) throws -> [Difference] {
        columns(table, stored) + key(table, stored) + links(table, try stored.references(connection))
            + (try definition(table, stored, connection))
    }

    /// What the store's own tables never have, and what makes rows mean or allow something else.
    private static func definition(
        _ table: TableLayout, _ stored: StoredTable, _ connection: Connection
    ) throws -> [Difference] {
        var differences: [Difference] = []
        for column in stored.columns where table.columns.contains(where: { $0.name == column.name }) {
            let path = "\(table.name).\(column.name)"
            if column.isGenerated {
                differences.append(
                    Difference(table.name, column.name, "\(path) is computed by the file", rebuild))
            } else if !connection.comparesBytes(column.name, of: stored.name) {
                differences.append(
                    Difference(
                        table.name, column.name,
                        "\(path) is compared by a collation in the file, by its bytes in the store",
                        rebuild))
            }
        }
        if try connection.hasCheck(stored.name) {
            differences.append(
                Difference(
                    table.name, nil, "\(table.name) has a CHECK in the file, which the store does not know",
                    "add a migration step with transform, or adopt the table: static let isAdopted = true"))
        }
        return differences
    }

    private static let rebuild = "add a migration step with transform, or change the record"

    private static func columns(_ table: TableLayout, _ stored: StoredTable) -> [Difference] {
        var found = Dictionary(stored.columns.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        var differences: [Difference] = []
        for column in table.columns {
            let path = "\(table.name).\(column.name)"
            let wanted = Dialect.type(column)
            guard let other = found.removeValue(forKey: column.name) else {
                // Something with the type of what is missing, and a name that the record does not have.
                let lost = stored.columns.first { other in
                    other.type + (other.isNullable ? "" : " NOT NULL") == wanted
                        && !table.columns.contains { $0.name == other.name }
                }
                let rename = lost.map {
                    "try await $0.rename(\"\($0.name)\", to: \"\(column.name)\", in: \"\(table.name)\")"
                }
                let add =
                    "try await $0.add(\"\(column.name)\", \(Dialect.swiftType(column)), to: \"\(table.name)\""
                    + (column.isNullable ? ")" : ", default: a value for the rows that are there)")
                differences.append(
                    Difference(
                        table.name, column.name, "\(path) is not in the file",
                        "add a migration step: \(add)\(rename.map { ", or \($0)" } ?? "")"))
                continue
            }
            let type = other.type + (other.isNullable ? "" : " NOT NULL")
            if type != wanted {
                differences.append(
                    Difference(
                        table.name, column.name, "\(path) is \(type) in the file, \(wanted) in the record",
                        "add a migration step: try await $0.retype(\"\(column.name)\", in: \"\(table.name)\", from: to:), "
                            + "or change the record"))
            }
        }
        return differences
            + stored.columns.filter { found[$0.name] != nil }.map { other in
                Difference(
                    table.name, other.name, "\(table.name).\(other.name) is not in the record",
                    "give \(table.record) a property for it, or add a migration step: "
                        + "try await $0.drop(\"\(other.name)\", from: \"\(table.name)\")")
            }
    }

    private static func key(_ table: TableLayout, _ stored: StoredTable) -> [Difference] {
        if stored.key != table.key {
            let found = stored.key.isEmpty ? "nothing" : stored.key.joined(separator: ", ")
            return [
                Difference(
                    table.name, table.key.first,
                    "\(table.name) has \(found) for its primary key in the file, "
                        + "\(table.key.joined(separator: ", ")) in the record", rebuild)
            ]
        }
        guard stored.isWithoutRowID, !table.isClustered else { return [] }
        return [
            Difference(table.name, nil, "\(table.name) is a table \(Dialect.clustered) in the file, or a view", rebuild)
        ]
    }

    private static func links(_ table: TableLayout, _ references: [StoredTable.Reference]) -> [Difference] {
        var found = references
        var differences: [Difference] = []
        func add(_ columns: [String], _ isInFile: String, _ isInRecord: String) {
            let list = columns.joined(separator: ", ")
            differences.append(
                Difference(
                    table.name, list,
                    "\(table.name).\(list) points to \(isInFile) in the file, \(isInRecord) in the record",
                    rebuild))
        }
        for link in table.links {
            let action = Dialect.onDelete(link.onDelete)
            let wanted = "\(link.target)\(link.onDelete == .nothing ? "" : ", ON DELETE \(action)")"
            guard let index = found.firstIndex(where: { $0.columns == link.columns }) else {
                add(link.columns, "nothing", wanted)
                continue
            }
            let other = found.remove(at: index)
            let isSame =
                other.target.lowercased() == link.target.lowercased() && other.targetColumns.isEmpty
                && other.onDelete == action
            if !isSame { add(link.columns, other.text, wanted) }
        }
        for other in found { add(other.columns, other.text, "nothing") }
        return differences
    }
}

extension StoredTable.Reference {
    fileprivate var text: String {
        target + (targetColumns.isEmpty ? "" : "(\(targetColumns.joined(separator: ", ")))")
            + (onDelete == "NO ACTION" ? "" : ", ON DELETE \(onDelete)")
    }
}
