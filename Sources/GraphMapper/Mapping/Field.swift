/// A plain value: a property of the DTO and one of the model, as they are or through a ``Conversion``.
///
/// A `let` of the model is never set: the model's initializer must have given it the DTO's value.
public struct Field<D: Mappable, V: Storable, W>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// What the session does with this entry.
    public let step: Step<D>
    @usableFromInline init(_ tasks: StepTasks<D>) { step = Step(tasks) }

    /// A value that is converted both ways.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W>, using conversion: Conversion<V, W>
    ) {
        let get: (UnsafePointer<D>) -> V = { $0.value(at: from()) }
        let model: (D.Model) -> W = { $0[keyPath: to()] }
        self.init(
            from(), to(), ValueTasks(of: V.self), conversion,
            read: { dto, object in object[keyPath: to()] = try conversion.decode(get(dto)) },
            isClean: { snapshot, object, _ in try conversion.keeps(get(snapshot), model(object)) },
            answer: { object, _, _, answers in answers.put(try conversion.encode(model(object))) })
    }

    /// A value that is converted both ways, and that the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, W>,
        using conversion: Conversion<V, W>
    ) {
        let get: (UnsafePointer<D>) -> V = { $0.value(at: from()) }
        let model: (D.Model) -> W = { $0[keyPath: to()] }
        self.init(
            from(), to(), ValueTasks(of: V.self), conversion, read: nil,
            isClean: { snapshot, object, _ in try conversion.keeps(get(snapshot), model(object)) },
            answer: { object, _, _, answers in answers.put(try conversion.encode(model(object))) })
    }
}

extension Field where V == W {
    /// A value as it is.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, V>
    ) {
        let get: (UnsafePointer<D>) -> V = { $0.value(at: from()) }
        let model: (D.Model) -> V = { $0[keyPath: to()] }
        self.init(
            from(), to(), ValueTasks(of: V.self), nil,
            read: { dto, object in object[keyPath: to()] = dto.value(at: from()) },
            isClean: { snapshot, object, _ in V.isSame(get(snapshot), model(object)) },
            answer: { object, _, _, answers in answers.put(model(object)) },
            idOf: V.self == D.ID.self ? { Self.id(model(unsafeDowncast($0, to: D.Model.self))) } : nil)
    }

    /// A value as it is, which the model's initializer sets.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, V>
    ) {
        let get: (UnsafePointer<D>) -> V = { $0.value(at: from()) }
        let model: (D.Model) -> V = { $0[keyPath: to()] }
        self.init(
            from(), to(), ValueTasks(of: V.self), nil, read: nil,
            isClean: { snapshot, object, _ in V.isSame(get(snapshot), model(object)) },
            answer: { object, _, _, answers in answers.put(model(object)) },
            idOf: V.self == D.ID.self ? { Self.id(model(unsafeDowncast($0, to: D.Model.self))) } : nil)
    }

    /// A value as an id, which it is of the type of.
    @inlinable @inline(__always) static func id(_ value: V) -> D.ID {
        withUnsafeBytes(of: value) { $0.load(as: D.ID.self) }
    }
}

