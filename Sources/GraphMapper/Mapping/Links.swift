/// A link to one model.
public struct One<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    /// What the session does with this entry.
    public internal(set) var step: Step<D>
    @usableFromInline init(_ step: Step<D>) { self.step = step }

    /// By an optional `Ref`.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .reference(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { $0 }))
    }

    /// By a required `Ref` into an optional property.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .reference(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { try Step<D>.required($0, from()) }))
    }

    /// By a required `Ref` into a required property, which the model's initializer has filled.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>>, _ to: KeyPath<D.Model, C.Model>) {
        let settable = to as? ReferenceWritableKeyPath<D.Model, C.Model>
        self.init(
            .reference(
                from, to, get: { $0.pointee[keyPath: from] }, model: { $0[keyPath: to] },
                set: { model, target in if let settable, let target { model[keyPath: settable] = target } },
                answer: { try Step<D>.required($0, from) }))
    }

    /// The other side holds the foreign key.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by foreignKey: @autoclosure @escaping () -> KeyPath<C, Ref<D>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .byKey(
                foreignKey(), to(), key: { (child: UnsafePointer<C>) in child.value(at: foreignKey()).id },
                get: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first },
                isList: false))
    }

    /// The other side holds the foreign key, which may be NULL.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by foreignKey: @autoclosure @escaping () -> KeyPath<C, Ref<D>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .byKey(
                foreignKey(), to(), key: { (child: UnsafePointer<C>) in child.value(at: foreignKey())?.id },
                get: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first },
                isList: false))
    }

    /// A nested DTO.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, C?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        if C.ID.self == Occurrence.self {
            self.init(
                .open(
                    from(), to(), get: { .value($0.value(at: from()).map { [$0] } ?? []) },
                    models: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first },
                    answer: { $0.value?.first }, isList: false))
        } else {
            self.init(
                .nestedOne(
                    from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                    set: { $0[keyPath: to()] = $1 }))
        }
    }

    /// Not followed by a load unless asked for.
    public var onDemand: Self {
        var copy = self
        copy.step.isOnDemand = true
        return copy
    }
}

/// A link to many models.
public struct Many<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    /// What the session does with this entry.
    public internal(set) var step: Step<D>
    @usableFromInline init(_ step: Step<D>) { self.step = step }

    /// By an ordered list of `Ref`s, which may repeat.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, [Ref<C>]>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        self.init(
            .list(
                from(), to(), get: { $0.value(at: from()) }, models: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }))
    }

    /// The other side holds the foreign key.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by foreignKey: @autoclosure @escaping () -> KeyPath<C, Ref<D>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        self.init(
            .byKey(
                foreignKey(), to(), key: { (child: UnsafePointer<C>) in child.value(at: foreignKey()).id },
                get: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 },
                isList: true))
    }

    /// The other side holds the foreign key, which may be NULL.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by foreignKey: @autoclosure @escaping () -> KeyPath<C, Ref<D>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        self.init(
            .byKey(
                foreignKey(), to(), key: { (child: UnsafePointer<C>) in child.value(at: foreignKey())?.id },
                get: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 },
                isList: true))
    }

    /// The other side holds the foreign key; the model keeps a set.
    public init(
        _ other: C.Type, by foreignKey: KeyPath<C, Ref<D>>, _ to: ReferenceWritableKeyPath<D.Model, Set<C.Model>>
    )
    where C.Model: Hashable {
        self.init(
            .byKey(
                foreignKey, to, key: { (child: UnsafePointer<C>) in child.pointee[keyPath: foreignKey].id },
                get: { Array($0[keyPath: to]) },
                set: { $0[keyPath: to] = Set($1) },
                isList: true))
    }

    /// By a set of `Ref`s; the model keeps a set.
    public init(_ from: KeyPath<D, Set<Ref<C>>>, _ to: ReferenceWritableKeyPath<D.Model, Set<C.Model>>)
    where C.Model: Hashable {
        func ids(_ dto: UnsafePointer<D>) -> Set<IDKey<C.ID>> { Set(dto.pointee[keyPath: from].map { IDKey($0.id) }) }
        var step: Step<D> = .list(
            from, to, get: { Array($0.pointee[keyPath: from]) }, models: { Array($0[keyPath: to]) },
            set: { $0[keyPath: to] = Set($1) })
        step.isSame = { ids($0) == ids($1) }
        step.isClean = { snapshot, object, core in
            let targets = try core.table(C.self)
            let (old, new) = (ids(snapshot), object[keyPath: to])
            return old.count == new.count
                && new.allSatisfy { !targets.isDeleted($0) && old.contains(IDKey(targets.mapping.idOf($0))) }
        }
        step.encode = { $0.pointee[keyPath: from].encode(into: &$1) }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let models = object[keyPath: to].filter { !targets.isDeleted($0) }
            answers.put(Set(models.map { Ref<C>(targets.mapping.idOf($0)) }))
        }
        step.isSet = true
        self.init(step)
    }

    /// Nested DTOs.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, [C]>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        if C.ID.self == Occurrence.self {
            self.init(from(), to(), .whole)
        } else {
            self.init(
                .nestedMany(
                    from(), to(), get: { $0.value(at: from()) }, models: { $0[keyPath: to()] },
                    set: { $0[keyPath: to()] = $1 }))
        }
    }

    /// Not followed by a load unless asked for.
    public var onDemand: Self {
        var copy = self
        copy.step.isOnDemand = true
        return copy
    }
}
