/// A link to one model.
public struct One<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    /// What the session does with this entry.
    public internal(set) var step: Step<D>
    @usableFromInline init(_ tasks: StepTasks<D>) { step = Step(tasks) }

    /// By an optional `Ref`.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        let model: (D.Model) -> C.Model? = { $0[keyPath: to()] }
        self.init(
            OnePlace(from()), by: Ref<C>?.self, from(), to(), get: { model(unsafeDowncast($0, to: D.Model.self)) },
            set: { object, target in
                unsafeDowncast(object, to: D.Model.self)[keyPath: to()] =
                    target.map { unsafeDowncast($0, to: C.Model.self) }
            })
    }

    /// By a required `Ref` into an optional property.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Ref<C>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        let model: (D.Model) -> C.Model? = { $0[keyPath: to()] }
        self.init(
            OnePlace(from()), by: Ref<C>.self, from(), to(), get: { model(unsafeDowncast($0, to: D.Model.self)) },
            set: { object, target in
                unsafeDowncast(object, to: D.Model.self)[keyPath: to()] =
                    target.map { unsafeDowncast($0, to: C.Model.self) }
            })
    }

    /// By a required `Ref` into a required property, which the model's initializer has filled.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>>, _ to: KeyPath<D.Model, C.Model>) {
        let settable = to as? ReferenceWritableKeyPath<D.Model, C.Model>
        self.init(
            OnePlace(from), by: Ref<C>.self, from, to,
            get: { unsafeDowncast($0, to: D.Model.self)[keyPath: to] },
            set: { object, target in
                guard let settable, let target else { return }
                unsafeDowncast(object, to: D.Model.self)[keyPath: settable] = unsafeDowncast(target, to: C.Model.self)
            })
        step.tasks.isUnread = settable == nil
    }

    @inlinable @inline(__always)
    init(
        _ place: OnePlace<C.ID>, by link: Any.Type, _ from: AnyKeyPath, _ to: AnyKeyPath,
        get: @escaping (AnyObject) -> AnyObject?, set: @escaping (AnyObject, AnyObject?) -> Void
    ) {
        let link = IDLink(
            LinkedType(C.self, by: link), place, get: get, set: set, missing: StepTasks<D>.missing(from))
        self.init(StepTasks(link, to: C.self, from, to, place, get: get, set: set))
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
        copy.step.tasks.isOnDemand = true
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
    @usableFromInline init(_ tasks: StepTasks<D>) { step = Step(tasks) }

    /// By an ordered list of `Ref`s, which may repeat.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, [Ref<C>]>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        let models: (D.Model) -> [C.Model] = { $0[keyPath: to()] }
        self.init(
            ManyPlace(from()), by: [Ref<C>].self, from(), to(),
            get: { unsafeBitCast(models(unsafeDowncast($0, to: D.Model.self)), to: [AnyObject].self) },
            set: { unsafeDowncast($0, to: D.Model.self)[keyPath: to()] = unsafeBitCast($1, to: [C.Model].self) })
    }

    // Arrays of objects are laid out alike, whatever the class.
    @inlinable @inline(__always)
    init(
        _ place: ManyPlace<C.ID>, by link: Any.Type, _ from: AnyKeyPath, _ to: AnyKeyPath,
        get: @escaping (AnyObject) -> [AnyObject], set: @escaping (AnyObject, [AnyObject]) -> Void
    ) {
        let link = IDLink(LinkedType(C.self, by: link), place, get: get, set: set)
        self.init(StepTasks(link, toMany: C.self, from, to, place, get: get, set: set))
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
        let place = ManyPlace<C.ID>(offset: nil) {
            $0.assumingMemoryBound(to: D.self).pointee[keyPath: from].map(\.id)
        }
        self.init(
            place, by: Set<Ref<C>>.self, from, to, get: { Array(unsafeDowncast($0, to: D.Model.self)[keyPath: to]) },
            set: { object, targets in
                unsafeDowncast(object, to: D.Model.self)[keyPath: to] =
                    Set(targets.map { unsafeDowncast($0, to: C.Model.self) })
            })
        var tasks = step.tasks
        tasks.isSame = { ids($0) == ids($1) }
        tasks.isClean = { snapshot, object, core in
            let targets = try core.table(C.self)
            let (old, new) = (ids(snapshot), object[keyPath: to])
            return old.count == new.count
                && new.allSatisfy { !targets.isDeleted($0) && old.contains(IDKey(targets.mapping.idOf($0))) }
        }
        tasks.encode = { $0.pointee[keyPath: from].encode(into: &$1) }
        tasks.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let models = object[keyPath: to].filter { !targets.isDeleted($0) }
            answers.put(Set(models.map { Ref<C>(targets.mapping.idOf($0)) }))
        }
        tasks.isSet = true
        step = Step(tasks)
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
        copy.step.tasks.isOnDemand = true
        return copy
    }
}
