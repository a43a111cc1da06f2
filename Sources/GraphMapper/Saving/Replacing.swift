/// Objects that take the places of deleted ones: they have the same ids, and take the rows over. An app adds them, or puts
/// them into links; what a rule deletes is replaced likewise.
extension KeyedTable {
    /// Lets an object take the place of a deleted one while the walk under way lasts.
    @usableFromInline final func takePlace(_ slot: Int, _ model: AnyObject) throws -> Int {
        guard identity.deleted.contains(slot) else { throw twoInstances(model) }
        try checkClass(model)
        let mask = slot < filled.count ? filled[slot] : 0
        takenPlaces.append(TakenPlace(slot: slot, old: identity.models[slot], new: model, filled: mask))
        replace(slot, by: model)
        unvisited.append(slot)
        core.order[place].reachTaken(slot)
        return slot
    }

    /// Lets the object of a slot count as deleted for good, and another one be that of its row.
    final func replace(_ slot: Int, by model: AnyObject) {
        core.hasReplaced = true
        if let old = identity.models[slot], old !== model {
            if identity.replaced[slot] == nil { identity.replaced[slot] = old }
            identity.dropped[ObjectIdentifier(old)] = old
        }
        // What it leaves nil or empty in links is so.
        if slot < filled.count { filled[slot] = .max }
        identity.deleted.remove(slot)
        identity.models[slot] = model
    }

    /// Gives the places that the walk has given away back.
    final func giveBackPlaces() {
        for place in takenPlaces.reversed() {
            if let old = place.old {
                identity.dropped[ObjectIdentifier(old)] = nil
                if identity.replaced[place.slot] === old { identity.replaced[place.slot] = nil }
            }
            if place.slot < filled.count { filled[place.slot] = place.filled }
            identity.models[place.slot] = place.old
            identity.deleted.insert(place.slot)
        }
        (takenPlaces, unvisited) = ([], [])
    }
}

/// The slot of a deleted object that another one takes while a save is planned.
@usableFromInline struct TakenPlace {
    let slot: Int
    let old: AnyObject?
    let new: AnyObject
    /// Which links of the old one were known.
    let filled: UInt64
}
