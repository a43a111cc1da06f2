/// What happens to the objects that a link leads to when the object that has the link is deleted.
public enum DeleteRule: Sendable, Hashable {
    /// They stay, and let go of it: foreign keys that point to the deleted object become NULL. Where one is required, that
    /// is an error.
    case nullify
    /// They are deleted, too, and what follows from that.
    case cascade
    /// The object cannot be deleted while the link leads to anything that is not deleted, too.
    case deny
    /// For owned children: one that no such link leads to any more is deleted, whether its owner is deleted or has let go
    /// of it. A child that another owner has taken stays.
    case deleteOrphans
}

extension One {
    /// What happens to the linked object when this one is deleted. Without it, ``DeleteRule/nullify``.
    public func onDelete(_ rule: DeleteRule) -> Self {
        var copy = self
        copy.step.tasks.rule = rule
        return copy
    }
}

extension Many {
    /// What happens to the linked objects when this one is deleted. Without it, ``DeleteRule/nullify``.
    public func onDelete(_ rule: DeleteRule) -> Self {
        var copy = self
        copy.step.tasks.rule = rule
        return copy
    }
}

/// An object that a rule deletes. It counts as deleted while a save is planned, and for good when the save succeeds.
struct RuledOut {
    let table: any ErasedTable
    let object: AnyObject
}

extension SessionCore {
    /// The walk of a plan, with what rules delete left out.
    ///
    /// An object is an orphan only when everybody's links are known; and it takes along what only it leads to. So the walk
    /// is done again for as long as there are new ones.
    func walkRuled(_ ruledOut: inout [RuledOut], _ scope: SaveScope) throws {
        func walk() throws { try scope == .all ? self.walk() : walkEdited() }
        guard order.contains(where: \.hasDeleteRules) else { return try walk() }
        try cascade(&ruledOut)
        try walk()
        while true {
            let before = ruledOut.count
            for table in order where table.hasDeleteRules {
                for orphan in try table.orphans() { hide(orphan, &ruledOut) }
            }
            guard ruledOut.count > before else { break }
            try cascade(&ruledOut)
            for table in order { table.endWalk() }
            try walk()
        }
        for table in order where table.hasDeleteRules { try table.checkDenied() }
    }

    func walk() throws {
        for table in order { table.startWalk() }
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            for table in order where try table.walk() { isProgressing = true }
        }
    }

    private func cascade(_ ruledOut: inout [RuledOut]) throws {
        var isProgressing = true
        while isProgressing {
            let before = ruledOut.count
            for table in order where table.hasDeleteRules {
                for dependent in try table.dependents() { hide(dependent, &ruledOut) }
            }
            isProgressing = ruledOut.count > before
        }
    }

    private func hide(_ new: RuledOut, _ ruledOut: inout [RuledOut]) {
        if new.table.hide(new.object) { ruledOut.append(new) }
    }

    func show(_ ruledOut: [RuledOut]) { for object in ruledOut.reversed() { object.table.show(object.object) } }

    /// Whether a link that owns its targets leads to the object, from one that is not deleted.
    func isOwned(_ object: AnyObject, _ owned: inout Set<ObjectIdentifier>?) -> Bool {
        if owned == nil { owned = Set(order.flatMap { $0.owned() }) }
        return owned?.contains(ObjectIdentifier(object)) ?? false
    }
}

extension EntityTable {
    /// Deletes an object for the time being; false if it is deleted anyway.
    func hide(_ object: AnyObject) -> Bool {
        guard let model = object as? D.Model, !isDeleted(model) else { return false }
        if let slot = knownSlot(of: model), identity.spared.contains(slot) { return false }
        if let slot = knownSlot(of: model) {
            identity.deleted.insert(slot)
        } else {
            identity.dropped[ObjectIdentifier(model)] = model
        }
        return true
    }

