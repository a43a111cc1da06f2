/// What a save looks at.
public enum SaveScope: Sendable, Hashable {
    /// Everything that the session holds.
    case all
    /// What the app has named by ``GraphSession/edit(_:)``, added or deleted, and the new objects that these lead to.
    /// Other edits stay for the next save.
    case edited
}

extension GraphSession {
    /// Says that a model is, or will be, edited: a save with `only: .edited` looks at it, and costs what was named, not what
    /// the session holds. The mark, and the model, are kept until a save has succeeded.
    ///
    /// Of a link that the other side's foreign key holds, name an object on either side. A save that deletes looks at the
    /// links of everything that may point to what is deleted. Complexity: O(1).
    public func edit(_ model: AnyObject) throws {
        try confined {
            for table in core.order where table.isStored && table.holds(model) { table.markEdited(model) }
        }
    }
}

extension SessionCore {
    /// The walk of a partial save: from the objects that are named, as far as their changes reach.
    func walkEdited() throws {
        for table in order { table.startEditedWalk() }
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            for table in order where try table.walkEdited() { isProgressing = true }
        }
    }
}

/// Which slots a partial save walks and which it compares with their snapshots.
struct PartialWalk {
    private var seen: Set<Int> = []
    private var queue: [Int] = []
    private(set) var compared: Set<Int> = []
    /// New objects have slots from here on.
    let firstNew: Int

    init(firstNew: Int) { self.firstNew = firstNew }

    mutating func compare(_ slot: Int) -> Bool { compared.insert(slot).inserted }
    mutating func visit(_ slot: Int) { if slot < firstNew, seen.insert(slot).inserted { queue.append(slot) } }
    mutating func next() -> Int? { queue.popLast() }
}

extension EntityTable {
    func markEdited(_ object: AnyObject) {
        guard let model = object as? D.Model else { return }
        editStamp += 1
        edited[ObjectIdentifier(model)] = (model, editStamp)
    }

    func startEditedWalk() {
        startWalk()
        for inverseIndex in inverseIndexes.values { inverseIndex.walk = OwnershipWalk(isPartial: true) }
        var partial = PartialWalk(firstNew: identity.models.count)
        walked = partial.firstNew
        for (model, _) in edited.values {
            guard let slot = knownSlot(of: model) else { continue }
            partial.visit(slot)
            _ = partial.compare(slot)
        }
        for object in added {
            guard let slot = slotOfID(object), identity.models[slot] === object else { continue }
            partial.visit(slot)
            _ = partial.compare(slot)
        }
        for slot in identity.deleted { _ = partial.compare(slot) }
        self.partial = partial
    }

    /// Visits what is to be visited; true if there was anything.
    func walkEdited() throws -> Bool {
        try walkAdded()
        var isProgress = false
        while let slot = partial?.next() {
            isProgress = true
            guard let model = model(at: slot), !identity.deleted.contains(slot) else { continue }
            try mapping.visit?(model, slot, core)
            reach(slot, model)
        }
        let start = walked
        guard try walkEach() else { return isProgress }
        for slot in start..<walked { if let model = model(at: slot) { reach(slot, model) } }
        return true
    }

    /// What a visited object's changes reach: the owners that its back-references name and named, and the objects that its
    /// links have taken or let go of.
    private func reach(_ slot: Int, _ model: D.Model) {
        for step in mapping.steps {
            guard let target = step.targets.first.flatMap({ core.erasedTable($0) }) else { continue }
            if step.named != nil, let property = step.property {
                if let owner = inverseIndex(property).name(of: slot) { target.visit(owner) }
                if let owner = step.named?(model) { target.visit(object: owner) }
            } else if let inverse = step.inverse, let linked = step.objects {
                target.compareHeld(by: slot, inverse, linked(model))
            }
        }
    }

    /// Compares what an owner's link has taken or let go of, if it has changed.
    func compare(heldBy owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) {
        let inverseIndex = inverseIndex(foreignKey)
        guard inverseIndex.walk?.pending[owner] != nil else { return }
        let now = inverseIndex.slots(of: objects)
        for slot in now where slot >= 0 { compare(Int(slot), foreignKey) }
        for slot in Set(inverseIndex.base[owner] ?? []).subtracting(now) where model(at: Int(slot)) != nil {
            compare(Int(slot), foreignKey)
        }
    }

    private func compare(_ slot: Int, _ foreignKey: AnyKeyPath) {
        guard partial?.compare(slot) == true else { return }
        // Whoever held it before may hold it still.
        let target = mapping.steps.first { $0.property == foreignKey }?.targets.first
        guard let owners = target.flatMap({ core.erasedTable($0) }) else { return }
        if let owner = inverseIndex(foreignKey).name(of: slot) { owners.visit(owner) }
    }

    func visitOwner(_ object: AnyObject) {
        if let model = object as? D.Model, let slot = knownSlot(of: model) { partial?.visit(slot) }
    }

    /// The slots to write of a partial walk.
    func changedSlots(of partial: PartialWalk) throws -> [Int] {
        grow(to: identity.models.count)
        let new = partial.firstNew..<max(partial.firstNew, identity.models.count)
        let known = try partial.compared.filter { $0 < partial.firstNew }.union(referrers(before: partial.firstNew))
        return try (known.sorted() + new).filter { slot in
            guard let model = model(at: slot) else { return false }
            guard snapshots.has(slot), !identity.deleted.contains(slot), !vanished.contains(slot) else {
                return true
            }
            if identity.replaced[slot] != nil || positions.contains(where: { $0.position(of: slot) != nil }) {
                return true
            }
            return try !isClean(mapping.isClean, slot, model) && isDirty(slot, model)
        }
    }

    /// The objects whose links are to let go of deleted ones: anything may point to these.
    private func referrers(before end: Int) throws -> [Int] {
        let links = mapping.steps.filter { step in
            step.link != nil
                && step.targets.contains { core.erasedTable($0)?.hasDeleted == true }
        }
        guard !links.isEmpty else { return [] }
        return try identity.models.indices.prefix(end).filter { slot in
            guard let model = model(at: slot), snapshots.has(slot) else { return false }
            return try links.contains { try !isClean($0.isClean, slot, model) }
        }
    }
}
