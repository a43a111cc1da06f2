/// The steps of links. Everything is inlinable, so that the loops are specialised where a mapping is written.
extension Step {
    @usableFromInline static func required<C: Mappable>(_ link: Ref<C>?, _ path: AnyKeyPath) throws -> Ref<C> {
        if let link { return link }
        throw GraphError(
            .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
            property: D.schema.property(at: path)?.name)
    }

    /// A link by one `Ref`.
    @inlinable @inline(__always)
    static func reference<C: Mappable, V>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Ref<C>?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void,
        answer: @escaping (Ref<C>?) throws -> V
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: Step<D> = .toOne(
            C.self, from, to, id: { get($0)?.id }, model: model, set: set)
        step.isSame = { get($0) == get($1) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range, of: get) { ref, edges in
                if let ref { edges.append(targets.want(ref.id)) }
            }
        }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let target = model(object).flatMap { targets.isDeleted($0) ? nil : $0 }
            answers.put(try answer(target.map { Ref(targets.mapping.idOf($0)) }))
        }
        return step
    }

    /// A link by an ordered list of `Ref`s.
    @inlinable @inline(__always)
    static func list<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> [Ref<C>],
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: Step<D> = .toMany(
            C.self, from, to, count: { get($0).count }, models: models, set: set,
            haveIDs: { dto, isID in
                let refs = get(dto)
                for index in refs.indices where !isID(index, refs[index].id) { return false }
                return true
            })
        step.isSame = { get($0) == get($1) }
        step.encode = { get($0).encode(into: &$1) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range, of: get) { refs, edges in
                for ref in refs { edges.append(targets.want(ref.id)) }
            }
        }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let models = models(object)
            var refs: [Ref<C>] = []
            refs.reserveCapacity(models.count)
            for model in models where !targets.isDeleted(model) { refs.append(Ref<C>(targets.mapping.idOf(model))) }
            answers.put(refs)
        }
        return step
    }

    /// A link to one nested DTO.
    @inlinable @inline(__always)
    static func nestedOne<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> C?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: Step<D> = .toOne(
            C.self, from, to, id: { get($0)?.id }, model: model, set: set)
        step.isWhole = true
        step.isSame = { areSame(get($0)?.id, get($1)?.id) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range, of: get) { child, edges in
                if let child { edges.append(targets.offer(child)) }
            }
        }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let target = model(object).flatMap { targets.isDeleted($0) ? nil : $0 }
            answers.put(try target.map { try targets.record(of: $0) })
        }
        step.nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            if let target = model(object), !targets.isDeleted(target) { visit(targets, target) }
        }
        step.offerNested = { copies, core in
            let targets = try core.table(C.self)
            for copy in copies { if let child = value(of: copy, get) { targets.offer(child) } }
        }
        step.nested = { dto, visit in
            if let child = value(of: dto, get) { visit(C.self, child, D.schema.property(at: from)?.name ?? "?") }
        }
        return step
    }

    /// A link to many nested DTOs.
    @inlinable @inline(__always)
    static func nestedMany<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> [C],
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: Step<D> = .toMany(
            C.self, from, to, count: { get($0).count }, models: models, set: set,
            haveIDs: { dto, isID in
                get(dto).withUnsafeBufferPointer { children in
                    guard let first = children.baseAddress else { return true }
                    for index in children.indices where !isID(index, (first + index).pointee.id) { return false }
                    return true
                }
            })
        step.isSame = { left, right in
            let left = get(left)
            let right = get(right)
            return left.count == right.count && left.indices.allSatisfy { areSame(left[$0].id, right[$0].id) }
        }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            table.withEdges(index, range, of: get) { children, edges in
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
        step.nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            for target in models(object) where !targets.isDeleted(target) { visit(targets, target) }
        }
        step.offerNested = { copies, core in
            let targets = try core.table(C.self)
            for copy in copies { for child in value(of: copy, get) { targets.offer(child) } }
        }
        step.nested = { dto, visit in
            let name = D.schema.property(at: from)?.name ?? "?"
            for (index, child) in value(of: dto, get).enumerated() { visit(C.self, child, "\(name)[\(index)]") }
        }
        return step
    }

    /// What links to one model share; `id` is the target's.
    @inlinable @inline(__always)
    static func toOne<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, id: @escaping (UnsafePointer<D>) -> C.ID?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { snapshot, object, core in
            let targets = try core.table(C.self)
            guard let target = model(object), !targets.isDeleted(target) else { return id(snapshot) == nil }
            return areSame(id(snapshot), targets.mapping.idOf(target))
        }
        step.isClean = isClean
        step.isEmpty = { model($0) == nil }
        step.objects = { model($0).map { [$0] } ?? [] }
        step.assign = { set($0, $1.first as? C.Model) }
        step.letGo = { table, core, bit in
            letGo(
                table, core, C.self, bit, ids: { id($0).map { [$0] } ?? [] }, linked: { model($0).map { [$0] } ?? [] })
        }
        step.freeze = { freeze($0, model, set) }
        step.before = { table, slot, core in
            guard let targets = try? core.table(C.self) else { return [] }
            let old = table.withPointer(to: slot, of: table.snapshots, id)
            return old.flatMap { targets.model($0) }.map { [$0] } ?? []
        }
        step.drop = { object, core, all in
            guard let target = model(object) else { return }
            if all || (try? core.table(C.self))?.isDeleted(target) == true { set(object, nil) }
        }
        step.link = { table, index, core in
            let targets = try core.table(C.self)
            let edges = table.edges[index]
            try table.forEachToLink(
                index, isClean, count: { id($0) == nil ? 0 : 1 },
                body: { object, edge in set(object, try edge.first.map { try targets.linked(edges[$0]) }) })
        }
        step.restore = { dto, object, core in
            restore([value(of: dto, id)].compactMap { $0 }, C.self, core) { set(object, $0.first) }
        }
        step.visit = { object, _, core in
            if let target = model(object) { try core.table(C.self).slot(of: target) }
        }
        step.forEachEdge = { table, core, body in
            forEachEdge(to: C.self, table, core, { id($0).map { [(nil, $0)] } ?? [] }, body)
        }
        return step
    }

    /// What links to many models share.
    ///
    /// - Parameter haveIDs: whether the closure is true for the place and the id of every target.
    @inlinable @inline(__always)
    static func toMany<C: Mappable>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, count: @escaping (UnsafePointer<D>) -> Int,
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void,
        haveIDs: @escaping (UnsafePointer<D>, (Int, C.ID) -> Bool) -> Bool
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.isWhole = true
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
        step.isEmpty = { models($0).isEmpty }
        step.objects = { models($0) }
        step.assign = { set($0, $1.compactMap { $0 as? C.Model }) }
        step.isMany = true
        step.letGo = { table, core, bit in
            letGo(table, core, C.self, bit, ids: { targetIDs($0, haveIDs) }, linked: { models($0) })
        }
        step.before = { table, slot, core in
            guard let targets = try? core.table(C.self) else { return [] }
            return table.withPointer(to: slot, of: table.snapshots) { targetIDs($0, haveIDs) }.compactMap(targets.model)
        }
        step.drop = { object, core, all in dropTargets(object, C.self, core, all, models, set) }
        step.link = { table, index, core in
            let targets = try core.table(C.self)
            let edges = table.edges[index]
            try table.forEachToLink(index, isClean, count: count) { object, range in
                var list: [C.Model] = []
                list.reserveCapacity(range.count)
                for edge in edges[range] { list.append(try targets.linked(edge)) }
                set(object, list)
            }
        }
        step.restore = { dto, object, core in
            var ids: [C.ID] = []
            _ = value(of: dto) { dto in
                haveIDs(dto) { _, id in
                    ids.append(id)
                    return true
                }
            }
            return restore(ids, C.self, core) { set(object, $0) }
        }
        step.setAside = { object, _, _ in setAside(object, models, set) }
        step.freeze = { freeze($0, models, set) }
        step.visit = { object, _, core in
            let models = models(object)
            if models.isEmpty { return }
            let targets = try core.table(C.self)
            for target in models { try targets.slot(of: target) }
        }
        step.forEachEdge = { table, core, body in
            let ids: (UnsafePointer<D>) -> [(place: Int?, id: C.ID)] = { dto in
                var ids: [(Int?, C.ID)] = []
                _ = haveIDs(dto) { index, id in
                    ids.append((index, id))
                    return true
                }
                return ids
            }
            forEachEdge(to: C.self, table, core, ids, body)
        }
        return step
    }

    /// Takes from a link to many all targets, or those that are deleted.
    @inlinable static func dropTargets<C: Mappable>(
        _ object: D.Model, _: C.Type, _ core: SessionCore, _ all: Bool, _ models: (D.Model) -> [C.Model],
        _ set: (D.Model, [C.Model]) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let old = models(object)
        guard !old.isEmpty, let targets = try? core.table(C.self) else { return }
        let new = all ? [] : old.filter { !targets.isDeleted($0) }
        if new.count < old.count { set(object, new) }
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
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step = Step<D>()
        step.modelPath = to
        step.inverse = foreignKey
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
                let owner = targets.withPointer(to: Int(index), of: targets.incoming) { key($0) }
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
        step.before = { table, slot, core in
            guard let object = table.model(at: slot), let holding = try? core.table(C.self).holding(foreignKey) else {
                return []
            }
            let gone = letGoHeld(table, core, C.self, foreignKey, key: key, linked: { get($0) })
            return get(object).filter { holding.held(slot, $0) } + gone.filter { $0.1 === object }.map(\.0)
        }
        step.drop = { object, core, all in dropTargets(object, C.self, core, all, get, set) }
        step.objects = { get($0) }
        step.assign = { set($0, $1.compactMap { $0 as? C.Model }) }
        step.isMany = isList
        step.letGo = { table, core, _ in
            letGoHeld(table, core, C.self, foreignKey, key: key, linked: { get($0) })
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
            holding.note(
                slot, targets.identity.deleted.isEmpty ? children : children.filter { !targets.isDeleted($0) },
                isNew: try core.table(D.self).snapshot(slot) == nil)
        }
        step.forEachEdge = { table, core, body in
            guard let targets = try? core.table(C.self) else { return }
            var counts: [Int32: Int] = [:]
            for child in targets.arrived {
                let owner = targets.withPointer(to: Int(child), of: targets.incoming, key)
                guard let index = owner.flatMap({ table.indices[IDKey($0)] }) else { continue }
                body(index, targets, child, isList ? counts[index, default: 0] : nil)
                counts[index, default: 0] += 1
            }
        }
        step.attach = { core in attach(C.self, foreignKey, get, set, core, isList: isList) }
        step.restoreHeld = { table, slots, core in restoreHeld(table, slots, foreignKey, key, get, set, core) }
        step.setAside = { object, _, _ in setAside(object, get, set) }
        step.freeze = { freeze($0, get, set) }
        return step
    }
}
