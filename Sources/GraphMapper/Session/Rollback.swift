extension GraphSession {
    /// Undoes what was not saved: loaded models are as they were last read or saved, new objects and deletions are
    /// forgotten. What a payload has said of a stored object counts as an edit, and an object that only a payload has
    /// brought as new, if the session maps a record of its model, too. A link to an object that the session no longer has becomes one that was not loaded. No I/O.
    public func rollback() throws {
        try whileIdle { try core.quietly { try core.rollBack() } }
    }
}

extension SessionCore {
    /// - Parameter load: one that is under way; what it has come to stays.
    func rollBack(during load: Load? = nil) throws {
        let arriving = Set((load?.all ?? []).filter(\.table.isStored).flatMap(\.models).map(ObjectIdentifier.init))
        for table in order { table.forgetPending() }
        let payloads = order.filter(\.isPayload)
        for table in payloads { table.forgetUnsaved(arriving) }
        for table in order where !table.isStored && !table.isPayload { try table.rollBack(arriving) }
        for table in order where table.isStored { try table.rollBack(arriving) }
        for table in payloads { table.forgetUndone(nil) }
    }

    /// The same for what a load has read.
    func rollBackArrived(_ load: Load) throws {
        let stored = load.all.filter(\.table.isStored)
        let arrived = Set(stored.flatMap(\.models).map(ObjectIdentifier.init))
        for batch in stored { try batch.rollBack() }
        for table in order where table.isPayload { table.forgetUndone(arrived) }
    }
}

extension EntityTable {
    /// Forgets objects that are not stored. Of one that the load under way has found stored, it forgets the payload.
    ///
    /// - Parameter arriving: the objects that a load has come to.
    func forgetUnsaved(_ arriving: Set<ObjectIdentifier>) {
        let stored = siblings.filter(\.isStored)
        for slot in snapshots.indices where snapshots.has(slot) {
            guard let model = model(at: slot), !stored.contains(where: { $0.hasSnapshot(of: model) }) else { continue }
            if arriving.contains(ObjectIdentifier(model)) { forgetSnapshot(slot) } else { forget(mapping.idOf(model)) }
        }
    }

    /// Forgets payloads of which something was undone.
    ///
    /// - Parameter objects: whose payloads; nil for all.
    func forgetUndonePayloads(of objects: Set<ObjectIdentifier>?) {
        for slot in snapshots.indices where snapshots.has(slot) {
            guard let model = model(at: slot), objects?.contains(ObjectIdentifier(model)) ?? true else { continue }
            let isAsCame = mapping.steps.allSatisfy { isUnedited($0.isClean, slot, model) }
            if isAsCame { noteUndone(slot) } else { forgetSnapshot(slot) }
        }
    }

    func undoEdits(besides arriving: Set<ObjectIdentifier>) throws {
        forgetUnstoredObjects(besides: arriving)
        try undoEdits(of: snapshots.indices.filter { snapshots.has($0) && identity.models[$0] != nil })
    }

    /// Forgets new objects that a merge has registered.
    private func forgetUnstoredObjects(besides arriving: Set<ObjectIdentifier>) {
        let sharing = core.sharing(self)
        let unstored = identity.models.indices.compactMap { slot in
            sharing.contains { $0.hasSnapshot(slot) } ? nil : model(at: slot)
        }
        guard !unstored.isEmpty else { return }
        for model in unstored where !arriving.contains(ObjectIdentifier(model)) { forget(mapping.idOf(model)) }
    }

    /// Makes the models of these slots, which have snapshots, what they were when last read or saved.
    func undoEdits(of loaded: [Int]) throws {
        for slot in loaded {
            guard let model = model(at: slot), let old = snapshots[slot] else { continue }
            bases[slot] = nil
            for step in mapping.steps {
                if let read = step.read {
                    guard !isUnedited(step.isClean, slot, model) else { continue }
                    try withUnsafePointer(to: old) { try read($0, model) }
                    if let path = step.property, let undo = step.gap?.undo, let baseline = baselines[path]?[slot] {
                        try undo(baseline, model)
                    }
                } else if let restore = step.restore {
                    if filled[slot] & step.bit == 0 {
                        if step.isEmpty?(model) == false { step.drop?(model, core, true) }
                    } else if step.settle != nil || !isUnedited(step.isClean, slot, model)
                        || leadsToOthers(step, model)
                    {
                        guard !restore(old, model, core) else { continue }
                        step.drop?(model, core, true)
                        filled[slot] &= ~step.bit
                    }
                }
            }
        }
        for step in mapping.steps { step.restoreHeld?(self, loaded, core) }
    }

    /// Whether a link leads to other instances than the session's, which have the ids that are stored.
    private func leadsToOthers(_ step: StepTasks<D>, _ model: D.Model) -> Bool {
        guard let table = target(step), let objects = step.objects?(model) else { return false }
        return objects.contains { table.isOther($0) }
    }
}

extension LoadBatch {
    func rollBack() throws {
        let slots = arrived.map { Int(self.slots[Int($0)]) }
        identity.deleted.subtract(slots)
        try entities.undoEdits(of: slots.filter { entities.snapshot($0) != nil })
    }
}
