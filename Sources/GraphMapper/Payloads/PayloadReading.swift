/// What a payload of a load gives the models, and what the session notes of it.
extension LoadBatch {
    /// Reads what a payload says where the model has what was last taken.
    @usableFromInline func take(_ dto: UnsafePointer<D>, _ slot: Int, _ model: D.Model) throws {
        for step in mapping.steps {
            guard let read = step.read, step.gap.map({ !$0.isUnset(dto) }) ?? true else { continue }
            if takes(step, slot, model) { try read(dto, model) }
        }
    }

    /// Whether the property takes what a payload says, which is noted.
    private func takes(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        guard entities.isTaken(step, slot, model) else {
            // Where no record has the property, what the payload says is all there is to compare.
            if let path = step.modelPath, entities.siblings.contains(where: { $0.isStored && $0.maps(path) }) {
                refuse(step, path, slot)
            }
            return false
        }
        entities.noteTakenHere(step, slot)
        return true
    }

    private func refuse(_ step: StepTasks<D>, _ path: AnyKeyPath, _ slot: Int) {
        if entities.snapshot(slot) == nil {
            entities.elsewhere[path, default: []].insert(slot)
        } else if let place = mapping.steps.firstIndex(where: { $0.modelPath == path }) {
            provenance.refused[slot, default: []].insert(place)
        }
    }

    /// What a DTO of the load leaves as the DTO that was there: what it says and the model does not take.
    func takeRefused() throws {
        guard !provenance.refused.isEmpty else { return }
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard let steps = provenance.refused[slot], let dto = incoming[Int(index)],
                let old = entities.snapshot(slot)
            else { continue }
            incoming[Int(index)] = try D.schema.make { [self] place in
                let isRefused = mapping.entries[place].map(steps.contains) ?? false
                return (isRefused ? old : dto)[keyPath: D.schema.properties[place].path]
            }
        }
    }

    /// Whether a link keeps what the model has, which is noted.
    @usableFromInline func keeps(_ index: Int, _ slot: Int, _ model: D.Model) -> Bool {
        guard isPayload else { return entities.isEdited(index, slot, model) }
        return (entities.snapshot(slot) != nil || entities.isKnownElsewhere(slot))
            && !takes(mapping.steps[index], slot, model)
    }

    func keepsLink(_ entry: Int, _ slot: Int, _ model: AnyObject) -> Bool {
        keeps(entry, slot, unsafeDowncast(model, to: D.Model.self))
    }

    // MARK: What others are told

    func noteReached() {
        guard entities.siblings.contains(where: \.isPayload) else { return }
        provenance.reached = arrived.compactMap { !incoming.has(Int($0)) ? nil : model(at: Int(slots[Int($0)])) }
    }

    func tellPayloads() {
        for table in entities.siblings where table.isPayload {
            for model in provenance.reached { table.noteTaken(model, from: entities) }
        }
    }

    /// Tells the tables whose DTO of these objects has not come yet what the DTOs of this load say nothing of.
    func noteElsewhere() {
        let sharing = core.sharing(entities).filter { $0 !== entities }
        guard !sharing.isEmpty else { return }
        let steps = Dictionary(mapping.steps.compactMap { step in step.modelPath.map { ($0, step) } }) { first, _ in
            first
        }
        for table in sharing {
            // Most often the DTOs of both types say the same, and there is nothing to note.
            let paths = table.fieldPaths.filter { table.hasBaselines || steps[$0].map { $0.gap != nil } ?? true }
            guard !paths.isEmpty else { continue }
            for index in arrived {
                let slot = Int(slots[Int(index)])
                guard let dto = incoming[Int(index)], !table.hasSnapshot(slot) else { continue }
                for path in paths {
                    let isOpen =
                        steps[path].map { $0.gap.map { withUnsafePointer(to: dto, $0.isOpen) } ?? false } ?? true
                    if isOpen { table.noteUnsaid(slot, path) } else { table.noteSaid(slot, path) }
                }
            }
        }
    }

    /// What puts back, after a link step, what objects whose first DTO of this type has come keep: the whole link, or
    /// objects in addition to those of the DTO.
    func holdLinks(_ step: StepTasks<D>) -> [() -> Void] {
        guard !isPayload, core.sharing(entities).count > 1, let path = step.modelPath else { return [] }
        var putBack: [() -> Void] = []
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard entities.snapshot(slot) == nil, entities.isKnownElsewhere(slot), let model = model(at: slot) else {
                continue
            }
            if entities.isUnsaidLink(step, slot, model, path) {
                // What the app has put into a link that was never loaded stays, and the link stays one that was not.
                if let freeze = step.freeze { putBack.append(freeze(model)) }
                unloaded[path, default: []].append(slot)
            } else if entities.isHeld(step, slot, model) {
                if let freeze = step.freeze { putBack.append(freeze(model)) }
            } else if let setAside = step.setAside, entities.isPartElsewhere(slot, path) {
                putBack.append(setAside(model, slot, core))
            }
        }
        return putBack
    }
}
