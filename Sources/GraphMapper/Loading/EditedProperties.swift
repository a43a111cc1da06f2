/// What a load does where the app has edited what another writer has changed.
extension LoadBatch {
    /// Asks what becomes of the values that both have changed, before any model is touched.
    func resolveEdits() throws {
        guard let merge = load.merge, !isPayload else { return }
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard snapshots.has(slot), incoming.has(Int(index)), let model = model(at: slot) else { continue }
            for (entry, step) in mapping.steps.enumerated() where step.read != nil {
                guard !entities.isUnedited(step, slot, model), !entities.isSaidElsewhere(step, slot),
                    let conflict = conflict(step, slot, model, incoming.pointer(Int(index)))
                else { continue }
                if let path = step.property { settled[slot, default: []].insert(path) }
                guard conflict.mine != conflict.theirs else { continue }
                resolutions[slot, default: [:]][entry] = (conflict, try merge(conflict))
            }
        }
    }

    private func conflict(
        _ step: StepTasks<D>, _ slot: Int, _ model: D.Model, _ theirs: UnsafePointer<D>
    ) -> Conflict? {
        // A value of the app's that does not encode is kept, and a save says what is wrong with it.
        guard let isSame = step.isSame, let old = snapshots[slot], let place = entities.place(of: step),
            let base = try? entities.base(slot, old), withUnsafePointer(to: base, { !isSame($0, theirs) }),
            let mine = try? entities.storedValues(step, place, model, old)
        else { return nil }
        let property = D.schema.properties[place]
        return Conflict(
            .value, type: D.schema.name, id: "\(old.id)", property: property.name, base: property.stored(base),
            mine: mine, theirs: property.stored(theirs.pointee))
    }

    /// Gives an edited property what was resolved, if anything was.
    func applyResolution(
        _ entry: Int, _ slot: Int, _ model: D.Model, _ theirs: UnsafePointer<D>,
        _ read: (UnsafePointer<D>, D.Model) throws -> Void
    ) throws {
        guard let (conflict, resolution) = resolutions[slot]?[entry],
            let place = entities.place(of: mapping.steps[entry])
        else { return }
        switch resolution {
        case .mine: return
        case .theirs: try read(theirs, model)
        case .merged(let values): try entities.set(values, of: conflict, place, model, theirs.pointee, read)
        }
    }

    /// Keeps what the app's edits were made on, where another writer has changed the same.
    func keepBases() throws {
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard snapshots.has(slot), incoming.has(Int(index)), let model = model(at: slot) else { continue }
            let (old, new) = (snapshots.pointer(slot), incoming.pointer(Int(index)))
            if mapping.isSame(old, new), keptKeys[slot] == nil, entities.bases[slot] == nil { continue }
            let isDeleted = identity.deleted.contains(slot)
            let kept = isDeleted ? Set(D.schema.properties.indices) : keptPlaces(slot, model, old, new)
            if let base = entities.bases[slot] { entities.dropBase(slot, base.places.subtracting(kept)) }
            if !kept.isEmpty { try entities.keepBase(slot, kept) }
        }
    }

    /// The places of properties that the app has changed, and another writer since the app's edit was made.
    private func keptPlaces(_ slot: Int, _ model: D.Model, _ old: UnsafePointer<D>, _ new: UnsafePointer<D>) -> Set<Int>
    {
        var kept: Set<Int> = []
        var isEdited = false
        for (place, entry) in mapping.entries.enumerated() {
            guard let entry else { continue }
            let step = mapping.steps[entry]
            let path = D.schema.properties[place].path
            if settled[slot]?.contains(path) ?? false { continue }
            let isMoved = keptKeys[slot]?.contains(path) ?? false
            // A value that does not encode is an edit.
            let isClean = (try? step.isClean(new, model, core)) ?? false || entities.isUnedited(step, slot, model)
            guard isMoved || !isClean && entities.isKnown(step, entry, model, slot) else { continue }
            isEdited = true
            let isBased = entities.bases[slot]?.places.contains(place) ?? false
            if isBased || isMoved || step.isSame.map({ !$0(old, new) }) ?? false { kept.insert(place) }
        }
        // Any change of the row is a conflict with an edit of it, if the row counts its updates.
        if isEdited, let place = mapping.steps.first(where: \.isVersion).flatMap(entities.place) {
            let isBased = entities.bases[slot]?.places.contains(place) ?? false
            if isBased || mapping.steps.contains(where: { $0.isVersion && $0.isSame?(old, new) == false }) {
                kept.insert(place)
            }
        }
        return kept
    }
}
