/// The steps of links. Everything is inlinable, so that the loops are specialised where a mapping is written.
extension Step {
    @usableFromInline static func required<C: Mappable>(_ link: Ref<C>?, _ path: AnyKeyPath) throws -> Any {
        if let link { return link }
        throw GraphError(
            .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
            property: D.schema.property(at: path)?.name)
    }

    /// A link by one `Ref`.
    @inlinable @inline(__always)
    static func reference<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (D) -> Ref<C>?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void,
        answer: @escaping (Ref<C>?) throws -> Any
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isSame = { get($0.pointee) == get($1.pointee) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range) { dto, edges in
                if let ref = get(dto) { edges.append(targets.want(ref.id)) }
            }
        }
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let targets = try core.table(C.self)
            guard let target = model(object), !targets.isDeleted(target) else { return get(snapshot.pointee) == nil }
            return get(snapshot.pointee)?.id == targets.mapping.idOf(target)
        }
        step.isClean = isClean
        step.isEmpty = { model($0) == nil }
        step.freeze = { freeze($0, model, set) }
        step.drop = { object, core, all in
            guard let target = model(object) else { return }
            if all || (try? core.table(C.self))?.isDeleted(target) == true { set(object, nil) }
        }
        step.link = { table, index, core in
            let targets = try core.table(C.self)
            let edges = table.edges[index]
            try table.forEachToLink(
                index, isClean, count: { get($0) == nil ? 0 : 1 },
                body: { dto, object, start in
                    set(object, get(dto) == nil ? nil : try targets.linked(edges[start]))
                })
        }
        step.restore = { dto, object, core in
            restore([get(dto)].compactMap { $0?.id }, C.self, core) { set(object, $0.first) }
        }
        step.visit = { object, _, core in
            if let target = model(object) { try core.table(C.self).slot(of: target) }
        }
        step.answer = { object, _, core in
            let targets = try core.table(C.self)
            guard let target = model(object), !targets.isDeleted(target) else { return try answer(nil) }
            return try answer(Ref(targets.mapping.idOf(target)))
        }
        return step
    }

    /// A link by an ordered list of `Ref`s.
    @inlinable @inline(__always)
    static func list<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (D) -> [Ref<C>],
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isSame = { get($0.pointee) == get($1.pointee) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range) { dto, edges in
                for ref in get(dto) { edges.append(targets.want(ref.id)) }
            }
        }
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let targets = try core.table(C.self)
            let old = get(snapshot.pointee)
            let new = models(object)
            guard old.count == new.count else { return false }
            for index in old.indices
            where old[index].id != targets.mapping.idOf(new[index]) || targets.isDeleted(new[index]) { return false }
            return true
        }
        step.isClean = isClean
        step.isEmpty = { models($0).isEmpty }
        step.drop = { object, core, all in
            let old = models(object)
            guard !old.isEmpty, let targets = try? core.table(C.self) else { return }
            let new = all ? [] : old.filter { !targets.isDeleted($0) }
            if new.count < old.count { set(object, new) }
        }
        step.isWhole = true
        step.restore = { dto, object, core in restore(get(dto).map(\.id), C.self, core) { set(object, $0) } }
        step.setAside = { object, _, _ in setAside(object, models, set) }
        step.freeze = { freeze($0, models, set) }
        step.link = { table, index, core in try setLists(table, index, isClean, { get($0).count }, core, C.self, set) }
        step.visit = { object, _, core in
            let targets = try core.table(C.self)
            for target in models(object) { try targets.slot(of: target) }
        }
        step.answer = { object, _, core in
            let targets = try core.table(C.self)
            return models(object).filter { !targets.isDeleted($0) }.map { Ref<C>(targets.mapping.idOf($0)) }
        }
        return step
    }

    @inlinable @inline(__always)
    static func setLists<C: Mappable>(
        _ table: Table<D>, _ index: Int, _ isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool,
        _ count: (D) -> Int,
        _ core: SessionCore, _: C.Type, _ set: (D.Model, [C.Model]) -> Void
    ) throws where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let targets = try core.table(C.self)
        let edges = table.edges[index]
        try table.forEachToLink(index, isClean, count: count) { dto, object, start in
            var list: [C.Model] = []
            list.reserveCapacity(count(dto))
            for edge in edges[start..<start + count(dto)] { list.append(try targets.linked(edge)) }
            set(object, list)
        }
    }

    /// A link to nested DTOs.
    @inlinable @inline(__always)
    static func nested<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (D) -> [C], models: @escaping (D.Model) -> [C.Model],
        set: @escaping (D.Model, [C.Model]) -> Void, answer: @escaping ([C]) throws -> Any, isList: Bool
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isSame = { left, right in
            let left = get(left.pointee)
            let right = get(right.pointee)
            return left.count == right.count && left.indices.allSatisfy { left[$0].id == right[$0].id }
        }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range) { dto, edges in
                for child in get(dto) { edges.append(targets.offer(child)) }
            }
        }
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let targets = try core.table(C.self)
            let old = get(snapshot.pointee)
            let new = models(object)
            guard old.count == new.count else { return false }
            for index in old.indices where old[index].id != targets.mapping.idOf(new[index]) { return false }
            return true
        }
        step.isClean = isClean
        step.isEmpty = { models($0).isEmpty }
        step.drop = { object, core, all in
            let old = models(object)
            guard !old.isEmpty, let targets = try? core.table(C.self) else { return }
            let new = all ? [] : old.filter { !targets.isDeleted($0) }
            if new.count < old.count { set(object, new) }
        }
        step.isWhole = true
        step.restore = { dto, object, core in restore(get(dto).map(\.id), C.self, core) { set(object, $0) } }
        step.setAside = { object, _, _ in setAside(object, models, set) }
        step.freeze = { freeze($0, models, set) }
        step.link = { table, index, core in try setLists(table, index, isClean, { get($0).count }, core, C.self, set) }
        step.visit = { object, _, core in
            let targets = try core.table(C.self)
            for target in models(object) { try targets.slot(of: target) }
        }
        step.answer = { object, _, core in
            let targets = try core.table(C.self)
            return try answer(models(object).map { try targets.record(of: $0) })
        }
        step.offerNested = { copies, core in
            let targets = try core.table(C.self)
            for copy in copies { for child in get(copy) { targets.offer(child) } }
        }
        step.nested = { dto, visit in
            let name = D.schema.property(at: from)?.name ?? "?"
            for (index, child) in get(dto).enumerated() { visit(C.self, child, isList ? "\(name)[\(index)]" : name) }
        }
        return step
    }

    /// A link that the other side's foreign key holds.
    @inlinable @inline(__always)
    static func byKey<C: Mappable>(
        _ foreignKey: AnyKeyPath, _ to: AnyKeyPath, key: @escaping (C) -> D.ID?,
        get: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.modelPath = to
        step.targets = [C.self]
        step.gather = { table, range, _, core in
            var owners: [D.ID] = []
            owners.reserveCapacity(range.count)
            for place in range { owners.append(table.ids[Int(table.arrived[place])]) }
            try core.table(C.self).wantHeld(by: foreignKey, owners)
        }
        step.link = { table, step, core in
            let targets = try core.table(C.self)
            let holding = targets.holding(foreignKey)
            // Each owner's children as a linked list of indices; backwards, so that the lists run forwards.
            var first = ContiguousArray<Int32>(repeating: -1, count: table.ids.count)
            var next = ContiguousArray<Int32>(repeating: -1, count: targets.ids.count)
            for index in targets.arrived.reversed() {
                let owner = targets.withPointer(to: Int(index), of: targets.incoming) { key($0.pointee) }
                guard let place = owner.flatMap({ table.indices[IDKey($0)] }) else { continue }
                next[Int(index)] = first[Int(place)]
                first[Int(place)] = index
            }
            for index in table.arrived.prefix(table.followed[step]) {
                let slot = Int(table.slots[Int(index)])
                guard let object = table.model(at: slot) else { continue }
                // A link that the app has changed since it was filled keeps the app's value.
                if table.snapshots[slot] != nil, holding.isChanged(slot, get(object)) { continue }
                var models: [C.Model] = []
                var child = first[Int(index)]
                while child >= 0 {
                    models.append(try targets.linked(child))
                    child = next[Int(child)]
                }
                set(object, models)
                holding.fill(slot, models)
            }
        }
        step.drop = { object, core, all in
            let old = get(object)
            guard !old.isEmpty, let targets = try? core.table(C.self) else { return }
            let new = all ? [] : old.filter { !targets.isDeleted($0) }
            if new.count < old.count { set(object, new) }
        }
        step.visit = { object, slot, core in
            let targets = try core.table(C.self)
            let holding = targets.holding(foreignKey)
            let children = get(object)
            for child in children where !targets.isDeleted(child) {
                let childSlot = try targets.slot(of: child)
                guard childSlot >= 0 else {
                    if holding.held(slot, child) { continue }
                    throw targets.evicted(child)
                }
                if let other = holding.claim(childSlot, owner: slot) {
                    throw try core.table(D.self).twoOwners(
                        other, slot, of: "\(targets.mapping.idOf(child))", C.schema.name)
                }
            }
            holding.note(slot, children, isNew: try core.table(D.self).snapshot(slot) == nil)
        }
        step.attach = { core in attach(C.self, foreignKey, get, set, core) }
        step.restoreHeld = { table, slots, core in restoreHeld(table, slots, foreignKey, key, get, set, core) }
        step.setAside = { object, _, _ in setAside(object, get, set) }
        step.freeze = { freeze($0, get, set) }
        return step
    }
}
