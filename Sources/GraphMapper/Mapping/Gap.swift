/// What a step does about DTOs that leave its property open: that say nothing of it, or, of a list, not everything.
///
/// Whether the app has changed such a property is told by what the model had when the DTO came, its baseline: see
/// ``EntityTable/baselines``.
@usableFromInline struct Gap<D: DTO> where D.Model: AnyObject {
    /// Whether the DTO leaves the property open.
    @usableFromInline let isOpen: (UnsafePointer<D>) -> Bool
    /// Whether it says nothing at all of the property.
    @usableFromInline let isUnset: (UnsafePointer<D>) -> Bool
    /// Whether the property is a list of nested DTOs.
    @usableFromInline let isList: Bool
    /// Whether what it leaves open is the rest of a list.
    @usableFromInline let isPartial: Bool
    /// The first DTO's value of the property with what the second adds to it; nil if that is nothing. The third argument
    /// is true if the second came in an earlier load; copies in one load come in no order.
    @usableFromInline let filled: (D, D, Bool) throws -> Any?
    /// Makes the model's value the baseline again; nil for links, which have ``Step/restore``.
    @usableFromInline let undo: ((Any, D.Model) throws -> Void)?

    @usableFromInline init(
        isOpen: @escaping (UnsafePointer<D>) -> Bool, isUnset: ((UnsafePointer<D>) -> Bool)? = nil,
        isList: Bool = false, isPartial: Bool = false,
        filled: @escaping (D, D, Bool) throws -> Any?, undo: ((Any, D.Model) throws -> Void)? = nil
    ) {
        self.isOpen = isOpen
        self.isUnset = isUnset ?? isOpen
        self.isList = isList
        self.isPartial = isPartial
        self.filled = filled
        self.undo = undo
    }
}
