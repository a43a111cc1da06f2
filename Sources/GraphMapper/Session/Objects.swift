/// What an app asks a session about one object.
extension GraphSession {
    /// What a save will do with an object.
    public enum ObjectState: Sendable, Hashable {
        /// As it is stored.
        case clean
        /// Added, or brought by a payload, and not known to be stored.
        case new
        /// Stored, and changed since.
        case changed
        /// Deleted: by the app with the next save, or, as a refresh has found, by another writer.
        case deleted
    }

    /// What the session knows of the model: nil if it has never heard of it. A new object that only links lead to is
    /// new from the moment it is linked, and a foreign key that its owner's link decides is the owner's change.
    ///
    /// Complexity: O(properties); of an object that the session does not know, O(objects and links held).
    public func state(of model: AnyObject) -> ObjectState? {
        let tables = core.tables(holding: model)
        let stored = tables.filter(\.isStored)
        let states = (stored.isEmpty ? tables : stored).compactMap { $0.state(of: model) }
        let state =
            states.first { $0 == .deleted } ?? states.first { $0 == .changed } ?? states.first { $0 == .clean }
            ?? states.first
        // What a payload says of it is not what is stored.
        if let state { return state }
        return tables.contains { $0.state(of: model) != nil } || !tables.isEmpty && core.isLinked(model) ? .new : nil
    }

    /// Whether the session knows what a link of a model holds: it was loaded, saved or cleared. Nil and empty in one that
    /// is not loaded say nothing.
    public func isLoaded<M: AnyObject>(_ model: M, _ path: PartialKeyPath<M>) throws -> Bool {
        try confined { try core.storedTable(for: model).isLoaded(model, path) }
    }

    /// Empties a link, also one that was never loaded, so that the next save stores it as empty, or as what the app puts
    /// into it after this.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` for a link that the other side's foreign key holds and that is not
    ///   loaded: the objects that it would let go of are not known.
    public func clear<M: AnyObject>(_ model: M, _ path: PartialKeyPath<M>) throws {
        try confined { try core.storedTable(for: model).clear(model, path) }
    }
}

extension EntityTable {
    func link(_ path: AnyKeyPath) throws -> StepTasks<D> {
        guard let step = mapping.steps.first(where: { $0.modelPath == path && $0.link != nil }) else {
            throw GraphError(.misuse, "\(path) is not a link of the mapping", type: D.schema.name)
        }
        return step
    }

    func objectState(_ model: AnyObject) -> GraphSession.ObjectState? {
        guard let model = model as? D.Model else { return nil }
        if !identity.dropped.isEmpty, identity.dropped[ObjectIdentifier(model)] != nil { return .deleted }
        guard let slot = knownSlot(of: model), snapshot(slot) != nil else {
            return added.contains(model) ? .new : nil
        }
        if identity.deleted.contains(slot) || vanished.contains(slot) { return .deleted }
        let isClean = mapping.steps.indices.allSatisfy { index in
            let step = mapping.steps[index]
            return isUnedited(step, slot, model) || !isKnown(step, index, model, slot)
        }
        return isClean ? .clean : .changed
    }

    func isLoaded(_ model: AnyObject, _ path: AnyKeyPath) throws -> Bool {
        let step = try link(path)
        guard let model = model as? D.Model, let slot = knownSlot(of: model), slot < filled.count else { return false }
        return filled[slot] & step.bit != 0
    }

    func clear(_ model: AnyObject, _ path: AnyKeyPath) throws {
        let step = try link(path)
        guard let model = model as? D.Model else { return }
        if let slot = knownSlot(of: model), snapshot(slot) != nil {
            if step.restoreHeld != nil, filled[slot] & step.bit == 0 { throw unloaded(step, model, "be cleared") }
            filled[slot] |= step.bit
        }
        step.drop?(model, core, true)
    }

    func unloaded(_ step: StepTasks<D>, _ model: D.Model, _ what: String) -> GraphError {
        let name = D.schema.properties.first { $0.path == step.property }?.name ?? step.modelPath.map { "\($0)" } ?? "?"
        return GraphError(
            .misuse,
            "its link was never loaded and cannot \(what): what is stored would be lost. Load it with "
                + "session.load(_:_:), or say session.clear(_:_:) to replace it", type: D.schema.name,
            id: "\(mapping.idOf(model))", property: name, path: "\(D.schema.name)(\(mapping.idOf(model))).\(name)")
    }

    // MARK: Writing

    /// A list that was never loaded, and has something in it, would replace what is stored.
    func checkWhole(_ slot: Int, _ model: D.Model) throws {
        for step in mapping.steps where step.isWhole && filled[slot] & step.bit == 0 {
            if step.isEmpty?(model) == false, !isUnedited(step.isClean, slot, model) {
                throw unloaded(step, model, "be added to")
            }
        }
    }

    /// Nothing may be added to a link that the other side's foreign key holds and that was never loaded: an owner would have one
    /// more, or two where it may have one.
    @usableFromInline func checkOwned<C: Mappable>(
        by slot: Int, _ children: [Int32], _ targets: EntityTable<C>, _ path: AnyKeyPath,
        _ key: (UnsafePointer<C>) -> D.ID?
    ) throws where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let model = model(at: slot), let step = mapping.steps.first(where: { $0.modelPath == path }) else {
            return
        }
        for child in children where child >= 0 {
            let child = Int(child)
            let owner = targets.snapshots.has(child) ? key(targets.snapshots.pointer(child)) : nil
            if owner.map({ IDKey($0) }) != IDKey(mapping.idOf(model)) { throw unloaded(step, model, "be added to") }
        }
    }

    /// The links that hold something, and so are known once they are written.
    func writtenLinks(of model: D.Model) -> UInt64 {
        mapping.steps.reduce(UInt64(0)) { mask, step in
            step.isEmpty.map { !$0(model) } ?? false ? mask | step.bit : mask
        }
    }

    /// Back-references follow what is written.
    func settle(_ dto: D, _ model: D.Model, _ plan: inout WritePlan) {
        for settle in settlers { plan.settle.append(settle(dto, model, core)) }
    }

    @usableFromInline func evicted(_ model: D.Model) -> GraphError {
        GraphError(
            .misuse, "it was evicted, so its owner cannot be changed; add it to the session, or load it again",
            type: D.schema.name, id: "\(mapping.idOf(model))")
    }
}
