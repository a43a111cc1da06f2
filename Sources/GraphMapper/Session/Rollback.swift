extension GraphSession {
    /// Undoes what was not saved: loaded models are as they were last read or saved, new objects and deletions are
    /// forgotten. A link to an object that the session no longer has becomes one that was not loaded. No I/O.
    public func rollback() throws {
        try validate()
        try notBusy()
        try core.rollBack()
    }
}

extension SessionCore {
    func rollBack() throws {
        for table in order { table.forgetPending() }
        for table in order { try table.rollBack() }
    }
}

extension Table {
    func undoEdits() throws {
        let loaded = snapshots.indices.filter { snapshots[$0] != nil && identity.models[$0] != nil }
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
                    } else if step.settle != nil || !isUnedited(step.isClean, slot, model) {
                        guard !restore(old, model, core) else { continue }
                        step.drop?(model, core, true)
                        filled[slot] &= ~step.bit
                    }
                }
            }
        }
        for step in mapping.steps { step.restoreHeld?(self, loaded, core) }
    }
}
