/// The tables of a session and what they share. Entries of a mapping reach each other's tables through it.
public final class SessionCore {
    @usableFromInline var tables: [ObjectIdentifier: AnyTable] = [:]
    /// In the order of registration, which makes every walk deterministic.
    var order: [AnyTable] = []
    private var identities: [ObjectIdentifier: AnyObject] = [:]
    /// Rows gathered by the load under way.
    var gathered = 0
    var limit = 10_000_000
    /// How far the load under way follows links, and how far it has come.
    var loading = Loading.all
    var level = 0

    func register<D>(_ mapping: Mapping<D>) {
        let identity: IdentityMap<D.ID>
        let key = ObjectIdentifier(D.Model.self)
        if let known = identities[key] as? IdentityMap<D.ID> {
            identity = known
        } else {
            identity = IdentityMap()
            identities[key] = identity
        }
        let table = Table(mapping, identity, self)
        tables[ObjectIdentifier(D.self)] = table
        order.append(table)
    }

    @inlinable func table<D: Mappable>(_ type: D.Type) throws -> Table<D>
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        guard let table = tables[ObjectIdentifier(type)] else { throw missing(type) }
        // Registered under its own type, and never under another.
        return unsafeDowncast(table, to: Table<D>.self)
    }

    @usableFromInline func missing(_ type: Any.Type) -> GraphError {
        GraphError(.invalidSchema, "the session has no mapping for \(type); pass it when making the session")
    }

    /// The table whose models are of this instance's class.
    func anyTable(for model: AnyObject) throws -> AnyTable {
        for table in order where table.holds(model) { return table }
        throw GraphError(.invalidSchema, "the session has no mapping whose model is \(type(of: model))")
    }

    // MARK: Loading

    func startLoad() {
        gathered = 0
        level = 0
        for table in order { table.startLoad() }
    }

    /// Follows the links of everything gathered and not yet followed; true if there is more to fetch.
    func expand() throws -> Bool {
        if loading.depth < .max {
            // One level at a time, so that each object is met by its shortest way.
            for table in order { table.endLevel() }
            for table in order where table.hasUnexpanded { try table.expand() }
            level += 1
            return order.contains { $0.hasRequests || $0.hasUnexpanded }
        }
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            for table in order where table.hasUnexpanded {
                try table.expand()
                isProgressing = true
            }
        }
        return order.contains { $0.hasRequests }
    }

    /// Makes and links models out of everything gathered. On an error no model has been changed.
    func materialise() throws {
        for table in order { try table.checkGathered() }
        var left = order.filter { $0.hasUnmade }
        do {
            while !left.isEmpty {
                var isProgressing = false
                for table in left where try table.makeModels() { isProgressing = true }
                left = left.filter { $0.hasUnmade }
                if !isProgressing, let stuck = left.first { throw stuck.needsCycle() }
            }
        } catch {
            for table in order { table.unmake() }
            throw error
        }
        for table in order { try table.readFields() }
        for table in order { try table.linkModels() }
        for table in order { table.finishLoad() }
    }

    /// The link that has led the load under way to most objects of a type.
    func heaviestLink(to target: ObjectIdentifier, of count: Int) -> String? {
        let links = order.flatMap { $0.links(to: target) }
        let rest = count - links.reduce(0) { $0 + ($1.count ?? 0) }
        return links.max { ($0.count ?? rest) < ($1.count ?? rest) }?.name
    }

    // MARK: Writing back

    /// Makes the session agree with what was stored.
    func commit(_ plan: WritePlan) {
        for step in plan.commit { step() }
        guard plan.isDeleting else { return }
        for table in order { table.dropDeleted() }
        for step in plan.forget { step() }
        for table in order { table.forgetDropped() }
    }

    /// Walks everything that the session knows, and what it reaches; answers the changes with what to do once
    /// they are stored.
    func plan() throws -> WritePlan {
        defer { for table in order { table.endWalk() } }
        for table in order { table.startWalk() }
        var isProgressing = true
        while isProgressing {
            isProgressing = false
            for table in order where try table.walk() { isProgressing = true }
        }
        var plan = WritePlan()
        for table in order { try table.collect(into: &plan) }
        return plan
    }
}

/// A change set in the making, and what the session does once it is stored.
struct WritePlan {
    var inserts: [Int: [ChangeSet.Change]] = [:]
    var updates: [ChangeSet.Change] = []
    var relinks: [ChangeSet.Change] = []
    var deletes: [Int: [ChangeSet.Change]] = [:]
    var commit: [() -> Void] = []
    /// What it forgets then, after all links to it are gone.
    var forget: [() -> Void] = []
    var isDeleting = false

    /// Parents before children for inserts, children before parents for deletes.
    func changeSet(ranks: [Int]) -> ChangeSet {
        var changes: [ChangeSet.Change] = []
        for index in ranks.reversed() { changes += deletes[index] ?? [] }
        changes += updates
        for index in ranks { changes += inserts[index] ?? [] }
        return ChangeSet(changes + relinks)
    }
}

extension SessionCore {
    /// Indices of `order`, so that a type comes after those that its columns refer to. Types on a cycle keep the
    /// order of registration; their foreign keys are checked at commit.
    func ranks() -> [Int] {
        var result: [Int] = []
        var state = [Int](repeating: 0, count: order.count)
        func visit(_ index: Int) {
            guard state[index] == 0 else { return }
            state[index] = 1
            for target in order[index].columnTargets {
                if let next = order.firstIndex(where: { $0.recordType == ObjectIdentifier(target) }) { visit(next) }
            }
            state[index] = 2
            result.append(index)
        }
        for index in order.indices { visit(index) }
        return result
    }
}