extension Field {
    /// The closures that read a property capture nothing but key-path literals: only then does the compiler fold these into
    /// plain loads and stores (a key path that is evaluated costs 1 500 instructions). What closures of the loops read through
    /// these is not retained, as it would be if they read it themselves.
    @usableFromInline
    init(
        _ from: KeyPath<D, V>, _ to: AnyKeyPath, _ tasks: ValueTasks<V>, _ conversion: Conversion<V, W>?,
        read: ((UnsafePointer<D>, D.Model) throws -> Void)?,
        isClean: @escaping (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool,
        answer: @escaping (D.Model, UnsafePointer<D>?, SessionCore, Answers) throws -> Void,
        idOf: ((AnyObject) -> D.ID)? = nil
    ) {
        var step = StepTasks<D>(from, to, tasks)
        if let conversion { step.convert(from, conversion) }
        step.read = read
        step.isUnread = read == nil && idOf == nil
        step.isClean = isClean
        step.answer = answer
        step.idOf = idOf
        self.init(step)
    }
}

/// What values of one type do, wherever they lie. An app's module specialises it once for the type, and not for each property
/// of it.
@usableFromInline struct ValueTasks<V: Storable> {
    @usableFromInline let isSame: (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    @usableFromInline let encode: (UnsafeRawPointer, inout [StoredValue]) -> Void

    @inlinable @inline(never) init(of _: V.Type) {
        isSame = { left, right in
            V.isSame(left.assumingMemoryBound(to: V.self).pointee, right.assumingMemoryBound(to: V.self).pointee)
        }
        encode = { $0.assumingMemoryBound(to: V.self).pointee.encode(into: &$1) }
    }
}

extension StepTasks {
    /// A value of the DTO and one of the model, with what is done to the DTO's alone.
    @usableFromInline init<V>(_ from: KeyPath<D, V>, _ to: AnyKeyPath, _ tasks: ValueTasks<V>) {
        property = from
        modelPath = to
        guard let offset = MemoryLayout<D>.offset(of: from) else {
            isSame = { V.isSame($0.pointee[keyPath: from], $1.pointee[keyPath: from]) }
            encode = { $0.pointee[keyPath: from].encode(into: &$1) }
            return
        }
        let (isSame, encode) = (tasks.isSame, tasks.encode)
        self.isSame = { isSame(UnsafeRawPointer($0) + offset, UnsafeRawPointer($1) + offset) }
        self.encode = { encode(UnsafeRawPointer($0) + offset, &$1) }
    }

    /// Has the DTO's value converted before any model is touched.
    @usableFromInline mutating func convert<V, W>(_ from: KeyPath<D, V>, _ conversion: Conversion<V, W>) {
        let offset = MemoryLayout<D>.offset(of: from)
        check = { dto in
            let value = offset.map { (UnsafeRawPointer(dto) + $0).assumingMemoryBound(to: V.self).pointee }
            _ = try conversion.decode(value ?? dto.pointee[keyPath: from])
        }
    }
}

extension Conversion where Value: Storable {
    /// Whether the model's value stores what the DTO has. A conversion need not round-trip: what the stored value encodes to
    /// again counts as unchanged too.
    @inlinable @inline(never) func keeps(_ old: Value, _ new: Target) throws -> Bool {
        let now = try encode(new)
        if Value.isSame(old, now) { return true }
        return Value.isSame(try encode(decode(old)), now)
    }
}

/// The model keeps the other side's id instead of a reference.
public struct ForeignKey<D: Mappable, C: Mappable>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.ID: Storable {
    /// What the session does with this entry.
    public let step: Step<D>

    /// A required `Ref`, kept as an id.
    public init(_ from: KeyPath<D, Ref<C>>, _ to: ReferenceWritableKeyPath<D.Model, C.ID>) {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { $0.pointee[keyPath: from] == $1.pointee[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto.pointee[keyPath: from].id }
        step.isClean = { snapshot, model, _ in C.ID.isSame(snapshot.pointee[keyPath: from].id, model[keyPath: to]) }
        step.answer = { model, _, _, answers in answers.put(Ref<C>(model[keyPath: to])) }
        self.step = Step(step)
    }

    /// An optional `Ref`, kept as an optional id.
    public init(_ from: KeyPath<D, Ref<C>?>, _ to: ReferenceWritableKeyPath<D.Model, C.ID?>) {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { $0.pointee[keyPath: from] == $1.pointee[keyPath: from] }
        step.read = { dto, model in model[keyPath: to] = dto.pointee[keyPath: from]?.id }
        step.isClean = { snapshot, model, _ in C.ID?.isSame(snapshot.pointee[keyPath: from]?.id, model[keyPath: to]) }
        step.answer = { model, _, _, answers in answers.put(model[keyPath: to].map { Ref<C>($0) }) }
        self.step = Step(step)
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
        var step = StepTasks<D>()
        step.property = from
        step.isSame = { V.isSame($0.pointee[keyPath: from], $1.pointee[keyPath: from]) }
        step.answer = { _, snapshot, _, answers in answers.put(snapshot?.pointee[keyPath: from] ?? initial) }
        self.step = Step(step)
    }
}