    func show(_ object: AnyObject) {
        guard let model = object as? D.Model else { return }
        if identity.dropped.removeValue(forKey: ObjectIdentifier(model)) != nil { return }
        if let slot = identity.slot(mapping.idOf(model)) { identity.deleted.remove(slot) }
    }

    private var deletedModels: [(slot: Int?, model: D.Model)] {
        identity.deleted.sorted().compactMap { slot in model(at: slot).map { (slot, $0) } }
            + identity.dropped.values.compactMap { ($0 as? D.Model).map { (nil, $0) } }
    }

    /// The object that was added in the place of a deleted one.
    private func replacement(of model: D.Model) -> D.Model? {
        identity.slot(mapping.idOf(model)).flatMap { self.model(at: $0) }.flatMap { $0 === model ? nil : $0 }
    }

    private func name(of step: StepTasks<D>) -> String {
        D.schema.properties.first { $0.path == step.property }?.name ?? step.modelPath.map { "\($0)" } ?? "?"
    }

    func target(_ step: StepTasks<D>) -> (any ErasedTable)? {
        step.targets.first.flatMap { core.erasedTable($0) }
    }

    private func checkLoaded(_ step: StepTasks<D>, _ slot: Int?, _ model: D.Model) throws {
        guard let slot, snapshot(slot) != nil, filled[slot] & step.bit == 0 else { return }
        throw unloaded(step, model, "say what is deleted with the object")
    }

    /// What cascades from the deleted objects.
    func dependents() throws -> [RuledOut] {
        var found: [RuledOut] = []
        for step in mapping.steps where step.rule == .cascade {
            guard let linked = step.objects, let table = target(step) else { continue }
            let deleted = deletedModels
            // A child by its foreign key has one owner: one that it was given to takes it.
            let taken = step.inverse == nil || deleted.isEmpty ? [] : linkedObjects(linked)
            for (slot, model) in deleted {
                try checkLoaded(step, slot, model)
                let left = replacement(of: model).map(linked) ?? []
                found += linked(model).filter { child in !left.contains { $0 === child } }
                    .filter { !taken.contains(ObjectIdentifier($0)) && !table.isMoved($0, step.inverse, model) }
                    .map { RuledOut(table: table, object: $0) }
            }
        }
        return found
    }

    /// What a link of objects that are not deleted leads to.
    private func linkedObjects(_ linked: (D.Model) -> [AnyObject]) -> Set<ObjectIdentifier> {
        var found: Set<ObjectIdentifier> = []
        for slot in identity.models.indices {
            guard let model = model(at: slot), !isDeleted(model) else { continue }
            found.formUnion(linked(model).map(ObjectIdentifier.init))
        }
        return found
    }

    /// Children that their owners have let go of, and that nobody has taken.
    func letGo() throws -> [RuledOut] {
        var owned: Set<ObjectIdentifier>?
        var found: [RuledOut] = []
        for step in mapping.steps where step.rule == .deleteOrphans {
            guard let candidates = step.letGo, let linked = step.objects, let table = target(step) else { continue }
            for (slot, model) in deletedModels {
                try checkLoaded(step, slot, model)
                for child in linked(model)
                where !core.isOwned(child, &owned) && !table.isMoved(child, step.inverse, model) {
                    found.append(RuledOut(table: table, object: child))
                }
            }
            for (child, owner) in withReplacedRows({ candidates(self, core, step.bit) })
            where !core.isOwned(child, &owned) && !table.isMoved(child, step.inverse, owner) {
                found.append(RuledOut(table: table, object: child))
            }
        }
        return found
    }

    /// What the links that own their targets lead to.
    func owned() -> [ObjectIdentifier] {
        mapping.steps.filter { $0.rule == .deleteOrphans }.compactMap(\.objects).flatMap { linkedObjects($0) }
    }

