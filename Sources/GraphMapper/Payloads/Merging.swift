extension GraphSession {
    /// Brings a graph that was edited elsewhere, by a web form or in a file, onto what is stored. Nothing is written: the
    /// models take what the graph says, and the next save writes what differs. What is stored already is no change.
    ///
    /// The rows of all objects that the graph names are read first, one query a type, and what loads follow from them;
    /// on-demand links that the graph may set, too. Objects are matched by id, DTOs without an id by their place; what is
    /// not stored is new. Lists are taken for all there is unless the mapping says `.partial`, and a `Tristate` that is
    /// unset says nothing.
    ///
    /// Records may be merged, too: rows that were edited elsewhere, all of whose columns count. Links that other rows'
    /// foreign keys hold stay as these say. A record's property that the model does not have stays as it is stored, and one
    /// with another ``Version`` than the row is a conflict.
    ///
    /// What the app has changed, and not saved, is merged property by property: what the graph leaves as it is stored keeps
    /// the app's change, lists merge element by element, and of what both have changed in different ways `policy` decides.
    ///
    /// Complexity: O(objects held and read).
    ///
    /// - Parameters:
    ///   - dtos: the graph: payloads whose models also have a type that the session's backing keeps, or structs that it
    ///     keeps.
    ///   - policy: what becomes of a ``Conflict``, in which the graph is the other writer; also where the app has deleted
    ///     what the graph has changed. `.merge` is asked only where the two differ.
    ///   - duplicates: what to make of copies of one object that differ.
    /// - Returns: one model a DTO, in order.
    /// - Throws: a ``GraphError`` of kind `.conflict` with all ``GraphError/conflicts``; `.misuse` for objects of a
    ///   database, which are what is stored and no edit of it; and what ``map(_:duplicates:)`` and a load throw. Then the
    ///   session and the models' mapped properties are as before.
    @discardableResult
    public func merge<D: Mappable>(
        _ dtos: [D], onConflict policy: ConflictPolicy = .fail, duplicates: DuplicatePolicy = .fail
    ) async throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try await takeTurn()
        defer { release() }
        let named = try names(in: dtos)
        let stored = try await gatherStored(named)
        // From here on nothing is waited for: what the app has done until now is not the merge's.
        let image = try SessionImage(core)
        let linked = core.linkedObjects()
        do {
            try stored.materialise()
            let edits = try core.order.filter(\.isStored).flatMap { try $0.stashOwnEdits(of: named.paths) }
            let records = named.records.map { $0.table.stashEdits($0.ids) }
            let models = try core.map(
                dtos, duplicates, records.isEmpty ? .all : .only(Array(named.paths)), adopting: linked)
            for (table, ids) in named.ids { try table.addVanished(ids) }
            try settle(records.flatMap { $0() } + edits, policy)
            return models
        } catch {
            try image.restore()
            throw error
        }
    }

    /// What a graph of DTOs is about. What earlier payloads have said of its objects is forgotten: it has been saved, or is
    /// a change of the app's.
    private func names<D: Mappable>(in dtos: [D]) throws -> NamedObjects
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        // What only on-demand links of the graph lead to is named, too.
        let load = Load(core, .following(core.order.flatMap(\.modelPaths)))
        try load.start(dtos)
        try load.expandNested()
        var named = NamedObjects()
        for batch in load.all {
            let (table, ids) = (batch.table, batch.namedIDs)
            if batch.hasArrived {
                guard !table.isStored || !(table.dtoType is AnyObject.Type) else {
                    throw GraphError(
                        .misuse,
                        "objects of the database are what is stored, and no edit of it; merge payloads, or refresh the "
                            + "session", type: table.name)
                }
                named.paths.formUnion(table.isStored ? table.rowPaths : table.modelPaths)
                if table.isStored {
                    named.records.append((table, batch.arrivedIDs))
                } else {
                    table.forgetSaid(ids)
                }
            }
            for stored in core.sharing(table) where stored.isStored { named.ids.append((stored, ids)) }
        }
        return named
    }

    private func gatherStored(_ named: NamedObjects) async throws -> Load {
        let load = Load(core, .following(Array(named.paths)))
        try await required(backing).snapshot { source in
            for (table, ids) in named.ids { try await load.phase(of: table).fetch(ids, from: source) }
            load.noteRoots()
            try await load.gather(from: source)
        }
        return load
    }

    /// Merges what the app had changed with what the graph has made of it.
    private func settle(_ edits: [StashedEdit], _ policy: ConflictPolicy) throws {
        var conflicts: [Conflict] = []
        for edit in edits {
            guard let conflict = try edit.merge() else { continue }
            guard let resolve = policy.resolve else {
                conflicts.append(conflict)
                continue
            }
            switch try resolve(conflict) {
            case .mine: try edit.putBack()
            case .theirs: try edit.takeTheirs()
            case .merged(let values): try edit.set(values, conflict)
            }
        }
        if !conflicts.isEmpty { throw GraphError(merging: conflicts) }
    }
}

