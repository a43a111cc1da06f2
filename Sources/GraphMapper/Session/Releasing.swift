/// How a session finds the models that nobody else holds.
///
/// A model to which the session's own reference is the only one is seen by nobody. Its links are taken out, so that what
/// it leads to may turn out to be seen by nobody, either: until nothing changes. Then everything that the other models
/// lead to, weakly too, gets its links back; the rest is let go of. This is how a collector of cycles tries a deletion; it
/// needs to know only whether a reference is the only one.
extension SessionCore {
    func releaseUnused() { quietly { letGoOfUnused() } }

    private func letGoOfUnused() {
        var search = UnusedModels(self)
        search.takeApart()
        guard search.isFruitful else { return search.endSearch() }
        search.mark()
        search.putBack()
        search.letGo()
        search.endSearch()
        closeGaps()
    }
}

/// A link of a model, emptied.
struct EmptiedLink {
    let table: any ErasedTable
    let step: Int
    let targets: any ErasedTable
    /// What it led to.
    let objects: [AnyObject]
}

private struct UnusedModels {
    private struct Place {
        /// Among ``groups``.
        var group: Int
        var slot: Int
    }

    private enum Target {
        /// By its place among ``taken``.
        case known(Place)
        /// The session does not have it.
        case other(AnyObject)
    }

    private struct TakenLink {
        var table: any ErasedTable
        var step: Int
        var targets: [Target]
    }

    private struct Taken {
        var place: Place
        var links: [TakenLink] = []
        var isNeeded = false
    }

    /// The tables that share an identity map.
    private let groups: [[any ErasedTable]]
    private let groupOf: [ObjectIdentifier: Int]
    /// The models that were taken apart, and by group and slot where they stand; -1 for others.
    private var taken: [Taken] = []
    private var numbers: [ContiguousArray<Int32>]
    private var numberOf: [ObjectIdentifier: Int] = [:]
    private var queue: [Place] = []
    private var needed: [Int] = []
    /// New objects that links lead to: they are in no identity map.
    private var new: [(table: any ErasedTable, object: AnyObject)] = []
    private var seen: Set<ObjectIdentifier> = []
    /// What ends the time for which identity maps leave the models to others that have them, too.
    private var shown: [() -> Void] = []

    init(_ core: SessionCore) {
        var groups: [[any ErasedTable]] = []
        var groupOf: [ObjectIdentifier: Int] = [:]
        for table in core.order {
            let group = groupOf[ObjectIdentifier(table.identityMap), default: groups.count]
            groupOf[ObjectIdentifier(table.identityMap)] = group
            if group == groups.count { groups.append([]) }
            groups[group].append(table)
        }
        (self.groups, self.groupOf) = (groups, groupOf)
        numbers = groups.map { _ in [] }
    }

    var isFruitful: Bool { !taken.isEmpty }

    // MARK: Taking apart

    mutating func takeApart() {
        for tables in groups where !tables.contains(where: \.isStored) { shown += tables[0].leaveToSiblings() }
        for group in groups.indices {
            let slots = groups[group][0].slotsHeldOnlyHere()
            guard !slots.isEmpty else { continue }
            for slot in slots { takeApart(Place(group: group, slot: slot)) }
        }
        while let place = queue.popLast() {
            if groups[place.group][0].isHeldOnlyHere(place.slot) { takeApart(place) }
        }
    }

    /// The place among those taken apart, -1 for one that is not.
    private func number(_ place: Place) -> Int {
        numbers[place.group].isEmpty ? -1 : Int(numbers[place.group][place.slot])
    }

    private mutating func takeApart(_ place: Place) {
        let tables = groups[place.group]
        guard number(place) < 0, isStored(place) else { return }
        if numbers[place.group].isEmpty {
            numbers[place.group] = ContiguousArray(repeating: -1, count: tables[0].slotCount)
        }
        numbers[place.group][place.slot] = Int32(truncatingIfNeeded: taken.count)
        if let object = tables[0].object(at: place.slot) { numberOf[ObjectIdentifier(object)] = taken.count }
        var model = Taken(place: place)
        for table in tables {
            for link in table.emptyLinks(place.slot) {
                let targets = link.objects.map { object in
                    self.place(of: object, in: link.targets).map { Target.known($0) } ?? .other(object)
                }
                for case .known(let target) in targets { queue.append(target) }
                model.links.append(TakenLink(table: link.table, step: link.step, targets: targets))
            }
        }
        taken.append(model)
    }

