/// Where a session reads and writes. Wiring a database of one's own takes this and a ``GraphSource`` and a
/// ``ChangeSink``. In a module without the feature `NonisolatedNonsendingByDefault`, write the closures' type as
/// `nonisolated(nonsending) (any GraphSource) async throws -> Void`: they run where the session is.
public protocol GraphBacking {
    /// Runs `body` with a source whose answers all come from one snapshot.
    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws
    /// Runs `body` in one transaction, which is undone if it throws.
    /// The sink should be a ``GraphSource`` too, which sees what the transaction has written: then an insert that fails
    /// because its row is there becomes an update.
    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws
    /// Whether it keeps DTOs of this type. The session maps others, but neither reads them again nor writes them.
    func stores(_ type: any DTO.Type) -> Bool
}

extension GraphBacking {
    /// Everything, unless the backing says otherwise.
    public func stores(_ type: any DTO.Type) -> Bool { true }
}

/// An identity map and a unit of work: one instance for each stored object, and saves of what changed.
///
/// A session belongs to the actor or task that made it, as its models do: it is not `Sendable`, and its async
/// functions run on the caller's actor. Loads and saves run one after the other.
public final class GraphSession {
    let core = SessionCore()
    let backing: (any GraphBacking)?
    private let mistakes: [String]
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - backing: the database; nil for a session that only maps.
    ///   - mappings: one for each DTO type. Mistakes in them are raised, all at once, by the first use.
    public init(_ backing: (any GraphBacking)?, _ mappings: [any AnyMapping]) {
        self.backing = backing
        for mapping in mappings { mapping.register(in: core) }
        for table in core.order {
            if let type = table.dtoType {
                table.isStored = !(type is any KeylessDTO.Type) && backing?.stores(type) ?? true
            }
            table.attach()
        }
        mistakes = mappings.flatMap { [core] in $0.validate(in: core) }
        if !mistakes.isEmpty { core.forgetTables() }
    }

    /// A session without a database: it maps DTOs that it is given.
    public convenience init(_ mappings: any AnyMapping...) { self.init(nil, mappings) }

    /// The most objects that one load may gather; more is an error that names the type.
    public var loadLimit: Int {
        get { core.limit }
        set { core.limit = newValue }
    }

    /// Throws one error that lists every mistake of the session's schemas and mappings.
    public func validate() throws {
        guard !mistakes.isEmpty else { return }
        throw GraphError(.invalidSchema, mistakes.joined(separator: "\n"))
    }

    // MARK: Loading

