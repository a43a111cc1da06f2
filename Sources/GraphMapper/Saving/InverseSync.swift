extension GraphSession {
    /// Lets the other side of each two-sided link follow the one that the app has edited, at once: a child that was put
    /// into an owner's link names that owner, one that names another owner is in that one's link and in no other. A save
    /// does the same when it writes; what it would write is not changed by this. A link to one object that an object
    /// takes from another lets go of that one.
    ///
    /// Links that are not loaded stay as they are, and so does what leads to deleted objects.
    ///
    /// Complexity: O(objects held).
    ///
    /// - Throws: ``GraphError`` of kind `.conflict` that names both owners if the two sides, or two owners, say different
    ///   things, or both objects that take the place in a link to one; `.unreachable` for an owner that only a back-reference leads to; `.misuse` while a load or save is under
    ///   way. Then no model is changed.
    public func relink() throws {
        // The second time for the objects that the first has taken out of links to one.
        try whileIdle { for _ in 0..<2 where try !core.relink() { return } }
    }
}

extension SessionCore {
    /// True if any link has followed.
    fileprivate func relink() throws -> Bool {
        defer { for table in order { table.endWalk() } }
        try walk()
        let edits = try order.flatMap { try $0.relinking() }
        for edit in edits { edit() }
        return !edits.isEmpty
    }
}

extension EntityTable {
    /// What makes both sides of the links say the same that the table's foreign keys hold.
    func relinking() throws -> [() -> Void] { try mapping.steps.flatMap { try $0.relink?(self, core) ?? [] } }
}

extension StepTasks {
    /// What makes back-references, and the links of the owners, say the same. The session's notes are left alone, so that
    /// both are still edits.
    ///
    /// - Parameter owner: the owner that the graph gives to an object, as a save would have it.
    @usableFromInline static func relink<C: Mappable>(
        _ table: EntityTable<D>, _ from: AnyKeyPath, _ core: SessionCore, _ model: (D.Model) -> C.Model?,
        _ set: @escaping (D.Model, C.Model?) -> Void, isFixed: Bool, owner: (D.Model, D?) throws -> Ref<C>?
    ) throws -> [() -> Void] where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let owners = try core.table(C.self)
        let inverseIndex = table.inverseIndex(from)
        var edits: [() -> Void] = []
        // By owner, what is to be in a link to one and was not.
        var takers: [Int: D.Model] = [:]
        var moves: [Int: InverseIndex.Moves] = [:]
        for slot in table.identity.models.indices {
            guard let object = table.model(at: slot), !table.isDeleted(object) else { continue }
            let ref = try owner(object, table.snapshot(slot))
            let place = ref.flatMap { owners.identity.slot($0.id) }
            let target = place.flatMap { owners.model(at: $0) }
            // An owner that the session does not have, or that is deleted, may be taken in again.
            guard ref == nil ? !(model(object).map(owners.isDeleted) ?? false) : target != nil else { continue }
            if !isFixed, model(object) !== target { edits.append { set(object, target) } }
            guard let link = inverseIndex.link else { continue }
            let holder = inverseIndex.owner(of: slot)
            let isKnown = place.map { inverseIndex.isFilled($0) || owners.snapshot($0) == nil } ?? false
            if let place, let target, isKnown, !link.isList,
                holder != place || !inverseIndex.held(place, object),
                let other = takers.updateValue(object, forKey: place)
            {
                throw GraphError(
                    .conflict,
                    "it takes the place of \(D.schema.name)(\(table.mapping.idOf(other))), which takes it, too, in the link "
                        + "to one of \(C.schema.name)(\(owners.mapping.idOf(target))); change one of them",
                    type: D.schema.name, id: "\(table.mapping.idOf(object))",
                    property: D.schema.property(at: from)?.name)
            }
            guard holder != place else { continue }
            if let holder { moves[holder, default: .init()].leaving.insert(ObjectIdentifier(object)) }
            if let place, isKnown { moves[place, default: .init()].coming.append(object) }
        }
        for (owner, moved) in moves { edits.append { inverseIndex.link?.edit(owner, moved.leaving, moved.coming) } }
        return edits
    }
}
