/// Links that a model keeps in a `let`: its initializer has filled them, by `Mapping(needing:)`, and nothing sets them later.
extension One {
    /// A nested DTO that is always there, into a required property.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, C>, _ to: KeyPath<D.Model, C.Model>) {
        let set = Self.setter(to)
        self.init(
            .open(
                from, to, get: { .value([$0.pointee[keyPath: from]]) }, models: { [$0[keyPath: to]] },
                set: { set?($0, $1.first) }, answer: { try StepTasks<D>.requiredDTO($0.value?.first, from) },
                isList: false))
        step.tasks.isUnread = set == nil
    }

    /// A nested DTO.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, C?>, _ to: KeyPath<D.Model, C.Model?>) {
        self.init(
            .nestedOne(
                from, to, get: { $0.pointee[keyPath: from] }, model: { $0[keyPath: to] }, set: { _, _ in }))
        step.tasks.isUnread = true
    }

    /// By an optional `Ref`.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>?>, _ to: KeyPath<D.Model, C.Model?>) {
        self.init(
            OnePlace(from), by: Ref<C>?.self, from, to, get: { unsafeDowncast($0, to: D.Model.self)[keyPath: to] },
            set: { _, _ in })
        step.tasks.isUnread = true
    }

    /// What sets a required property, if it is a `var` after all.
    private static func setter(_ path: KeyPath<D.Model, C.Model>) -> ((D.Model, C.Model?) -> Void)? {
        guard let path = path as? ReferenceWritableKeyPath<D.Model, C.Model> else { return nil }
        return { object, target in if let target { object[keyPath: path] = target } }
    }
}

extension One where D: AnyObject, C: AnyObject {
    /// To one object.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, C?>, _ to: KeyPath<D.Model, C.Model?>) {
        self.init(
            .objectLink(
                from, to, get: { $0.pointee[keyPath: from] }, model: { $0[keyPath: to] }, set: { _, _ in }))
        step.tasks.isUnread = true
    }
}

extension Many {
    /// Nested DTOs.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, [C]>, _ to: KeyPath<D.Model, [C.Model]>) {
        self.init(
            .nestedMany(
                from, to, get: { $0.pointee[keyPath: from] }, models: { $0[keyPath: to] }, set: { _, _ in }))
        step.tasks.isUnread = true
    }

    /// By an ordered list of `Ref`s.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, [Ref<C>]>, _ to: KeyPath<D.Model, [C.Model]>) {
        self.init(
            ManyPlace(from), by: [Ref<C>].self, from, to,
            get: { unsafeDowncast($0, to: D.Model.self)[keyPath: to] }, set: { _, _ in })
        step.tasks.isUnread = true
    }
}

extension Many where D: AnyObject, C: AnyObject {
    /// To the objects of an array.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, [C]>, _ to: KeyPath<D.Model, [C.Model]>) {
        self.init(
            .objectLinks(
                C.self, from, to, get: { $0.pointee[keyPath: from] }, models: { $0[keyPath: to] }, set: { _, _ in }))
        step.tasks.isUnread = true
    }
}