    /// Maps DTOs whose links are nested, or lead to objects that the session has.
    ///
    /// - Returns: one model a DTO, in order; the same instance for the same id.
    /// - Throws: ``GraphError`` of kind `.conflict` if two copies of one object differ, `.dangling` for a link to an
    ///   object that is nowhere, `.conversion` with the path. No model is changed then.
    @discardableResult
    public func map<D: Mappable>(_ dtos: [D]) throws -> [D.Model]
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        try notBusy()
        let table = try core.table(D.self)
        core.startLoad()
        defer { core.releaseObjects() }
        table.mapping.passes.offerAll(table, dtos)
        core.noteRoots()
        while try core.expand() { try core.requireLoaded() }
        try materialise(dtos)
        return try table.mapping.passes.models(table, dtos)
    }

    /// Loads the DTOs that `roots` fetches, and what they link to as far as `loading` says, from one snapshot of the
    /// backing.
    @discardableResult
    public func load<D: Mappable>(
        _ type: D.Type, loading: Loading = .all, _ roots: (any GraphSource) async throws -> [D]
    ) async throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        let table = try core.table(D.self)
        await acquire()
        defer { release() }
        var loaded: [D] = []
        try await required(backing).snapshot { source in
            core.startLoad()
            core.loading = loading
            defer {
                core.loading = .all
                core.releaseObjects()
            }
            loaded = try await roots(source)
            table.mapping.passes.offerAll(table, loaded)
            core.noteRoots()
            while try core.expand() {
                for table in core.order where table.hasRequests { try await table.fetch(from: source) }
            }
            try materialise(loaded)
        }
        return try table.mapping.passes.models(table, loaded)
    }

    /// The object with this id: from the session if it has it, without a query, else from the backing.
    public func find<D: Mappable>(_ type: D.Type, _ id: D.ID, loading: Loading = .all) async throws -> D.Model?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        if let known = try core.table(D.self).model(id) { return known }
        return try await load(type, loading: loading) { try await $0.fetch(type, ids: [id]) }.first
    }

    private func materialise<D: Mappable>(_ roots: [D]) throws {
        if core.hasConflict, let conflict = Certificate.find(roots.map { (D.self, $0) }, core) { throw conflict }
        try core.materialise()
    }

    // MARK: Writing back

    /// Makes `model` part of the next save. Only needed for objects that no loaded object links to, for evicted ones, and
    /// to take back a deletion. Whether its row is there is found out by the save.
    public func add(_ model: AnyObject) throws {
        try validate()
        try core.anyTable(for: model).add(model)
    }

    /// Deletes the object with the next save. Links to it are written as if they were empty, and are once it is saved.
    public func delete(_ model: AnyObject) throws {
        try validate()
        try core.anyTable(for: model).delete(model)
    }

    /// Forgets the model, with any edits. An error while a load or save is under way.
    public func evict(_ model: AnyObject) throws {
        try validate()
        try notBusy()
        try core.anyTable(for: model).evict(model)
    }

    /// What a save would do now. Touches neither the models nor the backing. Complexity: O(objects held).
    public func changes() throws -> ChangeSet {
        try validate()
        return try core.plan().changeSet(ranks: core.ranks())
    }

    /// Writes what changed, in one transaction.
    ///
    /// New objects are inserted. If that fails and rows turn out to be there under their ids, the same transaction that
    /// looks them up writes what differs as updates instead: whether an object is new is found out, not guessed, and a
    /// save of objects that are new pays nothing for it. What such an object leaves nil or empty is kept.
    ///
    /// - Returns: what was written. Edits made while it waited are left for the next save.
    /// - Throws: whatever goes wrong; the session and the backing are then as before, and the same save can be
    ///   tried again.
    @discardableResult
    public func save() async throws -> ChangeSet {
        try validate()
        await acquire()
        defer { release() }
        let plan = try core.plan()
        let changes = plan.changeSet(ranks: core.ranks())
        if !changes.isEmpty {
            do {
                try await required(backing).transaction { sink in try await sink.apply(changes) }
            } catch {
                return try await saveFinding(error)
            }
        }
        core.commit(plan)
        return changes
    }

    /// The DTO of a model, with its nested DTOs. Objects of classes are new ones, linked to each other as the models are.
    ///
    /// Complexity: O(what it nests or, for classes, links to), whatever the depth.
    public func record<D: Mappable>(_ type: D.Type, of model: D.Model) throws -> D
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        let table = try core.table(type)
        return try table.pool == nil ? table.record(of: model) : table.wholeRecord(of: model)
    }

    func required(_ backing: (any GraphBacking)?) throws -> any GraphBacking {
        guard let backing else {
            throw GraphError(.misuse, "the session has no database; make it with one to load and save")
        }
        return backing
    }

    // MARK: One after the other

    func notBusy() throws {
        if isBusy { throw GraphError(.misuse, "a load or save of this session is under way; await it first") }
    }

    func acquire() async {
        if isBusy { await withCheckedContinuation { waiting.append($0) } } else { isBusy = true }
    }

    func release() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }
}

extension SessionCore {
    var hasConflict: Bool { order.contains { $0.hasConflict } }

    /// For loads without a source: everything asked for must be there already.
    func requireLoaded() throws { for table in order { try table.requireLoaded() } }
}
