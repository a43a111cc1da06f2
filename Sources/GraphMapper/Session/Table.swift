/// A session's table of one DTO type, whatever the type.
class AnyTable {
    var recordType: ObjectIdentifier { ObjectIdentifier(Never.self) }
    var columnTargets: [any DTO.Type] { [] }
    var hasUnexpanded: Bool { false }
    var hasRequests: Bool { false }
    var hasUnmade: Bool { false }
    var hasConflict: Bool { false }
    func holds(_ model: AnyObject) -> Bool { false }
    func wantAll() {}
    func requireLoaded() throws {}
    func startLoad() {}
    func expand() throws {}
    func fetch(from source: any GraphSource) async throws {}
    func checkGathered() throws {}
    func makeModels() throws -> Bool { false }
    func unmake() {}
    func needsCycle() -> GraphError { GraphError(.cycle, "") }
    func readFields() throws {}
    func linkModels() throws {}
    func finishLoad() {}
    func startWalk() {}
    func walk() throws -> Bool { false }
    func collect(into plan: inout WritePlan) throws {}
    func endWalk() {}
    func add(_ model: AnyObject) throws {}
    func delete(_ model: AnyObject) throws {}
    func evict(_ model: AnyObject) {}
    func visitNested(_ dto: Any, _ visit: (any DTO.Type, Any, String) -> Void) {}
    func describe(_ dto: Any) -> (name: String, id: String, values: [(String, String)])? { nil }
}

