/// A link to one model.
public struct One<D: Mappable, C: Mappable>: MappingEntry
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    public private(set) var step: Step<D>

    /// By an optional `Ref`.
    public init(_ from: KeyPath<D, Ref<C>?>, _ to: ReferenceWritableKeyPath<D.Model, C.Model?>) {
        step = reference(from, get: { $0[keyPath: from] }, answer: { $0 as Any }, to, set: { $0[keyPath: to] = $1 })
    }

    /// By a required `Ref` into an optional property.
    public init(_ from: KeyPath<D, Ref<C>>, _ to: ReferenceWritableKeyPath<D.Model, C.Model?>) {
        step = reference(
            from, get: { $0[keyPath: from] }, answer: { try required($0, D.self, from) }, to,
            set: { $0[keyPath: to] = $1 })
    }

    /// By a required `Ref` into a required property, which the model's initializer has filled.
    @_disfavoredOverload
    public init(_ from: KeyPath<D, Ref<C>>, _ to: KeyPath<D.Model, C.Model>) {
        let settable = to as? ReferenceWritableKeyPath<D.Model, C.Model>
        step = reference(
            from, get: { $0[keyPath: from] }, answer: { try required($0, D.self, from) }, to,
            get: { $0[keyPath: to] },
            set: { model, target in if let settable, let target { model[keyPath: settable] = target } })
    }

    /// The other side holds the foreign key.
    public init(_ other: C.Type, by foreignKey: KeyPath<C, Ref<D>>, _ to: ReferenceWritableKeyPath<D.Model, C.Model?>) {
        step = byKey(
            foreignKey, key: { $0[keyPath: foreignKey].id }, get: { $0[keyPath: to].map { [$0] } ?? [] },
            set: { $0[keyPath: to] = $1.first })
    }

    /// The other side holds the foreign key, which may be NULL.
    public init(_ other: C.Type, by foreignKey: KeyPath<C, Ref<D>?>, _ to: ReferenceWritableKeyPath<D.Model, C.Model?>)
    {
        step = byKey(
            foreignKey, key: { $0[keyPath: foreignKey]?.id }, get: { $0[keyPath: to].map { [$0] } ?? [] },
            set: { $0[keyPath: to] = $1.first })
    }

    /// A nested DTO.
    public init(_ from: KeyPath<D, C?>, _ to: ReferenceWritableKeyPath<D.Model, C.Model?>) {
        step = nested(
            from, get: { $0[keyPath: from].map { [$0] } ?? [] }, answer: { $0.first as Any },
            models: { $0[keyPath: to].map { [$0] } ?? [] }, set: { $0[keyPath: to] = $1.first }, isList: false)
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
    public private(set) var step: Step<D>

    /// By an ordered list of `Ref`s, which may repeat.
    public init(_ from: KeyPath<D, [Ref<C>]>, _ to: ReferenceWritableKeyPath<D.Model, [C.Model]>) {
        step = list(from, to)
    }

    /// The other side holds the foreign key.
    public init(_ other: C.Type, by foreignKey: KeyPath<C, Ref<D>>, _ to: ReferenceWritableKeyPath<D.Model, [C.Model]>)
    {
        step = byKey(
            foreignKey, key: { $0[keyPath: foreignKey].id }, get: { $0[keyPath: to] },
            set: { $0[keyPath: to] = $1 })
    }

    /// The other side holds the foreign key, which may be NULL.
    public init(_ other: C.Type, by foreignKey: KeyPath<C, Ref<D>?>, _ to: ReferenceWritableKeyPath<D.Model, [C.Model]>)
    {
        step = byKey(
            foreignKey, key: { $0[keyPath: foreignKey]?.id }, get: { $0[keyPath: to] },
            set: { $0[keyPath: to] = $1 })
    }

    /// The other side holds the foreign key; the model keeps a set.
    public init(
        _ other: C.Type, by foreignKey: KeyPath<C, Ref<D>>, _ to: ReferenceWritableKeyPath<D.Model, Set<C.Model>>
    )
    where C.Model: Hashable {
        step = byKey(
            foreignKey, key: { $0[keyPath: foreignKey].id }, get: { Array($0[keyPath: to]) },
            set: { $0[keyPath: to] = Set($1) })
    }

    /// Nested DTOs.
    public init(_ from: KeyPath<D, [C]>, _ to: ReferenceWritableKeyPath<D.Model, [C.Model]>) {
        step = nested(
            from, get: { $0[keyPath: from] }, answer: { $0 }, models: { $0[keyPath: to] },
            set: { $0[keyPath: to] = $1 }, isList: true)
    }

    /// Not followed by a load unless asked for.
    public var onDemand: Self {
        var copy = self
        copy.step.isOnDemand = true
        return copy
    }
}

