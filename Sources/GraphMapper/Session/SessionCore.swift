/// The tables of a session and what they share. Entries of a mapping reach each other's tables through it.
public final class SessionCore {
    @exclusivity(unchecked) @usableFromInline var tables: [TypeKey: TableState] = [:]
    /// In the order of registration, which makes every walk deterministic.
    var order: [any ErasedTable] = [] {
        didSet { holders = [:] }
    }
    /// The tables of classes of models, as far as somebody has asked.
    private var holders: [TypeKey: [any ErasedTable]] = [:]
    /// By the types of the model and of the id: DTOs without an id share no identity with a record of their model.
    private var identities: [[ObjectIdentifier]: AnyObject] = [:]
    /// What the steps answer while DTOs are made.
    @usableFromInline let answers = Answers()
    /// How many DTOs are being made with what they nest, one for the other.
    var recordDepth = 0
    /// Whether there is anything that another writer could change between a load and a save.
    var hasBacking = false
    /// The most objects that one load may gather.
    var limit = 10_000_000
    /// The tables by the identity map that they share.
    private var sharers: [ObjectIdentifier: [any ErasedTable]] = [:]
    /// The table of a DTO type, whatever the type.
    func erasedTable(_ type: Any.Type) -> (any ErasedTable)? { tables[TypeKey(type)].map { order[$0.place] } }

    /// The tables by the class of their models: those of DTOs without an id are among them.
    private var siblings: [ObjectIdentifier: [any ErasedTable]] = [:]
    /// What the backing checks.
    var uniqueColumns: (String) -> [[String]] = { _ in [] }
    var defersForeignKeys: () -> Bool = { true }
    /// Objects that the save under way has given keys.
    var keyed: [UnkeyedObject] = []
    /// Whether an object was ever added in the place of a deleted one.
    @usableFromInline var hasReplaced = false

    /// The tables of one model, in the order of registration; the backing's own among them, if it keeps any.
    func sharing(_ table: TableState) -> [any ErasedTable] {
        sharers[ObjectIdentifier(table.held)] ?? [order[table.place]]
    }

    @usableFromInline func isShared(_ table: TableState) -> Bool { sharing(table).count > 1 }

    /// The other tables of models of this class.
    func siblings<Model: AnyObject>(of table: any ErasedTable, _: Model.Type) -> [any ErasedTable] {
        siblings[ObjectIdentifier(Model.self), default: []].filter { $0 !== table }
    }

    /// Whether a new object is written through this table: the first one of its model that the backing keeps. An object
    /// that another table has read or written is written through that one.
    func isWriter(_ table: any ErasedTable, _ slot: Int) -> Bool {
        let tables = sharing(table).filter(\.isStored)
        return tables.first === table && !tables.contains { $0 !== table && $0.hasSnapshot(slot) }
    }

    init() { HashKeys.randomize() }

    func register<D>(_ mapping: Mapping<D>) {
        let identity: IdentityMap<D.ID>
        let key = [ObjectIdentifier(D.Model.self), ObjectIdentifier(D.ID.self)]
        if let known = identities[key] as? IdentityMap<D.ID> {
            identity = known
        } else {
            identity = IdentityMap()
            identities[key] = identity
        }
        let table = EntityTable(mapping, identity, self, place: order.count)
        tables[TypeKey(D.self)] = table
        order.append(table)
        sharers[ObjectIdentifier(identity), default: []].append(table)
        siblings[ObjectIdentifier(D.Model.self), default: []].append(table)
    }

    /// Record types that describe one table and become objects of different classes: a row would be two objects.
    func twinDiagnostics() -> [String] {
        Dictionary(grouping: order.filter(\.isStored), by: \.name).sorted { $0.key < $1.key }.compactMap {
            name, tables in
            let models = Set(tables.map { ObjectIdentifier($0.identityMap) })
            guard models.count > 1 else { return nil }
            let list = tables.map { "\($0.dtoType) as \($0.modelType)" }.joined(separator: ", ")
            return
                "\(name): a row of it would be two objects, since it is mapped as \(list); map one class to it, or leave the "
                + "others out of the session and read them as records"
        }
    }

    /// Without tables nothing can be done by a mapping that has diagnostics.
    func forgetTables() {
        tables = [:]
        order = []
    }

    /// The table of a DTO type.
    ///
    /// - Throws: ``GraphError`` for a type that the session does not map.
    @inlinable func table<D: Mappable>(_ type: D.Type) throws -> EntityTable<D>
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        guard let table = knownTable(type) else { throw missing(type) }
        return table
    }

    /// The table of a DTO type; nil for one that the session does not map. Start-up validation has refused links to such,
    /// so what a link does that cannot throw asks here.
    @inlinable func knownTable<D: Mappable>(_ type: D.Type) -> EntityTable<D>?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        // Registered under its own type, and never under another.
        tables[TypeKey(type)].map { unsafeDowncast($0, to: EntityTable<D>.self) }
    }

    @usableFromInline func missing(_ type: Any.Type) -> GraphError {
        GraphError(.invalidSchema, "the session has no mapping for \(type); pass it when making the session")
    }

    /// The table whose models are of this instance's class.
    func anyTable(for model: AnyObject) throws -> any ErasedTable {
        let tables = tables(holding: model)
        if let table = tables.first(where: \.isStored) ?? tables.first { return table }
        throw GraphError(.invalidSchema, "the session has no mapping whose model is \(type(of: model))")
    }

    /// The tables of the model's class, or else of the nearest superclass that is mapped.
    func tables(holding model: AnyObject) -> [any ErasedTable] {
        let kind = TypeKey(type(of: model))
        if let known = holders[kind] { return known }
        let all = order.filter { $0.holds(model) }
        let tables = all.filter { table in !all.contains { table.isBase(of: $0) } }
        holders[kind] = tables
        return tables
    }

    // MARK: Loading

    /// Takes what another writer has deleted from the links of the other objects.
    func dropVanished() {
        for table in order { table.hideVanished() }
        for table in order { table.dropDeleted() }
        for table in order { table.showVanished() }
    }

    // MARK: Writing back

    /// Makes the session agree with what was stored.
    func commit(_ plan: WritePlan) { quietly { settle(plan) } }

    private func settle(_ plan: WritePlan) {
        for commit in plan.commits { commit.startDeleting() }
        for object in plan.ruledOut where object.table.hide(object.object) {
            object.table.forgetAdded(object.object)
        }
        for commit in plan.commits { commit.keepWritten() }
        for step in plan.settle { step() }
        for table in order { table.finishMoves() }
        if plan.isDeleting {
            for table in order { table.dropDeleted() }
            for commit in plan.commits { commit.forgetDeleted() }
        }
        for commit in plan.commits.reversed() { commit.endDeleting() }
    }

    /// Walks everything that the session knows, and what it reaches; answers the changes with what to do once
    /// they are stored.
    func plan(_ scope: SaveScope = .all) throws -> WritePlan {
        var plan = WritePlan()
        defer {
            for table in order { table.endWalk() }
            show(plan.ruledOut)
        }
        try walkRuled(&plan.ruledOut, scope)
        for table in order where table.isStored { try table.placeChildren() }
        for table in order where table.isStored { try table.collect(into: &plan) }
        if !plan.conflicts.isEmpty {
            throw GraphError(plan.conflicts.sorted { ($0.type, $0.id) < ($1.type, $1.id) })
        }
        plan.order = try plan.ordered(self)
        return plan
    }
}
