extension GraphSession {
    /// Undoes what was not saved: loaded models are as they were last read or saved, new objects and deletions are
    /// forgotten. What a payload has said of a stored object counts as an edit, and an object that only a payload has
    /// brought as new, if the session maps a record of its model, too. A link to an object that the session no longer has becomes one that was not loaded. No I/O.
    public func rollback() throws {
        try validate()
        try notBusy()
        try core.quietly { try core.rollBack() }
    }
}

extension SessionCore {
    func rollBack() throws {
        for table in order { table.forgetPending() }
        let payloads = order.filter(\.isPayload)
        for table in payloads { table.forgetUnsaved() }
        for table in order where !table.isStored && !table.isPayload { try table.rollBack() }
        for table in order where table.isStored { try table.rollBack() }
        for table in payloads { table.forgetUndone(nil) }
    }

    /// The same for what the load under way has read.
    func rollBackArrived() throws {
        let stored = order.filter(\.isStored)
        let arrived = Set(stored.flatMap(\.objectsUnderWay).map(ObjectIdentifier.init))
        for table in stored { try table.rollBackArrived() }
        for table in order where table.isPayload { table.forgetUndone(arrived) }
    }
}

extension Table {
    /// Forgets objects that are not stored. Of one that the load under way has found stored, it forgets the payload.
    func forgetUnsavedObjects() {
        let stored = kin.filter(\.isStored)
        let arriving = Set(stored.flatMap { $0.objectsUnderWay }.map(ObjectIdentifier.init))
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

    /// Undoes what the app has done to the objects that the load under way has read.
    func undoArrived() throws {
        let slots = arrived.map { Int(self.slots[Int($0)]) }
        identity.deleted.subtract(slots)
        try undoEdits(of: slots.filter { snapshot($0) != nil })
    }

    func undoEdits() throws {
        forgetUnstoredObjects()
        try undoEdits(of: snapshots.indices.filter { snapshots.has($0) && identity.models[$0] != nil })
    }

    /// Forgets new objects that a merge has registered.
    private func forgetUnstoredObjects() {
        let sharing = core.sharing(self)
        let unstored = identity.models.indices.compactMap { slot in
            sharing.contains { $0.hasSnapshot(slot) } ? nil : model(at: slot)
        }
        guard !unstored.isEmpty else { return }
        let arriving = Set(sharing.flatMap(\.objectsUnderWay).map(ObjectIdentifier.init))
        for model in unstored where !arriving.contains(ObjectIdentifier(model)) { forget(mapping.idOf(model)) }
    }

    /// Makes the models of these slots, which have snapshots, what they were when last read or saved.
    func undoEdits(of loaded: [Int]) throws {
        for slot in loaded {
            guard let model = model(at: slot), let old = snapshots[slot] else { continue }
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
