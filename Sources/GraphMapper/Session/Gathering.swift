import Foundation

/// What a load does first: it takes DTOs in, and follows their links, until everything is here.
extension Table {
    func resetLoad() {
        indices = IDIndex()
        ids = []
        incoming.removeAll()
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
        filling = nil
        gapless = [:]
        refused = [:]
        adoptable = [:]
        expanded = 0
        requests = []
        pool?.clear()
    }

    /// Takes DTOs into the load.
    func offerAll(_ dtos: [D]) {
        if let objects = mapping.objects { return objects.offerAll(self, dtos) }
        if let offer = mapping.offerPlaced { return offer(self, dtos) }
        dtos.withUnsafeBufferPointer { dtos in
            if let first = dtos.baseAddress { mapping.passes.offer(self, first, dtos.count) }
        }
    }

    @inlinable @discardableResult func offer(_ dto: D) -> Int32 { withUnsafePointer(to: dto) { offer($0) } }

    /// The models of the DTOs that a load began with.
    func models(of dtos: [D]) throws -> [D.Model] {
        // Of objects and of DTOs without an id, the ids were noted when they came.
        if pool != nil { return try (pool?.roots ?? []).map(required) }
        if let roots = mapping.placedRoots { return try roots().map(required) }
        return try dtos.withUnsafeBufferPointer { dtos in
            guard let first = dtos.baseAddress else { return [] }
            // Arrays of objects are laid out alike, whatever the class.
            return unsafeBitCast(try mapping.passes.objects(self, first, dtos.count), to: [D.Model].self)
        }
    }

    /// Asks for the DTOs whose foreign key is one of `owners`.
    @usableFromInline func wantHeld<Owner: Storable & Hashable>(by foreignKey: AnyKeyPath, _ owners: [Owner]) throws {
        guard let name = D.schema.property(at: foreignKey)?.name else {
            throw GraphError(.invalidSchema, "the schema does not read \(foreignKey)", type: D.schema.name)
        }
        requests.append(
            Request { source in
                try await source.fetch(D.self, where: name, isIn: owners)
            } immediately: { source in
                try source.fetchNow(D.self, where: name, isIn: owners)
            })
    }

    func wantEverything() {
        for slot in snapshots.indices { if let dto = snapshots[slot] { want(dto.id) } }
    }

    func requireWanted() throws {
        for id in wanted where model(id) == nil {
            var error = dangling(id)
            error.message =
                "it is referred to, and neither the graph nor the session has it; merge looks up what is stored"
            throw error
        }
        wanted = []
        requests = []
    }

    /// Calls `body` with the address of a DTO that is there.
    @inlinable @inline(__always)
    func withPointer<T>(to place: Int, of rows: Rows<D>, _ body: (UnsafePointer<D>) throws -> T) rethrows -> T {
        try body(rows.pointer(place))
    }

    private func isFollowed(_ link: Mapping<D>.Followed) -> Bool {
        if link.isNeeded { return true }
        guard core.level < core.loading.depth else { return false }
        let isNamed = !core.loading.links.isEmpty && link.modelPath.map(core.loading.links.contains) ?? false
        return isNamed || !core.loading.isOnly && !link.isOnDemand
    }

    func linkCounts(to target: ObjectIdentifier) -> [(name: String, count: Int?)] {
        mapping.steps.enumerated().compactMap { index, step in
            guard let path = step.modelPath, step.targets.contains(where: { ObjectIdentifier($0) == target }) else {
                return nil
            }
            return ("\(path)", step.property == nil ? nil : edges[index].count)
        }
    }

    func followLinks() throws {
        let range = expanded..<min(arrived.count, levelEnd)
        expanded = range.upperBound
        if !range.isEmpty {
            for link in mapping.followed where isFollowed(link) {
                try link.gather(self, range, link.index, core)
                followed[link.index] = range.upperBound
            }
        }
        let copies = copies
        self.copies = []
        guard !copies.isEmpty else { return }
        for link in mapping.followed where isFollowed(link) { try link.offerNested?(copies, core) }
    }

    func fetchWanted(from source: any GraphSource) async throws {
        let (ids, requests) = takeWanted()
        if !ids.isEmpty { try receive(try await source.fetch(D.self, ids: ids), for: ids) }
        for request in requests { offerAll(try await request.fetch(source)) }
        try checkLimit()
    }

    func fetchWanted(at source: any ImmediateSource) throws {
        let (ids, requests) = takeWanted()
        if !ids.isEmpty { try receive(try source.fetchNow(D.self, ids: ids), for: ids) }
        for request in requests { offerAll(try request.fetchNow(source)) }
        try checkLimit()
    }

    /// Fetches the DTOs of these ids, whichever are there. One that the session has and the source has not has vanished.
    func fetchIfThere(_ ids: Any, from source: any GraphSource) async throws {
        guard let ids = ids as? ContiguousArray<D.ID> else { return }
        let left = ids.filter { indices[$0] == nil }
        guard !left.isEmpty else { return }
        offerAll(try await source.fetch(D.self, ids: Array(left)))
        vanishing += left.filter { indices[$0] == nil && identity.slot($0).flatMap(snapshot) != nil }
        core.gathered += left.count
        try checkLimit()
    }

    private func takeWanted() -> ([D.ID], [Request<D>]) {
        defer {
            wanted = []
            requests = []
        }
        return (wanted, requests)
    }

    /// Takes what a source has answered to a request for these ids.
    private func receive(_ dtos: [D], for ids: [D.ID]) throws {
        offerAll(dtos)
        for id in ids where indices[id].flatMap({ incoming[Int($0)] }) == nil {
            _ = try required(id)
            if identity.slot(id).flatMap(snapshot) != nil { vanishing.append(id) }
        }
        core.gathered += ids.count
    }

    private func checkLimit() throws {
        guard arrived.count > core.limit else { return }
        let link = core.heaviestLink(to: ObjectIdentifier(D.self), of: arrived.count)
        let advice = link.map { "mark \($0) as onDemand, load less of the graph (loading:)" } ?? "ask for fewer objects"
        throw GraphError(
            .tooLarge,
            "the load reached \(arrived.count) objects, more than the limit of \(core.limit); \(advice) or raise "
                + "the limit", type: D.schema.name)
    }
}

/// A request for the DTOs that a foreign key gives to some owners.
struct Request<D> {
    let fetch: (any GraphSource) async throws -> [D]
    let fetchNow: (any ImmediateSource) throws -> [D]

    init(
        _ fetch: @escaping (any GraphSource) async throws -> [D],
        immediately fetchNow: @escaping (any ImmediateSource) throws -> [D]
    ) {
        self.fetch = fetch
        self.fetchNow = fetchNow
    }
}
