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
            isSame = { IDKey($0.id) == IDKey($1.id) }
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
    private func ids(_ dtos: [C], of owner: D.ID) -> [IDKey<C.ID>] {
        guard C.ID.self == Occurrence.self else { return dtos.map { IDKey($0.id) } }
        return dtos.indices.compactMap { index in
            let place = Occurrence(.nested(owner: owner, table: D.schema.name, property: name, index: index))
            return (place as? C.ID).map { IDKey($0) }
        }
    }

    private func ids(_ object: D.Model, _ core: SessionCore) throws -> [IDKey<C.ID>] {
        let targets = try core.table(C.self)
        return ids(models(object).filter { !targets.isDeleted($0) }, targets)
    }

    private func ids(_ models: [C.Model], _ targets: EntityTable<C>) -> [IDKey<C.ID>] {
        models.map { IDKey(targets.mapping.idOf($0)) }
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

    @usableFromInline func gap<V>(_ isList: Bool, _ answer: @escaping (Tristate<[C]>) throws -> V) -> Gap<D> {
        Gap(
            isOpen: { isOpen($0) }, isUnset: { get($0).isUnset }, isList: isList, isPartial: isPartial,
            filled: { dto, other, isLater in try filled(dto, other, isLater).map(answer) })
    }

    // MARK: Loading

    @usableFromInline func gather(_ batch: LoadBatch<D>, _ range: Range<Int>, _ load: Load) throws {
        for place in range {
            let index = Int(batch.arrived[place])
            if let dto = batch.incoming[index] { try offer(dto, batch.ids[index], load) }
        }
    }

    @usableFromInline func offer(_ dto: D, _ owner: D.ID, _ load: Load) throws {
        let targets = try load.batch(C.self)
        let children = children(dto)
        let ids = ids(children, of: owner)
        for (child, id) in zip(children, ids) { withUnsafePointer(to: child) { _ = targets.offer($0, as: id.id) } }
        guard C.ID.self == Occurrence.self, let object = try firstSeen(owner, load) else { return }
        // The object came by a record: its nested ones are those of the payload, place by place.
        for (model, id) in zip(models(object), ids) { targets.provenance.adoptable[id] = model }
    }

    /// The model of an object whose first DTO of this type is under way.
    private func firstSeen(_ owner: D.ID, _ load: Load) throws -> D.Model? {
        let batch = try load.batch(D.self)
        guard let slot = batch.identity.slot(owner) else { return batch.provenance.adoptable[IDKey(owner)] }
        return batch.entities.snapshot(slot) == nil ? batch.model(at: slot) : nil
    }

    @usableFromInline
    func forEachEdge(
        _ batch: LoadBatch<D>, _ load: Load, _ isList: Bool, _ body: (Int32, AnyLoadBatch, Int32, Int?) -> Void
    ) {
        guard let targets = load.knownBatch(C.self) else { return }
        for owner in batch.arrived {
            guard let dto = batch.incoming[Int(owner)] else { continue }
            for (place, id) in ids(children(dto), of: batch.ids[Int(owner)]).enumerated() {
                if let target = targets.indices[id.id] { body(owner, targets, target, isList ? place : nil) }
            }
        }
    }

    @usableFromInline func link(_ batch: LoadBatch<D>, _ step: Int, _ load: Load) throws {
        let (table, core) = (batch.entities, load.core)
        let targets = try load.batch(C.self)
        for index in batch.arrived.prefix(batch.followed[step]) {
            let slot = Int(batch.slots[Int(index)])
            guard let dto = batch.incoming[Int(index)], let object = batch.model(at: slot) else { continue }
            let state = state(dto)
            guard !state.isUnset else {
                if table.baselines[path]?[slot] == nil { table.noteBaseline(path, slot, try ids(object, core)) }
                continue
            }
            let children = try ids(state.value ?? [], of: batch.ids[Int(index)]).map { try targets.required($0.id) }
            if isPartial, state.value != nil {
                let isEdited = table.isEdited(step, slot, object)
                let before = isEdited ? try taken(table, step, slot, object, core) : nil
                try add(children, to: object, before, table, step, slot, core)
            } else if !batch.keeps(step, slot, object) {
                set(object, children)
            }
        }
    }

    /// The list as the session last took it.
    private func taken(
        _ table: EntityTable<D>, _ step: Int, _ slot: Int, _ object: D.Model, _ core: SessionCore
    ) throws -> [IDKey<C.ID>] {
        let targets = try core.table(C.self)
        let link = table.mapping.steps[step]
        if table.isTakenHere(link, slot), let dto = table.snapshot(slot), let known = known(dto, object, core) {
            return known
        }
        guard let linked = table.linkedElsewhere(link, object) else {
            return try table.baselines[path]?[slot] as? [IDKey<C.ID>] ?? ids(object, core)
        }
        return ids(linked.compactMap { $0 as? C.Model }, targets)
    }

    /// Adds a page to a list: what is new goes to the end, what the app has taken out since `before` was there stays out.
    ///
    /// - Parameter before: nil if the app has not changed the list.
    private func add(
        _ page: [C.Model], to object: D.Model, _ before: [IDKey<C.ID>]?, _ table: EntityTable<D>, _ step: Int,
        _ slot: Int,
        _ core: SessionCore
    ) throws {
        let targets = try core.table(C.self)
        let old = models(object)
        var known = Set(ids(old, targets)).union(before ?? [])
        let new = page.filter { known.insert(IDKey(targets.mapping.idOf($0))).inserted }
        if !new.isEmpty { set(object, old + new) }
        table.noteTakenHere(table.mapping.steps[step], slot)
        try table.noteBaseline(path, slot, before.map { $0 + ids(new, targets) } ?? ids(object, core))
    }

    /// What the first DTO says of the link, with what the second adds; nil if that is nothing.
    @usableFromInline func filled(_ dto: D, _ other: D, _ isLater: Bool) -> Tristate<[C]>? {
        switch (state(dto), state(other)) {
        case (_, .unset), (.null, _), (.value, .null): return nil
        case (.unset, let other): return other
        case (.value(let new), .value(let old)):
            guard isPartial, !new.elementsEqual(old, by: { IDKey($0.id) == IDKey($1.id) }) else { return nil }
            var known: Set<IDKey<C.ID>> = []
            let all = (isLater ? old + new : new + old).filter { known.insert(IDKey($0.id)).inserted }
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
    @usableFromInline func known(_ dto: D, _ object: D.Model, _ core: SessionCore) -> [IDKey<C.ID>]? {
        guard let table = core.knownTable(D.self) else { return nil }
        guard withUnsafePointer(to: dto, isOpen) else { return ids(children(dto), of: table.mapping.idOf(object)) }
        return table.knownSlot(of: object).flatMap { table.baselines[path]?[$0] as? [IDKey<C.ID>] }
    }

    /// The models whose DTOs are made first.
    @usableFromInline
    func visitModels(_ object: D.Model, _ core: SessionCore, _ visit: (TableState, AnyObject) -> Void) throws {
        let targets = try core.table(C.self)
        for target in models(object) where !targets.isDeleted(target) { visit(targets, target) }
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
