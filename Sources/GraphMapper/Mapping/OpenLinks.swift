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
                answer: { try Step<D>.requiredDTO($0.value?.first, from()) }, isList: false))
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

extension Step {
    @usableFromInline static func requiredDTO<C>(_ dto: C?, _ path: AnyKeyPath) throws -> Any {
        if let dto { return dto }
        throw GraphError(
            .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
            property: D.schema.property(at: path)?.name)
    }

    /// A link to nested DTOs of which a DTO may say nothing, or not everything, or which have no id.
    @inlinable @inline(__always)
    static func open<C: Mappable>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Tristate<[C]>,
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void,
        answer: @escaping (Tristate<[C]>) throws -> Any, isList: Bool, isPartial: Bool = false
    ) -> Step<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let link = OpenLink<D, C>(from, get: get, models: models, set: set, isPartial: isPartial)
        // What does not differ from a link that says everything, that one's step does.
        var step = Step<D>.nestedMany(from, to, get: { get($0).value ?? [] }, models: models, set: set)
        if !isList {
            step.nested = { dto, visit in for child in link.children(dto) { visit(C.self, child, link.name) } }
        }
        step.isSame = { link.agree($0, $1) }
        step.isClean = { snapshot, object, core in try link.isClean(snapshot, object, core) }
        step.isWhole = !isPartial
        step.gather = { table, range, _, core in try link.gather(table, range, core) }
        step.offerNested = { copies, core in for copy in copies { try link.offer(copy, copy.id, core) } }
        step.link = { table, index, core in try link.link(table, index, core) }
        step.restore = { dto, object, core in
            guard let ids = link.known(dto, object, core) else { return true }
            return restore(ids, C.self, core) { set(object, $0) }
        }
        step.forEachEdge = { table, core, body in link.forEachEdge(table, core, isList, body) }
        step.answer = { object, snapshot, core in try answer(link.dtos(object, snapshot, core)) }
        step.gap = link.gap(isList, answer)
        if isPartial, C.ID.self == Occurrence.self {
            let name = D.schema.property(at: from)?.name ?? "?"
            step.mistake = "\(name) lists DTOs without an id as a part; nothing says which of the model's they are"
        }
        return step
    }
}

