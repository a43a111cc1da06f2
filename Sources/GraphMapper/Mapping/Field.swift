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
        var step = Self.converting(from, to, conversion)
        step.read = { dto, model in model[keyPath: to()] = try conversion.decode(dto[keyPath: from()]) }
        self.init(step)
    }

    /// A value that is converted both ways, and that the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, W>,
        using conversion: Conversion<V, W>
    ) {
        self.init(Self.converting(from, to, conversion))
    }

    @inlinable @inline(__always)
    static func converting(
        _ from: @escaping () -> KeyPath<D, V>, _ to: @escaping () -> KeyPath<D.Model, W>,
        _ conversion: Conversion<V, W>
    ) -> Step<D> {
        var step = Step<D>()
        step.property = from()
        step.isSame = { V.isSame($0[keyPath: from()], $1[keyPath: from()]) }
        step.check = { dto in _ = try conversion.decode(dto[keyPath: from()]) }
        // A conversion need not round-trip: what the stored value encodes to again counts as unchanged too.
        step.isClean = { snapshot, model, _ in
            let stored = snapshot[keyPath: from()]
            let now = try conversion.encode(model[keyPath: to()])
            if V.isSame(stored, now) { return true }
            return V.isSame(try conversion.encode(conversion.decode(stored)), now)
        }
        step.answer = { model, _, _ in try conversion.encode(model[keyPath: to()]) }
        return step
    }
}

extension Field where V == W {
    /// A value as it is.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, V>
    ) {
        var step = Self.plain(from, to)
        step.read = { dto, model in model[keyPath: to()] = dto[keyPath: from()] }
        self.init(step)
    }

    /// A value as it is, which the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, V>
    ) {
        self.init(Self.plain(from, to))
    }

    @inlinable @inline(__always)
    static func plain(
        _ from: @escaping () -> KeyPath<D, V>, _ to: @escaping () -> KeyPath<D.Model, V>
    ) -> Step<D> {
        var step = Step<D>()
        let path: AnyKeyPath = from()
        step.property = path
        step.isSame = { V.isSame($0[keyPath: from()], $1[keyPath: from()]) }
        step.isClean = { snapshot, model, _ in V.isSame(snapshot[keyPath: from()], model[keyPath: to()]) }
        step.answer = { model, _, _ in model[keyPath: to()] }
        if V.self == D.ID.self, let id = to() as? KeyPath<D.Model, D.ID> { step.idOf = { $0[keyPath: id] } }
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
        step.isSame = { $0[keyPath: from] == $1[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto[keyPath: from].id }
        step.isClean = { snapshot, model, _ in C.ID.isSame(snapshot[keyPath: from].id, model[keyPath: to]) }
        step.answer = { model, _, _ in Ref<C>(model[keyPath: to]) }
        self.step = step
    }

    /// An optional `Ref`, kept as an optional id.
    public init(_ from: KeyPath<D, Ref<C>?>, _ to: ReferenceWritableKeyPath<D.Model, C.ID?>) {
        var step = Step<D>()
        step.property = from
        step.isSame = { $0[keyPath: from] == $1[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto[keyPath: from]?.id }
        step.isClean = { snapshot, model, _ in C.ID?.isSame(snapshot[keyPath: from]?.id, model[keyPath: to]) }
        step.answer = { model, _, _ in model[keyPath: to].map { Ref<C>($0) } as Any }
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
        step.isSame = { V.isSame($0[keyPath: from], $1[keyPath: from]) }
        step.answer = { _, snapshot, _ in snapshot.map { $0[keyPath: from] } ?? initial }
        self.step = step
    }
}
