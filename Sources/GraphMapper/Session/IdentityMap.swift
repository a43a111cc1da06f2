/// One instance per id of one model type: the slot of each id, and the instances by slot.
///
/// Every DTO type that becomes this model shares it.
final class IdentityMap<ID: Hashable> {
    private(set) var slots: [ID: Int] = [:]
    private(set) var models: [AnyObject?] = []
    /// Slots whose objects are to be deleted with the next save.
    var deleted: Set<Int> = []

    func slot(_ id: ID) -> Int? { slots[id] }

    func register(_ id: ID, _ model: AnyObject) -> Int {
        slots[id] = models.count
        models.append(model)
        return models.count - 1
    }

    func remove(_ id: ID) {
        guard let slot = slots.removeValue(forKey: id) else { return }
        deleted.remove(slot)
        if slot == models.count - 1 { models.removeLast() } else { models[slot] = nil }
    }

    func reserve(_ count: Int) {
        slots.reserveCapacity(slots.count + count)
        models.reserveCapacity(models.count + count)
    }
}

/// Who holds the objects of one type by one foreign key: what the forward sides say.
final class Holding {
    /// The owner's id that this walk found for a slot.
    var claims: [Int: AnyHashable] = [:]
    /// What each loaded owner's link held when it was last filled or saved.
    var filled: [AnyHashable: [ObjectIdentifier]] = [:]
    /// What it holds now, for the owners whose link changed; becomes `filled` when the save succeeds.
    var pending: [AnyHashable: [ObjectIdentifier]] = [:]

    func startWalk() {
        claims.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
    }

    func commit() {
        filled.merge(pending) { $1 }
        pending.removeAll()
    }
}