private func required<C: Mappable, D: Mappable>(_ link: Ref<C>?, _: D.Type, _ path: AnyKeyPath) throws -> Any {
    if let link { return link }
    throw GraphError(
        .unreachable, "a required link is nil; set it, or delete the object", type: D.schema.name,
        property: D.schema.properties.first { $0.path == path }?.name)
}

private func reference<D: Mappable, C: Mappable>(
    _ from: PartialKeyPath<D>, get: @escaping (D) -> Ref<C>?, answer: @escaping (Ref<C>?) throws -> Any,
    _ to: KeyPath<D.Model, C.Model?>, set: @escaping (D.Model, C.Model?) -> Void
) -> Step<D>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    reference(from, get: get, answer: answer, to, get: { $0[keyPath: to] }, set: set)
}

private func reference<D: Mappable, C: Mappable>(
    _ from: PartialKeyPath<D>, get: @escaping (D) -> Ref<C>?, answer: @escaping (Ref<C>?) throws -> Any,
    _ to: AnyKeyPath, get model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
) -> Step<D>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    var step = Step<D>()
    step.property = from
    step.targets = [C.self]
    step.gather = { dtos, core in
        let table = try core.table(C.self)
        for dto in dtos { if let ref = get(dto) { table.want(ref.id) } }
    }
    step.isClean = { snapshot, object, core in
        let table = try core.table(C.self)
        return get(snapshot)?.id == model(object).flatMap { table.isDeleted($0) ? nil : table.mapping.idOf($0) }
    }
    step.isEmpty = { model($0) == nil }
    step.link = { [isClean = step.isClean] rows, core in
        let table = try core.table(C.self)
        for (dto, old, object) in rows {
            if let old, try !isClean(old, object, core) { continue }
            set(object, try get(dto).map { try table.required($0.id) })
        }
    }
    step.visit = { object, _, core in
        if let target = model(object) { _ = try core.table(C.self).slot(of: target) }
    }
    step.answer = { object, _, core in
        let table = try core.table(C.self)
        return try answer(model(object).flatMap { table.isDeleted($0) ? nil : Ref(table.mapping.idOf($0)) })
    }
    return step
}

private func list<D: Mappable, C: Mappable>(
    _ from: KeyPath<D, [Ref<C>]>, _ to: ReferenceWritableKeyPath<D.Model, [C.Model]>
) -> Step<D>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    var step = Step<D>()
    step.property = from
    step.targets = [C.self]
    step.gather = { dtos, core in
        let table = try core.table(C.self)
        for dto in dtos { for ref in dto[keyPath: from] { table.want(ref.id) } }
    }
    step.isClean = { snapshot, object, core in
        let table = try core.table(C.self)
        let old = snapshot[keyPath: from]
        let new = object[keyPath: to]
        guard old.count == new.count else { return false }
        for (ref, model) in zip(old, new) where ref.id != table.mapping.idOf(model) || table.isDeleted(model) {
            return false
        }
        return true
    }
    step.link = { [isClean = step.isClean] rows, core in
        let table = try core.table(C.self)
        for (dto, old, object) in rows {
            if let old, try !isClean(old, object, core) { continue }
            object[keyPath: to] = try dto[keyPath: from].map { try table.required($0.id) }
        }
    }
    step.visit = { object, _, core in
        let table = try core.table(C.self)
        for target in object[keyPath: to] { _ = try table.slot(of: target) }
    }
    step.isEmpty = { $0[keyPath: to].isEmpty }
    step.answer = { object, _, core in
        let table = try core.table(C.self)
        return object[keyPath: to].filter { !table.isDeleted($0) }.map { Ref<C>(table.mapping.idOf($0)) }
    }
    return step
}

