@_exported import GraphMapper

/// A DTO that the store keeps in a table: a `Sendable` value with an id. One without a model is fine.
public protocol StoredRecord: DTO, Identifiable, Sendable where ID: Storable & Hashable, Row == Self {
    /// Indexes besides the key's and those of links, which the store makes itself.
    static var indexes: [Index<Self>] { get }
    /// What becomes of rows when one that they link to is deleted. Without a rule, it cannot be.
    static var linkRules: [LinkRule<Self>] { get }
}

extension StoredRecord {
    public static var indexes: [Index<Self>] { [] }
}

/// An index on one or more properties of a record.
public struct Index<R>: Sendable {
    enum Kind: Sendable {
        case plain, unique, text
    }

    let paths: [any PartialKeyPath<R> & Sendable]
    let kind: Kind
    /// Which rows it is of; all if nil.
    var filter: (scope: Scope, condition: Condition)?
    var isUnique: Bool { kind == .unique }

    private init(_ kind: Kind, _ paths: [any PartialKeyPath<R> & Sendable]) {
        self.kind = kind
        self.paths = paths
    }

    /// No two rows have the same values here; NULLs count as different. Opening a file whose rows do is an error.
    public static func unique(_ paths: any PartialKeyPath<R> & Sendable...) -> Self {
        Index(.unique, paths)
    }

    /// Speeds up queries by these properties, in this order.
    public static func on(_ paths: any PartialKeyPath<R> & Sendable...) -> Self {
        Index(.plain, paths)
    }

    /// Full text: what ``Query/matching(_:)`` and ``ReadTransaction/search(_:for:limit:marks:)`` look in. Words are found
    /// whatever their case and accents. A record has one at most.
    public static func text(_ paths: any PartialKeyPath<R> & Sendable...) -> Self { Index(.text, paths) }
}

extension Index where R: StoredRecord {
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
    /// What is wrong with it, if that is something.
    var mistake: String? {
        guard !paths.isEmpty else { return "\(R.schema.name): an index names no property" }
        for path in paths {
            do { _ = try R.columnNames(at: path).get() } catch { return "\(error), in an index" }
        }
        do { _ = try filterText() } catch { return "\(error), in an index" }
        if kind == .text, filter != nil { return "\(R.schema.name): a full-text index is of all rows" }
        return nil
    }
}