    /// Whether the rows say what the model does.
    private func isStored(_ place: Place) -> Bool {
        var isKnown = false
        for table in groups[place.group] where table.isStored && table.hasSnapshot(place.slot) {
            guard table.isAsStored(place.slot) else { return false }
            isKnown = true
        }
        return isKnown
    }

    /// Where the object stands: among the table's, or, if these are left to others, among theirs.
    private func place(of object: AnyObject, in table: any ErasedTable) -> Place? {
        for table in [table] + table.siblings {
            if let slot = table.slot(holding: object), let group = groupOf[ObjectIdentifier(table.identityMap)] {
                return Place(group: group, slot: slot)
            }
        }
        return nil
    }

    // MARK: What is in use

    /// Finds what the models that are left lead to.
    mutating func mark() {
        for group in groups.indices {
            for slot in 0..<groups[group][0].slotCount {
                let place = Place(group: group, slot: slot)
                if number(place) < 0 { markTargets(of: place) }
            }
        }
        for table in groups.joined() { for object in table.addedObjects { mark(object, of: table) } }
        while true {
            if let number = needed.popLast() {
                let model = taken[number]
                markTargets(of: model.place)
                for link in model.links {
                    for target in link.targets {
                        switch target {
                        case .known(let target): mark(number: self.number(target))
                        case .other(let object): mark(object, of: link.table.targets(of: link.step) ?? link.table)
                        }
                    }
                }
            } else if let (table, object) = new.popLast() {
                table.forEachTarget(of: object) { mark($1, of: $0) }
            } else {
                return
            }
        }
    }

    private mutating func markTargets(of place: Place) {
        guard let object = groups[place.group][0].object(at: place.slot) else { return }
        for table in groups[place.group] {
            table.forEachTarget(of: object) { mark($1, of: $0) }
            for held in table.heldBefore(by: place.slot) { mark(number: numberOf[held] ?? -1) }
        }
    }

    private mutating func mark(_ object: AnyObject, of table: any ErasedTable) {
        if let number = numberOf[ObjectIdentifier(object)] {
            mark(number: number)
        } else if table.slot(holding: object) == nil, seen.insert(ObjectIdentifier(object)).inserted {
            new.append((table, object))
        }
    }

    private mutating func mark(number: Int) {
        guard number >= 0, !taken[number].isNeeded else { return }
        taken[number].isNeeded = true
        needed.append(number)
    }

    // MARK: Putting back, and letting go

    func putBack() {
        for model in taken where model.isNeeded {
            for link in model.links {
                let objects = link.targets.compactMap { target in
                    switch target {
                    case .known(let place): groups[place.group][0].object(at: place.slot)
                    case .other(let object): object
                    }
                }
                link.table.setLink(model.place.slot, link.step, objects)
            }
        }
    }

    mutating func letGo() {
        for model in taken where !model.isNeeded { groups[model.place.group][0].letGo(model.place.slot) }
        taken = []
    }

    func endSearch() { for show in shown { show() } }
}

extension EntityTable {
    /// Empties the links of a slot's model, as far as they can be.
    func emptiedLinks(of slot: Int) -> [EmptiedLink] {
        guard let model = model(at: slot) else { return [] }
        return linkSteps.compactMap { index in
            guard let assign = mapping.steps[index].assign, let targets = target(of: index) else { return nil }
            let objects = linked(model, index)
            guard !objects.isEmpty else { return nil }
            assign(model, [])
            return EmptiedLink(table: self, step: index, targets: targets, objects: objects)
        }
    }

    /// What the model's link leads to. Closures are asked for one at a time: a whole step is dozens of references to retain.
    private func linked(_ model: D.Model, _ index: Int) -> [AnyObject] {
        if let objects = mapping.steps[index].objects { return objects(model) }
        return mapping.steps[index].named?(model).map { [$0] } ?? []
    }