private func nested<D: Mappable, C: Mappable>(
    _ from: PartialKeyPath<D>, get: @escaping (D) -> [C], answer: @escaping ([C]) -> Any,
    models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void, isList: Bool
) -> Step<D>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    var step = Step<D>()
    step.property = from
    step.targets = [C.self]
    step.gather = { dtos, core in
        let table = try core.table(C.self)
        for dto in dtos { for child in get(dto) { table.offer(child) } }
    }
    step.isClean = { snapshot, object, core in
        let table = try core.table(C.self)
        let old = get(snapshot)
        let new = models(object)
        return old.count == new.count && zip(old, new).allSatisfy { $0.id == table.mapping.idOf($1) }
    }
    step.link = { [isClean = step.isClean] rows, core in
        let table = try core.table(C.self)
        for (dto, old, object) in rows {
            if let old, try !isClean(old, object, core) { continue }
            set(object, try get(dto).map { try table.required($0.id) })
        }
    }
    step.visit = { object, _, core in
        let table = try core.table(C.self)
        for target in models(object) { _ = try table.slot(of: target) }
    }
    step.answer = { object, _, core in
        let table = try core.table(C.self)
        return answer(try models(object).map { try table.record(of: $0) })
    }
    let name = D.schema.properties.first { $0.path == from }?.name ?? "?"
    step.nested = { dto, visit in
        for (index, child) in get(dto).enumerated() { visit(C.self, child, isList ? "\(name)[\(index)]" : name) }
    }
    return step
}

private func byKey<D: Mappable, C: Mappable>(
    _ foreignKey: PartialKeyPath<C>, key: @escaping (C) -> D.ID?, get: @escaping (D.Model) -> [C.Model],
    set: @escaping (D.Model, [C.Model]) -> Void
) -> Step<D>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    var step = Step<D>()
    step.targets = [C.self]
    step.gather = { dtos, core in
        let table = try core.table(C.self)
        guard let name = C.schema.property(at: foreignKey)?.name else {
            throw GraphError(.invalidSchema, "no property for \(foreignKey)", type: C.schema.name)
        }
        table.want(where: name, isIn: dtos.map(\.id))
    }
    step.link = { rows, core in
        let table = try core.table(C.self)
        let holding = table.holding(foreignKey)
        let children = Dictionary(grouping: table.incoming.indices.filter { key(table.incoming[$0]) != nil }) {
            key(table.incoming[$0])
        }
        for (dto, old, object) in rows {
            // Untouched since the last load: every child is held by its stored key, and none is missing.
            if old != nil, let known = holding.filled[AnyHashable(dto.id)],
                get(object).map(ObjectIdentifier.init) != known
            {
                continue
            }
            let models = try (children[dto.id] ?? []).map { try table.required(table.incoming[$0].id) }
            set(object, models)
            holding.filled[AnyHashable(dto.id)] = models.map(ObjectIdentifier.init)
        }
    }
    step.visit = { object, _, core in
        let table = try core.table(C.self)
        let holding = table.holding(foreignKey)
        let id = try core.table(D.self).mapping.idOf(object)
        for child in get(object) where !table.isDeleted(child) {
            let slot = try table.slot(of: child)
            if let other = holding.claims[slot], other != AnyHashable(id) {
                throw GraphError(
                    .conflict, "two owners, \(other) and \(id), hold it; remove it from one", type: C.schema.name,
                    id: "\(table.mapping.idOf(child))", property: C.schema.property(at: foreignKey)?.name)
            }
            holding.claims[slot] = AnyHashable(id)
        }
        let now = get(object).map(ObjectIdentifier.init)
        let owners = try core.table(D.self)
        if let known = holding.filled[AnyHashable(id)]
            ?? (owners.knownSlot(of: object).flatMap { owners.snapshot($0) } == nil ? [] : nil)
        {
            if known != now || holding.filled[AnyHashable(id)] == nil { holding.pending[AnyHashable(id)] = now }
        }
    }
    return step
}