/// A session's table of one DTO type: the mapping, the snapshots by slot, and what the load under way has gathered.
final class Table<D: Mappable>: AnyTable where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    let mapping: Mapping<D>
    let identity: IdentityMap<D.ID>
    unowned let core: SessionCore
    private(set) var snapshots: [D?] = []
    /// One bit a step: whether the model's link was ever filled.
    private var filled: [UInt64] = []
    private var holdings: [AnyKeyPath: Holding] = [:]

    // The load under way.
    private(set) var incoming: [D] = []
    private var incomingIndex: [D.ID: Int] = [:]
    private var expanded = 0
    private var wanted: [D.ID] = []
    private var wantedSet: Set<D.ID> = []
    private var requests: [(any GraphSource) async throws -> [D]] = []
    private var differing = false
    private var unmade: [Int] = []
    private var made: [D.ID] = []
    private var rows: [(D, D?, D.Model)] = []

    // The walk under way.
    private var known = 0
    private var walked = 0
    private var added: [D.Model] = []
    private var found: [D.ID] = []

    init(_ mapping: Mapping<D>, _ identity: IdentityMap<D.ID>, _ core: SessionCore) {
        self.mapping = mapping
        self.identity = identity
        self.core = core
    }

    override var recordType: ObjectIdentifier { ObjectIdentifier(D.self) }
    override var columnTargets: [any DTO.Type] {
        D.schema.properties.compactMap { $0.isList ? nil : $0.link?.record }
    }
    override func holds(_ model: AnyObject) -> Bool { model is D.Model }

    // MARK: Looking up

    func model(_ id: D.ID) -> D.Model? {
        identity.slot(id).flatMap { identity.models[$0] }.map { unsafeDowncast($0, to: D.Model.self) }
    }

    func required(_ id: D.ID) throws -> D.Model {
        guard let model = model(id) else {
            throw GraphError(
                .dangling, "it is referred to, but the source has no such object", type: D.schema.name, id: "\(id)")
        }
        return model
    }

    func snapshot(_ slot: Int) -> D? { slot < snapshots.count ? snapshots[slot] : nil }

    func holding(_ foreignKey: AnyKeyPath) -> Holding {
        if let known = holdings[foreignKey] { return known }
        let new = Holding()
        holdings[foreignKey] = new
        return new
    }

    func isDeleted(_ model: D.Model) -> Bool {
        !identity.deleted.isEmpty && isDeleted(id: mapping.idOf(model))
    }

    func isDeleted(id: D.ID) -> Bool { identity.slot(id).map(identity.deleted.contains) ?? false }

    /// Makes the slot's snapshot and mask addressable.
    private func grow(to count: Int) {
        guard snapshots.count < count else { return }
        snapshots += [D?](repeating: nil, count: count - snapshots.count)
        filled += [UInt64](repeating: 0, count: count - filled.count)
    }

    // MARK: Gathering

    override var hasUnexpanded: Bool { expanded < incoming.count }
    override var hasRequests: Bool { !wanted.isEmpty || !requests.isEmpty }

    override func startLoad() {
        incoming = []
        incomingIndex = [:]
        expanded = 0
        wanted = []
        wantedSet = []
        requests = []
        differing = false
        unmade = []
        made = []
        rows = []
    }

    /// Takes a DTO into the load. An equal copy merges silently; one that differs is a conflict, raised once
    /// everything is gathered.
    func offer(_ dto: D) {
        let id = dto.id
        if let index = incomingIndex[id] {
            if !differing, !isSame(incoming[index], dto) { differing = true }
            return
        }
        incomingIndex[id] = incoming.count
        incoming.append(dto)
        core.gathered += 1
    }

    func want(_ id: D.ID) {
        if incomingIndex[id] == nil, wantedSet.insert(id).inserted { wanted.append(id) }
    }

    func want<Owner: Storable & Hashable>(where name: String, isIn owners: [Owner]) {
        requests.append { source in try await source.fetch(D.self, where: name, isIn: owners) }
    }

    override func wantAll() {
        for dto in snapshots { if let dto { want(dto.id) } }
    }

    override func requireLoaded() throws {
        for id in wanted where incomingIndex[id] == nil { _ = try required(id) }
        wanted = []
        requests = []
    }

    override var hasConflict: Bool { differing }

    private func isSame(_ left: D, _ right: D) -> Bool { D.schema.properties.allSatisfy { $0.isSame(left, right) } }

    private func isFollowed(_ step: Step<D>) -> Bool {
        !step.isOnDemand || step.modelPath.map(core.following.contains) ?? false
    }

    override func expand() throws {
        let range = expanded..<incoming.count
        expanded = incoming.count
        for step in mapping.steps where isFollowed(step) { try step.gather?(incoming[range], core) }
    }

    override func fetch(from source: any GraphSource) async throws {
        let ids = wanted
        let asked = requests
        wanted = []
        requests = []
        if !ids.isEmpty {
            for dto in try await source.fetch(D.self, ids: ids) { offer(dto) }
            for id in ids where incomingIndex[id] == nil && model(id) == nil { _ = try required(id) }
        }
        for request in asked { for dto in try await request(source) { offer(dto) } }
        if core.gathered > core.limit {
            throw GraphError(
                .tooLarge,
                "the load reached \(core.gathered) objects, more than the limit of \(core.limit); mark a "
                    + "link as onDemand or raise the limit", type: D.schema.name)
        }
    }

    // MARK: Materialising

    override var hasUnmade: Bool { !unmade.isEmpty }

    override func checkGathered() throws {
        if differing {
            throw GraphError(
                .conflict, "the source answered with copies of one object that differ", type: D.schema.name)
        }
        let checks = mapping.steps.compactMap { step in step.check.map { (step, $0) } }
        if !checks.isEmpty {
            for dto in incoming {
                for (step, check) in checks {
                    do { try check(dto) } catch { throw located(error, step, dto) }
                }
            }
        }
        unmade = incoming.indices.filter { identity.slot(incoming[$0].id) == nil }
        identity.reserve(unmade.count)
    }

    private func located(_ error: any Error, _ step: Step<D>, _ dto: D) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        let name = D.schema.properties.first { $0.path == step.property }?.name
        error.type = D.schema.name
        error.id = "\(dto.id)"
        error.property = name
        error.path = "\(D.schema.name)(\(dto.id)).\(name ?? "?")"
        return error
    }

    override func makeModels() throws -> Bool {
        var waiting: [Int] = []
        for index in unmade {
            let dto = incoming[index]
            do {
                let model = try mapping.make(dto, core)
                _ = identity.register(dto.id, model)
                made.append(dto.id)
            } catch is NotYet {
                waiting.append(index)
            }
        }
        defer { unmade = waiting }
        return waiting.count < unmade.count
    }

    override func unmake() {
        for id in made.reversed() { identity.remove(id) }
        made = []
        unmade = []
    }

    override func needsCycle() -> GraphError {
        let id = unmade.first.map { "\(incoming[$0].id)" }
        return GraphError(
            .cycle, "its initializer needs an object that is missing or needs this one", type: D.schema.name, id: id)
    }

    override func readFields() throws {
        grow(to: identity.models.count)
        rows.reserveCapacity(incoming.count)
        let steps = mapping.steps
        for dto in incoming {
            guard let slot = identity.slot(dto.id), let object = identity.models[slot] else { continue }
            let model = unsafeDowncast(object, to: D.Model.self)
            let old = snapshots[slot]
            for step in steps {
                guard let read = step.read else { continue }
                if let old, try !step.isClean(old, model, core) { continue }
                try read(dto, model)
            }
            rows.append((dto, old, model))
        }
    }

    override func linkModels() throws {
        var mask: UInt64 = 0
        for (index, step) in mapping.steps.enumerated() {
            guard let link = step.link, isFollowed(step) else { continue }
            try link(rows, core)
            mask |= 1 << UInt64(index & 63)
        }
        guard mask != 0 else { return }
        for (dto, _, _) in rows { if let slot = identity.slot(dto.id) { filled[slot] |= mask } }
    }

    override func finishLoad() {
        for (dto, _, _) in rows { if let slot = identity.slot(dto.id) { snapshots[slot] = dto } }
        startLoad()
    }

    // MARK: Walking back

    override func add(_ model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        if let other = self.model(mapping.idOf(model)), other !== model { throw twoInstances(model) }
        added.append(model)
    }

    override func delete(_ model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        added.removeAll { $0 === model }
        guard let slot = identity.slot(mapping.idOf(model)) else { return }
        identity.deleted.insert(slot)
    }

    private func twoInstances(_ model: D.Model) -> GraphError {
        GraphError(
            .conflict, "two instances claim this id; keep the one that the session loaded", type: D.schema.name,
            id: "\(mapping.idOf(model))")
    }

    /// The slot of a model that the session knows.
    func knownSlot(of model: D.Model) -> Int? {
        identity.slot(mapping.idOf(model)).flatMap { identity.models[$0] === model ? $0 : nil }
    }

    /// The slot of a model, which becomes a new object if the session does not know it.
    func slot(of model: D.Model) throws -> Int {
        let id = mapping.idOf(model)
        if let slot = identity.slot(id) {
            if identity.models[slot] === model { return slot }
            throw twoInstances(model)
        }
        found.append(id)
        return identity.register(id, model)
    }

    override func startWalk() {
        for holding in holdings.values { holding.startWalk() }
        found = []
        walked = 0
    }

    override func walk() throws -> Bool {
        if walked == 0 { for model in added { _ = try slot(of: model) } }
        let steps = mapping.steps.filter { $0.visit != nil }
        guard walked < identity.models.count else { return false }
        while walked < identity.models.count {
            if let object = identity.models[walked], !identity.deleted.contains(walked) {
                let model = unsafeDowncast(object, to: D.Model.self)
                for step in steps { try step.visit?(model, walked, core) }
            }
            walked += 1
        }
        return true
    }

    /// Objects that the walk found are forgotten unless the save succeeds.
    override func endWalk() {
        for id in found.reversed() { identity.remove(id) }
        found = []
    }

    override func collect(into plan: inout WritePlan) throws {
        grow(to: identity.models.count)
        let rank = core.order.firstIndex { $0 === self } ?? 0
        for slot in identity.models.indices {
            guard let object = identity.models[slot] else { continue }
            let model = unsafeDowncast(object, to: D.Model.self)
            let old = snapshots[slot]
            if identity.deleted.contains(slot) {
                if let old { plan.deletes[rank, default: []].append(D.schema.deletion(of: old)) }
                let id = mapping.idOf(model)
                plan.commit.append { [self] in forget(id) }
            } else if let old {
                guard let new = try changed(old, model, slot) else { continue }
                let change = D.schema.update(from: old, to: new)
                if let row = change.row { plan.updates.append(row) }
                plan.relinks += change.links
                plan.commit.append { [self] in snapshots[slot] = new }
            } else {
                let new = try record(of: model)
                let change = D.schema.insertion(of: new)
                plan.inserts[rank, default: []].append(change.row)
                plan.relinks += change.links
                plan.commit.append { [self] in stored(new, model) }
            }
        }
        plan.commit.append { [self] in
            // Objects added while the save waited are left for the next one.
            added.removeAll { knownSlot(of: $0).flatMap(snapshot) != nil }
            for holding in holdings.values { holding.commit() }
        }
    }

    private func forget(_ id: D.ID) {
        if let slot = identity.slot(id) { snapshots[slot] = nil }
        identity.remove(id)
    }

    private func stored(_ dto: D, _ model: D.Model) {
        let slot = identity.slot(dto.id) ?? identity.register(dto.id, model)
        grow(to: slot + 1)
        snapshots[slot] = dto
        filled[slot] = .max
    }

    private func isKnown(_ step: Step<D>, _ index: Int, _ model: D.Model, _ slot: Int) -> Bool {
        guard let isEmpty = step.isEmpty, filled[slot] & (1 << UInt64(index & 63)) == 0 else { return true }
        return !isEmpty(model)
    }

    /// The DTO that the model stores now, or nil if that is the snapshot.
    private func changed(_ old: D, _ model: D.Model, _ slot: Int) throws -> D? {
        var isDirty = false
        for (index, step) in mapping.steps.enumerated()
        where try isKnown(step, index, model, slot) && !step.isClean(old, model, core) {
            isDirty = true
            break
        }
        guard isDirty else { return nil }
        return try build(model, old: old) { [self] step, index in
            try isKnown(step, index, model, slot) && !step.isClean(old, model, core)
        }
    }

    /// The DTO of a model, without a snapshot.
    func record(of model: D.Model) throws -> D { try build(model, old: nil) { _, _ in true } }

    private func build(_ model: D.Model, old: D?, isDirty: (Step<D>, Int) throws -> Bool) throws -> D {
        var values: [Any] = []
        for property in D.schema.properties {
            guard let index = mapping.steps.firstIndex(where: { $0.property == property.path }) else {
                throw GraphError(.invalidSchema, "no entry covers it", type: D.schema.name, property: property.name)
            }
            let step = mapping.steps[index]
            if let old, try !isDirty(step, index) {
                values.append(old[keyPath: property.path])
                continue
            }
            do {
                guard let answer = step.answer else {
                    throw GraphError(.invalidSchema, "no way back", type: D.schema.name, property: property.name)
                }
                values.append(try answer(model, old, core))
            } catch var error as GraphError where error.path == nil {
                error.path = "\(D.schema.name)(\(mapping.idOf(model))).\(property.name)"
                throw error
            }
        }
        return try D.schema.make { values[$0] }
    }

    override func evict(_ model: AnyObject) {
        guard let model = model as? D.Model else { return }
        forget(mapping.idOf(model))
    }

    // MARK: For the conflict certificate

    override func visitNested(_ dto: Any, _ visit: (any DTO.Type, Any, String) -> Void) {
        guard let dto = dto as? D else { return }
        for step in mapping.steps { step.nested?(dto, visit) }
    }

    override func describe(_ dto: Any) -> (name: String, id: String, values: [(String, String)])? {
        guard let dto = dto as? D else { return nil }
        let values = D.schema.properties.filter { !$0.isNested }.map { property in
            (property.name, property.stored(dto).map(\.description).joined(separator: ", "))
        }
        return (D.schema.name, "\(dto.id)", values)
    }
}