/// The objects that a graph of DTOs names, by the tables that they are stored through, and the models' properties that it
/// may set.
private struct NamedObjects {
    var ids: [(table: any ErasedTable, ids: Any)] = []
    var paths: Set<AnyKeyPath> = []
    /// The records among them.
    var records: [(table: any ErasedTable, ids: Any)] = []
}

/// A change of the app's that is taken back while a graph is mapped.
struct StashedEdit {
    /// Merges it with what the graph has made of the property; answers what they clash in.
    let merge: () throws -> Conflict?
    /// Makes the app's change again.
    let putBack: () throws -> Void
    /// Lets the graph's stay.
    var takeTheirs: () throws -> Void = {}
    /// Sets what the conflict was resolved to.
    let set: ([StoredValue], Conflict) throws -> Void
}

/// What a merge does with the records of what the app has edited.
extension EntityTable {
    /// Forgets what payloads have said of objects that a record has brought, too.
    func forgetSaid(_ ids: Any) {
        let stored = core.sharing(self).filter(\.isStored)
        for id in ids as? ContiguousArray<D.ID> ?? [] {
            guard let slot = identity.slot(id), stored.contains(where: { $0.hasSnapshot(slot) }) else { continue }
            snapshots.remove(slot)
            forgetBaselines(slot)
        }
    }

    /// Lets the records of these ids that come next be edits of what is stored.
    ///
    /// - Returns: what makes them that when they have come, and answers those that were made of another version.
    func stashEdits(_ ids: Any) -> () -> [StashedEdit] {
        let backs = mapping.steps.compactMap { step in
            step.named == nil ? nil : step.property.map { inverseIndex($0) }
        }
        let stored = (ids as? ContiguousArray<D.ID> ?? []).map { id in
            let slot = identity.slot(id)
            let row = slot.flatMap { vanished.contains($0) ? nil : snapshot($0) }
            return (id: id, row: row, owners: backs.map { back in slot.flatMap(back.name) ?? -1 })
        }
        return { [self] in
            stored.compactMap { id, row, owners in
                guard let slot = identity.slot(id), let model = model(at: slot) else { return nil }
                let edited = snapshots[slot]
                snapshots[slot] = row
                for (back, owner) in zip(backs, owners) { back.name(slot, owner: owner) }
                markEdited(model)
                guard let row, let edited else {
                    added.append(model)
                    return nil
                }
                return staleness(of: edited, row, slot)
            }
        }
    }

    /// Adds objects whose rows another writer has deleted: what is not stored is new.
    func addVanished(_ ids: Any) throws {
        for id in ids as? ContiguousArray<D.ID> ?? [] {
            guard let slot = identity.slot(id), vanished.contains(slot), !identity.deleted.contains(slot),
                let model = model(at: slot)
            else { continue }
            try add(model)
        }
    }

