/// A back-reference: resolved from the identity map first, then from the source. Never walked on the way back; what
/// it stores comes from the forward side where there is one.
public struct Back<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    public let step: Step<D>
    @usableFromInline init(_ step: Step<D>) { self.step = step }

    /// From a required `Ref` to an optional property of the model, usually weak. Saving an object whose owner is gone
    /// throws.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .back(
                from(), get: { $0[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { try Step<D>.required($0, from()) }))
    }

    /// From an optional `Ref` to an optional property of the model, usually weak.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .back(
                from(), get: { $0[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { $0 as Any }))
    }

    /// For a model that was given its parent when it was made: `unowned let owner: Person`.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>>, _ to: KeyPath<D.Model, C.Model>) {
        self.init(
            .back(
                from, get: { $0[keyPath: from] }, model: { $0[keyPath: to] }, set: { _, _ in },
                answer: { try Step<D>.required($0, from) }))
    }
}

extension Step {
    @inlinable @inline(__always)
    static func back<C: Mappable>(
        _ from: AnyKeyPath, get: @escaping (D) -> Ref<C>?, model: @escaping (D.Model) -> C.Model?,
        set: @escaping (D.Model, C.Model?) -> Void, answer: @escaping (Ref<C>?) throws -> Any
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        /// The owner that the graph gives: who holds the object, else whom it names, else nobody if its stored
        /// owner is loaded and has let go of it, else what is stored.
        func owner(_ object: D.Model, _ snapshot: D?, _ core: SessionCore) throws -> Ref<C>? {
            let table = try core.table(D.self)
            let owners = try core.table(C.self)
            let holding = table.holding(from)
            let stored = snapshot.flatMap(get)
            if let owner = table.knownSlot(of: object).flatMap(holding.owner(of:)), let holder = owners.model(at: owner)
            {
                return Ref(owners.mapping.idOf(holder))
            }
            if let named = model(object), !owners.isDeleted(named) {
                let id = owners.mapping.idOf(named)
                if id != stored?.id { return Ref(id) }
            }
            guard let stored else { return nil }
            let hasLetGo = owners.identity.slot(stored.id).map { holding.hasLetGo($0, of: object) } ?? false
            return hasLetGo || owners.isDeleted(id: stored.id) ? nil : stored
        }
        var step = Step<D>()
        step.property = from
        step.targets = [C.self]
        step.isSame = { get($0.pointee) == get($1.pointee) }
        step.gather = { table, range, index, core in
            let targets = try core.table(C.self)
            for place in range {
                guard let ref = table.incoming[Int(table.arrived[place])].flatMap(get) else { continue }
                if targets.model(ref.id) == nil { _ = targets.want(ref.id) }
            }
        }
        step.isClean = { snapshot, object, core in
            get(snapshot.pointee)?.id == (try owner(object, snapshot.pointee, core))?.id
        }
        step.isEmpty = { model($0) == nil }
        step.drop = { object, core, all in
            guard let target = model(object) else { return }
            if all || (try? core.table(C.self))?.isDeleted(target) == true { set(object, nil) }
        }
        step.link = { table, index, core in
            let targets = try core.table(C.self)
            let isUntouched: (UnsafePointer<D>, D.Model, SessionCore) -> Bool = { old, object, _ in
                model(object).map { targets.mapping.idOf($0) == get(old.pointee)?.id } ?? true
            }
            try table.forEachToLink(
                index, isUntouched, count: { _ in 0 },
                body: { dto, object, _ in set(object, try get(dto).map { try targets.required($0.id) }) })
        }
        step.linkKnown = { table, start, core in
            let targets = try core.table(C.self)
            for index in table.arrived[start...] {
                guard let ref = table.incoming[Int(index)].flatMap(get), let target = targets.model(ref.id),
                    let object = table.model(at: Int(table.slots[Int(index)])), model(object) == nil
                else { continue }
                set(object, target)
            }
        }
        step.answer = { object, snapshot, core in try answer(owner(object, snapshot, core)) }
        return step
    }
}
