/// Objects that another writer has given to other owners: a load that reads their rows, and not all of these owners, lets the
/// owners' links follow. Where the app has moved one, too, the save settles it, and its base stays.
extension LoadBatch {
    func moveReassigned() {
        for (foreignKey, inverseIndex) in entities.inverseIndexes where !inverseIndex.isEmpty {
            guard let owner = inverseIndex.link?.owner else { continue }
            var edits: OwnershipEdits?
            // Of a link that the load has filled for every owner, what is new is in it.
            let isComplete = filledOwners[foreignKey] == inverseIndex.ownerCount
            for index in arrived {
                let slot = Int(slots[Int(index)])
                let isKnown = snapshots.has(slot)
                guard isKnown || !isComplete, let object = identity.models[slot] else { continue }
                let old = isKnown ? owner(snapshots.address(slot)) : nil
                let new = owner(incoming.address(Int(index)))
                if let new { reorderedOwners[foreignKey, default: []].insert(new) }
                guard old != new else { continue }
                let known = edits ?? inverseIndex.edits()
                edits = known
                // What the new owner's link does not take in for an edit of its own has not been moved by the app.
                let isMoved =
                    known.taken.contains(Int32(truncatingIfNeeded: slot))
                    || old.map { inverseIndex.hasReleased($0, slot) } ?? false
                if isMoved {
                    keptKeys[slot, default: []].insert(foreignKey)
                } else {
                    inverseIndex.reassign(object, from: old, to: new)
                }
            }
        }
    }

    /// Puts the links of the owners of what was read into their order.
    func sortOwners() {
        for (foreignKey, owners) in reorderedOwners { entities.inverseIndexes[foreignKey]?.sort(owners) }
    }
}
