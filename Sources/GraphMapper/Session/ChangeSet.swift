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

        /// Columns to set; `columns`, `values` and `expected` run in step.
        public init(
            table: String, keyColumns: [String], key: [StoredValue], columns: [String], values: [StoredValue],
            expected: [StoredValue]
        ) {
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
        /// The columns of the link table that hold the key of the row that has the links.
        public var ownerColumns: [String]
        /// The columns of the link table that hold a target's key: as many as the key has values.
        public var targetColumns: [String]

        /// The links of one property, as they were and as they are to be.
        public init(
            table: String, property: String, key: [StoredValue], base: [StoredValue], targets: [StoredValue],
            ownerColumns: [String] = ["owner"], targetColumns: [String] = ["target"]
        ) {
            self.table = table
            self.property = property
            self.key = key
            self.base = base
            self.targets = targets
            self.ownerColumns = ownerColumns
            self.targetColumns = targetColumns
        }
    }

    /// A row that goes.
    public struct Deletion: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The columns of the key.
        public var keyColumns: [String]
        /// The row's key.
        public var key: [StoredValue]

        /// A row to delete.
        public init(table: String, keyColumns: [String], key: [StoredValue]) {
            self.table = table
            self.keyColumns = keyColumns
            self.key = key
        }
    }
}

/// Something that a change set can be applied to.
public protocol ChangeSink {
    /// Applies one change. Changes come in an order that satisfies required foreign keys.
    func apply(_ change: ChangeSet.Change) async throws
    /// Applies all changes of a save, which may be in another order than theirs where unique values ask for it. Without
    /// an implementation of one's own, they are applied one by one.
    func apply(_ changes: ChangeSet) async throws
}

extension ChangeSink {
    /// Applies the changes one by one.
    public func apply(_ changes: ChangeSet) async throws {
        for change in changes.changes { try await apply(change) }
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
                + zip(row.columns, zip(row.expected, row.values))
                .map { "\($0) \($1.0) → \($1.1)" }.joined(separator: ", ")
        case .relink(let link):
            "relink \(link.table).\(link.property) \(text(link.key)): \(link.base.count / max(1, link.targetColumns.count))"
                + " → \(link.targets.count / max(1, link.targetColumns.count)) targets"
        case .delete(let row): "delete \(row.table) \(text(row.key))"
        }
    }

    private func text(_ key: [StoredValue]) -> String { key.map(\.description).joined(separator: ", ") }
}
