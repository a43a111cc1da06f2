/// What a write does to a row.
public enum WriteKind: String, Sendable, Hashable {
    /// A row is added, with its ordered links.
    case insert
    /// Properties of a row are set; an ordered link counts as one.
    case update
    /// A row is removed.
    case delete
}

/// What a statement may write to.
struct TableWrite: Hashable {
    let table: String
    let kind: WriteKind
    /// The columns that an update sets; nil for inserts and deletes.
    var columns: [String]?
    /// Whether a trigger does it.
    var isTriggered = false
}
