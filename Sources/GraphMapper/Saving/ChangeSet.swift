/// What a write-back will do, as plain data: printable, comparable, and applicable to anything that can insert,
/// update and delete rows (see ``ChangeSink``).
public struct ChangeSet: Sendable, Hashable {
    /// In the order in which they are to be applied.
    public var changes: [Change]

    /// A change set of these changes, in the order in which they are to be applied.
    public init(_ changes: [Change] = []) { self.changes = changes }

    /// Whether there is nothing to do.
    public var isEmpty: Bool { changes.isEmpty }

    /// One stored object's change.
    public enum Change: Sendable, Hashable {
        /// A row is added.
        case insert(Insertion)
        /// Columns of a row are set.
        case update(Update)
        /// The ordered links of a row are edited.
        case relink(Relink)
        /// A row is removed.
        case delete(Deletion)
    }

    /// A new row. Its ordered links follow as ``Relink``s with an empty base.
    public struct Insertion: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The columns, all of them.
        public var columns: [String]
        /// Their values, in the order of the columns.
        public var values: [StoredValue]
        /// The row's key.
        public var key: [StoredValue]

        /// A row to insert; `columns` and `values` run in step.
        public init(table: String, columns: [String], values: [StoredValue], key: [StoredValue]) {
            self.table = table
            self.columns = columns
            self.values = values
            self.key = key
        }
    }

    /// Some columns of one row. `expected` holds what they were when the session last read them.
    public struct Update: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The columns of the key.
        public var keyColumns: [String]
        /// The row's key.
        public var key: [StoredValue]
        /// The columns that change.
        public var columns: [String]
        /// Their new values, in the order of the columns.
        public var values: [StoredValue]
        /// Their values as last read, in the order of the columns.
        public var expected: [StoredValue]
        /// Columns that are set whatever they hold: those of ``Lazy`` values that were not read.
        public var unread: [String] = []
        /// The new values of the `unread` columns, in their order.
        public var unreadValues: [StoredValue] = []
        /// Whether the values are there only to make room for another change, and this row has another change to come.
        public var isInterim: Bool

        /// Columns to set; `columns`, `values` and `expected` run in step.
        public init(
            table: String, keyColumns: [String], key: [StoredValue], columns: [String], values: [StoredValue],
            expected: [StoredValue], isInterim: Bool = false
        ) {
            self.isInterim = isInterim
            self.table = table
            self.keyColumns = keyColumns
            self.key = key
            self.columns = columns
            self.values = values
            self.expected = expected
        }
    }

    /// The ordered links of one property of one row: from `base`, as last read, to `targets`.
    public struct Relink: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The link property's name.
        public var property: String
        /// The key of the row that has the links.
        public var key: [StoredValue]
        /// The targets' keys as last read, one after the other.
        public var base: [StoredValue]
        /// The targets' keys as they are to be, one after the other.
        public var targets: [StoredValue]
        /// The columns of the key of the row that has the links; none if it is new, so
        /// that it need not be looked for.
        public var keyColumns: [String]
        /// The columns of the link table that hold the key of the row that has the links.
        public var ownerColumns: [String]
        /// The columns of the link table that hold a target's key: as many as the key has values.
        public var targetColumns: [String]

        /// The links of one property, as they were and as they are to be.
        public init(
            table: String, property: String, key: [StoredValue], base: [StoredValue], targets: [StoredValue],
            keyColumns: [String] = [], ownerColumns: [String] = ["owner"], targetColumns: [String] = ["target"]
        ) {
            self.table = table
            self.property = property
            self.key = key
            self.base = base
            self.targets = targets
            self.keyColumns = keyColumns
            self.ownerColumns = ownerColumns
            self.targetColumns = targetColumns
        }
    }

    /// A row that goes, if it is still as the session last read it.
    public struct Deletion: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The columns of the key.
        public var keyColumns: [String]
        /// The row's key.
        public var key: [StoredValue]
        /// The columns that must be as expected; none to delete the row whatever it holds.
        public var columns: [String]
        /// Their values as last read, in the order of the columns.
        public var expected: [StoredValue]

        /// A row to delete; `columns` and `expected` run in step.
        public init(
            table: String, keyColumns: [String], key: [StoredValue], columns: [String] = [],
            expected: [StoredValue] = []
        ) {
            self.table = table
            self.keyColumns = keyColumns
            self.key = key
            self.columns = columns
            self.expected = expected
        }
    }
}

extension ChangeSet {
    /// What a change found stored instead of what it expects. The change then has written nothing.
    public struct Mismatch: Sendable, Hashable {
        /// The place of the change among those that were to be applied.
        public var place: Int
        /// What is stored.
        public var found: Found

        /// A change that did not find what it expects.
        public init(place: Int, found: Found) {
            self.place = place
            self.found = found
        }
    }

