/// What a save does if the row of an object that was added is there already.
public enum StoredRowPolicy: Sendable, Hashable {
    /// It is a ``Conflict`` of kind `.exists`, which the policy of the save settles.
    case fail
    /// The row is updated to what the object has.
    case update
}
