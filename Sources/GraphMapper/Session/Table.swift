import Foundation

/// A session's table of one DTO type: the mapping, the snapshots by slot, and what the load under way has gathered.
public final class Table<D: Mappable>: AnyTable where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let mapping: Mapping<D>
    @usableFromInline let identity: IdentityMap<D.ID>
    @usableFromInline unowned let core: SessionCore
    /// What the source last answered, or a save last wrote, by slot.
    @exclusivity(unchecked) @usableFromInline var snapshots: ContiguousArray<D?> = []
    /// One bit a step: whether the model's link was ever filled.
    @exclusivity(unchecked) @usableFromInline var filled: ContiguousArray<UInt64> = []
    var holdings: [AnyKeyPath: Holding] = [:]

    // Exclusivity is not checked at run time for what the loops below touch (the checks were a tenth of a load): no
    // closure of a mapping can reach a table, and a session is confined to one task.

    // The load under way. An id is given an index when it is first seen; its DTO may arrive later.
    @exclusivity(unchecked) @usableFromInline var indices: [IDKey<D.ID>: Int32] = [:]
    @exclusivity(unchecked) @usableFromInline var ids: ContiguousArray<D.ID> = []
    @exclusivity(unchecked) @usableFromInline var incoming: ContiguousArray<D?> = []
    /// Indices in the order in which their DTOs came.
    @exclusivity(unchecked) @usableFromInline var arrived: ContiguousArray<Int32> = []
    /// For each step, the targets' indices, in the order of `arrived`; -1 for one that the session has.
    @exclusivity(unchecked) @usableFromInline var edges: [ContiguousArray<Int32>] = []
    /// For each step, how many of `arrived` have had their links followed: always the first ones.
    @exclusivity(unchecked) @usableFromInline var followed: [Int] = []
    @exclusivity(unchecked) @usableFromInline var wanted: [D.ID] = []
    @exclusivity(unchecked) @usableFromInline var slots: ContiguousArray<Int32> = []
    @exclusivity(unchecked) @usableFromInline var differing = false
    @exclusivity(unchecked) @usableFromInline var unmade: [Int32] = []
    @exclusivity(unchecked) @usableFromInline var made: [D.ID] = []
    /// Copies of DTOs that came before, whose nested DTOs have not been offered.
    @exclusivity(unchecked) @usableFromInline var copies: [D] = []
    private var expanded = 0
    private var levelEnd = Int.max
    private var requests: [(any GraphSource) async throws -> [D]] = []

    // The walk under way.
    @exclusivity(unchecked) @usableFromInline var walked = 0
    @exclusivity(unchecked) @usableFromInline var found: [D.ID] = []
    var added: [D.Model] = []

    /// Slots of objects whose rows another writer has deleted.
    @usableFromInline var vanished: Set<Int> = []
    /// What the load under way has asked for and not got, although the session has it.
    var vanishing: [D.ID] = []
    /// New objects of the last plan, and the rows that a failed save found under their ids.
    var inserting: [D.ID] = []
    var rows: [IDKey<D.ID>: D] = [:]

    init(_ mapping: Mapping<D>, _ identity: IdentityMap<D.ID>, _ core: SessionCore) {
        self.mapping = mapping
        self.identity = identity
        self.core = core
    }

    override var recordType: ObjectIdentifier { ObjectIdentifier(D.self) }
    override var dtoType: (any DTO.Type)? { D.self }
    override var columnTargets: [any DTO.Type] {
        D.schema.properties.compactMap { $0.isList ? nil : $0.link?.record }
    }
    override func holds(_ model: AnyObject) -> Bool { model is D.Model }

    // MARK: Looking up

    @inlinable func model(at slot: Int) -> D.Model? {
        identity.models[slot].map { unsafeDowncast($0, to: D.Model.self) }
    }

    @inlinable func model(_ id: D.ID) -> D.Model? { identity.slot(id).flatMap { model(at: $0) } }

    @inlinable func required(_ id: D.ID) throws -> D.Model {
        guard let model = model(id) else { throw dangling(id) }
        return model
    }

    @usableFromInline func dangling(_ id: D.ID) -> GraphError {
        GraphError(
            .dangling, "it is referred to, but the source has no such object", type: D.schema.name, id: "\(id)")
    }

    @inlinable func snapshot(_ slot: Int) -> D? { slot < snapshots.count ? snapshots[slot] : nil }

    @usableFromInline func holding(_ foreignKey: AnyKeyPath) -> Holding {
        if let known = holdings[foreignKey] { return known }
        let new = Holding()
        holdings[foreignKey] = new
        return new
    }

    @inlinable func isDeleted(_ model: D.Model) -> Bool {
        !identity.deleted.isEmpty && isDeleted(id: mapping.idOf(model))
            || !identity.dropped.isEmpty && identity.dropped[ObjectIdentifier(model)] != nil
    }

    @inlinable func isDeleted(id: D.ID) -> Bool {
        !identity.deleted.isEmpty && identity.slot(id).map(identity.deleted.contains) ?? false
    }

    /// Makes the slot's snapshot and mask addressable.
    @inlinable func grow(to count: Int) {
        snapshots.reserveCapacity(count)
        filled.reserveCapacity(count)
        while snapshots.count < count {
            snapshots.append(nil)
            filled.append(0)
        }
    }

    // MARK: Gathering

    override var hasUnexpanded: Bool { expanded < arrived.count || !copies.isEmpty }
    override var hasRequests: Bool { !wanted.isEmpty || !requests.isEmpty }
    override var hasConflict: Bool { differing }

    override func startLoad() {
        indices = [:]
        ids = []
        incoming = []
        arrived = []
        edges = mapping.steps.map { _ in [] }
        followed = mapping.steps.map { _ in 0 }
        levelEnd = .max
        wanted = []
        slots = []
        differing = false
        unmade = []
        made = []
        copies = []
        vanishing = []
        expanded = 0
        requests = []
    }

    /// Takes a DTO into the load and answers its index. An equal copy merges silently; one that differs is a
    /// conflict, raised once everything is gathered.
    @inlinable @discardableResult func offer(_ dto: D) -> Int32 {
        let id = dto.id
        let new = Int32(truncatingIfNeeded: incoming.count)
        let index = indices[IDKey(id), default: new]
        if index == new {
            indices[IDKey(id)] = new
            ids.append(id)
            incoming.append(dto)
        } else if incoming[Int(index)] != nil {
            if !differing, !isSame(Int(index), dto) { differing = true }
            if mapping.hasNested { copies.append(dto) }
            return index
        } else {
            incoming[Int(index)] = dto
        }
        arrived.append(index)
        return index
    }

    /// Asks for the DTO with this id, unless it is here, and answers its index.
    @inlinable func want(_ id: D.ID) -> Int32 {
        let new = Int32(truncatingIfNeeded: incoming.count)
        let index = indices[IDKey(id), default: new]
        if index == new {
            indices[IDKey(id)] = new
            ids.append(id)
            incoming.append(nil)
            wanted.append(id)
        }
        return index
    }

    /// Asks for the DTOs whose foreign key is one of `owners`.
    @usableFromInline func wantHeld<Owner: Storable & Hashable>(by foreignKey: AnyKeyPath, _ owners: [Owner]) throws {
        guard let name = D.schema.property(at: foreignKey)?.name else {
            throw GraphError(.invalidSchema, "the schema does not read \(foreignKey)", type: D.schema.name)
        }
        requests.append { source in try await source.fetch(D.self, where: name, isIn: owners) }
    }

    override func wantAll() {
        for dto in snapshots { if let dto { _ = want(dto.id) } }
    }

    override func requireLoaded() throws {
        for id in wanted { _ = try required(id) }
        wanted = []
        requests = []
    }

    @inlinable @inline(__always) func isSame(_ index: Int, _ copy: D) -> Bool {
        withPointer(to: index, of: incoming) { known in
            withUnsafePointer(to: copy) { copy in
                // Most copies share the storage of their strings and arrays, and then all bytes are the same.
                memcmp(known, copy, MemoryLayout<D>.size) == 0 || mapping.isSame(known, copy)
            }
        }
    }

    /// Calls `body` with the address of an element that is not nil.
    ///
    /// An optional's payload lies at its start (Swift ABI, single-payload enums), so that nothing is copied.
    @inlinable @inline(__always)
    func withPointer<T>(to index: Int, of array: ContiguousArray<D?>, _ body: (UnsafePointer<D>) throws -> T) rethrows
        -> T
    {
        try array.withUnsafeBufferPointer {
            try body(UnsafeRawPointer($0.baseAddress.unsafelyUnwrapped + index).assumingMemoryBound(to: D.self))
        }
    }

    private func isFollowed(_ step: Step<D>) -> Bool {
        if step.isNeeded { return true }
        guard core.level < core.loading.depth else { return false }
        let isNamed = !core.loading.links.isEmpty && step.modelPath.map(core.loading.links.contains) ?? false
        return isNamed || !core.loading.isOnly && !step.isOnDemand
    }

    override func endLevel() { levelEnd = arrived.count }

    override func links(to target: ObjectIdentifier) -> [(name: String, count: Int?)] {
        mapping.steps.enumerated().compactMap { index, step in
            guard let path = step.modelPath, step.targets.contains(where: { ObjectIdentifier($0) == target }) else {
                return nil
            }
            return ("\(path)", step.property == nil ? nil : edges[index].count)
        }
    }

    override func expand() throws {
        let range = expanded..<min(arrived.count, levelEnd)
        expanded = range.upperBound
        for (index, step) in mapping.steps.enumerated() where !range.isEmpty && isFollowed(step) {
            try step.gather?(self, range, index, core)
            followed[index] = range.upperBound
        }
        let copies = copies
        self.copies = []
        if !copies.isEmpty { for step in mapping.steps { try step.offerNested?(copies, core) } }
    }

    override func fetch(from source: any GraphSource) async throws {
        let ids = wanted
        let asked = requests
        wanted = []
        requests = []
        if !ids.isEmpty {
            mapping.passes.offerAll(self, try await source.fetch(D.self, ids: ids))
            for id in ids where indices[IDKey(id)].flatMap({ incoming[Int($0)] }) == nil {
                _ = try required(id)
                if identity.slot(id).flatMap(snapshot) != nil { vanishing.append(id) }
            }
        }
        for request in asked { mapping.passes.offerAll(self, try await request(source)) }
        core.gathered += ids.count
        if arrived.count > core.limit {
            let link = core.heaviestLink(to: ObjectIdentifier(D.self), of: arrived.count)
            let advice =
                link.map { "mark \($0) as onDemand, load less of the graph (loading:)" } ?? "ask for fewer objects"
            throw GraphError(
                .tooLarge,
                "the load reached \(arrived.count) objects, more than the limit of \(core.limit); \(advice) or raise "
                    + "the limit", type: D.schema.name)
        }
    }

    // MARK: Materialising

    override var hasUnmade: Bool { !unmade.isEmpty }

    override func checkGathered() throws {
        if differing {
            throw GraphError(
                .conflict, "the source answered with copies of one object that differ", type: D.schema.name)
        }
        try mapping.passes.check(self)
        slots = ContiguousArray(repeating: -1, count: ids.count)
        unmade = Array(0..<Int32(truncatingIfNeeded: ids.count))
        identity.reserve(unmade.count)
        made.reserveCapacity(unmade.count)
    }

    @inlinable func checkEach() throws {
        let checks = mapping.steps.compactMap { step in step.check.map { (step, $0) } }
        guard !checks.isEmpty else { return }
        for index in arrived {
            try withPointer(to: Int(index), of: incoming) { dto in
                for (step, check) in checks {
                    do { try check(dto) } catch { throw located(error, step, dto.pointee) }
                }
            }
        }
    }

    @usableFromInline func located(_ error: any Error, _ step: Step<D>, _ dto: D) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        let name = D.schema.properties.first { $0.path == step.property }?.name
        error.type = D.schema.name
        error.id = "\(dto.id)"
        error.property = name
        error.path = "\(D.schema.name)(\(dto.id)).\(name ?? "?")"
        return error
    }

    override func makeModels() throws -> Bool { try mapping.passes.make(self) }

    /// Makes and registers what is new, as far as what it needs is there; true if any was.
    @inlinable func makeEach() throws -> Bool {
        var waiting: [Int32] = []
        for index in unmade {
            let id = ids[Int(index)]
            if let slot = identity.slot(id) {
                slots[Int(index)] = Int32(truncatingIfNeeded: slot)
                continue
            }
            guard let dto = incoming[Int(index)] else { throw dangling(id) }
            do {
                slots[Int(index)] = Int32(truncatingIfNeeded: identity.register(id, try mapping.make(dto, core)))
                made.append(id)
            } catch is NotYet {
                waiting.append(index)
            }
        }
        let isProgress = waiting.count < unmade.count
        unmade = waiting
        return isProgress
    }

    override func unmake() {
        for id in made.reversed() { identity.remove(id) }
        startLoad()
    }

    override func needsCycle() -> GraphError {
        guard let first = unmade.first else { return GraphError(.cycle, "", type: D.schema.name) }
        let id = "\(ids[Int(first)])"
        var path = ["\(D.schema.name)(\(id))"]
        var next = need(of: id)
        while let need = next, let table = core.tables[ObjectIdentifier(need.type)] {
            let place = "\(table.name)(\(need.id))"
            let isSeen = path.contains(place)
            path.append(place)
            if isSeen { break }
            next = table.need(of: need.id)
        }
        return GraphError(
            .cycle,
            "its initializer needs an object that is missing or needs this one: "
                + path.joined(separator: " needs "), type: D.schema.name, id: id)
    }

    override var name: String { D.schema.name }

    override func need(of id: String) -> NotYet? {
        guard let index = unmade.first(where: { "\(ids[Int($0)])" == id }), let dto = incoming[Int(index)] else {
            return nil
        }
        do {
            _ = try mapping.make(dto, core)
            return nil
        } catch { return error as? NotYet }
    }

    override func readFields() throws {
        try mapping.passes.read(self)
    }

    @inlinable func readEach() throws {
        grow(to: identity.models.count)
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard let model = model(at: slot) else { continue }
            let isOld = snapshots[slot] != nil
            try withPointer(to: Int(index), of: incoming) { dto in
                guard isOld else { return try mapping.readAll(dto, model) }
                for step in mapping.steps {
                    guard let read = step.read else { continue }
                    if isUnedited(step.isClean, slot, model) || takesTheirs(step, slot, model, dto) {
                        try read(dto, model)
                    }
                }
            }
        }
    }

    override func linkModels() throws {
        var masks: [Int: UInt64] = [:]
        for (index, step) in mapping.steps.enumerated() {
            let count = followed[index]
            if count < arrived.count {
                try unfillChanged(step, index, from: count)
                try step.linkKnown?(self, count, core)
            }
            guard let link = step.link, count > 0 else { continue }
            let putBack = step.isOnDemand ? setAside(step) : []
            try link(self, index, core)
            for put in putBack { put() }
            masks[count, default: 0] |= step.bit
        }
        for (count, mask) in masks { mapping.passes.mark(self, mask, count) }
    }

    /// A link that another writer has changed and this load does not follow is unknown again, unless the app has
    /// changed it too.
    private func unfillChanged(_ step: Step<D>, _ index: Int, from start: Int) throws {
        guard let isSame = step.isSame, let drop = step.drop else { return }
        let bit = step.bit
        for place in arrived[start...] {
            let slot = Int(slots[Int(place)])
            guard filled[slot] & bit != 0, incoming[Int(place)] != nil, snapshots[slot] != nil,
                let model = model(at: slot)
            else { continue }
            let isKept = withPointer(to: slot, of: snapshots) { old in
                withPointer(to: Int(place), of: incoming) { isSame(old, $0) }
            }
            guard !isKept, try isClean(step.isClean, slot, model) else { continue }
            drop(model, core, true)
            filled[slot] &= ~bit
        }
    }

    @inlinable func markFilled(_ mask: UInt64, _ count: Int) {
        for index in arrived.prefix(count) { filled[Int(slots[Int(index)])] |= mask }
    }

    override func finishLoad() {
        noteVanished()
        mapping.passes.finish(self)
    }

    @inlinable func finishEach() {
        for index in arrived { snapshots[Int(slots[Int(index)])] = incoming[Int(index)] }
        clear()
    }

    @usableFromInline func clear() { startLoad() }

    /// The model of an edge: one of this load, or one that the session had.
    @inlinable @inline(__always) func linked(_ edge: Int32) throws -> D.Model {
        guard let model = model(at: Int(slots[Int(edge)])) else { throw dangling(ids[Int(edge)]) }
        return model
    }

    /// Calls `body` for each DTO of the load whose link, that of `step`, the app has not changed since it was filled.
    ///
    /// - Parameter count: how many edges the DTO has; `body` gets where they start.
    @inlinable @inline(__always)
    func forEachToLink(
        _ step: Int, _ isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool, count: (D) -> Int,
        body: (D, D.Model, Int) throws -> Void
    ) throws {
        var start = 0
        for index in arrived.prefix(followed[step]) {
            let slot = Int(slots[Int(index)])
            guard let dto = incoming[Int(index)], let model = model(at: slot) else { continue }
            defer { start += count(dto) }
            if snapshots[slot] != nil, try !self.isClean(isClean, slot, model),
                isKnown(mapping.steps[step], step, model, slot)
            {
                continue
            }
            try body(dto, model, start)
        }
    }

    /// Calls `body` for each DTO that came as `range`, with the step's edges to append to.
    @inlinable @inline(__always)
    func withEdges(_ step: Int, _ range: Range<Int>, body: (D, inout ContiguousArray<Int32>) throws -> Void) rethrows {
        var list: ContiguousArray<Int32> = []
        swap(&list, &edges[step])
        defer { swap(&list, &edges[step]) }
        for place in range {
            if let dto = incoming[Int(arrived[place])] { try body(dto, &list) }
        }
    }

    /// Whether the app has left the property alone. A value that does not encode is an edit: a load keeps it, and a
    /// save says what is wrong with it.
    @inlinable @inline(__always)
    func isUnedited(
        _ check: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool, _ slot: Int, _ model: D.Model
    ) -> Bool { (try? isClean(check, slot, model)) ?? false }

    /// Asks a step about a slot that has a snapshot.
    @inlinable @inline(__always)
    func isClean(
        _ check: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool, _ slot: Int, _ model: D.Model
    ) rethrows -> Bool {
        try withPointer(to: slot, of: snapshots) { try check($0, model, core) }
    }

    // MARK: Walking back

    override func add(_ model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        identity.dropped[ObjectIdentifier(model)] = nil
        identity.evicted[ObjectIdentifier(model)] = nil
        if let slot = identity.slot(mapping.idOf(model)), identity.models[slot] === model { forgetVanished(slot) }
        if let slot = identity.slot(mapping.idOf(model)) {
            // One that was deleted and is added again, or a new one in its place, takes over what is stored.
            let isReplaced = identity.deleted.remove(slot) != nil
            guard isReplaced || identity.models[slot] === model else { throw twoInstances(model) }
            if identity.models[slot] !== model, slot < filled.count { filled[slot] = .max }
            identity.models[slot] = model
        }
        added.append(model)
    }

    override func delete(_ model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        added.removeAll { $0 === model }
        if let slot = knownSlot(of: model) {
            identity.deleted.insert(slot)
        } else {
            identity.dropped[ObjectIdentifier(model)] = model
        }
    }

    @usableFromInline func twoInstances(_ model: D.Model) -> GraphError {
        GraphError(
            .conflict, "two instances claim this id; keep the one that the session loaded", type: D.schema.name,
            id: "\(mapping.idOf(model))")
    }

    @usableFromInline func twoOwners(_ first: Int, _ second: Int, of id: String, _ type: String) -> GraphError {
        let owners = [first, second].compactMap { model(at: $0) }.map { "\(mapping.idOf($0))" }.sorted()
        return GraphError(
            .conflict, "two owners hold it, \(D.schema.name) \(owners.joined(separator: " and ")); remove it from one",
            type: type, id: id)
    }

    /// The slot of a model that the session knows.
    @inlinable func knownSlot(of model: D.Model) -> Int? {
        identity.slot(mapping.idOf(model)).flatMap { identity.models[$0] === model ? $0 : nil }
    }

    /// The slot of a model, which becomes a new object if the session does not know it.
    @inlinable @discardableResult func slot(of model: D.Model) throws -> Int {
        if !identity.dropped.isEmpty, identity.dropped[ObjectIdentifier(model)] != nil { return -1 }
        let id = mapping.idOf(model)
        if let slot = identity.slot(id) {
            if identity.models[slot] === model { return slot }
            if !identity.evicted.isEmpty, identity.isEvicted(model) { return -1 }
            throw twoInstances(model)
        }
        if !identity.evicted.isEmpty, identity.isEvicted(model) { return -1 }
        found.append(id)
        return identity.register(id, model)
    }

    override func startWalk() {
        for holding in holdings.values { holding.startWalk() }
        found = []
        walked = 0
    }

    // Overrides must stand in the class; the work is done in the files named after it.

    override func attach() { for step in mapping.steps { step.attach?(core) } }
    override var hasInsertions: Bool { !inserting.isEmpty }
    override func lookUp(in source: any GraphSource) async throws -> Bool { try await findRows(in: source) }
    override func endLookUp() { rows = [:] }
    override var hasVanishing: Bool { !vanishing.isEmpty }
    /// Vanished objects that are hidden count as deleted.
    override func hideVanished() { identity.deleted.formUnion(vanished) }
    /// An object that the app has deleted and that vanished is just gone.
    override func showVanished() { identity.deleted.subtract(vanished) }
    override func state(of model: AnyObject) -> GraphSession.ObjectState? { objectState(model) }
    override func want(_ model: AnyObject) throws { try wantKnown(model) }
    override func isLoaded(_ model: AnyObject, _ path: AnyKeyPath) throws -> Bool { try isLinkLoaded(model, path) }
    override func clear(_ model: AnyObject, _ path: AnyKeyPath) throws { try clearLink(model, path) }
    override func requireLink(_ path: AnyKeyPath) throws { _ = try link(path) }
    override func forgetPending() {
        added = []
        identity.deleted = []
        identity.dropped = [:]
    }
    override func rollBack() throws { try undoEdits() }

    override var identityMap: AnyObject { identity }
    override func hasSnapshot(_ slot: Int) -> Bool { snapshot(slot) != nil }
    override func forgetSnapshot(_ slot: Int) {
        if slot < snapshots.count { snapshots[slot] = nil }
        vanished.remove(slot)
    }

    override func walk() throws -> Bool {
        if walked == 0 { for model in added { try slot(of: model) } }
        return try mapping.passes.walk(self)
    }

    @inlinable func walkEach() throws -> Bool {
        let steps = mapping.visits
        guard walked < identity.models.count else { return false }
        if steps.isEmpty { walked = identity.models.count }
        while walked < identity.models.count {
            if let model = model(at: walked), identity.deleted.isEmpty || !identity.deleted.contains(walked) {
                for visit in steps { try visit(model, walked, core) }
            }
            walked += 1
        }
        return true
    }

    /// Objects that the walk found are forgotten unless the save succeeds.
    override func endWalk() {
        for holding in holdings.values { holding.endWalk() }
        for id in found.reversed() { identity.remove(id) }
        found = []
    }

    override func collect(into plan: inout WritePlan) throws {
        let rank = core.order.firstIndex { $0 === self } ?? 0
        let isShared = core.sharing(self).count > 1
        inserting = []
        for slot in try mapping.passes.findChanged(self) {
            guard let model = model(at: slot) else { continue }
            let old = vanished.contains(slot) ? nil : snapshots[slot]
            if identity.deleted.contains(slot) {
                if let old { plan.delete(D.schema.deletion(of: old), rank, isShared) }
                let id = mapping.idOf(model)
                plan.isDeleting = true
                plan.forget.append { [self] in forget(id) }
            } else if vanished.contains(slot) {
                try checkVanished(slot, model)
            } else if let old {
                try checkWhole(slot, model)
                let new = try rebuilt(old, model, slot)
                guard new.id == old.id else {
                    throw GraphError(
                        .misuse, "its id became \(new.id); ids do not change, so delete it and add another",
                        type: D.schema.name, id: "\(old.id)")
                }
                let change = D.schema.update(from: old, to: new)
                plan.update(change.row, change.links, isShared)
                let written = writtenLinks(of: model)
                plan.commit.append { [self] in
                    snapshots[slot] = new
                    filled[slot] |= written
                }
                settle(new, model, &plan)
            } else if isShared, !core.isWriter(self, slot) {
                continue
            } else if let stored = rows[IDKey(mapping.idOf(model))] {
                try collect(model, slot, foundAs: stored, into: &plan)
            } else {
                let new = try record(of: model)
                inserting.append(new.id)
                settle(new, model, &plan)
                let change = D.schema.insertion(of: new)
                plan.inserts[rank, default: []].append(change.row)
                plan.relinks += change.links
                plan.commit.append { [self] in _ = stored(new, model, slot) }
            }
        }
        if !identity.dropped.isEmpty { plan.isDeleting = true }
        let held = holdings.values.map { ($0, $0.pending) }
        plan.commit.append { [self] in
            // Objects added while the save waited are left for the next one.
            added.removeAll { model in
                knownSlot(of: model).map { slot in core.sharing(self).contains { $0.hasSnapshot(slot) } } ?? false
            }
            for (holding, pending) in held { holding.commit(pending) }
        }
    }

    /// Slots of objects that are new, deleted or differ from their snapshots.
    @inlinable func changedSlots() throws -> [Int] {
        grow(to: identity.models.count)
        var changed: [Int] = []
        for slot in identity.models.indices {
            guard let model = model(at: slot) else { continue }
            guard snapshots[slot] != nil, identity.deleted.isEmpty || !identity.deleted.contains(slot),
                vanished.isEmpty || !vanished.contains(slot)
            else {
                changed.append(slot)
                continue
            }
            if try !isClean(mapping.isClean, slot, model) && isDirty(slot, model) { changed.append(slot) }
        }
        return changed
    }

    /// Whether a property that is known differs from the snapshot.
    @usableFromInline func isDirty(_ slot: Int, _ model: D.Model) throws -> Bool {
        for (index, step) in mapping.steps.enumerated()
        where try !isClean(step.isClean, slot, model) && isKnown(step, index, model, slot) { return true }
        return false
    }

    func forget(_ id: D.ID) {
        if let slot = identity.slot(id) { for table in core.sharing(self) { table.forgetSnapshot(slot) } }
        identity.remove(id, isStored: true)
    }

    /// Takes from every link what the save has deleted.
    override func dropDeleted() {
        for slot in identity.models.indices {
            guard let model = model(at: slot), snapshot(slot) != nil else { continue }
            for step in mapping.steps { step.drop?(model, core, false) }
        }
    }

    override func forgetDropped() { identity.dropped = [:] }

    func stored(_ dto: D, _ model: D.Model, _ walked: Int) -> Int {
        let slot = identity.slot(dto.id) ?? identity.register(dto.id, model, at: walked)
        // Deleted while the save waited: that is for the next one.
        if identity.dropped.removeValue(forKey: ObjectIdentifier(model)) != nil { identity.deleted.insert(slot) }
        grow(to: slot + 1)
        snapshots[slot] = dto
        filled[slot] = .max
        return slot
    }

    /// False for a link that is nil or empty and was never filled: what it stores is unknown.
    @inlinable func isKnown(_ step: Step<D>, _ index: Int, _ model: D.Model, _ slot: Int) -> Bool {
        guard let isEmpty = step.isEmpty, filled[slot] & step.bit == 0 else { return true }
        return !isEmpty(model)
    }

    /// The DTO of a loaded model: properties that are clean as in the snapshot.
    func rebuilt(_ old: D, _ model: D.Model, _ slot: Int) throws -> D {
        try build(model, old: old) { [self] step, index in
            try !isClean(step.isClean, slot, model) && isKnown(step, index, model, slot)
        }
    }

    /// The DTO of a model. What the model does not have, or the session has not loaded, is as in the snapshot.
    @usableFromInline func record(of model: D.Model) throws -> D {
        guard let slot = knownSlot(of: model), let old = snapshot(slot) else {
            return try build(model, old: nil) { _, _ in true }
        }
        return try build(model, old: old) { [self] step, index in isKnown(step, index, model, slot) }
    }

    private func build(_ model: D.Model, old: D?, isDirty: (Step<D>, Int) throws -> Bool) throws -> D {
        var values: [Any] = []
        for (property, entry) in zip(D.schema.properties, mapping.entries) {
            guard let index = entry else {
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
        added.removeAll { $0 === model }
        guard let slot = knownSlot(of: model) else { return }
        if core.sharing(self).contains(where: { $0.hasSnapshot(slot) }) { identity.evict(model) }
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
