/// Writes expressions and rows as SQL with parameters: nothing that an app gives stands in the text.
struct SQLWriter {
    private(set) var sql = ""
    private(set) var values: [StoredValue] = []
    private var names: [TableAlias: String]
    private var count = 0
    /// Whether values stand in the text, as in a definition, which has no parameters.
    private var isDefinition = false

    /// For the definition of an index on one table's rows.
    init(defining alias: TableAlias) {
        names = [alias: ""]
        isDefinition = true
    }

    /// - Parameter names: what the scopes around are called, quoted.
    init(_ names: [TableAlias: String] = [:]) { self.names = names }

    mutating func write(_ text: String) { sql += text }

    mutating func write(_ list: [SQLExpression], separator: String = ", ") throws {
        for (index, expression) in list.enumerated() {
            if index > 0 { sql += separator }
            try write(expression)
        }
    }

    private mutating func write(_ value: StoredValue) throws {
        guard isDefinition else {
            sql += "?"
            values.append(value)
            return
        }
        if case .text(let text) = value, text.utf8.contains(0) {
            throw GraphError(.misuse, "a text with a NUL cannot stand in a definition")
        }
        sql += Literals.text([value])
    }

    private mutating func writeChoice(_ choice: [StoredValue], width: Int) throws {
        guard isDefinition else {
            sql += " IN \(Dialect.choice(choice.count / max(1, width), width: width))"
            values += choice
            return
        }
        guard width == 1 else { throw GraphError(.misuse, "an index compares values of one column") }
        sql += " IN (\(Literals.text(choice)))"
    }

    mutating func write(_ expression: SQLExpression) throws {
        if isDefinition, !expression.isPlain {
            throw GraphError(
                .misuse, "the rows of an index are told by comparing columns with values; this asks for more")
        }
        switch expression {
        case .value(let value): try write(value)
        case .column(let alias, let name):
            let table = try self.name(alias)
            sql += table.isEmpty ? Dialect.quoted(name) : "\(table).\(Dialect.quoted(name))"
        case .row(let parts):
            sql += "("
            try write(parts)
            sql += ")"
        case .binary(_, let sign, _) where sign == .and || sign == .or:
            let terms = expression.terms(joinedBy: sign)
            try write(terms[...], joinedBy: sign)
        case .binary(let left, let sign, let right):
            sql += "("
            try write(left)
            sql += " \(Dialect.sign(sign)) "
            try write(right)
            sql += ")"
        case .not(let condition): try write(.call(.coalesce, [condition, .value(.integer(0))]), between: "(NOT ", ")")
        case .isNull(let value): try write(value, between: "(", " IS NULL)")
        case .call(let function, let arguments): try write(function, arguments)
        case .isOneOf(let value, let choice, let width):
            try write(value)
            try writeChoice(choice, width: width)
        case .isAmong(let value, let rows):
            try write(value)
            sql += " IN ("
            try write(rows)
            sql += ")"
        case .exists(let rows):
            sql += "EXISTS ("
            try write(rows)
            sql += ")"
        case .first(let rows):
            sql += "("
            try write(rows)
            sql += ")"
        case .lookUp(let column, let table, let keyColumns, let key):
            let name = nextName()
            let columns = keyColumns.map { "\(name).\(Dialect.quoted($0))" }
            sql += "(SELECT \(name).\(Dialect.quoted(column)) FROM \(Dialect.quoted(table)) AS \(name) WHERE "
            sql += "\(Dialect.row(columns)) = "
            try write(key)
            sql += ")"
        case .matches(let alias, let index, let text):
            let rows = try name(alias)
            sql += Dialect.row(index.key.map { "\(rows).\(Dialect.quoted($0))" })
            sql += " IN (SELECT \(index.sourceKey.joined(separator: ", ")) FROM \(index.source) WHERE \(index.match) "
            try write(.value(.text(text)))
            sql += ")"
        case .rowNumber(let order):
            sql += "row_number() OVER (ORDER BY "
            try write(order)
            sql += ")"
        case .collated(let value, let locale):
            try write(value)
            sql += " \(Dialect.collate(locale))"
        }
    }

    /// Terms as a tree. A short one has each term beside all before it; the depth of a long one is the logarithm of its
    /// length, since SQLite's parser has a small stack (https://sqlite.org/limits.html).
    private mutating func write(_ terms: ArraySlice<SQLExpression>, joinedBy sign: SQLOperator) throws {
        guard terms.count > 1 else {
            if let term = terms.first { try write(term) }
            return
        }
        let middle = terms.count > 8 ? terms.startIndex + terms.count / 2 : terms.endIndex - 1
        sql += "("
        try write(terms[..<middle], joinedBy: sign)
        sql += " \(Dialect.sign(sign)) "
        try write(terms[middle...], joinedBy: sign)
        sql += ")"
    }

    private mutating func write(_ expression: SQLExpression, between start: String, _ end: String) throws {
        sql += start
        try write(expression)
        sql += end
    }

