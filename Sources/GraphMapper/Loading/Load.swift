/// One load, from its first request until the models are linked: made for it, and thrown away with it.
///
/// First everything is gathered, by level, and no model is touched; then models are made, read and linked in one go.
@usableFromInline final class Load {
    @usableFromInline unowned let core: SessionCore
    /// How far links are followed.
    let scope: Loading
    /// Who wins where the app and another writer have changed one property; nil for the app.
    let merge: ((Conflict) throws -> Conflict.Resolution)?
    /// How many links away from the roots the load has come.
    private(set) var level = 0
    /// The objects that the save which reads this has deleted because of rules.
    var ruledOut: Set<ObjectIdentifier> = []
    /// Called when everything is gathered and made, before any model is touched.
    var beforeTouching: (() throws -> Void)?
    @exclusivity(unchecked) @usableFromInline var batches: [TypeKey: AnyLoadBatch] = [:]
    /// The batches so far, in the order of the session's tables, which makes every load deterministic.
    private(set) var all: [any LoadPhase] = []
    /// By the places of the session's tables.
    private var phases: [(any LoadPhase)?]

    init(_ core: SessionCore, _ scope: Loading = .all, merge: ((Conflict) throws -> Conflict.Resolution)? = nil) {
        self.core = core
        self.scope = scope
        self.merge = merge
        phases = Array(repeating: nil, count: core.order.count)
    }

    // MARK: Batches

