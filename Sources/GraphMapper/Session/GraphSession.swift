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
    /// The columns of each unique index of a table, its key not among them: values are freed before they are taken.
    func uniqueColumns(of table: String) -> [[String]]
    /// Whether foreign keys are checked at commit. If not, a save writes rows in an order that satisfies them all the
    /// time.
    var defersForeignKeys: Bool { get }
    /// The text of the statements that each change of a save runs, for ``GraphSession/plan()``.
    func statements(for changes: ChangeSet) async throws -> [[String]]
}

extension GraphBacking {
    /// Everything, unless the backing says otherwise.
    public func stores(_ type: any DTO.Type) -> Bool { true }
    /// None, unless the backing says otherwise.
    public func uniqueColumns(of table: String) -> [[String]] { [] }
    /// True, unless the backing says otherwise.
    public var defersForeignKeys: Bool { true }
    /// The shape of each change, for backings that have no text for it.
    public func statements(for changes: ChangeSet) async throws -> [[String]] { changes.changes.map { [$0.shape] } }
}

/// An identity map and a unit of work: one instance for each stored object, and saves of what changed.
///
/// A session belongs to the actor or task that made it, as its models do: it is not `Sendable`, and its async
/// functions run on the caller's actor. In Swift 5 mode, where the compiler lets a call from elsewhere pass, that is an
/// error of kind `.misuse`. Loads and saves run one after the other.
///
/// A model belongs to one session. Nobody notices one that is given to a second: each takes it for its own, and neither knows
/// what the other has saved.
public final class GraphSession {
    @usableFromInline let core = SessionCore()
    let base: (any GraphBacking)?
    /// The open transaction of a savepoint.
    var nested: (any GraphBacking)?
    package var backing: (any GraphBacking)? { nested ?? base }
    /// Which models it holds that nobody else does.
    public let retention: Retention
    private let diagnostics: [String]
    let turn = SessionTurn()
    @usableFromInline let confinement: Confinement

    /// - Parameters:
    ///   - backing: the database; nil for a session that only maps.
    ///   - mappings: one for each DTO type. Mistakes in them are raised, all at once, by the first use.
    ///   - retention: which models it holds that nobody else does.
    ///   - isolation: the actor that it belongs to; nil for the first that loads or saves.
    public init(
        _ backing: (any GraphBacking)?, _ mappings: [any AnyMapping], retention: Retention = .strong,
        isolation: (any Actor)? = #isolation
    ) {
        base = backing
        confinement = Confinement(isolation)
        self.retention = retention
        for mapping in mappings { mapping.register(in: core) }
        for table in core.order {
            table.isStored = !(table.dtoType is any KeylessDTO.Type) && backing?.stores(table.dtoType) ?? true
        }
        for table in core.order { table.attach() }
        core.hasBacking = backing != nil
        if let backing {
            core.uniqueColumns = { backing.uniqueColumns(of: $0) }
            core.defersForeignKeys = { backing.defersForeignKeys }
        }
        diagnostics = mappings.flatMap { [core] in $0.validate(in: core) } + core.twinDiagnostics()
        if !diagnostics.isEmpty { core.forgetTables() }
    }

    /// A session without a database: it maps DTOs that it is given.
    public convenience init(
        _ mappings: any AnyMapping..., retention: Retention = .strong, isolation: (any Actor)? = #isolation
    ) {
        self.init(nil, mappings, retention: retention, isolation: isolation)
    }

    /// The most objects that one load may gather; more is an error that names the type.
    public var loadLimit: Int {
        get { core.limit }
        set { core.limit = newValue }
    }

    /// Throws one error that lists every diagnostic of the session's schemas and mappings.
    public func validate() throws {
        guard !diagnostics.isEmpty else { return }
        throw GraphError(.invalidSchema, diagnostics.joined(separator: "\n"))
    }

    // MARK: Loading

