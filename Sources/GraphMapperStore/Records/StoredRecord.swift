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
