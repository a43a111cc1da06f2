/// Objects that another writer has given to other owners: a load that reads their rows, and not all of these owners, lets the
/// owners' links follow.
extension LoadBatch {
    func moveReassigned() {
        for inverseIndex in entities.inverseIndexes.values where !inverseIndex.held.isEmpty {
            guard let owner = inverseIndex.owner else { continue }
            var reassigned: [InverseIndex.Reassigned] = []
            for index in arrived {
                let slot = Int(slots[Int(index)])
                guard snapshots.has(slot), let object = identity.models[slot] else { continue }
                let (old, new) = (owner(snapshots.address(slot)), owner(incoming.address(Int(index))))
                if old != new { reassigned.append(InverseIndex.Reassigned(object: object, from: old, to: new)) }
            }
            if !reassigned.isEmpty { inverseIndex.follow(reassigned) }
        }
    }
}

extension InverseIndex {
    /// An object whose row names another owner than before.
    struct Reassigned {
        let object: AnyObject
        let from: Int?
        let to: Int?
    }

    /// The objects that the app has put into the links of owners since these were filled or saved.
    func taken() -> Set<ObjectIdentifier> {
        var taken: Set<ObjectIdentifier> = []
        for (owner, before) in held {
            let now = linked?(owner) ?? []
            if isChanged(owner, now) { taken.formUnion(Set(now.map(ObjectIdentifier.init)).subtracting(before)) }
        }
        return taken
    }

    /// Takes objects out of the links that held them, and puts them into those of the owners that they have now. Where
    /// the app has put one stays.
    fileprivate func follow(_ reassigned: [Reassigned]) {
        let taken = taken()
        for child in reassigned {
            let id = ObjectIdentifier(child.object)
            if let owner = child.from, held(owner, child.object) {
                held[owner]?.removeAll { $0 == id }
                edit?(owner, [id], [])
            }
            guard let owner = child.to, isFilled(owner), !held(owner, child.object) else { continue }
            let now = linked?(owner) ?? []
            // A link to one that the app has not changed has another one now.
            guard isList || !isChanged(owner, now) else { continue }
            held[owner] = isList ? (held[owner] ?? []) + [id] : [id]
            if !taken.contains(id), !now.contains(where: { $0 === child.object }) {
                edit?(owner, [], [child.object])
            }
        }
    }
}