    /// Maps DTOs whose links are nested, or lead to objects that the session has.
    ///
    /// - Parameter duplicates: what to make of copies of one object that differ.
    /// - Returns: one model a DTO, in order; the same instance for the same id.
    /// - Throws: ``GraphError`` of kind `.conflict` if two copies of one object differ, `.dangling` for a link to an
    ///   object that is nowhere, `.conversion` with the path. No model is changed then.
    @discardableResult
    public func map<D: Mappable>(_ dtos: [D], duplicates: DuplicatePolicy = .fail) throws -> [D.Model]
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try whileIdle {
            defer { relax() }
            return try core.map(dtos, duplicates)
        }
    }

    /// Loads the DTOs that `roots` fetches, and what they link to as far as `loading` says, from one snapshot of the
    /// backing.
    ///
    /// - Parameter duplicates: what to make of copies of one object that differ, as nested DTOs may.
    @discardableResult
    public func load<D: Mappable>(
        _ type: D.Type, loading: Loading = .all, duplicates: DuplicatePolicy = .fail,
        _ roots: (any GraphSource) async throws -> [D]
    ) async throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try await takeTurn()
        defer { release() }
        var models: [D.Model] = []
        try await required(backing).snapshot { source in
            var load = Load(core, loading)
            let roots = try await roots(source)
            try load.start(roots)
            try await load.gather(from: source)
            if let again = load.choosing(duplicates, among: roots) {
                load = again
                try load.start(roots)
                try await load.gather(from: source)
                load.ignoreCopies()
            }
            models = try load.finish(roots)
        }
        return models
    }

    /// Loads what the DTOs link to, as far as `loading` says, from a source that answers at once: inside a transaction, for
    /// one. Nothing is awaited. If the source is a transaction that can be joined, what was read in it is forgotten when it is
    /// undone, in O(objects held).
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save of the session is under way, and whatever else a
    ///   load throws.
    @discardableResult
    public func load<D: Mappable>(
        _ roots: [D], loading: Loading = .all, duplicates: DuplicatePolicy = .fail, from source: any ImmediateSource
    ) throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try whileIdle {
            defer { relax() }
            guard let transaction = source as? any JoinableTransaction else {
                return try core.load(roots, loading, duplicates) { try $0.gather(from: source) }
            }
            // What is read in a transaction is forgotten if that is undone.
            var image = try SessionImage(core)
            let models = try core.load(roots, loading, duplicates) { try $0.gather(from: source) }
            image.endWork()
            transaction.whenUndone { [image] in try image.restore() }
            return models
        }
    }

    /// The object with this id: from the session if it has it, without a query, else from the backing.
    @inlinable @inline(__always) public func find<D: Mappable>(
        _ type: D.Type, _ id: D.ID, loading: Loading = .all
    ) async throws -> D.Model? where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try confinement.check(#isolation)
        if let known = try loaded(type, id) { return known }
        return try await fetched(type, id, loading)
    }

    /// The object with this id, if the session has it: in the app's own module, where its types are known.
    @inlinable func loaded<D: Mappable>(_ type: D.Type, _ id: D.ID) throws -> D.Model?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        return try core.table(type).model(id)
    }

    @usableFromInline func fetched<D: Mappable>(_ type: D.Type, _ id: D.ID, _ loading: Loading) async throws -> D.Model?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        let found = try await load(type, loading: loading) { try await $0.fetch(type, ids: [id]) }
        if let model = found.first { return model }
        // Nothing is stored: it may be a new object that links lead to.
        return core.linked(type, id)
    }

    /// The object with this id: from the session if it has it, without a query, else from a source that answers at once.
    public func find<D: Mappable>(
        _ type: D.Type, _ id: D.ID, loading: Loading = .all, from source: any ImmediateSource
    ) throws -> D.Model? where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        if let known = try confined({ try loaded(type, id) }) { return known }
        return try load(source.fetchNow(type, ids: [id]), loading: loading, from: source).first ?? core.linked(type, id)
    }

    // MARK: Writing back

    /// Makes `model` part of the next save. Only needed for objects that no loaded object links to, for evicted ones, and
    /// to take back a deletion. From now on every way to its id answers it.
    ///
    /// The save inserts it. A row that is there already is a ``Conflict`` of kind `.exists` with both values, for the save's
    /// policy to settle, unless both are the same.
    ///
    /// - Parameter ifStored: whether such a row is a conflict, or is updated: then what is stored in links that the object
    ///   leaves empty is kept. The row of an evicted object is updated in any case.
    /// - Throws: ``GraphError`` of kind `.conflict` if the session has another object of this id, and `.misuse` for an id that
    ///   is not equal to itself, such as NaN.
    public func add(_ model: AnyObject, ifStored: StoredRowPolicy = .fail) throws {
        try confined { try core.anyTable(for: model).add(model, isUpsert: ifStored == .update) }
    }

    /// Deletes the object with the next save. Links to it are written as if they were empty, and are once it is saved.
    public func delete(_ model: AnyObject) throws {
        try confined { try core.anyTable(for: model).delete(model) }
    }

    /// Forgets the model, with any edits. An error while a load or save is under way.
    public func evict(_ model: AnyObject) throws {
        try whileIdle { try core.anyTable(for: model).evict(model) }
    }

    /// What a save would do now. Touches neither the models nor the backing. Complexity: O(objects held).
    public func changes() throws -> ChangeSet {
        try confined { ChangeSet(try core.plan().order.changes) }
    }

    /// The DTO of a model, with its nested DTOs. Objects of classes are new ones, linked to each other as the models are.
    ///
    /// Complexity: O(what it nests or, for classes, links to), whatever the depth.
    public func record<D: Mappable>(_ type: D.Type, of model: D.Model) throws -> D
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try confined {
            let table = try core.table(type)
            return try table.stubs == nil ? table.record(of: model) : table.wholeRecord(of: model)
        }
    }

    /// The id of a model.
    package func id<D: Mappable>(_ type: D.Type, of model: D.Model) throws -> D.ID
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try validate()
        return try core.table(type).mapping.idOf(model)
    }

    func required(_ backing: (any GraphBacking)?) throws -> any GraphBacking {
        guard let backing else {
            throw GraphError(.misuse, "the session has no database; make it with one to load and save")
        }
        return backing
    }

    // MARK: One after the other, in one place

    /// Runs what waits for nothing.
    func confined<T>(_ body: () throws -> T) throws -> T {
        try validate()
        return try confinement.enter(body)
    }

    /// Runs what waits for nothing.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save is under way, or another task's savepoint is open.
    func whileIdle<T>(_ body: () throws -> T) throws -> T {
        try confined {
            try turn.check()
            return try body()
        }
    }

    /// Waits for the turn of a load, a save, a merge, or of a savepoint.
    func takeTurn(_ holder: SessionTurn.Holder = .operation) async throws {
        try validate()
        try confinement.check(#isolation)
        try await turn.take(holder)
    }

    func release() {
        relax()
        turn.end()
    }
}

extension SessionCore {
    /// Maps DTOs whose links are nested, or lead to objects that the session has.
    ///
    /// - Parameter linked: the new objects that links lead to; nil to look for them.
    func map<D: Mappable>(
        _ dtos: [D], _ duplicates: DuplicatePolicy, _ loading: Loading = .all, adopting linked: [AnyObject]? = nil
    ) throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        try load(dtos, loading, duplicates) { load in
            try load.gatherNested()
            load.adopt(linked ?? linkedObjects())
        }
    }

    /// Loads DTOs, and what they lead to, without waiting.
    func load<D: Mappable>(
        _ roots: [D], _ loading: Loading, _ duplicates: DuplicatePolicy, _ gather: (Load) throws -> Void
    ) throws -> [D.Model] where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        var load = Load(self, loading)
        try load.start(roots)
        try gather(load)
        if let again = load.choosing(duplicates, among: roots) {
            load = again
            try load.start(roots)
            try gather(load)
            load.ignoreCopies()
        }
        return try load.finish(roots)
    }
}