    private mutating func write(_ function: SQLFunction, _ arguments: [SQLExpression]) throws {
        // Each engine spells a function with its arguments in their order.
        let spelling = Dialect.spelling(function, arguments.count)
        for (index, text) in spelling.enumerated() {
            sql += text
            if index < arguments.count { try write(arguments[index]) }
        }
    }

    private func name(_ alias: TableAlias) throws -> String {
        guard let name = names[alias] else {
            throw GraphError(
                .misuse, "a column of another query stands in this one; use the parameter of the closure that it is in")
        }
        return name
    }

    private mutating func nextName() -> String {
        count += 1
        return "\"$\(count)\""
    }

    // MARK: Selects

    /// A whole SELECT, whose rows have a name of their own.
    mutating func write(_ rows: SelectTree) throws {
        let outer = names
        defer { names = outer }
        let name = nextName()
        let list = nextName()
        names[rows.alias] = name
        if case .list(_, let alias) = rows.source { names[alias] = list }
        sql += rows.isUnique ? "SELECT DISTINCT " : "SELECT "
        if rows.selected.isEmpty { sql += "1" } else { try write(rows.selected) }
        sql += " FROM "
        var owner: SQLExpression?
        switch rows.source {
        case .table(let table): sql += "\(Dialect.quoted(table)) AS \(name)"
        case .elements(let array, let storage):
            let (start, end) = Dialect.elements(storage)
            sql += start
            try write(array)
            sql += "\(end) AS \(name)"
        case .list(let link, let alias):
            sql += "\(Dialect.quoted(link.table)) AS \(list) JOIN \(Dialect.quoted(link.target)) AS \(name) ON "
            owner = zip(link.targetKey, link.targetColumns).map {
                .binary(.column(rows.alias, $0), .equal, .column(alias, $1))
            }.reduce(nil as SQLExpression?) { all, one in all.map { .binary($0, .and, one) } ?? one }
            if let owner { try write(owner) }
        }
        sql += " "
        try writeTail(rows)
    }

    /// Rows that are computed before the statement that follows, under a name.
    mutating func write(_ rows: SelectTree, as name: String, _ columns: [String]) throws {
        sql += "WITH \(name)(\(Dialect.list(columns))) AS MATERIALIZED ("
        try write(rows)
        sql += ") "
    }

    /// What follows a table's name. The alias of the rows must have a name.
    mutating func writeTail(_ rows: SelectTree) throws {
        if !rows.distinct.isEmpty { try writeDistinct(rows) }
        let terms = rows.distinct.isEmpty ? [rows.filter, rows.distinctFilter] : [rows.distinctFilter]
        if let condition = SQLExpression.and(terms.compactMap { $0 }) {
            sql += rows.distinct.isEmpty ? "WHERE " : "AND "
            try write(condition)
            sql += " "
        }
        if !rows.groups.isEmpty {
            sql += "GROUP BY "
            try write(rows.groups)
            sql += " "
        }
        if let having = rows.having {
            sql += "HAVING "
            try write(having)
            sql += " "
        }
        // A total order: the statement for the rows and those for their lists must choose the same page.
        let order = rows.isPage && rows.groups.isEmpty && !rows.isUnique ? rows.totalOrder : rows.order
        if !order.isEmpty {
            sql += "ORDER BY "
            try write(order)
            sql += " "
        }
        if rows.isPage {
            sql += Dialect.page
            values += Dialect.page(rows.limit, rows.offset)
        }
    }

    private mutating func writeDistinct(_ rows: SelectTree) throws {
        guard case .table(let table) = rows.source else { return }
        let outer = names
        let name = nextName()
        let key = rows.keyColumns.map(Dialect.quoted)
        let outside = try self.name(rows.alias)
        sql += "WHERE \(Dialect.row(key.map { "\(outside).\($0)" })) IN (SELECT \(key.joined(separator: ", ")) FROM "
        names[rows.alias] = name
        sql += "(SELECT \(key.map { "\(name).\($0)" }.joined(separator: ", ")), row_number() OVER (PARTITION BY "
        try write(rows.distinct)
        sql += " ORDER BY "
        try write(rows.totalOrder)
        sql += ") AS \"$place\" FROM \(Dialect.quoted(table)) AS \(name)"
        if let filter = rows.filter {
            sql += " WHERE "
            try write(filter)
        }
        sql += ") WHERE \"$place\" = 1) "
        names = outer
    }

    mutating func write(_ order: [Ordering]) throws {
        for (index, key) in order.enumerated() {
            if index > 0 { sql += ", " }
            try write(key.expression)
            sql += key.isDescending ? " DESC" : " ASC"
            if let nulls = key.nulls { sql += Dialect.nulls(areFirst: nulls == .first) }
        }
    }
}

extension SQLWriter {
    /// An expression over one table's rows.
    static func text(
        _ expression: SQLExpression, _ alias: TableAlias, _ name: String
    ) throws -> (sql: String, values: [StoredValue]) {
        var writer = SQLWriter([alias: name])
        try writer.write(expression)
        return (writer.sql, writer.values)
    }
}
