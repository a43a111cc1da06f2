/// What an observer of one record gets.
public enum ObjectChange<R: StoredRecord>: Sendable {
    /// The record, at the beginning or when a row of its id has come.
    case initial(R)
    /// The record as it is now, and the properties that differ.
    case changed(R, [PropertyChange])
    /// There is no such row, or no longer.
    case deleted

    /// The record as it is now.
    public var record: R? {
        switch self {
        case .initial(let record), .changed(let record, _): record
        case .deleted: nil
        }
    }
}

/// One property that has changed, by what is stored.
public struct PropertyChange: Sendable, Hashable {
    /// The property's name.
    public let property: String
    /// What it was; one value for each of its columns, or the targets' keys of an ordered link.
    public let old: [StoredValue]
    /// What it is.
    public let new: [StoredValue]
}
