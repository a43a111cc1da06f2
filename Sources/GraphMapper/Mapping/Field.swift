/// A plain value: a property of the DTO and one of the model, as they are or through a ``Conversion``.
///
/// A `let` of the model is never set: the model's initializer must have given it the DTO's value.
public struct Field<D: Mappable, V: Storable, W>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// What the session does with this entry.
    public let step: Step<D>
    @usableFromInline init(_ step: Step<D>) { self.step = step }

    /// A value that is converted both ways.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W>, using conversion: Conversion<V, W>
    ) {
        self.init(
            .field(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, conversion))
    }

    /// A value that is converted both ways, and that the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, W>,
        using conversion: Conversion<V, W>
    ) {
        self.init(
            .field(
                from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] }, set: nil, conversion))
    }
}

extension Field where V == W {
    /// A value as it is.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, V>
    ) {
        var step: Step<D> = .field(from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] })
        step.read = { dto, model in model[keyPath: to()] = dto.value(at: from()) }
        self.init(step)
    }

    /// A value as it is, which the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, V>
    ) {
        self.init(.field(from(), to(), get: { $0.value(at: from()) }, model: { $0[keyPath: to()] }))
    }
}

/// The steps of fields. The closures that an entry hands over capture nothing but key-path literals: only then does the
/// compiler fold these into plain loads and stores (a key path that is evaluated costs 1 500 instructions).
extension Step {
    @inlinable @inline(__always)
    static func field<V: Storable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> V, model: @escaping (D.Model) -> V
    ) -> Step<D> {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { V.isSame(get($0), get($1)) }
        step.encode = { get($0).encode(into: &$1) }
        step.isClean = { snapshot, object, _ in V.isSame(get(snapshot), model(object)) }
        step.answer = { object, _, _, answers in answers.put(model(object)) }
        if V.self == D.ID.self {
            // The same type, so that the value can be loaded as the other.
            step.idOf = { object in withUnsafeBytes(of: model(object)) { $0.load(as: D.ID.self) } }
        }
        return step
    }

    @inlinable @inline(__always)
    static func field<V: Storable, W>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> V, model: @escaping (D.Model) -> W,
        set: ((D.Model, W) -> Void)?, _ conversion: Conversion<V, W>
    ) -> Step<D> {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { V.isSame(get($0), get($1)) }
        step.encode = { get($0).encode(into: &$1) }
        step.check = { dto in _ = try conversion.decode(get(dto)) }
        if let set { step.read = { dto, object in set(object, try conversion.decode(get(dto))) } }
        // A conversion need not round-trip: what the stored value encodes to again counts as unchanged too.
        step.isClean = { snapshot, object, _ in
            let old = get(snapshot)
            let now = try conversion.encode(model(object))
            if V.isSame(old, now) { return true }
            return V.isSame(try conversion.encode(conversion.decode(old)), now)
        }
        step.answer = { object, _, _, answers in answers.put(try conversion.encode(model(object))) }
        return step
    }
}

/// The model keeps the other side's id instead of a reference.
public struct ForeignKey<D: Mappable, C: Mappable>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.ID: Storable {
    /// What the session does with this entry.
    public let step: Step<D>

    /// A required `Ref`, kept as an id.
    public init(_ from: KeyPath<D, Ref<C>>, _ to: ReferenceWritableKeyPath<D.Model, C.ID>) {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { $0.pointee[keyPath: from] == $1.pointee[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto.pointee[keyPath: from].id }
        step.isClean = { snapshot, model, _ in C.ID.isSame(snapshot.pointee[keyPath: from].id, model[keyPath: to]) }
        step.answer = { model, _, _, answers in answers.put(Ref<C>(model[keyPath: to])) }
        self.step = step
    }

    /// An optional `Ref`, kept as an optional id.
    public init(_ from: KeyPath<D, Ref<C>?>, _ to: ReferenceWritableKeyPath<D.Model, C.ID?>) {
        var step = Step<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { $0.pointee[keyPath: from] == $1.pointee[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto.pointee[keyPath: from]?.id }
        step.isClean = { snapshot, model, _ in C.ID?.isSame(snapshot.pointee[keyPath: from]?.id, model[keyPath: to]) }
        step.answer = { model, _, _, answers in answers.put(model[keyPath: to].map { Ref<C>($0) }) }
        self.step = step
    }
}

/// A property of the DTO that the model does not have. A saved object keeps what is stored; a new one takes
/// `initial`.
public struct Unmapped<D: Mappable, V: Storable>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// What the session does with this entry.
    public let step: Step<D>

    /// A property without a counterpart. `initial` is stored with objects that are new.
    public init(_ from: KeyPath<D, V>, initial: V) {
        var step = Step<D>()
        step.property = from
        step.isSame = { V.isSame($0.pointee[keyPath: from], $1.pointee[keyPath: from]) }
        step.answer = { _, snapshot, _, answers in answers.put(snapshot?.pointee[keyPath: from] ?? initial) }
        self.step = step
    }
}
