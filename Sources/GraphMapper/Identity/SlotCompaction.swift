/// The slots of what a session has forgotten, which are not used again: where most are such, the others are numbered
/// anew, so that a session which loads and forgets does not grow.
extension SessionCore {
    /// Complexity: O(1) for each object forgotten, amortized.
    func closeGaps() {
        var used = 0
        var all = 0
        for table in order where sharing(table).first === table {
            used += table.idCount
            all += table.slotCount
        }
        guard all > 2 * used + 64 else { return }
        var numbers: [ObjectIdentifier: SlotNumbers] = [:]
        for table in order where numbers[ObjectIdentifier(table.identityMap)] == nil {
            numbers[ObjectIdentifier(table.identityMap)] = table.numberSlots()
        }
        for table in order { table.renumber(numbers) }
    }
}

/// The new number of each slot.
struct SlotNumbers {
    private var new: [Int] = []
    private(set) var count = 0

    mutating func append(isUsed: Bool) {
        new.append(isUsed ? count : -1)
        if isUsed { count += 1 }
    }

    /// Nil for a slot that goes.
    subscript(old: Int) -> Int? { old < new.count && new[old] >= 0 ? new[old] : nil }

    func moved<T>(_ array: ContiguousArray<T>) -> ContiguousArray<T> {
        var moved: ContiguousArray<T> = []
        moved.reserveCapacity(count)
        for (old, value) in array.enumerated() where self[old] != nil { moved.append(value) }
        return moved
    }

    func moved<T>(_ values: [Int: T]) -> [Int: T] {
        Dictionary(uniqueKeysWithValues: values.compactMap { old, value in self[old].map { ($0, value) } })
    }

    func moved(_ slots: Set<Int>) -> Set<Int> { Set(slots.compactMap { self[$0] }) }
}

extension EntityTable {
    /// Numbers the slots of the identity map that are used.
    func numberSlots() -> SlotNumbers {
        let numbers = identity.numberSlots()
        identity.slots = identity.slots.compactMapNumbers { numbers[Int($0)].map { Int32(truncatingIfNeeded: $0) } }
        return numbers
    }

    func renumber(_ numbers: [ObjectIdentifier: SlotNumbers]) {
        guard let own = numbers[ObjectIdentifier(identity)] else { return }
        snapshots.renumber(own)
        filled = own.moved(filled)
        bases = own.moved(bases)
        vanished = own.moved(vanished)
        added.renumber(own)
        baselines = baselines.mapValues(own.moved)
        elsewhere = elsewhere.mapValues(own.moved)
        for (path, inverseIndex) in inverseIndexes {
            let owners = D.schema.property(at: path)?.link.flatMap { core.erasedTable($0.record) }
            guard let owners, let others = numbers[ObjectIdentifier(owners.identityMap)] else { continue }
            inverseIndex.renumber(own, owners: others)
        }
    }
}