    /// What is wrong with an edit of a row's earlier version.
    private func staleness(of edited: D, _ row: D, _ slot: Int) -> StashedEdit? {
        guard let step = mapping.steps.first(where: \.isVersion), let place = place(of: step) else { return nil }
        let property = D.schema.properties[place]
        let (theirs, mine) = (property.stored(edited), property.stored(row))
        guard mine != theirs else { return nil }
        return StashedEdit(
            merge: {
                Conflict(
                    .value, type: D.schema.name, id: "\(row.id)", property: property.name, base: theirs, mine: mine,
                    theirs: theirs)
            }, putBack: { [self] in try undoEdits(of: [slot]) },
            set: { _, conflict in
                throw GraphError(
                    .misuse, "a version counts; resolve the conflict by .mine or .theirs", type: conflict.type,
                    id: conflict.id, property: conflict.property)
            })
    }

    /// Makes the properties at these paths that the app has edited what was read of them.
    func takingBack(_ paths: Set<AnyKeyPath>) throws -> [StashedEdit] {
        let known = snapshots.indices.filter {
            snapshots.has($0) && identity.models[$0] != nil && !vanished.contains($0)
        }
        let (deleted, held) = (known.filter(identity.deleted.contains), known.filter { !identity.deleted.contains($0) })
        var taken = deleted.compactMap { deletion($0, paths) }
        for index in mapping.steps.indices {
            let step = mapping.steps[index]
            guard let path = step.modelPath as? PartialKeyPath<D.Model>, paths.contains(path), step.idOf == nil else {
                continue
            }
            taken += try step.assign == nil ? fieldEdits(step, path, held) : linkEdits(step, index, path, held)
        }
        return taken
    }

    private func fieldEdits(_ step: StepTasks<D>, _ path: PartialKeyPath<D.Model>, _ slots: [Int]) throws
        -> [StashedEdit]
    {
        guard let read = step.read, let place = place(of: step) else { return [] }
        return try slots.compactMap { slot in
            guard let model = model(at: slot), let old = snapshots[slot], !isUnedited(step.isClean, slot, model),
                let putBack = path.remember(in: model)
            else { return nil }
            let property = D.schema.properties[place]
            let mine = try storedValues(step, place, model, old)
            try withUnsafePointer(to: old) { try read($0, model) }
            let base = try storedValues(step, place, model, old)
            return StashedEdit(
                merge: { [self] in
                    let theirs = try storedValues(step, place, model, old)
                    if theirs == base { putBack() }
                    return theirs == base || theirs == mine
                        ? nil
                        : Conflict(
                            .value, type: D.schema.name, id: "\(old.id)", property: property.name, base: base,
                            mine: mine, theirs: theirs)
                }, putBack: putBack,
                set: { [self] values, conflict in try set(values, of: conflict, place, model, old, read) })
        }
    }

    private func linkEdits(
        _ step: StepTasks<D>, _ index: Int, _ path: PartialKeyPath<D.Model>, _ slots: [Int]
    ) throws -> [StashedEdit] {
        let edited = slots.compactMap { slot -> (slot: Int, model: D.Model, mine: [AnyObject], putBack: () -> Void)? in
            guard let model = model(at: slot), let putBack = path.remember(in: model) else { return nil }
            // What a foreign key holds is compared when it is restored.
            if step.restoreHeld == nil, isUnedited(step.isClean, slot, model) || !isKnown(step, index, model, slot) {
                return nil
            }
            return (slot, model, step.linked(model), putBack)
        }
        step.restoreHeld?(self, edited.map(\.slot), core)
        return edited.compactMap { slot, model, mine, putBack in
            if let restore = step.restore, let old = snapshots[slot], !restore(old, model, core) {
                // What it led to is nowhere. The app's link is kept.
                putBack()
                return nil
            }
            let base = step.linked(model)
            guard !base.elementsEqual(mine, by: ===) else { return nil }
            return linkEdit(step, model, base: base, mine: mine, putBack)
        }
    }

