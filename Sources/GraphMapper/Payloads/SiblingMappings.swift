/// What the DTO types of one model, a payload's and a record's, say of one property of one object.
enum Said {
    /// Nothing, and the app has not changed it since.
    case nothing
    /// Some of a list, or nothing of a list that the app has changed since.
    case part
    /// What the model has.
    case whole
    /// Something else than the model has: the app has changed it since.
    case changed
}

/// How the tables of one model agree about an object that came by one of them before it comes by another.
///
/// What came by a DTO that the backing does not keep is as unsaved as what the app has set: a record that is loaded
/// later does not undo it. What it said nothing of, the record fills in.
extension EntityTable {
    /// What this table's DTO says of a property of the model; nil if it has none, or the property is not in the mapping.
    func says(_ slot: Int, _ path: AnyKeyPath) -> Said? {
        guard let dto = snapshot(slot), let model = model(at: slot),
            let step = mapping.steps.first(where: { $0.modelPath == path })
        else { return nil }
        if isPayload, isElsewhere(step, slot) { return isTaken(step, slot, model) ? nil : .changed }
        let isEdited = !isUnedited(step.isClean, slot, model)
        guard let gap = step.gap, withUnsafePointer(to: dto, gap.isOpen) else { return isEdited ? .changed : .whole }
        // What the app has put into a list of which not everything is known comes on top of what is stored.
        return gap.isList && (isEdited || gap.isPartial) ? .part : isEdited ? .changed : .nothing
    }

    /// Notes what the model has where a DTO of another type says nothing. A value that does not encode is not noted: it
    /// counts as changed, and a save says what is wrong with it.
    func noteUnsaid(_ slot: Int, _ path: AnyKeyPath) {
        guard let model = model(at: slot), let step = mapping.steps.first(where: { $0.modelPath == path }),
            let property = step.property, baselines[property]?[slot] == nil,
            let now = try? step.value(of: model, nil, core)
        else { return }
        noteBaseline(property, slot, now)
    }

    func noteSaid(_ slot: Int, _ path: AnyKeyPath) {
        guard !baselines.isEmpty, let property = mapping.steps.first(where: { $0.modelPath == path })?.property else {
            return
        }
        baselines[property]?[slot] = nil
    }

    /// Whether the object came by another type's DTO before.
    @usableFromInline func isKnownElsewhere(_ slot: Int) -> Bool {
        guard isPayload else { return core.sharing(self).contains { $0 !== self && $0.hasSnapshot(slot) } }
        return identity.models[slot].map { model in siblings.contains { $0.hasSnapshot(of: model) } } ?? false
    }

    /// Whether the app alone has put something into a link: neither this type's DTO has come yet, nor has another one said
    /// anything of it.
    func isUnsaidLink(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model, _ path: AnyKeyPath) -> Bool {
        guard step.isWhole || step.inverse != nil, step.named == nil, let objects = step.objects,
            !objects(model).isEmpty
        else { return false }
        return !core.sharing(self).contains { table in
            table !== self && table.said(slot, path).map { $0 != .nothing } ?? false
        }
    }

    /// Whether a property of an object whose first DTO of this type has come keeps what it has: by another type's DTO,
    /// or by the app.
    @usableFromInline func isHeld(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        guard let path = step.modelPath else { return false }
        if let property = step.property, let old = baselines[property]?[slot], !isNoted(old, step, model) {
            return true
        }
        return core.sharing(self).contains { table in
            guard table !== self else { return false }
            switch table.said(slot, path) {
            case .changed: return true
            case .whole: return isStored && !table.isStored
            case .nothing, .part, nil: return false
            }
        }
    }

    /// Whether a property that is not what this type's DTO said is what another type's said: then the app has not changed
    /// it. What a payload said is not taken for stored.
    @usableFromInline func isSaidElsewhere(_ step: StepTasks<D>, _ slot: Int) -> Bool {
        guard core.isShared(self), let path = step.modelPath else { return false }
        return core.sharing(self).contains { table in
            table !== self && (table.isStored || !isStored) && table.said(slot, path) == .whole
        }
    }

    /// Whether the property has what it had when another type's DTO came that says nothing of it.
    func isAsNoted(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        step.property.flatMap { baselines[$0]?[slot] }.map { isNoted($0, step, model) } ?? true
    }

    /// A value that does not encode is not what was noted.
    private func isNoted(_ old: Any, _ step: StepTasks<D>, _ model: D.Model) -> Bool {
        func isSame<V: Storable>(_ old: V, _ now: Any) -> Bool { (now as? V).map { V.isSame(old, $0) } ?? false }
        guard let old = old as? any Storable, let now = try? step.value(of: model, nil, core) else { return false }
        return isSame(old, now)
    }

    func isPartElsewhere(_ slot: Int, _ path: AnyKeyPath) -> Bool {
        core.sharing(self).contains { $0 !== self && $0.said(slot, path) == .part }
    }
}
