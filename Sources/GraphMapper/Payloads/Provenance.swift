/// What the session has last taken for a property, from a payload, a record, or a save.
///
/// A payload replaces that, and nothing else: what the model has besides is the app's, and not saved. A payload's own
/// DTO is what was taken, unless ``EntityTable/elsewhere`` says that it was refused, or that a record came later.
extension EntityTable {
    /// The slot of an object that has a DTO here.
    func slot(ofLoaded model: AnyObject) -> Int? {
        (model as? D.Model).flatMap(knownSlot).flatMap { snapshot($0) == nil ? nil : $0 }
    }

    func isElsewhere(_ step: StepTasks<D>, _ slot: Int) -> Bool {
        step.modelPath.map { elsewhere[$0]?.contains(slot) ?? false } ?? false
    }

    private func isUnset(_ step: StepTasks<D>, _ slot: Int) -> Bool {
        guard let gap = step.gap else { return false }
        return withPointer(to: slot, of: snapshots, gap.isUnset)
    }

    /// Whether the session has last taken the property from the DTO here.
    @usableFromInline func isTakenHere(_ step: StepTasks<D>, _ slot: Int) -> Bool {
        snapshot(slot) != nil && !isElsewhere(step, slot) && !isUnset(step, slot)
    }

    /// Whether the model has what the session has last taken.
    func isTaken(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        guard let path = step.modelPath else { return true }
        if isTakenHere(step, slot) { return isUnedited(step.isClean, slot, model) }
        let others = siblings.compactMap { $0.hasTaken(model, path) }
        guard others.isEmpty else { return others.contains(true) }
        if snapshot(slot) != nil { return !isElsewhere(step, slot) && isUnedited(step.isClean, slot, model) }
        return isAsNoted(step, slot, model) && !siblings.contains { $0.said(of: model, path) == .changed }
    }

    func hasTaken(_ model: AnyObject, _ path: AnyKeyPath) -> Bool? {
        guard let model = model as? D.Model, let slot = slot(ofLoaded: model),
            let index = mapping.steps.firstIndex(where: { $0.modelPath == path })
        else { return nil }
        let step = mapping.steps[index]
        guard isTakenHere(step, slot) else { return nil }
        return isUntouched(step, slot, model) || !isKnown(step, index, model, slot)
    }

    @usableFromInline func noteTakenHere(_ step: StepTasks<D>, _ slot: Int) {
        if let path = step.modelPath { elsewhere[path]?.remove(slot) }
    }

    /// Whether the app has changed a link.
    @usableFromInline func isEdited(_ index: Int, _ slot: Int, _ model: D.Model) -> Bool {
        let step = mapping.steps[index]
        guard isPayload else {
            return snapshot(slot) != nil && !isUnedited(step, slot, model)
                && isKnown(step, index, model, slot) && !isSaidElsewhere(step, slot)
        }
        return (snapshot(slot) != nil || isKnownElsewhere(slot)) && !isTaken(step, slot, model)
    }

    /// What a record has in a list of the model.
    func linkedElsewhere(_ step: StepTasks<D>, _ model: D.Model) -> [AnyObject]? {
        step.modelPath.flatMap { path in siblings.lazy.compactMap { $0.linked(by: model, path) }.first }
    }

    func targets(of model: AnyObject, _ path: AnyKeyPath) -> [AnyObject]? {
        guard isStored, let slot = slot(ofLoaded: model) else { return nil }
        return mapping.steps.first { $0.modelPath == path }?.before?(self, slot, core)
    }

    /// Tells the payloads that the models have what is stored, as far as they do.
    ///
    /// - Parameter looked: the slots that a save of what is edited has compared; nil for a save of everything.
    func tellSaved(_ looked: Set<Int>?) {
        let payloads = siblings.filter(\.isPayload)
        guard !payloads.isEmpty else { return }
        for slot in looked.map(Array.init) ?? Array(snapshots.indices) {
            guard snapshot(slot) != nil, let model = model(at: slot) else { continue }
            for table in payloads { table.noteTaken(model, from: self) }
        }
    }

    /// Notes that an object has what is stored, whatever payloads have said.
    func noteUndone(_ slot: Int) {
        for path in mapping.steps.compactMap(\.modelPath)
        where siblings.contains(where: { $0.isStored && $0.maps(path) }) {
            elsewhere[path, default: []].insert(slot)
        }
    }

    func noteTakenElsewhere(_ model: AnyObject, _ other: any ErasedTable) {
        guard let model = model as? D.Model, let slot = slot(ofLoaded: model) else { return }
        for step in mapping.steps {
            guard let path = step.modelPath, !isUnset(step, slot), !isUnedited(step.isClean, slot, model),
                other.hasTaken(model, path) == true
            else { continue }
            elsewhere[path, default: []].insert(slot)
        }
    }
}
