/// What the app's edits of one object were made on, where another writer has changed the same properties since and a load has
/// read that. Reading again is not having seen: a save merges, or conflicts, as if there had been no load.
struct EditBase<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// The DTO as it was read before.
    var dto: D
    /// The places of the properties, in the schema.
    var places: Set<Int>
}

extension EntityTable {
    /// Notes that edits of some properties were made on what the snapshot has, before that becomes another.
    func keepBase(_ slot: Int, _ places: Set<Int>) throws {
        guard let old = snapshot(slot) else { return }
        guard let known = bases[slot] else {
            bases[slot] = EditBase(dto: old, places: places)
            return
        }
        let new = places.subtracting(known.places)
        guard !new.isEmpty else { return }
        let properties = schema.properties
        let dto = try schema.make { (new.contains($0) ? old : known.dto)[keyPath: properties[$0].path] }
        bases[slot] = EditBase(dto: dto, places: known.places.union(new))
    }

    /// Forgets the base of properties that the app's edits have come to agree with.
    func dropBase(_ slot: Int, _ places: Set<Int>) {
        bases[slot]?.places.subtract(places)
        if bases[slot]?.places.isEmpty == true { bases[slot] = nil }
    }

    /// What the app's edits of an object were made on.
    func base(_ slot: Int, _ latest: D) throws -> D {
        guard let base = bases[slot] else { return latest }
        let properties = schema.properties
        return try schema.make { (base.places.contains($0) ? base.dto : latest)[keyPath: properties[$0].path] }
    }
}

extension EntityTable {
    /// Whether a property has what was last read of it, or what it had before another writer changed it: then the app has
    /// not edited it, or has taken its edit back.
    func isClean(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) throws -> Bool {
        if try isClean(step.isClean, slot, model) { return true }
        return try !bases.isEmpty && isTakenBack(step, slot, model)
    }

    /// The same for a value that may not encode, which is an edit.
    func isUnedited(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        (try? isClean(step, slot, model)) ?? false
    }

    private func isTakenBack(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) throws -> Bool {
        guard let base = bases[slot], let place = place(of: step), base.places.contains(place) else { return false }
        return try withUnsafePointer(to: base.dto) { try step.isClean($0, model, core) }
    }

    /// The places of properties that have their base again.
    func takenBack(_ slot: Int, _ model: D.Model) -> Set<Int> {
        guard let base = bases[slot] else { return [] }
        return base.places.filter { place in
            guard let entry = mapping.entries[place] else { return false }
            let step = mapping.steps[entry]
            return !step.isVersion && ((try? isTakenBack(step, slot, model)) ?? false)
                && !isUnedited(step.isClean, slot, model)
        }
    }
}