    /// Whether the app has given the object, by its back-reference, to somebody else than `owner`.
    func isMoved(_ object: AnyObject, _ inverse: AnyKeyPath?, _ owner: AnyObject) -> Bool {
        guard let inverse, let model = object as? D.Model, let slot = knownSlot(of: model),
            let step = mapping.steps.first(where: { $0.property == inverse }), let named = step.named?(model),
            let owners = target(step)
        else { return false }
        let known = inverseIndex(inverse).name(of: slot).flatMap(owners.object)
        return named !== known && named !== owner && !owners.isTaken(named, by: known)
            && snapshot(slot) != nil && !core.isDeletedAnywhere(named)
    }

    func checkDenied() throws {
        for step in mapping.steps where step.rule == .deny {
            guard let linked = step.objects, let table = target(step) else { continue }
            // Where another object has taken the place, the row stays.
            for (slot, model) in deletedModels where replacement(of: model) == nil {
                try checkLoaded(step, slot, model)
                guard let left = linked(model).first(where: { !table.isHidden($0) }) else { continue }
                let name = name(of: step)
                throw GraphError(
                    .denied,
                    "it cannot be deleted while its link leads to \(table.name)(\(table.idText(of: left))); delete that "
                        + "too, or take it out of the link",
                    type: D.schema.name, id: "\(mapping.idOf(model))", property: name,
                    path: "\(D.schema.name)(\(mapping.idOf(model))).\(name)")
            }
        }
    }
}

extension SessionCore {
    func isDeletedAnywhere(_ object: AnyObject) -> Bool { order.contains { $0.holds(object) && $0.isHidden(object) } }
}

extension StepTasks {
    /// What loaded links have led to, and no longer do, each with its owner; of links that `D`'s own row holds.
    @usableFromInline static func letGo<C: Mappable>(
        _ table: EntityTable<D>, _ core: SessionCore, _: C.Type, _ bit: UInt64, ids: (UnsafePointer<D>) -> [C.ID],
        linked: (D.Model) -> [AnyObject]
    ) -> [(AnyObject, AnyObject)] where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = core.knownTable(C.self) else { return [] }
        var found: [(AnyObject, AnyObject)] = []
        for slot in table.snapshots.indices {
            guard table.snapshots.has(slot), let model = table.model(at: slot), !table.isDeleted(model),
                table.filled[slot] & bit != 0
            else { continue }
            let before = table.withPointer(to: slot, of: table.snapshots, ids)
            guard !before.isEmpty else { continue }
            let now = Set(linked(model).map(ObjectIdentifier.init))
            for id in before {
                if let child = targets.model(id), !now.contains(ObjectIdentifier(child)) {
                    found.append((child, model))
                }
            }
        }
        return found
    }

    @usableFromInline static func targetIDs<ID>(
        _ dto: UnsafePointer<D>, _ haveIDs: (UnsafePointer<D>, (Int, ID) -> Bool) -> Bool
    ) -> [ID] {
        var ids: [ID] = []
        _ = haveIDs(dto) { _, id in
            ids.append(id)
            return true
        }
        return ids
    }

    /// The same of links that the other side's foreign key holds.
    @usableFromInline static func letGoHeld<C: Mappable>(
        _ table: EntityTable<D>, _ core: SessionCore, _: C.Type, _ foreignKey: AnyKeyPath,
        key: (UnsafePointer<C>) -> D.ID?, linked: (D.Model) -> [AnyObject]
    ) -> [(AnyObject, AnyObject)] where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = core.knownTable(C.self) else { return [] }
        let inverseIndex = targets.inverseIndex(foreignKey)
        var found: [(AnyObject, AnyObject)] = []
        for slot in targets.snapshots.indices {
            guard targets.snapshots.has(slot), let child = targets.model(at: slot),
                let id = targets.withPointer(to: slot, of: targets.snapshots, key), let place = table.identity.slot(id),
                let owner = table.model(at: place), !table.isDeleted(owner), inverseIndex.held(place, child),
                !linked(owner).contains(where: { $0 === child })
            else { continue }
            found.append((child, owner))
        }
        return found
    }
}
