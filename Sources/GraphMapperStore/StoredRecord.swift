@_exported import GraphMapper

/// A DTO that the store keeps in a table: a `Sendable` value with an id. One without a model is fine.
public protocol StoredRecord: DTO, Identifiable, Sendable where ID: Storable & Hashable, Row == Self {
    /// Indexes besides the key's and those of links, which the store makes itself.
    static var indexes: [Index<Self>] { get }
}

extension StoredRecord {
    public static var indexes: [Index<Self>] { [] }
}

/// An index on one or more properties of a record.
public struct Index<R>: Sendable {
    let paths: [any PartialKeyPath<R> & Sendable]
    let isUnique: Bool

    /// No two rows have the same values here; NULLs count as different. Opening a file whose rows do is an error.
    public static func unique(_ paths: any PartialKeyPath<R> & Sendable...) -> Self {
        Index(paths: paths, isUnique: true)
    }

    /// Speeds up queries by these properties, in this order.
    public static func on(_ paths: any PartialKeyPath<R> & Sendable...) -> Self {
        Index(paths: paths, isUnique: false)
    }
}

extension Index where R: StoredRecord {
    /// What is wrong with it, if that is something.
    var mistake: String? {
        guard !paths.isEmpty else { return "\(R.schema.name): an index names no property" }
        for path in paths {
            do { _ = try R.columnNames(at: path).get() } catch { return "\(error), in an index" }
        }
        return nil
    }
}