    /// What is stored where a change expects something else.
    public enum Found: Sendable, Hashable {
        /// The row is not there any more.
        case gone
        /// The values of the change's columns, in their order.
        case values([StoredValue])
        /// The targets' keys of an ordered link, one after the other.
        case list([StoredValue])
    }
}

/// Something that a change set can be applied to.
public protocol ChangeSink {
    /// Applies one change. Changes come in an order that satisfies required foreign keys.
    ///
    /// - Throws: a ``GraphError`` with ``GraphError/conflicts`` if the row is not as the change expects.
    func apply(_ change: ChangeSet.Change) async throws
    /// Applies changes in their order, up to one whose row is not as it expects, and answers what that one found; nil
    /// when all are applied. Without an implementation of one's own they are applied one by one, and what `apply` throws
    /// ends it.
    func apply(_ changes: ArraySlice<ChangeSet.Change>) async throws -> ChangeSet.Mismatch?
    /// Gives a row another key, and lets everything that points to it follow.
    ///
    /// - Throws: a ``GraphError`` of kind `.conflict` if the row is not there. Without an implementation of one's own
    ///   this is an error.
    func apply(_ change: KeyChange) async throws
    /// Keys for new rows of a table, ascending, that no row has and none had before, all greater than `floor`. Without an
    /// implementation of one's own this is an error.
    func newKeys(_ count: Int, of table: String, column: String, after floor: Int64) async throws -> [Int64]
    /// The text of the statements that each change runs: see ``GraphBacking/statements(for:)``. Without an implementation
    /// of one's own it is the shape of each.
    func texts(of changes: ChangeSet) async throws -> [[String]]
    /// Runs `body`; if it throws, what it wrote is undone and the transaction goes on. May be nested. Without an
    /// implementation of one's own this is an error, and sessions over the backing have no savepoints with saves in them.
    func savepoint<T>(_ body: () async throws -> T) async throws -> T
}

/// An open transaction that a session can take part in: see ``GraphSession/join(_:_:)``.
public protocol JoinableTransaction: ChangeSink, GraphSource {
    /// Calls `restore` if what was written until now is undone: by a savepoint that is open, or with the transaction.
    func whenUndone(_ restore: @escaping () throws -> Void)
}

extension ChangeSink {
    /// Applies all changes, in their order.
    ///
    /// - Throws: a ``GraphError`` with ``GraphError/conflicts`` if a row is not as a change expects.
    public func apply(_ changes: ChangeSet) async throws {
        guard let mismatch = try await apply(changes.changes[...]) else { return }
        throw GraphError(Conflict.all(of: changes.changes[mismatch.place], mismatch.found))
    }

    /// Applies the changes one by one.
    public func apply(_ changes: ArraySlice<ChangeSet.Change>) async throws -> ChangeSet.Mismatch? {
        for change in changes { try await apply(change) }
        return nil
    }

    /// Not known how.
    public func apply(_ change: KeyChange) async throws {
        throw GraphError(.misuse, "the backing cannot change keys", type: change.table)
    }

    /// Not known how.
    public func newKeys(_ count: Int, of table: String, column: String, after floor: Int64) async throws -> [Int64] {
        throw GraphError(.misuse, "the backing gives no keys; give new objects ids", type: table)
    }

    /// The shape of each change.
    public func texts(of changes: ChangeSet) async throws -> [[String]] { changes.changes.map { [$0.shape] } }

    /// Not known how.
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        throw GraphError(.misuse, "the backing's transactions have no savepoints; save outside session.savepoint")
    }
}

extension ChangeSet: CustomStringConvertible {
    public var description: String {
        isEmpty ? "no changes" : changes.map(\.description).joined(separator: "\n")
    }
}

extension ChangeSet.Change: CustomStringConvertible {
    public var description: String {
        switch self {
        case .insert(let row):
            "insert \(row.table) \(text(row.key)): "
                + zip(row.columns, row.values).map { "\($0) = \($1)" }.joined(separator: ", ")
        case .update(let row):
            "update \(row.table) \(text(row.key)): "
                + (zip(row.columns, zip(row.expected, row.values)).map { "\($0) \($1.0) → \($1.1)" }
                + zip(row.unread, row.unreadValues).map { "\($0) → \($1)" }).joined(separator: ", ")
        case .relink(let link):
            "relink \(link.table).\(link.property) \(text(link.key)): \(link.base.count / max(1, link.targetColumns.count))"
                + " → \(link.targets.count / max(1, link.targetColumns.count)) targets"
        case .delete(let row): "delete \(row.table) \(text(row.key))"
        }
    }

    private func text(_ key: [StoredValue]) -> String { key.map(\.description).joined(separator: ", ") }
}