/// A link to nested DTOs of which a DTO may say nothing, or not everything, or which have no id.
///
/// Edges by index would not do: a copy that comes later may add to a DTO whose links were followed.
@usableFromInline struct OpenLink<D: Mappable, C: Mappable>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    let path: AnyKeyPath
    @usableFromInline let name: String
    let get: (UnsafePointer<D>) -> Tristate<[C]>
    let models: (D.Model) -> [C.Model]
    let set: (D.Model, [C.Model]) -> Void
    let isPartial: Bool
    /// Whether copies of one DTO may have these nested in one place.
    let isSame: (C, C) -> Bool

    @usableFromInline init(
        _ path: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> Tristate<[C]>,
        models: @escaping (D.Model) -> [C.Model],
        set: @escaping (D.Model, [C.Model]) -> Void, isPartial: Bool
    ) {
        self.path = path
        name = D.schema.property(at: path)?.name ?? "?"
        self.get = get
        self.models = models
        self.set = set
        self.isPartial = isPartial
        if let type = C.self as? any KeylessDTO.Type {
            isSame = Self.haveSameValues(type)
        } else {
            isSame = { $0.id == $1.id }
        }
    }

    private static func haveSameValues<K: KeylessDTO>(_: K.Type) -> (C, C) -> Bool {
        { left, right in
            guard let left = left as? K, let right = right as? K else { return false }
            return left == right
        }
    }

    // MARK: Ids

    /// The ids of the nested DTOs of one that has, or whose place is, `owner`.
    private func ids(_ dtos: [C], of owner: D.ID) -> [C.ID] {
        guard C.ID.self == Occurrence.self else { return dtos.map(\.id) }
        return dtos.indices.compactMap { index in
            Occurrence(.nested(owner: owner, table: D.schema.name, property: name, index: index)) as? C.ID
        }
    }

    private func ids(_ object: D.Model, _ core: SessionCore) throws -> [C.ID] {
        let targets = try core.table(C.self)
        return models(object).filter { !targets.isDeleted($0) }.map(targets.mapping.idOf)
    }

    private func state(_ dto: D) -> Tristate<[C]> { withUnsafePointer(to: dto, get) }

    @usableFromInline func children(_ dto: D) -> [C] { state(dto).value ?? [] }

    // MARK: Comparing

    @usableFromInline func isOpen(_ dto: UnsafePointer<D>) -> Bool {
        switch get(dto) {
        case .unset: true
        case .null: false
        case .value: isPartial
        }
    }

    @usableFromInline func agree(_ left: UnsafePointer<D>, _ right: UnsafePointer<D>) -> Bool {
        Tristate.agree(get(left), get(right)) { left, right in
            guard let left, let right else { return left == nil && right == nil }
            return isPartial || left.count == right.count && left.indices.allSatisfy { isSame(left[$0], right[$0]) }
        }
    }

    @usableFromInline
    func isClean(_ dto: UnsafePointer<D>, _ object: D.Model, _ core: SessionCore) throws -> Bool {
        let table = try core.table(D.self)
        let now = try ids(object, core)
        if isOpen(dto) { return table.isBaseline(path, object, ids: now) }
        return now == ids(get(dto).value ?? [], of: table.mapping.idOf(object))
    }

    @usableFromInline func gap(_ isList: Bool, _ answer: @escaping (Tristate<[C]>) throws -> Any) -> Gap<D> {
        Gap(
            isOpen: { isOpen($0) }, isList: isList, isPartial: isPartial,
            filled: { dto, other, isLater in try filled(dto, other, isLater).map(answer) })
    }

    // MARK: Loading

    @usableFromInline func gather(_ table: Table<D>, _ range: Range<Int>, _ core: SessionCore) throws {
        for place in range {
            let index = Int(table.arrived[place])
            if let dto = table.incoming[index] { try offer(dto, table.ids[index], core) }
        }
    }

    @usableFromInline func offer(_ dto: D, _ owner: D.ID, _ core: SessionCore) throws {
        let targets = try core.table(C.self)
        let children = children(dto)
        let ids = ids(children, of: owner)
        for (child, id) in zip(children, ids) { withUnsafePointer(to: child) { _ = targets.offer($0, as: id) } }
        guard C.ID.self == Occurrence.self, let object = try firstSeen(owner, core) else { return }
        // The object came by a record: its nested ones are those of the payload, place by place.
        for (model, id) in zip(models(object), ids) { targets.adoptable[IDKey(id)] = model }
    }

    /// The model of an object whose first DTO of this type is under way.
    private func firstSeen(_ owner: D.ID, _ core: SessionCore) throws -> D.Model? {
        let table = try core.table(D.self)
        guard let slot = table.identity.slot(owner) else { return table.adoptable[IDKey(owner)] }
        return table.snapshot(slot) == nil ? table.model(at: slot) : nil
    }

    @usableFromInline
    func forEachEdge(
        _ table: Table<D>, _ core: SessionCore, _ isList: Bool, _ body: (Int32, AnyTable, Int32, Int?) -> Void
    ) {
        guard let targets = try? core.table(C.self) else { return }
        for owner in table.arrived {
            guard let dto = table.incoming[Int(owner)] else { continue }
            for (place, id) in ids(children(dto), of: table.ids[Int(owner)]).enumerated() {
                if let target = targets.indices[IDKey(id)] { body(owner, targets, target, isList ? place : nil) }
            }
        }
    }

    @usableFromInline func link(_ table: Table<D>, _ step: Int, _ core: SessionCore) throws {
        let targets = try core.table(C.self)
        for index in table.arrived.prefix(table.followed[step]) {
            let slot = Int(table.slots[Int(index)])
            guard let dto = table.incoming[Int(index)], let object = table.model(at: slot) else { continue }
            if let old = table.snapshot(slot), try withUnsafePointer(to: old, { try !isClean($0, object, core) }),
                table.isKnown(table.mapping.steps[step], step, object, slot),
                !table.isSaidElsewhere(table.mapping.steps[step], slot)
            {
                continue
            }
            let state = state(dto)
            if !state.isUnset {
                let children = try ids(state.value ?? [], of: table.ids[Int(index)]).map { try targets.required($0) }
                set(object, isPartial && state.value != nil ? union(models(object), children) : children)
            }
            if withUnsafePointer(to: dto, isOpen) { table.noteBaseline(path, slot, try ids(object, core)) }
        }
    }

    private func union(_ old: [C.Model], _ new: [C.Model]) -> [C.Model] {
        var known = Set(old.map(ObjectIdentifier.init))
        return old + new.filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    /// What the first DTO says of the link, with what the second adds; nil if that is nothing.
    @usableFromInline func filled(_ dto: D, _ other: D, _ isLater: Bool) -> Tristate<[C]>? {
        switch (state(dto), state(other)) {
        case (_, .unset), (.null, _), (.value, .null): return nil
        case (.unset, let other): return other
        case (.value(let new), .value(let old)):
            guard isPartial, new.map(\.id) != old.map(\.id) else { return nil }
            var known: Set<C.ID> = []
            let all = (isLater ? old + new : new + old).filter { known.insert($0.id).inserted }
            return .value(isLater ? all : all.map { (key($0), $0) }.sorted { $0.0 < $1.0 }.map(\.1))
        }
    }

    /// What sorts DTOs whatever the order in which they came: short ids first, so that 9 comes before 10.
    private func key(_ dto: C) -> (Int, String) {
        let text = dto.id.storedValues.map(\.description).joined(separator: ",")
        return (text.utf8.count, text)
    }

    // MARK: The way back

    /// The ids of the link as it was when the DTO came; nil if that is not known.
    @usableFromInline func known(_ dto: D, _ object: D.Model, _ core: SessionCore) -> [C.ID]? {
        guard let table = try? core.table(D.self) else { return nil }
        guard withUnsafePointer(to: dto, isOpen) else { return ids(children(dto), of: table.mapping.idOf(object)) }
        return table.knownSlot(of: object).flatMap { table.baselines[path]?[$0] as? [C.ID] }
    }

    /// What a DTO has left open stays open as long as the link has not changed since.
    @usableFromInline
    func dtos(_ object: D.Model, _ snapshot: D?, _ core: SessionCore) throws -> Tristate<[C]> {
        let targets = try core.table(C.self)
        if let snapshot, try withUnsafePointer(to: snapshot, { try isClean($0, object, core) }) {
            switch state(snapshot) {
            case .unset: return .unset
            case .null: return .null
            case .value(let shown) where isPartial:
                return .value(try shown.map { try targets.model($0.id).map { try targets.record(of: $0) } ?? $0 })
            case .value: break
            }
        }
        return .value(try models(object).filter { !targets.isDeleted($0) }.map { try targets.record(of: $0) })
    }
}
