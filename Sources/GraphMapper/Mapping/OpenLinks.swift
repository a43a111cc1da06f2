/// How much a nested list says.
public enum ListScope: Sendable, Hashable {
    /// The list is all there is: objects that are not in it are taken from the model's list.
    case whole
    /// The list is a part: objects that are in it are added to the model's list, none are taken from it.
    case partial
}

extension One {
    /// A nested DTO that is always there. Writing back a model whose link is nil is an error.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, C>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .open(
                from(), to(), get: { .value([$0.value(at: from())]) },
                models: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first },
                answer: { try StepTasks<D>.requiredDTO($0.value?.first, from()) }, isList: false))
    }

    /// A nested DTO that a payload may leave out: unset leaves the link alone, null clears it.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<C>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .open(
                from(), to(), get: { $0.value(at: from()).map { [$0] } },
                models: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first },
                answer: { dtos in dtos.isUnset ? Tristate<C>.unset : Tristate(dtos.value?.first) }, isList: false))
    }
}

extension Many {
    /// Nested DTOs, all of them or a part. A payload that holds a page, or what has changed, is `.partial`:
    /// `Many(\.lines, \.lines, .partial)`.
    ///
    /// Written back, a partial list has what payloads have shown of it, until the model's list has changed since: then it
    /// has all of the model's. Copies of one object with differing parts merge, in the order of the ids.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, [C]>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>, _ scope: ListScope
    ) {
        self.init(
            .open(
                from(), to(), get: { .value($0.value(at: from())) }, models: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { $0.value ?? [] }, isList: true,
                isPartial: scope == .partial))
    }

    /// Nested DTOs that a payload may leave out: unset leaves the list alone, null empties it.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, Tristate<[C]>>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>, _ scope: ListScope = .whole
    ) {
        self.init(
            .open(
                from(), to(), get: { $0.value(at: from()) }, models: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }, answer: { $0 }, isList: true, isPartial: scope == .partial))
    }
}

extension StepTasks {
    @usableFromInline static func requiredDTO<C>(_ dto: C?, _ path: AnyKeyPath) throws -> C {
        if let dto { return dto }
        throw GraphError(
            .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
            property: D.schema.property(at: path)?.name)
    }

    /// A link to nested DTOs of which a DTO may say nothing, or not everything, or which have no id.
    @inlinable @inline(__always)
    static func open<C: Mappable, V>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Tristate<[C]>,
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void,
        answer: @escaping (Tristate<[C]>) throws -> V, isList: Bool, isPartial: Bool = false
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let link = OpenLink<D, C>(from, get: get, models: models, set: set, isPartial: isPartial)
        // What does not differ from a link that says everything, that one's step does.
        var step = StepTasks<D>.nestedMany(from, to, get: { get($0).value ?? [] }, models: models, set: set)
        if !isList {
            step.nested = { dto, visit in for child in link.children(dto) { visit(C.self, child, link.name) } }
        }
        step.isSame = { link.agree($0, $1) }
        step.isClean = { snapshot, object, core in try link.isClean(snapshot, object, core) }
        step.isWhole = !isPartial
        step.isMany = isList
        step.gather = { batch, range, _, load in try link.gather(batch, range, load) }
        step.offerNested = { copies, load in for copy in copies { try link.offer(copy, copy.id, load) } }
        step.link = { batch, index, load in try link.link(batch, index, load) }
        step.restore = { dto, object, core in
            guard let ids = link.known(dto, object, core) else { return true }
            return restore(ids.map(\.id), C.self, core) { set(object, $0) }
        }
        step.forEachEdge = { batch, load, body in link.forEachEdge(batch, load, isList, body) }
        step.answer = { object, snapshot, core, answers in
            answers.put(try answer(link.dtos(object, snapshot?.pointee, core)))
        }
        step.nestedModels = { object, core, visit in try link.visitModels(object, core, visit) }
        step.gap = link.gap(isList, answer)
        if isPartial, C.ID.self == Occurrence.self {
            let name = D.schema.property(at: from)?.name ?? "?"
            step.diagnostic = "\(name) lists DTOs without an id as a part; nothing says which of the model's they are"
        }
        return step
    }
}
