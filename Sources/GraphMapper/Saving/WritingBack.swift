/// The way back: what the app adds and deletes, the walk, and the DTOs of what changed.
extension EntityTable {
    /// - Parameter isUpsert: whether its row is updated if it turns out to be there.
    func add(_ model: AnyObject, isUpsert: Bool = false) throws {
        guard let model = model as? D.Model else { return }
        try checkKey(model)
        if let slot = mapping.passes.slot(self, model), identity.models[slot] !== model,
            !identity.deleted.contains(slot)
        {
            throw twoInstances(model)
        }
        // The row of one that was evicted is known to be there.
        let wasEvicted = !identity.evicted.isEmpty && identity.isEvicted(model)
        if !identity.dropped.isEmpty { identity.dropped[ObjectIdentifier(model)] = nil }
        if !identity.evicted.isEmpty { identity.evicted[ObjectIdentifier(model)] = nil }
        if let slot = mapping.passes.slot(self, model) {
            if identity.models[slot] === model { forgetVanished(slot) }
            // One that was deleted and is added again, or a new one in its place, takes over what is stored.
            identity.deleted.remove(slot)
            if identity.models[slot] !== model {
                replace(slot, by: model)
                markEdited(model)
            }
        } else if !hasKeyGiver || keys?.isNeeded(model) != true {
            added.append(model, slot: mapping.passes.register(self, model))
        }
        added.append(model)
        if isUpsert || wasEvicted { added.setUpsert(model) }
    }

    /// Registers an added object anew whose id has changed since it was registered.
    ///
    /// - Parameter slot: that of the id that it has now.
    private func registerChanged(_ object: AnyObject, _ slot: Int?) {
        guard let old = added.slot(of: object), old < held.models.count, held.models[old] === object, old != slot else {
            return
        }
        if let id = identity.slots.id(of: Int32(truncatingIfNeeded: old)) { identity.remove(id) }
        added.setSlot(slot == nil ? mapping.passes.register(self, object) : -1, of: object)
    }

    /// A key that is not equal to itself can never be found again.
    func checkKey(_ model: D.Model) throws {
        guard !mapping.passes.isKey(self, model) else { return }
        let id = mapping.idOf(model)
        throw GraphError(
            .misuse, "\(id) is no key, since it is not equal to itself; give the object another", type: D.schema.name,
            id: "\(id)", property: D.schema.key?.name)
    }

    /// Whether another object of the same id has taken the place of one.
    @usableFromInline func isReplaced(_ object: D.Model?, by other: D.Model?) -> Bool {
        guard let object, let other, object !== other, knownSlot(of: object) == nil,
            identity.dropped[ObjectIdentifier(object)] != nil || identity.isEvicted(object)
        else { return false }
        return IDKey(mapping.idOf(object)) == IDKey(mapping.idOf(other))
    }

    func delete(_ model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        let wasAdded = added.slot(of: model) != nil
        added.remove(model)
        if wasAdded, let slot = knownSlot(of: model), !core.sharing(self).contains(where: { $0.hasSnapshot(slot) }) {
            // It was never stored: nothing leads to it any more.
            identity.remove(mapping.idOf(model), isStored: true)
        }
        if let slot = knownSlot(of: model) {
            identity.deleted.insert(slot)
        } else {
            identity.dropped[ObjectIdentifier(model)] = model
        }
    }

    func claimedTwice(_ model: AnyObject) -> GraphError {
        GraphError(
            .conflict,
            "two instances claim this id; keep the one that the session loaded, or delete that and add this one",
            type: D.schema.name,
            id: "\(idOf(model))")
    }

    @usableFromInline func twoOwners(_ first: Int, _ second: Int, of id: String, _ type: String) -> GraphError {
        let owners = [first, second].compactMap { model(at: $0) }.map { "\(mapping.idOf($0))" }.sorted()
        return GraphError(
            .conflict, "two owners hold it, \(D.schema.name) \(owners.joined(separator: " and ")); remove it from one",
            type: type, id: id)
    }

    /// Takes the added objects into the walk.
    func walkAdded() throws {
        for object in added {
            let slot = mapping.passes.slot(self, object)
            if let slot, held.models[slot] === object { continue }
            registerChanged(object, slot)
            _ = try mapping.passes.enter(self, object)
        }
    }

    /// Forgets that objects were added which are stored now.
    func forgetStored() {
        added.removeAll { object in
            guard let slot = mapping.passes.slot(self, object), held.models[slot] === object else { return false }
            return snapshots.has(slot) || core.sharing(self).contains { $0.hasSnapshot(slot) }
        }
    }

    /// A subclass that has a mapping of its own is stored by that one; here its own properties would be lost.
    func checkSubclass(_ model: AnyObject) throws {
        guard let other = core.tables(holding: model).first, other !== self, isBase(of: other) else { return }
        throw GraphError(
            .misuse,
            "a link to \(D.schema.name) leads to a \(type(of: model)), which is stored as \(other.name); link to that, "
                + "or map the subclass as \(D.schema.name)", type: D.schema.name, id: "\(idOf(model))")
    }

