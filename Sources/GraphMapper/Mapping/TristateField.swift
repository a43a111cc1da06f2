/// Values that a payload may leave out: an unset one leaves the model's property alone, and stays unset on the way back
/// unless the model's property has changed since.
///
/// They are disfavored so that the compiler explains a diagnostic in a field by the usual ones.
extension Field {
    /// A value as it is; null is nil.
    @inlinable @inline(__always) @_disfavoredOverload
    public init<T: Storable>(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<T>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, T?>
    ) where V == Tristate<T>, W == T? {
        self.init(
            .tristate(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, Conversion(decode: { $0 }, encode: { $0 })))
    }

    /// A value as it is, which null cannot clear: that is an error.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<W>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W>
    ) where V == Tristate<W>, W: Storable {
        self.init(
            .tristate(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 },
                Conversion(decode: { try required($0) }, encode: { $0 })))
    }

    /// A value that is converted both ways; null is nil.
    @inlinable @inline(__always) @_disfavoredOverload
    public init<T: Storable, U>(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<T>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, U?>, using conversion: Conversion<T, U>
    ) where V == Tristate<T>, W == U? {
        self.init(
            .tristate(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, conversion.optional))
    }

    /// A value that is converted both ways, which null cannot clear: that is an error.
    @inlinable @inline(__always) @_disfavoredOverload
    public init<T: Storable>(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<T>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W>, using conversion: Conversion<T, W>
    ) where V == Tristate<T> {
        self.init(
            .tristate(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 },
                Conversion(
                    decode: { try conversion.decode(required($0)) }, encode: { try conversion.encode($0) })))
    }
}

@usableFromInline func required<T>(_ value: T?) throws -> T {
    if let value { return value }
    throw GraphError(
        .conversion, "null cannot clear a property that is not optional; leave it out, or make the model's optional")
}

extension StepTasks {
    @inlinable @inline(__always)
    static func tristate<V: Storable, W>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Tristate<V>,
        model: @escaping (D.Model) -> W, set: @escaping (D.Model, W) -> Void, _ conversion: Conversion<V?, W>
    ) -> StepTasks<D> {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { Tristate.agree(get($0), get($1), V?.isSame) }
        step.check = { dto in
            let value = get(dto)
            if !value.isUnset { _ = try conversion.decode(value.value) }
        }
        step.read = { dto, object in
            let value = get(dto)
            if !value.isUnset { set(object, try conversion.decode(value.value)) }
        }
        step.isClean = { snapshot, object, core in
            let old = get(snapshot)
            let now = try conversion.encode(model(object))
            if old.isUnset { return try core.table(D.self).isBaseline(from, object, Tristate(now)) }
            // A conversion need not round-trip: what the stored value encodes to again counts as unchanged too.
            if V?.isSame(old.value, now) { return true }
            return V?.isSame(try conversion.encode(conversion.decode(old.value)), now)
        }
        step.answer = { object, snapshot, core, answers in
            let now = Tristate(try conversion.encode(model(object)))
            let isOpen = snapshot.map { get($0).isUnset } ?? false
            answers.put(try isOpen && core.table(D.self).isBaseline(from, object, now) ? Tristate<V>.unset : now)
        }
        step.gap = Gap {
            get($0).isUnset
        } filled: { dto, other, _ in
            let value = withUnsafePointer(to: other) { get($0) }
            return withUnsafePointer(to: dto) { get($0).isUnset } && !value.isUnset ? value : nil
        } undo: { baseline, object in
            if let old = baseline as? Tristate<V> { set(object, try conversion.decode(old.value)) }
        }
        return step
    }
}
