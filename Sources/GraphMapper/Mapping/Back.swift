/// A back-reference: resolved from the identity map first, then from the source. Never walked on the way back; what
/// it stores comes from the forward side where there is one.
public struct Back<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    public let step: Step<D>
    @usableFromInline init(_ tasks: StepTasks<D>) { step = Step(tasks) }

    /// From a required `Ref` to an optional property of the model, usually weak. Saving an object whose owner is gone
    /// throws.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .back(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { try StepTasks<D>.required($0, from()) }))
    }

    /// From an optional `Ref` to an optional property of the model, usually weak.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .back(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { $0 }))
    }

    /// For a model that was given its parent when it was made: `unowned let owner: Person`.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>>, _ to: KeyPath<D.Model, C.Model>) {
        self.init(
            .back(
                from, to, get: { $0.pointee[keyPath: from] }, model: { $0[keyPath: to] }, set: { _, _ in },
                answer: { try StepTasks<D>.required($0, from) }, isFixed: true))
    }
}

extension StepTasks {
    /// - Parameter isFixed: whether the model keeps the owner that it was made with, which then is never an edit.
    @inlinable @inline(__always)
    static func back<C: Mappable, V>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Ref<C>?,
        model: @escaping (D.Model) -> C.Model?,
        set: @escaping (D.Model, C.Model?) -> Void, answer: @escaping (Ref<C>?) throws -> V, isFixed: Bool = false
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        func owner(_ object: D.Model, _ stored: Ref<C>?, _ core: SessionCore) throws -> Ref<C>? {
            let table = try core.table(D.self)
            let owners = try core.table(C.self)
            let inverseIndex = table.inverseIndex(from)
            let slot = table.knownSlot(of: object)
            // Who holds it is whom it names and who is stored: the usual case.
            if let stored, let slot, let claimed = inverseIndex.owner(of: slot), let holder = owners.model(at: claimed),
                holder === model(object), areSame(owners.mapping.idOf(holder), stored.id)
            {
                return stored
            }
            // Nobody holds any, and it names whom it was loaded with.
            if let stored, let slot, inverseIndex.isEmpty, let named = model(object),
                owners.identity.deleted.isEmpty,
                inverseIndex.owner(of: slot) == nil, let known = inverseIndex.name(of: slot),
                owners.model(at: known) === named,
                areSame(owners.mapping.idOf(named), stored.id)
            {
                return stored
            }
            return try decide(object, slot, stored, named: model(object), inverseIndex, table, owners, from, isFixed)
        }
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.targets = [C.self]
        step.named = { model($0) }
        step.assign = { set($0, $1.first as? C.Model) }
        step.isSame = { get($0) == get($1) }
        step.gather = { batch, range, index, load in
            let targets = try load.batch(C.self)
            for place in range {
                guard let ref = batch.withDTO(batch.arrived[place], get) else { continue }
                if targets.entities.model(ref.id) == nil { _ = targets.want(ref.id) }
            }
        }
        step.isClean = { snapshot, object, core in
            let stored = get(snapshot)
            return try areSame(stored?.id, owner(object, stored, core)?.id)
                && !(core.hasReplaced && namesReplaced(C.self, object, model, from, core))
        }
        step.isEmpty = { model($0) == nil }
        step.freeze = { freeze($0, model, set) }
        step.forEachEdge = { batch, load, body in
            forEachEdge(to: C.self, batch, load, { get($0).map { [(nil, $0.id)] } ?? [] }, body)
        }
        step.drop = { object, core, all in
            // An owner that is gone may not be asked for: the reference may be unowned.
            if all { return set(object, nil) }
            guard let target = model(object), let owners = core.knownTable(C.self), owners.isDeleted(target) else {
                return
            }
            dropOwner(object, from, get, set, core, owners)
        }
        step.link = { batch, index, load in
            let targets = try load.batch(C.self)
            let owners = targets.entities
            let inverseIndex = batch.entities.inverseIndex(from)
            let isUntouched = { (slot: Int, object: D.Model) in
                isFixed || !isEdited(slot, model(object), inverseIndex, owners)
            }
            for index in batch.arrived.prefix(batch.followed[index]) {
                let slot = Int(batch.slots[Int(index)])
                guard let object = batch.model(at: slot), !batch.untouched.contains(slot) else { continue }
                if batch.snapshots.has(slot), !isUntouched(slot, object) {
                    let ref = batch.withDTO(index, get)
                    noteAgreement(model(object), ref, slot, inverseIndex, owners)
                    continue
                }
                guard let ref = batch.withDTO(index, get) else {
                    set(object, nil)
                    inverseIndex.name(slot, owner: -1)
                    continue
                }
                guard let owner = targets.identity.slot(ref.id), let target = targets.model(at: owner) else {
                    throw targets.dangling(ref.id)
                }
                set(object, target)
                inverseIndex.name(slot, owner: owner)
            }
        }
        step.restore = { dto, object, core in
            guard let table = core.knownTable(D.self), let owners = core.knownTable(C.self),
                let slot = table.knownSlot(of: object)
            else { return false }
            let ref = value(of: dto, get)
            let owner = ref.flatMap { owners.identity.slot($0.id) }
            let target = owner.flatMap { owners.model(at: $0) }
            set(object, target)
            table.inverseIndex(from).name(slot, owner: target == nil ? -1 : owner ?? -1)
            return ref == nil || target != nil
        }
        step.settle = { dto, object, core in settle(object, value(of: dto, get), from, model, set, core) }
        step.relink = { table, core in
            try relink(table, from, core, model, set, isFixed: isFixed) { object, snapshot in
                try owner(object, snapshot.flatMap { value(of: $0, get) }, core)
            }
        }
        step.answer = { object, snapshot, core, answers in
            answers.put(try answer(owner(object, snapshot.flatMap { get($0) }, core)))
        }
        step.linkKnown = { batch, start, load in
            let targets = try load.core.table(C.self)
            let inverseIndex = batch.entities.inverseIndex(from)
            for index in batch.arrived[start...] {
                let slot = Int(batch.slots[Int(index)])
                guard let ref = batch.withDTO(index, get),
                    let owner = targets.identity.slot(ref.id),
                    let target = targets.model(at: owner), let object = batch.model(at: slot), model(object) == nil
                else { continue }
                set(object, target)
                inverseIndex.name(slot, owner: owner)
            }
        }
        return step
    }

    /// Sets a back-reference that names a deleted object to the owner that is stored, if that is another.
    @usableFromInline static func dropOwner<C: Mappable>(
        _ object: D.Model, _ from: AnyKeyPath, _ get: (UnsafePointer<D>) -> Ref<C>?, _ set: (D.Model, C.Model?) -> Void,
        _ core: SessionCore, _ owners: EntityTable<C>
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let table = core.knownTable(D.self), let slot = table.knownSlot(of: object),
            table.snapshot(slot) != nil
        else { return set(object, nil) }
        let stored = table.withPointer(to: slot, of: table.snapshots, get).flatMap { owners.identity.slot($0.id) }
        let owner = stored.flatMap { owners.model(at: $0) }.flatMap { owners.isDeleted($0) ? nil : $0 }
        set(object, owner)
        table.inverseIndex(from).name(slot, owner: owner == nil ? -1 : stored ?? -1)
    }

    /// What the app has set a back-reference to, and is stored as well, is no edit any more.
    @usableFromInline static func noteAgreement<C: Mappable>(
        _ named: C.Model?, _ stored: Ref<C>?, _ slot: Int, _ inverseIndex: InverseIndex, _ owners: EntityTable<C>
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let owner = stored.flatMap { owners.identity.slot($0.id) }
        guard owner.flatMap({ owners.model(at: $0) }) === named, (stored == nil) == (named == nil) else { return }
        inverseIndex.name(slot, owner: owner ?? -1)
    }

    /// Whether the app has set the back-reference since the session did. Nil is an edit if the owner is there: one that
    /// was released is not.
    @usableFromInline static func isEdited<C: Mappable>(
        _ slot: Int, _ named: C.Model?, _ inverseIndex: InverseIndex, _ owners: EntityTable<C>
    ) -> Bool where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let known = inverseIndex.name(of: slot).flatMap { owners.model(at: $0) }
        return known !== named && !owners.isReplaced(named, by: known)
    }

    /// Whether the back-reference leads to an object whose place another one of the same id has taken: a save lets it
    /// follow.
    @usableFromInline static func namesReplaced<C: Mappable>(
        _: C.Type, _ object: D.Model, _ model: (D.Model) -> C.Model?, _ from: AnyKeyPath, _ core: SessionCore
    ) -> Bool where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let table = core.knownTable(D.self), let owners = core.knownTable(C.self),
            let owner = table.knownSlot(of: object).flatMap(table.inverseIndex(from).name)
        else { return false }
        return owners.isReplaced(model(object), by: owners.model(at: owner))
    }

    /// The owner that the graph gives to an object. The side that the app has edited decides; if it has edited neither,
    /// what is stored stays.
    @usableFromInline static func decide<C: Mappable>(
        _ object: D.Model, _ slot: Int?, _ stored: Ref<C>?, named: C.Model?, _ inverseIndex: InverseIndex,
        _ table: EntityTable<D>,
        _ owners: EntityTable<C>, _ from: AnyKeyPath, _ isFixed: Bool
    ) throws -> Ref<C>? where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        func id(_ model: C.Model) -> C.ID { owners.mapping.idOf(model) }
        let claimed = slot.flatMap(inverseIndex.owner(of:))
        // Of a new object most often both sides say the same.
        if case nil = stored, let slot, let claimed, let named, owners.held.models[claimed] === named,
            !table.snapshots.has(slot)
        {
            return Ref(id(named))
        }
        let kept = stored.flatMap { owners.isDeleted(id: $0.id) ? nil : $0 }
        let holder = claimed.flatMap { owners.model(at: $0) }
        let isNew = slot.flatMap(table.snapshot) == nil
        let hasMoved =
            holder.map { !areSame(id($0), stored?.id) } ?? false && (isNew || !inverseIndex.held(claimed ?? -1, object))
        let isNaming = named.map { !owners.isDeleted($0) } ?? true
        let isEdited =
            isNaming && (!isFixed || stored == nil)
            && (slot.map { Self.isEdited($0, named, inverseIndex, owners) } ?? (named != nil))
        if let holder, hasMoved {
            if isEdited || isFixed, let named, named !== holder {
                let property = D.schema.property(at: from)?.name
                throw GraphError(
                    .conflict,
                    "its back-reference was set to \(C.schema.name)(\(id(named))), but \(C.schema.name)(\(id(holder))) "
                        + "holds it; change one of them",
                    type: D.schema.name, id: "\(table.mapping.idOf(object))", property: property)
            }
            return Ref(id(holder))
        }
        if isEdited {
            guard let named else {
                // Who has just been given one that takes another's place holds it.
                if let holder, let claimed, !inverseIndex.held(claimed, object) { return Ref(id(holder)) }
                if let slot { noteAgreement(nil, stored, slot, inverseIndex, owners) }
                return nil
            }
            if owners.isOther(named) { throw owners.claimedTwice(named) }
            if !areSame(id(named), stored?.id), inverseIndex.walk != nil, owners.knownSlot(of: named) == nil,
                !owners.identity.isEvicted(named)
            {
                throw GraphError(
                    .unreachable,
                    "its owner \(C.schema.name)(\(id(named))) is new, and nothing but this back-reference leads to it; "
                        + "add it to the session", type: D.schema.name, id: "\(table.mapping.idOf(object))",
                    property: D.schema.property(at: from)?.name)
            }
            if let slot { noteAgreement(named, stored, slot, inverseIndex, owners) }
            return Ref(id(named))
        }
        guard let kept, claimed == nil else { return kept }
        let hasLetGo =
            slot.flatMap { slot in owners.identity.slot(kept.id).map { inverseIndex.hasLetGo($0, of: slot) } } ?? false
        return hasLetGo ? nil : kept
    }

    /// What sets the back-reference to the owner that is about to be written, unless the app sets another one meanwhile,
    /// and moves the object between the owners' links if nobody but the back-reference has moved it.
    @usableFromInline static func settle<C: Mappable>(
        _ object: D.Model, _ written: Ref<C>?, _ from: AnyKeyPath, _ model: @escaping (D.Model) -> C.Model?,
        _ set: @escaping (D.Model, C.Model?) -> Void, _ core: SessionCore
    ) -> () -> Void where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let table = core.knownTable(D.self), let owners = core.knownTable(C.self) else { return {} }
        let inverseIndex = table.inverseIndex(from)
        let claimed = table.knownSlot(of: object).flatMap(inverseIndex.owner(of:))
        let holder = claimed.flatMap { owners.model(at: $0) }
        let isByBack = !areSame(holder.map { owners.mapping.idOf($0) }, written?.id)
        let before = model(object)
        if let holder, before === holder, !isByBack {
            // Most often it is set already.
            return {
                guard let slot = table.mapping.passes.slot(table, object), table.held.models[slot] === object else {
                    return
                }
                inverseIndex.name(slot, owner: owners.mapping.passes.slot(owners, holder) ?? -1)
            }
        }
        return {
            guard let slot = table.knownSlot(of: object) else { return }
            let owner = written.flatMap { owners.identity.slot($0.id) }
            let target = owner.flatMap { owners.model(at: $0) }
            if model(object) === before, target != nil || written == nil { set(object, target) }
            inverseIndex.name(slot, owner: target == nil ? -1 : owner ?? -1)
            guard isByBack else { return }
            let old = holder.flatMap(owners.knownSlot)
            inverseIndex.move(object, from: old, to: target == nil ? nil : owner)
        }
    }
}