    /// Whether a save would write nothing of the model.
    func isAsStored(_ slot: Int) -> Bool {
        guard let model = model(at: slot), !identity.deleted.contains(slot) else { return false }
        // A value that does not encode is an edit.
        guard isUnedited(mapping.isClean, slot, model) || !((try? isDirty(slot, model)) ?? true) else { return false }
        return linkSteps.allSatisfy { index in
            guard let inverse = mapping.steps[index].inverse, let targets = target(of: index) else { return true }
            return targets.isHeld(by: slot, inverse, linked(model, index))
        }
    }

    /// Whether the app has left a property alone: also a link that the other side's foreign key holds, which is compared
    /// with what it was filled with.
    func isUntouched(_ step: StepTasks<D>, _ slot: Int, _ model: D.Model) -> Bool {
        guard let inverse = step.inverse, let linked = step.objects, let targets = target(of: step) else {
            return isUnedited(step.isClean, slot, model)
        }
        return targets.isHeld(by: slot, inverse, linked(model))
    }

    /// Whether an owner's link has what it had when it was last filled or saved.
    func isHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) -> Bool {
        let inverseIndex = inverseIndex(foreignKey)
        return inverseIndex.isFilled(owner) ? !inverseIndex.isChanged(owner, objects) : objects.isEmpty
    }

    /// Calls `visit` with what a model's links lead to.
    func forEachTarget(of object: AnyObject, _ visit: (any ErasedTable, AnyObject) -> Void) {
        guard let model = object as? D.Model else { return }
        for index in linkSteps {
            guard let targets = target(of: index) else { continue }
            for object in linked(model, index) { visit(targets, object) }
        }
    }

    /// What the links of the slot's model have led to, and may do again: of references that have become nil, and of links
    /// that the app has changed.
    func targetsBefore(of slot: Int) -> [ObjectIdentifier] {
        guard let model = model(at: slot) else { return [] }
        var found: [ObjectIdentifier] = []
        for index in linkSteps {
            guard let targets = target(of: index) else { continue }
            if let inverse = mapping.steps[index].inverse {
                found += targets.held(by: slot, inverse).map(ObjectIdentifier.init)
            } else if mapping.steps[index].named != nil {
                if let property = mapping.steps[index].property, let owner = inverseIndex(property).name(of: slot),
                    let object = targets.object(at: owner)
                {
                    found.append(ObjectIdentifier(object))
                }
            } else if let before = mapping.steps[index].before, snapshot(slot) != nil,
                !isUnedited(mapping.steps[index].isClean, slot, model)
            {
                // A roll-back leads there again, and an owned child that was let go of is to be deleted.
                found += before(self, slot, core).map(ObjectIdentifier.init)
            }
        }
        return found
    }

    func target(of index: Int) -> (any ErasedTable)? {
        mapping.steps[index].targets.first.flatMap { core.erasedTable($0) }
    }

    private func target(of step: StepTasks<D>) -> (any ErasedTable)? {
        step.targets.first.flatMap { core.erasedTable($0) }
    }

    func letGoOfModel(at slot: Int) {
        guard let model = model(at: slot) else { return }
        forget(mapping.idOf(model))
    }

    /// Leaves the models that a table of stored DTOs has, too, to that one for a while.
    ///
    /// - Returns: what takes them back, or forgets them if they are gone.
    func leaveToSiblings() -> [() -> Void] {
        let others = siblings.filter { $0.isStored && $0.identityMap !== identity }
        guard !others.isEmpty else { return [] }
        return identity.models.indices.compactMap { slot in
            guard let model = model(at: slot) else { return nil }
            let owners = others.compactMap { table in table.slot(holding: model).map { (table, $0) } }
            guard let (table, place) = owners.first else { return nil }
            let id = mapping.idOf(model)
            identity.models[slot] = nil
            return { [self] in
                if let object = table.object(at: place) { identity.models[slot] = object } else { forget(id) }
            }
        }
    }
}

extension StepTasks {
    /// What the model's link leads to.
    func linked(_ model: D.Model) -> [AnyObject] { objects?(model) ?? named?(model).map { [$0] } ?? [] }
}