    func startWalk() {
        markTracked()
        for inverseIndex in inverseIndexes.values { inverseIndex.walk = OwnershipWalk(isPartial: false) }
        found = []
        walked = 0
        partial = nil
    }

    func walkEach() throws -> Bool {
        guard walked < identity.models.count || !unvisited.isEmpty else { return false }
        guard let visit = mapping.visit else {
            walked = identity.models.count
            unvisited = []
            return true
        }
        let core = core
        while walked < identity.models.count {
            // What is deleted, or has vanished, owns nothing.
            if let object = held.models[walked], identity.deleted.isEmpty || !identity.deleted.contains(walked),
                vanished.isEmpty || !vanished.contains(walked)
            {
                do { try visit(object, walked, core) } catch {
                    throw located(error, unsafeDowncast(object, to: D.Model.self))
                }
            }
            walked += 1
        }
        while let slot = unvisited.popLast() {
            guard let object = held.models[slot] else { continue }
            do { try visit(object, slot, core) } catch {
                throw located(error, unsafeDowncast(object, to: D.Model.self))
            }
        }
        return true
    }

    /// The error, with the link that led to it.
    @usableFromInline func located(_ error: any Error, _ model: D.Model) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        let step = mapping.steps.first { step in
            do { try step.visit?(model, walked, core) } catch { return true }
            return false
        }
        guard let step else { return error }
        let name = D.schema.properties.first { $0.path == step.property }?.name ?? step.modelName
        error.path = "\(D.schema.name)(\(mapping.idOf(model))).\(name)"
        return error
    }

    /// Objects that the walk found are forgotten unless the save succeeds.
    func forgetFound() {
        for inverseIndex in inverseIndexes.values { inverseIndex.walk = nil }
        if !takenPlaces.isEmpty { giveBackPlaces() }
        mapping.passes.forgetFound(self)
    }

    func collect(into plan: inout WritePlan) throws {
        let isShared = core.sharing(self).count > 1
        let commit = EntityCommit(self)
        inserting = []
        // Not models of their type: an array of these would ask for its type at each.
        var new: [(slot: Int, model: AnyObject)] = []
        for slot in try partial.map(changedSlots) ?? changedSlots() {
            guard let model = model(at: slot) else { continue }
            let old = vanished.contains(slot) ? nil : snapshots[slot]
            if identity.deleted.contains(slot) {
                if let old {
                    plan.delete(D.schema.deletion(of: try base(slot, old)), place, isShared)
                    noteDeleted(old, in: &plan)
                }
                commit.delete(.init(slot: slot, id: mapping.idOf(model), model: model))
            } else if vanished.contains(slot) {
                // Links are no edits of it. An edit finds that the row is gone, and is a conflict.
                guard let last = snapshots[slot], isEditedBesidesLinks(slot, model) else { continue }
                try collectUpdate(of: model, slot, last, isShared, commit, into: &plan)
            } else if let old {
                try collectUpdate(of: model, slot, old, isShared, commit, into: &plan)
            } else if isShared, !core.isWriter(self, slot) {
                continue
            } else if !rows.isEmpty, let stored = rows[IDKey(mapping.idOf(model))] {
                try collect(model, slot, foundAs: stored, commit, into: &plan)
            } else {
                new.append((slot, model))
            }
        }
        try collect(new, commit, into: &plan)
        if commit.hasDeleted { plan.isDeleting = true }
        plan.commits.append(commit)
    }

    /// Plans to write what differs from an object's row.
    private func collectUpdate(
        of model: D.Model, _ slot: Int, _ old: D, _ isShared: Bool, _ commit: EntityCommit<D>,
        into plan: inout WritePlan
    ) throws {
        try checkWhole(slot, model)
        let new = try identity.replaced[slot] == nil ? rebuilt(old, model, slot) : composed(model)
        guard IDKey(new.id) == IDKey(old.id) else {
            throw GraphError(
                .misuse, "its id became \(new.id); ids do not change, so delete it and add another",
                type: D.schema.name, id: "\(old.id)")
        }
        var change = schema.update(from: old, to: new)
        if bases[slot] != nil { schema.expect(try base(slot, old), in: &change) }
        plan.update(change.row, change.links, isShared)
        note(old, new, in: &plan)
        commit.update(
            .init(slot: slot, dto: new, written: writtenLinks(of: model), takenBack: takenBack(slot, model)))
        settle(new, model, &plan)
        if !positions.isEmpty { try followPositions(new, slot, model, in: &plan) }
    }

    /// Plans to insert objects of which nothing is stored.
    private func collect(
        _ new: [(slot: Int, model: AnyObject)], _ commit: EntityCommit<D>, into plan: inout WritePlan
    ) throws {
        guard !new.isEmpty else { return }
        func model(_ object: AnyObject) -> D.Model { unsafeDowncast(object, to: D.Model.self) }
        let isPlain = records.isEmpty && (stubs != nil || !mapping.hasNested)
        let dtos = try isPlain ? composeNew(new) : new.map { try record(of: model($0.model)) }
        if !settlers.isEmpty {
            for (object, dto) in zip(new, dtos) { settle(dto, model(object.model), &plan) }
        }
        if !positions.isEmpty {
            for (object, dto) in zip(new, dtos) {
                try followPositions(dto, object.slot, model(object.model), in: &plan)
            }
        }
        if hasKeyGiver { for object in new { noteKey(of: model(object.model), in: &plan) } }
        // Not a key path, which costs a microsecond where the type is not known.
        inserting = dtos.map { $0.id }
        let changes = insertions(of: dtos)
        plan.insert(changes.rows, place)
        plan.relinks += changes.links
        commit.insert(new, dtos)
    }

    /// Slots of objects that are new, deleted or differ from their snapshots.
    func changedSlots() throws -> [Int] {
        grow(to: held.models.count)
        let (isClean, snapshots, core) = (mapping.isClean, snapshots, core)
        var changed: [Int] = []
        for slot in held.models.indices {
            guard let model = model(at: slot) else { continue }
            guard snapshots.isThere[slot], identity.deleted.isEmpty || !identity.deleted.contains(slot),
                vanished.isEmpty || !vanished.contains(slot)
            else {
                changed.append(slot)
                continue
            }
            if try !isClean(snapshots.pointer(slot), model, core) && isDirty(slot, model) { changed.append(slot) }
        }
        if !identity.replaced.isEmpty { changed += replacedSlots(besides: changed) }
        if !positions.isEmpty { changed += Set(placedSlots).subtracting(changed).sorted() }
        return changed
    }

    /// Slots whose objects have taken others' places, and store the same: their back-references follow the save as well.
    private func replacedSlots(besides slots: [Int]) -> [Int] {
        let slots = Set(slots)
        return identity.replaced.keys.filter { !slots.contains($0) && identity.models[$0] != nil }.sorted()
    }

    /// Whether a property that is known differs from the snapshot.
    func isDirty(_ slot: Int, _ model: D.Model) throws -> Bool {
        for (index, step) in mapping.steps.enumerated()
        where try !isClean(step, slot, model) && isKnown(step, index, model, slot) { return true }
        return false
    }

    func forget(_ id: D.ID) {
        if let slot = identity.slot(id) {
            for table in core.sharing(self) {
                table.forgetSnapshot(slot)
                table.forgetOwned(by: slot)
            }
        }
        identity.remove(id, isStored: true)
    }

    /// Takes from every link what the save has deleted.
    func dropDeleted() {
        for slot in identity.models.indices {
            // What another writer has deleted stays as it was last read.
            guard let model = model(at: slot), snapshot(slot) != nil, !vanished.contains(slot) else { continue }
            for step in mapping.steps { step.drop?(model, core, false) }
        }
    }

    func stored(_ dto: D, _ model: D.Model, _ walked: Int) -> Int {
        withUnsafePointer(to: dto) { mapping.passes.noteStored(self, $0, model, walked) }
    }

    /// False for a link that is nil or empty and was never filled: what it stores is unknown.
    func isKnown(_ step: StepTasks<D>, _ index: Int, _ model: D.Model, _ slot: Int) -> Bool {
        guard let isEmpty = step.isEmpty, filled[slot] & step.bit == 0 else { return true }
        return !isEmpty(model)
    }

    /// The DTO of a loaded model: properties that are clean as in the snapshot.
    func rebuilt(_ old: D, _ model: D.Model, _ slot: Int) throws -> D {
        try withUnsafePointer(to: old) { try compose(model, slot, $0, .edits) { try schema.make(&$0) } }
    }

    /// The DTO of a model as that of a new object: nothing of what is stored is left in it.
    func composed(_ model: D.Model) throws -> D { try compose(model, -1, nil, .whole) { try schema.make(&$0) } }

    /// The DTO of a model, with nested values; the links of an object lead to objects that have an id and nothing else.
    @usableFromInline func record(of model: D.Model) throws -> D {
        if !records.isEmpty, let known = records[ObjectIdentifier(model)] { return known }
        return try stubs == nil && mapping.hasNested ? wholeRecord(of: model) : composeWhole(model)
    }

    func evict(_ model: AnyObject) {
        guard let model = model as? D.Model else { return }
        added.remove(model)
        guard let slot = knownSlot(of: model) else { return }
        if core.sharing(self).contains(where: { $0.hasSnapshot(slot) }) { identity.evict(model, from: slot) }
        forget(mapping.idOf(model))
    }
}
