/// Values that are not read with their row: the model's property is left alone until they are, and written when the app
/// sets it.
///
/// What the model has before is no edit: nil, or what its initializer gave it. Once the value is read, or saved, an edit
/// is written if what is stored is still that.
extension Field {
    /// A value that is always there. Nil in the model is never an edit; a new object needs one.
    @inlinable @inline(__always) @_disfavoredOverload
    public init<T: Storable>(
        _ from: @autoclosure @escaping () -> KeyPath<D, Lazy<T>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, T?>
    ) where V == Lazy<T>, W == T? {
        self.init(
            .lazy(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, Conversion(decode: { $0 }, encode: { $0 })))
    }

    /// A value that may be NULL. Nil in the model is an edit once the value was read.
    @inlinable @inline(__always) @_disfavoredOverload
    public init<T: Storable>(
        _ from: @autoclosure @escaping () -> KeyPath<D, Lazy<T?>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, T?>
    ) where V == Lazy<T?>, W == T? {
        self.init(
            .lazy(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, Conversion(decode: { $0 ?? nil }, encode: { .some($0) })))
    }
}

extension StepTasks {
    /// - Parameter conversion: nil is what cannot be stored, and is not written.
    @inlinable @inline(__always)
    static func lazy<V: Storable, W>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Lazy<V>,
        model: @escaping (D.Model) -> W, set: @escaping (D.Model, W) -> Void, _ conversion: Conversion<V?, W>
    ) -> StepTasks<D> {
        var step = StepTasks<D>()
        step.property = from
        step.modelPath = to
        step.isSame = { Lazy.isSame(get($0), get($1)) }
        step.read = { dto, object in
            if let value = get(dto).value { set(object, try conversion.decode(value)) }
        }
        step.isClean = { snapshot, object, core in
            guard let now = try conversion.encode(model(object)) else { return true }
            if let stored = get(snapshot).value { return V.isSame(stored, now) }
            return try core.table(D.self).isUnread(from, object, now)
        }
        step.answer = { object, snapshot, core, answers in
            let old = snapshot.map { get($0) }
            guard let now = try conversion.encode(model(object)) else { return answers.put(old ?? Lazy<V>.unread) }
            let isUnread =
                try old.map { try $0.value == nil && core.table(D.self).isUnread(from, object, now) } ?? false
            answers.put(isUnread ? Lazy<V>.unread : Lazy(now))
        }
        step.gap = Gap {
            get($0).value == nil
        } filled: { dto, other, _ in
            let value = withUnsafePointer(to: other) { get($0) }
            return withUnsafePointer(to: dto) { get($0).value == nil } && value.value != nil ? value : nil
        } undo: { baseline, object in
            if let old = baseline as? Lazy<V> { set(object, try conversion.decode(old.value)) }
        }
        return step
    }
}

extension EntityTable {
    /// Whether the model has what it had when its row came without the value.
    @usableFromInline func isUnread<V: Storable>(_ path: AnyKeyPath, _ object: D.Model, _ now: V) throws -> Bool {
        guard let slot = knownSlot(of: object), let old = baselines[path]?[slot] as? Lazy<V> else {
            // An object whose row was found by a save has never read the value: nil in it says nothing.
            return now.storedValues.allSatisfy { $0 == .null }
        }
        return old.value.map { V.isSame($0, now) } ?? false
    }
}
