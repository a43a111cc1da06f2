/// What a row is asked for: a tree, which ``FormulaWriter`` writes for the engine.
indirect enum Formula: Sendable {
    case value(StoredValue)
    case column(Scope, String)
    /// Several columns as one value.
    case row([Formula])
    case binary(Formula, Operator, Formula)
    /// Holds where the condition does not, or is unknown.
    case not(Formula)
    case isNull(Formula)
    case call(Function, [Formula])
    /// Whether a value of so many columns is one of those that stand one after the other.
    case isOneOf(Formula, [StoredValue], width: Int)
    /// Whether it is among what the rows select.
    case isAmong(Formula, Rows)
    /// Whether there is a row.
    case exists(Rows)
    /// What the first row selects; NULL if there is none.
    case first(Rows)
    /// A column of the row of a table that has this key; NULL if there is none.
    case lookUp(column: String, table: String, keyColumns: [String], key: Formula)
    /// Whether a text is found in the full-text index of the row's table.
    case matches(Scope, TextIndex, String)
    /// The row's place in an order, from 1.
    case place([Ordering])
    /// The text compared as a person of that locale does.
    case collated(Formula, locale: String)

    enum Operator: Sendable {
        case isSame, isOther, equal, less, lessOrEqual, greater, greaterOrEqual, and, or, plus, minus, times, over
        case modulo
    }

    enum Function: Sendable {
        /// A text as it is compared by options: text, number of the options.
        case fold
        /// Whether a text is in another, by its bytes.
        case contains
        /// Whether a text ends with another, by its bytes.
        case endsWith
        /// Whether a text fits a pattern.
        case like
        /// The first that is not NULL.
        case coalesce
        /// NULL if both are the same.
        case nullIfSame
        /// A value where a condition holds, else NULL.
        case whereTrue
        /// One of two values, by a condition.
        case choose
        /// What a decimal's text is ordered by, and its way back.
        case decimalOrder, decimalText
        /// Of an array of scalars.
        case elementCount
        /// Of one text, which is given three times.
        case scalarCount
        /// The first so many scalars of a text, which is given once before that, and then each with the number.
        case start
        /// Of one number, which is given twice.
        case absolute
        /// A whole number, if it lies between two others; an error if not.
        case whole
        // Aggregates.
        case count, sum, average, minimum, maximum, decimalSum
    }

    static func and(_ terms: [Formula]) -> Formula? {
        guard let first = terms.first else { return nil }
        return terms.dropFirst().reduce(first) { .binary($0, .and, $1) }
    }

    /// What stands between the signs of a chain such as `a AND b AND c`, however it is nested.
    func terms(joinedBy sign: Operator) -> [Formula] {
        var terms: [Formula] = []
        var rest = [self]
        while let formula = rest.popLast() {
            if case .binary(let left, sign, let right) = formula {
                rest += [right, left]
            } else {
                terms.append(formula)
            }
        }
        return terms
    }

    /// Whether other rows than the one at hand are looked at.
    var looksElsewhere: Bool {
        switch self {
        case .value, .column, .isOneOf(.column, _, _): false
        case .isAmong, .exists, .first, .lookUp, .place, .matches: true
        case .row(let parts), .call(_, let parts): parts.contains(where: \.looksElsewhere)
        case .binary(let left, _, let right): left.looksElsewhere || right.looksElsewhere
        case .not(let formula), .isNull(let formula), .isOneOf(let formula, _, _), .collated(let formula, _):
            formula.looksElsewhere
        }
    }

    /// Whether it is one value for all rows.
    var isAggregate: Bool {
        switch self {
        case .value, .column, .isAmong, .exists, .first, .lookUp, .matches, .place: false
        case .call(.count, _), .call(.sum, _), .call(.average, _), .call(.minimum, _), .call(.maximum, _),
            .call(.decimalSum, _):
            true
        case .row(let parts), .call(_, let parts): parts.contains(where: \.isAggregate)
        case .binary(let left, _, let right): left.isAggregate || right.isAggregate
        case .not(let formula), .isNull(let formula), .isOneOf(let formula, _, _), .collated(let formula, _):
            formula.isAggregate
        }
    }

    /// Whether it is made of columns, values and comparisons alone, its parts aside.
    var isPlain: Bool {
        switch self {
        case .value, .column, .binary, .not, .isNull, .isOneOf, .call(.coalesce, _), .call(.nullIfSame, _): true
        default: false
        }
    }

    /// Whether all are NULL.
    static func areNull(_ parts: [Formula]) -> Formula { and(parts.map { .isNull($0) }) ?? .always }

    /// One column, or several as one value.
    static func together(_ parts: [Formula]) -> Formula { parts.count == 1 ? parts[0] : .row(parts) }

    static func values(_ values: [StoredValue]) -> Formula { together(values.map { .value($0) }) }

    static let always = Formula.value(.integer(1))
}

