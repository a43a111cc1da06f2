/// What the table of one DTO type keeps for as long as the session, as far as neither the DTO's type nor that of its id
/// matters.
@usableFromInline class TableState {
    @usableFromInline unowned final let core: SessionCore
    /// The identity map, whatever its ids are.
    @usableFromInline final let held: HeldModels
    /// What the source last answered, or a save last wrote, by slot.
    @usableFromInline final let snapshotRows: AnyRecordBuffer
    /// One bit a step: whether the model's link was ever filled.
    @exclusivity(unchecked) @usableFromInline final var filled: ContiguousArray<UInt64> = []

    /// How many slots the walk under way has visited.
    @exclusivity(unchecked) final var walked = 0

    /// Where it stands among the session's tables.
    let place: Int

    init(_ core: SessionCore, _ held: HeldModels, _ snapshots: AnyRecordBuffer, place: Int) {
        (self.core, self.held, snapshotRows, self.place) = (core, held, snapshots, place)
    }

    /// Makes the slot's snapshot and mask addressable.
    @usableFromInline final func grow(to count: Int) {
        guard filled.count < count else { return }
        snapshotRows.extend(to: count)
        while filled.count < count { filled.append(0) }
    }

    /// Whether the session's backing keeps the type; what it does not keep is mapped, but never written or read again.
    var isStored = true

}