    /// The batch of a DTO type.
    ///
    /// - Throws: ``GraphError`` for a type that the session does not map.
    @inlinable func batch<D: Mappable>(_ type: D.Type) throws -> LoadBatch<D>
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        // Made for its own type, and never for another.
        if let known = batches[TypeKey(type)] { return unsafeDowncast(known, to: LoadBatch<D>.self) }
        return try newBatch(type)
    }

    /// The batch of a DTO type, if the load has come to it.
    @usableFromInline func knownBatch<D: Mappable>(_ type: D.Type) -> LoadBatch<D>?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        batches[TypeKey(type)].map { unsafeDowncast($0, to: LoadBatch<D>.self) }
    }

    @usableFromInline func newBatch<D: Mappable>(_ type: D.Type) throws -> LoadBatch<D>
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        let batch = LoadBatch(self, try core.table(type))
        add(batch, TypeKey(type))
        return batch
    }

    /// The batch of what a link leads to, by its ids.
    @inlinable @inline(__always) func batch<ID>(_ target: LinkedType) throws -> KeyedBatch<ID> {
        let batch = try batches[TypeKey(target.type)] ?? newBatch(target.type)
        // Made for its own type, and never for another.
        return unsafeDowncast(batch, to: KeyedBatch<ID>.self)
    }

    @usableFromInline func newBatch(_ type: Any.Type) throws -> AnyLoadBatch {
        guard let table = core.erasedTable(type) else { throw core.missing(type) }
        return phase(of: table)
    }

    /// The batch of a table.
    func phase(of table: any ErasedTable) -> any LoadPhase {
        if let known = phases[table.place] { return known }
        let batch = table.newBatch(self)
        add(batch, TypeKey(table.dtoType))
        return batch
    }

    func phase(ofType type: any DTO.Type) -> (any LoadPhase)? { core.erasedTable(type).map { phase(of: $0) } }

    /// The batch of a table, if the load has come to its type.
    func known(_ table: any ErasedTable) -> (any LoadPhase)? { phases[table.place] }

    private func add(_ batch: any LoadPhase, _ type: TypeKey) {
        batches[type] = batch
        phases[batch.place] = batch
        all = phases.compactMap { $0 }
    }

    @usableFromInline func keepsLink(_ batch: AnyLoadBatch, _ entry: Int, _ slot: Int, _ model: AnyObject) -> Bool {
        phases[batch.place]?.keepsLink(entry, slot, model) ?? false
    }

    // MARK: Gathering

    /// Begins with these DTOs.
    func start<D: Mappable>(_ roots: [D]) throws where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        let batch = try batch(D.self)
        batch.offerAll(roots)
        noteRoots()
        try batch.checkLimit()
    }

    func noteRoots() { for batch in all { batch.noteRoots() } }

    /// Follows the links of what has come one level further; true if there is more to fetch or to follow.
    func expand() throws -> Bool {
        for batch in all { batch.endLevel(level) }
        // Batches may be added meanwhile; they have nothing to follow yet.
        for batch in all where batch.hasUnexpanded { try batch.expand() }
        level += 1
        return all.contains { $0.hasRequests || $0.hasUnexpanded }
    }

    /// Follows nested DTOs as far as they go, and fetches nothing.
    func expandNested() throws { while try expand(), all.contains(where: { $0.hasUnexpanded }) {} }

    func fetch(from source: any GraphSource) async throws {
        for batch in all where batch.hasRequests { try await batch.fetch(from: source) }
    }

    func fetch(from source: any ImmediateSource) throws {
        for batch in all where batch.hasRequests { try batch.fetch(from: source) }
    }

    /// Gathers all that the roots lead to.
    func gather(from source: any GraphSource) async throws {
        while try expand() { try await fetch(from: source) }
    }

    /// The same from a source that answers at once.
    func gather(from source: any ImmediateSource) throws {
        while try expand() { try fetch(from: source) }
    }

    /// The same without a source: everything asked for must be there already.
    func gatherNested() throws {
        while try expand() { for batch in all { try batch.requireLoaded() } }
    }

    var hasConflict: Bool { all.contains { $0.hasConflict } }

    /// The link that has led the load to most objects of a type.
    func heaviestLink(to target: ObjectIdentifier, of count: Int) -> String? {
        let links = all.flatMap { $0.links(to: target) }
        let rest = count - links.reduce(0) { $0 + ($1.count ?? 0) }
        return links.max { ($0.count ?? rest) < ($1.count ?? rest) }?.name
    }

    // MARK: Materialising

    /// Makes and links models out of everything gathered, and answers those of the DTOs that the load began with.
    func finish<D: Mappable>(_ roots: [D]) throws -> [D.Model]
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        if hasConflict, let conflict = ConflictReport.find(roots.map { (D.self, $0) }, self) { throw conflict }
        try materialise()
        return try batch(D.self).models(of: roots)
    }

    /// Makes and links models out of everything gathered. On an error no model has been changed.
    func materialise() throws {
        let batches = all
        for batch in batches { try batch.checkGathered() }
        do {
            try make(batches)
            for batch in batches { try batch.resolveEdits() }
            try core.quietly { try beforeTouching?() }
        } catch {
            for batch in batches { batch.unmake() }
            throw error
        }
        // What a payload says is an edit of what is stored.
        if batches.contains(where: { $0.isPayload && $0.hasArrived }) {
            try setModels(batches)
        } else {
            try core.quietly { try setModels(batches) }
        }
    }

    /// Makes models by levels: what leads to an object is made before it, but for what an initializer needs.
    private func make(_ batches: [any LoadPhase]) throws {
        let last = batches.reduce(0) { max($0, $1.lastLevel) }
        for level in 0...last {
            for batch in batches where batch.hasUnmade { _ = try batch.makeModels(through: level) }
        }
        var left = batches.filter { $0.hasUnmade }
        while !left.isEmpty {
            var isProgressing = false
            for batch in left where try batch.makeModels(through: last) { isProgressing = true }
            left = left.filter { $0.hasUnmade }
            if !isProgressing, let stuck = left.first { throw stuck.needsCycle() }
        }
    }

    private func setModels(_ batches: [any LoadPhase]) throws {
        for batch in batches { try batch.readFields() }
        for batch in batches { try batch.linkModels() }
        for batch in batches { batch.moveReassigned() }
        let hasVanished = batches.contains { $0.hasVanishing }
        for batch in batches { try batch.finish() }
        for batch in batches { batch.tellPayloads() }
        for batch in batches { batch.sortOwners() }
        for batch in batches { batch.followReloaded() }
        if hasVanished { core.dropVanished() }
    }
}