/// Stands for the rows of one table in one place of a query: columns belong to one. Told apart by identity.
final class Scope: Sendable, Hashable {
    static func == (left: Scope, right: Scope) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Rows of one table, and what is selected of them.
struct Rows: Sendable {
    /// Where they come from.
    enum Source: Sendable {
        case table(String)
        /// The targets of an ordered link, whose table has a scope of its own.
        case list(LinkPlace, Scope)
        /// The elements of an array of scalars.
        case elements(Formula)
    }

    var scope: Scope
    var source: Source
    /// The columns of the table's key.
    var keyColumns: [String]
    var filter: Formula?
    /// Of rows that are the same here, the first one alone.
    var distinct: [Formula] = []
    /// What holds of the rows that are left then.
    var kept: Formula?
    var order: [Ordering] = []
    var groups: [Formula] = []
    var having: Formula?
    var limit: Int?
    var offset: Int?
    /// What is selected; the number 1 if nothing is.
    var selected: [Formula] = []
    /// Whether rows that select the same are one.
    var isUnique = false

    init(_ scope: Scope, _ source: Source, keyColumns: [String]) {
        self.scope = scope
        self.source = source
        self.keyColumns = keyColumns
    }

    mutating func filter(by more: Formula?) {
        guard let more else { return }
        filter = filter.map { .binary($0, .and, more) } ?? more
    }

    var key: [Formula] { keyColumns.map { .column(scope, $0) } }
    var isPage: Bool { limit != nil || offset != nil }

    /// The order with the key after it: a total one.
    var totalOrder: [Ordering] {
        order
            + key.map { column in
                var ordering = Ordering(column)
                ordering.isNeverNull = true
                return ordering
            }
    }
}

/// One key that rows are sorted by.
struct Ordering: Sendable {
    var formula: Formula
    var isDescending = false
    /// Nil for what the engine does: NULL is less than all else.
    var nulls: NullPlacement?
    /// Whether it is known that no row has NULL here.
    var isNeverNull = false

    init(_ formula: Formula, descending: Bool = false, nulls: NullPlacement? = nil) {
        self.formula = formula
        isDescending = descending
        self.nulls = nulls
    }

    /// - Parameter type: that of the value of which this is a part.
    init(_ formula: Formula, descending: Bool, nulls: NullPlacement?, of type: any Storable.Type) {
        self.init(formula, descending: descending, nulls: nulls)
        if case .column = formula { isNeverNull = !type.columns.contains(where: \.isNullable) }
    }

    var isNullFirst: Bool { nulls.map { $0 == .first } ?? !isDescending }
}

/// Where a list of links lies.
struct LinkPlace: Sendable {
    /// The table of the links.
    let table: String
    let ownerColumns: [String]
    let targetColumns: [String]
    /// The table that they point to, and its key.
    let target: String
    let targetKey: [String]

    /// Nil if the schema does not read the list.
    init?<R: StoredRecord, S: StoredRecord>(_ type: R.Type, _ path: AnyKeyPath, _ target: S.Type) {
        guard let property = R.schema.property(at: path), property.isList else { return nil }
        table = Layout.listTable(R.schema.name, property.name)
        (ownerColumns, targetColumns) = R.schema.linkColumns(of: property)
        self.target = S.schema.name
        targetKey = S.keyColumnNames
    }
}
