@_exported import GraphMapper

/// A DTO that the store keeps in a table: a `Sendable` value with an id. One without a model is fine.
public protocol StoredRecord: DTO, Identifiable, Sendable where ID: Storable & Hashable, Row == Self {
    /// Indexes besides the key's and those of links, which the store makes itself.
    static var indexes: [Index<Self>] { get }
    /// Whether something else has made the table, or the view, and keeps it: the store reads and writes its rows, and
    /// neither makes nor changes it. False if not said.
    static var isAdopted: Bool { get }
    /// What becomes of rows when one that they link to is deleted. Without a rule, it cannot be.
    static var linkRules: [LinkRule<Self>] { get }
}

extension StoredRecord {
    public static var indexes: [Index<Self>] { [] }
    public static var isAdopted: Bool { false }
}

/// An index on one or more properties of a record.
public struct Index<R>: Sendable {
    enum Kind: Sendable {
        case plain, unique, text
    }

    /// What it is on, each part by its columns, or what is wrong with it.
    let columns: @Sendable () throws -> [[String]]
    let kind: Kind
    /// Which rows it is of; all if nil.
    var filter: (scope: Scope, condition: Condition)?
    var isUnique: Bool { kind == .unique }

    private init(_ kind: Kind, _ columns: @escaping @Sendable () throws -> [[String]]) {
        self.kind = kind
        self.columns = columns
    }
}

extension Index where R: StoredRecord {
    private init(_ kind: Kind, _ paths: [any PartialKeyPath<R> & Sendable]) {
        self.init(kind) { try paths.map { try R.columnNames(at: $0).get() } }
    }

    private init<each V>(_ kind: Kind, _ parts: (Columns<R>) -> (repeat ColumnExpression<each V>)) {
        var found: [(parts: [Formula], mistake: GraphError?)] = []
        let columns = parts(Columns(scope: Scope()))
        repeat found.append(((each columns).parts, (each columns).mistake))
        self.init(kind) { [found] in
            try found.map { part in
                if let mistake = part.mistake { throw mistake }
                return try part.parts.map { formula in
                    guard case .column(_, let name) = formula else {
                        throw GraphError(.invalidSchema, "\(R.schema.name): an index is on columns alone")
                    }
                    return name
                }
            }
        }
    }

    /// No two rows have the same values here; NULLs count as different. Opening a file whose rows do is an error.
    public static func unique(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.unique, paths) }

    /// The same, also for parts of optional embedded values: `.unique { ($0.home.street, $0.home.city) }`.
    public static func unique<each V>(
        _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) -> Self { Index(.unique, columns) }

    /// Speeds up queries by these properties, in this order.
    public static func on(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.plain, paths) }

    /// The same, also for parts of optional embedded values: `.on { $0.home.city }`.
    public static func on<each V>(
        _ columns: (Columns<R>) -> (repeat ColumnExpression<each V>)
    ) -> Self { Index(.plain, columns) }

    /// Full text: what ``Query/matching(_:)`` and ``ReadTransaction/search(_:for:limit:marks:)`` look in. Words are found
    /// whatever their case and accents. A record has one at most.
    public static func text(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.text, paths) }

    /// Of those rows alone that satisfy every term: `.unique(\.name).where { $0.deleted == nil }`. Queries that have the
    /// same terms use it. Terms compare columns of the record with values.
    public func `where`(@ConditionBuilder _ terms: (Columns<R>) -> Condition) -> Self {
        var copy = self
        let scope = Scope()
        copy.filter = (scope, terms(Columns(scope: scope)))
        return copy
    }

    /// The terms as they stand in the index's definition.
    func filterText() throws -> String? {
        guard let filter else { return nil }
        if let mistake = filter.condition.mistake { throw mistake }
        var writer = FormulaWriter(defining: filter.scope)
        try writer.write(filter.condition.formula)
        return writer.sql
    }
}

extension Index where R: StoredRecord {
    /// Its columns. Of one that has none the ``mistake`` says why, which opening raises before the layout is used.
    var names: [String] { (try? columns().flatMap(\.self)) ?? [] }

    /// What is wrong with it, if that is something.
    var mistake: String? {
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
