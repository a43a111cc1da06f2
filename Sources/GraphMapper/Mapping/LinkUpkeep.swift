/// What links need besides loading and saving. None of it is on a hot path.
extension Step {
    /// Sets a link to the objects of these ids, if the session has them all.
    @usableFromInline static func restore<C: Mappable>(
        _ ids: [C.ID], _: C.Type, _ core: SessionCore, _ set: ([C.Model]) -> Void
    ) -> Bool where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = try? core.table(C.self) else { return false }
        var models: [C.Model] = []
        for id in ids {
            guard let model = targets.model(id) else { return false }
            models.append(model)
        }
        set(models)
        return true
    }

    /// Empties a link, and answers what appends what it held.
    @usableFromInline static func setAside<M: AnyObject>(
        _ object: D.Model, _ get: @escaping (D.Model) -> [M], _ set: @escaping (D.Model, [M]) -> Void
    ) -> () -> Void {
        let old = get(object)
        guard !old.isEmpty else { return {} }
        set(object, [])
        return {
            let loaded = get(object)
            let known = Set(loaded.map(ObjectIdentifier.init))
            set(object, loaded + old.filter { !known.contains(ObjectIdentifier($0)) })
        }
    }

    /// What makes a link again what it is now.
    @usableFromInline static func freeze<Link>(
        _ object: D.Model, _ get: (D.Model) -> Link, _ set: @escaping (D.Model, Link) -> Void
    ) -> () -> Void {
        let old = get(object)
        return { set(object, old) }
    }

    /// Lets the holding of a foreign key change the link from its other side.
    @usableFromInline static func attach<C: Mappable>(
        _: C.Type, _ foreignKey: AnyKeyPath, _ get: @escaping (D.Model) -> [C.Model],
        _ set: @escaping (D.Model, [C.Model]) -> Void, _ core: SessionCore, isList: Bool
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let table = try? core.table(D.self), let targets = try? core.table(C.self) else { return }
        targets.holding(foreignKey).isList = isList
        targets.holding(foreignKey).edit = { [unowned table] owner, leaving, coming in
            guard let object = table.model(at: owner) else { return }
            let coming = coming.compactMap { $0 as? C.Model }
            set(object, get(object).filter { !leaving.contains(ObjectIdentifier($0)) } + coming)
            // A link to one object takes the first.
            if let last = coming.last, !get(object).contains(where: { $0 === last }) { set(object, [last]) }
        }
    }

    /// Makes links as the snapshots of their targets say.
    @usableFromInline static func restoreHeld<C: Mappable>(
        _ table: Table<D>, _ slots: [Int], _ foreignKey: AnyKeyPath, _ key: (UnsafePointer<C>) -> D.ID?,
        _ get: (D.Model) -> [C.Model], _ set: (D.Model, [C.Model]) -> Void, _ core: SessionCore
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = try? core.table(C.self) else { return }
        let holding = targets.holding(foreignKey)
        var stored: [ObjectIdentifier: D.ID] = [:]
        var byOwner: [IDKey<D.ID>: [C.Model]] = [:]
        let changed = slots.filter { slot in
            guard let object = table.model(at: slot) else { return false }
            return holding.isFilled(slot) ? holding.isChanged(slot, get(object)) : !get(object).isEmpty
        }
        guard !changed.isEmpty else { return }
        for slot in targets.snapshots.indices {
            guard let owner = targets.snapshots[slot].flatMap({ Step<C>.value(of: $0, key) }),
                let child = targets.model(at: slot)
            else {
                continue
            }
            byOwner[IDKey(owner), default: []].append(child)
            stored[ObjectIdentifier(child)] = owner
        }
        for slot in changed {
            guard let object = table.model(at: slot) else { continue }
            let id = table.mapping.idOf(object)
            guard holding.isFilled(slot) else {
                set(object, get(object).filter { stored[ObjectIdentifier($0)] == id })
                continue
            }
            let children = byOwner[IDKey(id)] ?? []
            set(object, children)
            holding.fill(slot, children)
        }
    }
}

/// The notes of a session: who was named by a back-reference, and who is let go of.
extension Holding {
    /// Whether the owner's link has been filled, so that what it holds is all that there is.
    @usableFromInline func isFilled(_ owner: Int) -> Bool { held[owner] != nil }

    /// Whether the owner's link held the object when it was last filled or saved.
    @usableFromInline func held(_ owner: Int, _ object: AnyObject) -> Bool {
        held[owner]?.contains(ObjectIdentifier(object)) ?? false
    }

    /// Notes the owner that an object's back-reference was set to by the session; -1 for none.
    @inlinable @inline(__always) func name(_ object: Int, owner: Int) {
        while named.count <= object { named.append(-1) }
        named[object] = Int32(truncatingIfNeeded: owner)
    }

    /// The owner that the session set an object's back-reference to.
    @inlinable func name(of object: Int) -> Int? {
        object < named.count && named[object] >= 0 ? Int(named[object]) : nil
    }

    /// Notes that an object, whose back-reference alone has given it another owner, moves between the owners' links.
    @usableFromInline func move(_ object: AnyObject, from old: Int?, to new: Int?) {
        if let old, old != new { moves[old, default: Moves()].leaving.insert(ObjectIdentifier(object)) }
        if let new { moves[new, default: Moves()].coming.append(object) }
    }

    /// Makes the links agree with the moves, as far as they are filled: each owner's once.
    func finishMoves() {
        guard !moves.isEmpty else { return }
        for (owner, moves) in moves {
            guard let objects = held[owner] else { continue }
            let before = Set(objects)
            let leaving = moves.leaving.intersection(before)
            let coming = edit == nil ? [] : moves.coming.filter { !before.contains(ObjectIdentifier($0)) }
            if !leaving.isEmpty || !coming.isEmpty { edit?(owner, leaving, coming) }
            held[owner] = objects.filter { !leaving.contains($0) } + coming.map(ObjectIdentifier.init)
        }
        moves = [:]
    }
}
