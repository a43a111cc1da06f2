/// An index on one or more properties of a record.
public struct Index<R>: Sendable {
    enum Kind: Sendable {
        case plain, unique, text
    }

    /// The rows that it is of: those of which an expression holds.
    struct Filter: Sendable {
        let alias: TableAlias
        let expression: SQLExpression
        /// What is wrong with a column that it names.
        let diagnostic: GraphError?
    }

    /// What it is on, each part by its columns, or what is wrong with it.
    let columns: @Sendable () throws -> [[String]]
    let kind: Kind
    /// Which rows it is of; all if nil.
    var filter: Filter?
    var isUnique: Bool { kind == .unique }

    init(_ kind: Kind, _ columns: @escaping @Sendable () throws -> [[String]]) {
        self.kind = kind
        self.columns = columns
    }
}

extension Index where R: StoredRecord {
    /// The terms as they stand in the index's definition.
    func filterText() throws -> String? {
        guard let filter else { return nil }
        if let diagnostic = filter.diagnostic { throw diagnostic }
        var writer = SQLWriter(defining: filter.alias)
        try writer.write(filter.expression)
        return writer.sql
    }

    /// Its columns. Of one that has none the ``diagnostic`` says why, which opening raises before the layout is used.
    var names: [String] { (try? columns().flatMap(\.self)) ?? [] }

    /// What is wrong with it, if that is something.
    var diagnostic: String? {
        do {
            if try columns().isEmpty { return "\(R.schema.name): an index names no property" }
            if try filterText()?.utf8.contains(0) == true {
                return "\(R.schema.name): the condition of an index has a text with a NUL, which no definition can have"
            }
        } catch { return "\(error), in an index" }
        if kind == .text, filter != nil { return "\(R.schema.name): a full-text index is of all rows" }
        return nil
    }
}
