/// What the loops over objects do for links. All here is inlinable, so that it is specialised where a mapping is written; the
/// rest is in `LinkUpkeep.swift`, and is not, since each record would pay for it in compile time.
extension StepTasks {
    @usableFromInline static func required<C: Mappable>(_ link: Ref<C>?, _ path: AnyKeyPath) throws -> Ref<C> {
        if let link { return link }
        throw missing(path)()
    }

    /// What is wrong with a required link that is nil.
    @usableFromInline static func missing(_ path: AnyKeyPath) -> () -> any Error {
        {
            GraphError(
                .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
                property: D.schema.property(at: path)?.name)
        }
    }

    /// A link to one nested DTO.
    @inlinable @inline(__always)
    static func nestedOne<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> C?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .toOne(C.self, from, to, id: { get($0)?.id }, model: model, set: set)
        step.isWhole = true
        step.gather = { batch, range, index, load in
            let targets = try load.batch(C.self)
            batch.withEdges(index, range, of: get) { child, edges in
                if let child { edges.append(targets.offer(child)) }
            }
        }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let target = model(object).flatMap { targets.isDeleted($0) ? nil : $0 }
            answers.put(try target.map { try targets.record(of: $0) })
        }
        step.offerNested = { copies, load in
            let targets = try load.batch(C.self)
            for copy in copies { if let child = value(of: copy, get) { targets.offer(child) } }
        }
        step.nest(C.self, from, in: { get($0).map { [$0] } ?? [] }, of: { model($0).map { [$0] } ?? [] }, isList: false)
        return step
    }

    /// A link to many nested DTOs.
    @inlinable @inline(__always)
    static func nestedMany<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> [C],
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .toMany(
            C.self, from, to, count: { get($0).count }, models: models, set: set,
            haveIDs: { dto, isID in
                get(dto).withUnsafeBufferPointer { children in
                    guard let first = children.baseAddress else { return true }
                    for index in children.indices where !isID(index, (first + index).pointee.id) { return false }
                    return true
                }
            })
        step.gather = { batch, range, index, load in
            let targets = try load.batch(C.self)
            batch.withEdges(index, range, of: get) { children, edges in
                // By address: most children are copies of what is here, and a value would be retained to be compared.
                children.withUnsafeBufferPointer { children in
                    guard let first = children.baseAddress else { return }
                    for index in children.indices { edges.append(targets.offer(first + index)) }
                }
            }
        }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            answers.put(try models(object).filter { !targets.isDeleted($0) }.map { try targets.record(of: $0) })
        }
        step.offerNested = { copies, load in
            let targets = try load.batch(C.self)
            for copy in copies { for child in value(of: copy, get) { targets.offer(child) } }
        }
        step.nest(C.self, from, in: get, of: models, isList: true)
        return step
    }

    /// What the loops do for links to one model; `id` is the target's.
    @inlinable @inline(__always)
    static func toOne<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, id: @escaping (UnsafePointer<D>) -> C.ID?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .upkeepOfOne(C.self, from, to, id, model, set)
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let targets = try core.table(C.self)
            guard let target = model(object), !targets.isDeleted(target) else { return id(snapshot) == nil }
            return areSame(id(snapshot), targets.mapping.idOf(target))
        }
        step.isClean = isClean
        step.link = { batch, index, load in
            let targets = try load.batch(C.self)
            let edges = batch.edges[index]
            try batch.forEachToLink(
                index, isClean, count: { id($0) == nil ? 0 : 1 },
                body: { object, edge in set(object, try edge.first.map { try targets.linked(edges[$0]) }) })
        }
        step.visit = { object, _, core in
            let object = unsafeDowncast(object, to: D.Model.self)
            if let target = model(object) { try core.table(C.self).slot(of: target) }
        }
        return step
    }

    /// What the loops do for links to many models.
    ///
    /// - Parameter haveIDs: whether the closure is true for the place and the id of every target.
    @inlinable @inline(__always)
    static func toMany<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, count: @escaping (UnsafePointer<D>) -> Int,
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void,
        haveIDs: @escaping (UnsafePointer<D>, (Int, C.ID) -> Bool) -> Bool
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .upkeepOfMany(C.self, from, to, haveIDs, models, set)
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let new = models(object)
            guard count(snapshot) == new.count else { return false }
            if new.isEmpty { return true }
            let targets = try core.table(C.self)
            return haveIDs(snapshot) { index, id in
                areSame(id, targets.mapping.idOf(new[index])) && !targets.isDeleted(new[index])
            }
        }
        step.isClean = isClean
        step.link = { batch, index, load in
            let targets = try load.batch(C.self)
            let edges = batch.edges[index]
            try batch.forEachToLink(index, isClean, count: count) { object, range in
                var list: [C.Model] = []
                list.reserveCapacity(range.count)
                for edge in edges[range] { list.append(try targets.linked(edge)) }
                set(object, list)
            }
        }
        step.visit = { object, _, core in
            let models = models(unsafeDowncast(object, to: D.Model.self))
            if models.isEmpty { return }
            let targets = try core.table(C.self)
            // Arrays of objects are laid out alike, whatever the class.
            for target in unsafeBitCast(models, to: [AnyObject].self) { try targets.slot(of: target) }
        }
        return step
    }

    /// Whether two ids are those of one row, as ``IDKey`` has it.
    @inlinable @inline(__always) static func areSame<ID: Storable & Hashable>(_ left: ID, _ right: ID) -> Bool {
        IDKey(left) == IDKey(right)
    }

    @inlinable @inline(__always) static func areSame<ID: Storable & Hashable>(_ left: ID?, _ right: ID?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return IDKey(left) == IDKey(right)
    }

    /// What a loop's closure answers for one DTO off the loops.
    @inlinable @inline(__always) static func value<T>(of dto: D, _ get: (UnsafePointer<D>) -> T) -> T {
        withUnsafePointer(to: dto) { get($0) }
    }

    /// A link that the other side's foreign key holds.
    @inlinable @inline(__always)
    static func byKey<C: Mappable>(
        _ foreignKey: AnyKeyPath, _ to: AnyKeyPath, key: @escaping (UnsafePointer<C>) -> D.ID?,
        get: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void, isList: Bool
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .upkeepByKey(foreignKey, to, key, get, set, isList)
        step.link = { batch, step, load in
            let targets = try load.batch(C.self)
            let inverseIndex = targets.entities.inverseIndex(foreignKey)
            // Each owner's children as a linked list of indices; backwards, so that the lists run forwards.
            var first = ContiguousArray<Int32>(repeating: -1, count: batch.ids.count)
            var next = ContiguousArray<Int32>(repeating: -1, count: targets.ids.count)
            for index in targets.arrived.reversed() {
                let owner = targets.withDTO(index) { key($0) }
                guard let place = owner.flatMap({ batch.indices[$0] }) else { continue }
                next[Int(index)] = first[Int(place)]
                first[Int(place)] = index
            }
            let merge = OwnedLinkMerge(batch.entities, targets.entities, inverseIndex, get)
            let hasEdits = !inverseIndex.isEmpty
            var filled = 0
            let order = batch.mapping.steps[step].childOrder.map { unsafeDowncast($0, to: ChildOrder<C>.self) }
            for index in batch.arrived.prefix(batch.followed[step]) {
                let slot = Int(batch.slots[Int(index)])
                guard let object = batch.model(at: slot), !batch.untouched.contains(slot) else { continue }
                var children: [Int32] = []
                var child = first[Int(index)]
                while child >= 0 {
                    children.append(child)
                    child = next[Int(child)]
                }
                if children.count > 1 { order?.sort(&children) { targets.incoming.pointer(Int($0)) } }
                var models: [C.Model] = []
                models.reserveCapacity(children.count)
                for child in children { models.append(try targets.linked(child)) }
                // Of several rows that point to the owner, a link to one holds the first, and lets go of none.
                if hasEdits || batch.snapshots.has(slot) {
                    let merged = merge.merged(models, slot, object)
                    set(object, merged.link)
                    inverseIndex.fill(slot, isList ? merged.base : Array(merged.base.prefix(1)))
                } else {
                    set(object, models)
                    if !isList { children.removeLast(max(0, children.count - 1)) }
                    inverseIndex.fill(slot, children.map { targets.slots[Int($0)] })
                }
                filled += 1
            }
            targets.filledOwners[foreignKey] = filled
        }
        step.visit = { object, slot, core in
            let targets = try core.table(C.self)
            let inverseIndex = targets.inverseIndex(foreignKey)
            guard let walk = inverseIndex.walk else { return }
            let children = get(unsafeDowncast(object, to: D.Model.self))
            let left = targets.hasNoDeletions ? children : children.filter { !targets.isDeleted($0) }
            var slots: [Int32] = []
            slots.reserveCapacity(left.count)
            for child in left {
                let childSlot = try targets.slot(of: child)
                // One that was evicted stays where it was, and cannot be given to anybody.
                guard childSlot >= 0 else {
                    guard inverseIndex.held(slot, child) else { throw targets.evicted(child) }
                    slots += inverseIndex.slots(of: [child])
                    continue
                }
                slots.append(Int32(truncatingIfNeeded: childSlot))
                if let other = walk.claim(childSlot, owner: slot) {
                    throw try core.table(D.self).twoOwners(
                        other, slot, of: "\(targets.mapping.idOf(child))", C.schema.name)
                }
            }
            let owners = try core.table(D.self)
            let isNew = !owners.snapshots.has(slot)
            if !isNew, !left.isEmpty, !inverseIndex.isFilled(slot) {
                try owners.checkOwned(by: slot, slots, targets, to, key)
            }
            if isNew, !isList { owners.fillReplaced(slot, targets, foreignKey) }
            inverseIndex.note(slot, left, slots, isNew: isNew)
        }
        return step
    }
}
