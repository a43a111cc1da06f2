/// What links need besides loading and saving. None of it is on a hot path.
extension StepTasks {
    /// What links to one model share; `id` is the target's.
    @usableFromInline static func upkeepOfOne<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, _ id: @escaping (UnsafePointer<D>) -> C.ID?,
        _ model: @escaping (D.Model) -> C.Model?, _ set: @escaping (D.Model, C.Model?) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isSame = { areSame(id($0), id($1)) }
        step.isEmpty = { model($0) == nil }
        step.objects = { model($0).map { [$0] } ?? [] }
        step.assign = { set($0, $1.first as? C.Model) }
        step.letGo = { table, core, bit in
            letGo(
                table, core, C.self, bit, ids: { id($0).map { [$0] } ?? [] }, linked: { model($0).map { [$0] } ?? [] })
        }
        step.freeze = { freeze($0, model, set) }
        step.before = { table, slot, core in
            guard let targets = core.knownTable(C.self) else { return [] }
            let old = table.withPointer(to: slot, of: table.snapshots, id)
            return old.flatMap { targets.model($0) }.map { [$0] } ?? []
        }
        step.drop = { object, core, all in
            guard let target = model(object) else { return }
            if all || core.knownTable(C.self)?.isDeleted(target) == true { set(object, nil) }
        }
        step.restore = { dto, object, core in
            restore([value(of: dto, id)].compactMap { $0 }, C.self, core) { set(object, $0.first) }
        }
        step.forEachEdge = { batch, load, body in
            forEachEdge(to: C.self, batch, load, { id($0).map { [(nil, $0)] } ?? [] }, body)
        }
        return step
    }

    /// What links to many models share.
    ///
    /// - Parameter haveIDs: whether the closure is true for the place and the id of every target.
    @usableFromInline static func upkeepOfMany<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath,
        _ haveIDs: @escaping (UnsafePointer<D>, (Int, C.ID) -> Bool) -> Bool,
        _ models: @escaping (D.Model) -> [C.Model], _ set: @escaping (D.Model, [C.Model]) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isWhole = true
        step.isMany = true
        step.isSame = { left, right in
            let (left, right) = (targetIDs(left, haveIDs), targetIDs(right, haveIDs))
            return left.count == right.count && left.indices.allSatisfy { areSame(left[$0], right[$0]) }
        }
        step.isEmpty = { models($0).isEmpty }
        step.objects = { models($0) }
        step.assign = { set($0, $1.compactMap { $0 as? C.Model }) }
        step.letGo = { table, core, bit in
            letGo(table, core, C.self, bit, ids: { targetIDs($0, haveIDs) }, linked: { models($0) })
        }
        step.before = { table, slot, core in
            guard let targets = core.knownTable(C.self) else { return [] }
            return table.withPointer(to: slot, of: table.snapshots) { targetIDs($0, haveIDs) }.compactMap(targets.model)
        }
        step.drop = { object, core, all in dropTargets(object, C.self, core, all, models, set) }
        step.restore = { dto, object, core in
            restore(value(of: dto) { targetIDs($0, haveIDs) }, C.self, core) { set(object, $0) }
        }
        step.setAside = { object, _, _ in setAside(object, models, set) }
        step.freeze = { freeze($0, models, set) }
        step.forEachEdge = { batch, load, body in
            forEachEdge(to: C.self, batch, load, { targetIDs($0, haveIDs).enumerated().map { ($0, $1) } }, body)
        }
        return step
    }

    /// What links that the other side's foreign key holds need.
    @usableFromInline static func upkeepByKey<C: Mappable>(
        _ foreignKey: AnyKeyPath, _ to: AnyKeyPath, _ key: @escaping (UnsafePointer<C>) -> D.ID?,
        _ get: @escaping (D.Model) -> [C.Model], _ set: @escaping (D.Model, [C.Model]) -> Void, _ isList: Bool
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = StepTasks<D>()
        step.modelPath = to
        step.inverse = foreignKey
        if isList { step.childOrder = ChildOrder<C>() }
        step.targets = [C.self]
        step.isMany = isList
        step.gather = { batch, range, _, load in
            let owners = batch.mapping.passes.arrivedIDs(batch, range)
            let targets = try load.batch(C.self)
            let index = targets.entities.inverseIndex(foreignKey)
            let before = index.isEmpty ? [] : owners.compactMap(batch.identity.slot).flatMap { index.base[$0] ?? [] }
            try targets.wantHeld(by: foreignKey, owners, before: before)
        }
        step.before = { table, slot, core in
            guard let object = table.model(at: slot),
                let inverseIndex = core.knownTable(C.self)?.inverseIndex(foreignKey)
            else {
                return []
            }
            let gone = letGoHeld(table, core, C.self, foreignKey, key: key, linked: { get($0) })
            return get(object).filter { inverseIndex.held(slot, $0) } + gone.filter { $0.1 === object }.map(\.0)
        }
        step.drop = { object, core, all in dropTargets(object, C.self, core, all, get, set) }
        step.objects = { get($0) }
        step.assign = { set($0, $1.compactMap { $0 as? C.Model }) }
        step.letGo = { table, core, _ in
            letGoHeld(table, core, C.self, foreignKey, key: key, linked: { get($0) })
        }
        step.forEachEdge = { batch, load, body in
            guard let targets = load.knownBatch(C.self) else { return }
            var counts: [Int32: Int] = [:]
            for child in targets.arrived {
                let owner = targets.withDTO(child, key)
                guard let index = owner.flatMap({ batch.indices[$0] }) else { continue }
                body(index, targets, child, isList ? counts[index, default: 0] : nil)
                counts[index, default: 0] += 1
            }
        }
        step.attach = { core in attach(C.self, foreignKey, to, key, get, set, core, isList: isList) }
        step.restoreHeld = { table, slots, core in restoreHeld(table, slots, foreignKey, key, get, set, core) }
        // A link to one that the app has set is not appended to: a load keeps it.
        if isList { step.setAside = { object, _, _ in setAside(object, get, set) } }
        step.freeze = { freeze($0, get, set) }
        return step
    }

    /// What links to nested DTOs need.
    @usableFromInline mutating func nest<C: Mappable>(
        _: C.Type, _ path: AnyKeyPath, in get: @escaping (UnsafePointer<D>) -> [C],
        of models: @escaping (D.Model) -> [C.Model], isList: Bool
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            for target in models(object) where !targets.isDeleted(target) { visit(targets, target) }
        }
        nested = { dto, visit in
            let name = D.schema.property(at: path)?.name ?? "?"
            for (index, child) in Self.value(of: dto, get).enumerated() {
                visit(C.self, child, isList ? "\(name)[\(index)]" : name)
            }
        }
    }

    /// Takes from a link to many all targets, or those that are deleted.
    private static func dropTargets<C: Mappable>(
        _ object: D.Model, _: C.Type, _ core: SessionCore, _ all: Bool, _ models: (D.Model) -> [C.Model],
        _ set: (D.Model, [C.Model]) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let old = models(object)
        guard !old.isEmpty, let targets = core.knownTable(C.self) else { return }
        let new = all ? [] : old.filter { !targets.isDeleted($0) }
        if new.count < old.count { set(object, new) }
    }

    /// Sets a link to the objects of these ids, if the session has them all.
    @usableFromInline static func restore<C: Mappable>(
        _ ids: [C.ID], _: C.Type, _ core: SessionCore, _ set: ([C.Model]) -> Void
    ) -> Bool where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = core.knownTable(C.self) else { return false }
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

    /// Lets the inverseIndex of a foreign key change the link from its other side.
    @usableFromInline static func attach<C: Mappable>(
        _: C.Type, _ foreignKey: AnyKeyPath, _ path: AnyKeyPath, _ key: @escaping (UnsafePointer<C>) -> D.ID?,
        _ get: @escaping (D.Model) -> [C.Model], _ set: @escaping (D.Model, [C.Model]) -> Void, _ core: SessionCore,
        isList: Bool
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let table = core.knownTable(D.self), let targets = core.knownTable(C.self) else { return }
        let order = table.mapping.steps.first { $0.modelPath == path && $0.inverse == foreignKey }?.childOrder
        targets.inverseIndex(foreignKey).link = OwnerLink(
            isList: isList,
            edit: { [unowned table] owner, leaving, coming in
                guard let object = table.model(at: owner) else { return }
                let coming = coming.compactMap { $0 as? C.Model }
                set(object, get(object).filter { !leaving.contains(ObjectIdentifier($0)) } + coming)
                // A link to one object takes the first.
                if let last = coming.last, !get(object).contains(where: { $0 === last }) { set(object, [last]) }
            },
            owner: { [unowned table] row in key(row.assumingMemoryBound(to: C.self)).flatMap(table.identity.slot) },
            linked: { [unowned table] owner in
                table.model(at: owner).map { table.isDeleted($0) ? [] : get($0) } ?? []
            }, object: { [unowned targets] slot in targets.model(at: slot) },
            sort: { [unowned table, unowned targets] owner, slots in
                guard let object = table.model(at: owner), let order = order as? ChildOrder<C> else { return }
                var sorted = slots.filter { targets.snapshots.has(Int($0)) }
                order.sort(&sorted) { targets.snapshots.pointer(Int($0)) }
                let sortedObjects = sorted.compactMap { targets.model(at: Int($0)) }
                let known = Set(sortedObjects.map(ObjectIdentifier.init))
                // What the app has put there stays behind.
                set(object, sortedObjects + get(object).filter { !known.contains(ObjectIdentifier($0)) })
            })
    }

    /// Makes links as the snapshots of their targets say.
    @usableFromInline static func restoreHeld<C: Mappable>(
        _ table: EntityTable<D>, _ slots: [Int], _ foreignKey: AnyKeyPath, _ key: (UnsafePointer<C>) -> D.ID?,
        _ get: (D.Model) -> [C.Model], _ set: (D.Model, [C.Model]) -> Void, _ core: SessionCore
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = core.knownTable(C.self) else { return }
        let inverseIndex = targets.inverseIndex(foreignKey)
        var stored: [ObjectIdentifier: IDKey<D.ID>] = [:]
        var byOwner: [IDKey<D.ID>: [C.Model]] = [:]
        let changed = slots.filter { slot in
            guard let object = table.model(at: slot) else { return false }
            return inverseIndex.isFilled(slot)
                ? inverseIndex.isChanged(slot, get(object) as [AnyObject]) : !get(object).isEmpty
        }
        guard !changed.isEmpty else { return }
        for slot in targets.snapshots.indices {
            guard let owner = targets.snapshots[slot].flatMap({ StepTasks<C>.value(of: $0, key) }),
                let child = targets.model(at: slot)
            else {
                continue
            }
            byOwner[IDKey(owner), default: []].append(child)
            stored[ObjectIdentifier(child)] = IDKey(owner)
        }
        for slot in changed {
            guard let object = table.model(at: slot) else { continue }
            let id = table.mapping.idOf(object)
            guard inverseIndex.isFilled(slot) else {
                set(object, get(object).filter { stored[ObjectIdentifier($0)] == IDKey(id) })
                continue
            }
            let children = byOwner[IDKey(id)] ?? []
            set(object, children)
            inverseIndex.fill(
                slot, inverseIndex.slots(of: inverseIndex.link?.isList != false ? children : Array(children.prefix(1))))
            inverseIndex.sort([slot])
        }
    }
}