    private func linkEdit(
        _ step: StepTasks<D>, _ model: D.Model, base: [AnyObject], mine: [AnyObject], _ putBack: @escaping () -> Void
    ) -> StashedEdit? {
        guard let targets = step.targets.first.flatMap({ core.erasedTable($0) }), let assign = step.assign
        else { return nil }
        let keys: ([AnyObject]) -> [[StoredValue]] = { $0.map(targets.keyValues) }
        // A foreign key keeps no order.
        let isOrdered = step.restoreHeld == nil && !step.isSet
        let isSame: ([[StoredValue]], [[StoredValue]]) -> Bool = { left, right in
            isOrdered ? left == right : Set(left) == Set(right)
        }
        let (old, own) = (keys(base), keys(mine))
        let set: ([[StoredValue]]) throws -> Void = { [schema, mapping] keys in
            let known = base + mine + step.linked(model)
            let objects = Dictionary(known.map { (targets.keyValues(of: $0), $0) }) { first, _ in first }
            assign(
                model,
                try keys.map { key in
                    if let object = objects[key] { return object }
                    let text = key.map(\.description).joined(separator: ", ")
                    throw GraphError(
                        .misuse, "neither side links to \(text); resolve a conflict by what the sides have",
                        type: schema.name, id: "\(mapping.idOf(model))", property: step.modelName)
                })
        }
        return StashedEdit(
            merge: { [schema, mapping] in
                let theirs = keys(step.linked(model))
                if isSame(theirs, old) { putBack() }
                if isSame(theirs, old) || isSame(theirs, own) { return nil }
                if step.isMany {
                    let list = ListMerge(base: old, mine: own, theirs: theirs)
                    guard list.isClash, isOrdered else {
                        try set(list.merged)
                        return nil
                    }
                }
                let name = schema.properties.first { $0.path == step.property }?.name ?? step.modelName
                return Conflict(
                    step.isMany ? .list : .value, type: schema.name, id: "\(mapping.idOf(model))", property: name,
                    base: old.flatMap { $0 }, mine: own.flatMap { $0 }, theirs: theirs.flatMap { $0 })
            }, putBack: putBack,
            set: { values, _ in
                let width = max(1, (old + own).first?.count ?? 1)
                let starts = stride(from: 0, to: values.count, by: width)
                try set(starts.map { Array(values[$0..<min($0 + width, values.count)]) })
            })
    }

    /// The deletion of an object that the graph may have changed.
    private func deletion(_ slot: Int, _ paths: Set<AnyKeyPath>) -> StashedEdit? {
        guard let model = model(at: slot) else { return nil }
        // What leads to deleted objects counts as edited: fields tell.
        let fields = mapping.steps.filter { $0.read != nil && $0.modelPath.map(paths.contains) ?? false }
        let changed = fields.filter { isUnedited($0.isClean, slot, model) }
        return StashedEdit(
            merge: { [self] in
                guard let old = snapshot(slot),
                    let step = changed.first(where: { !isUnedited($0.isClean, slot, model) }),
                    let place = place(of: step)
                else { return nil }
                let property = D.schema.properties[place]
                return Conflict(
                    .deletedByMe, type: D.schema.name, id: "\(old.id)", property: property.name,
                    base: property.stored(old), mine: [], theirs: try storedValues(step, place, model, old))
            }, putBack: {},
            takeTheirs: { [self] in _ = mark(slot, isDeleted: false) },
            set: { _, conflict in
                throw GraphError(
                    .misuse, "an object is deleted or not; resolve the conflict by .mine or .theirs",
                    type: conflict.type, id: conflict.id, property: conflict.property)
            })
    }
}

extension GraphError {
    /// One error for all conflicts of a graph with the app's changes.
    fileprivate init(merging conflicts: [Conflict]) {
        func text(_ values: [StoredValue]) -> String { values.map(\.description).joined(separator: ", ") }
        let list = conflicts.map { conflict in
            conflict.kind == .deletedByMe
                ? "\(conflict.path): the app deletes it, the graph changes \(text(conflict.base)) to \(text(conflict.theirs))"
                : "\(conflict.path): stored is \(text(conflict.base)), the app has \(text(conflict.mine)), the graph "
                    + text(conflict.theirs)
        }
        self.init(
            .conflict,
            "\(list.joined(separator: "; ")). Save or roll back the app's changes first, or give merge a policy",
            type: conflicts.first?.type, id: conflicts.first?.id, property: conflicts.first?.property)
        self.conflicts = conflicts
    }
}
