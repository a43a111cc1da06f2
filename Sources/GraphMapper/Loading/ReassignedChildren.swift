/// Objects that another writer has given to other owners: a load that reads their rows, and not all of these owners, lets the
/// owners' links follow. Where the app has moved one, too, the save settles it, and its base stays.
extension LoadBatch {
    func moveReassigned() {
        for (foreignKey, inverseIndex) in entities.inverseIndexes where !inverseIndex.isEmpty {
            guard let owner = inverseIndex.link?.owner else { continue }
            var edits: OwnershipEdits?
            for index in arrived {
                let slot = Int(slots[Int(index)])
                guard snapshots.has(slot), let object = identity.models[slot] else { continue }
                let (old, new) = (owner(snapshots.address(slot)), owner(incoming.address(Int(index))))
                if let new { reorderedOwners[foreignKey, default: []].insert(new) }
                guard old != new else { continue }
                let known = edits ?? inverseIndex.edits()
                edits = known
                if known.contains(slot) {
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
