import Foundation

/// What a load does first: it takes DTOs in, and follows their links, until everything is here.
extension Table {
    func resetLoad() {
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
        filling = nil
        gapless = [:]
        refused = [:]
        adoptable = [:]
        expanded = 0
        requests = []
        pool?.clear()
    }

    /// Takes a DTO into the load and answers its index. An equal copy merges silently; one that differs is a
    /// conflict, raised once everything is gathered.
    @inlinable @discardableResult func offer(_ dto: UnsafePointer<D>) -> Int32 { offer(dto, as: dto.pointee.id) }

    /// The same for a DTO that may not know its id.
    @inlinable @inline(__always) @discardableResult func offer(_ dto: UnsafePointer<D>, as id: D.ID) -> Int32 {
        let new = Int32(truncatingIfNeeded: incoming.count)
        let index = indices[IDKey(id), default: new]
        if index == new {
            indices[IDKey(id)] = new
            ids.append(id)
            incoming.append(dto.pointee)
        } else if incoming[Int(index)] != nil {
            if !differing, !isSame(Int(index), dto) { differing = true }
            if mapping.hasNested { copies.append(dto.pointee) }
            if mapping.hasGaps { fill(Int(index), from: dto.pointee) }
            return index
        } else {
            incoming[Int(index)] = dto.pointee
        }
        arrived.append(index)
        return index
    }

    @inlinable @discardableResult func offer(_ dto: D) -> Int32 { withUnsafePointer(to: dto) { offer($0) } }

    /// Makes room for so many DTOs, which most often are new.
    @inlinable func reserve(_ count: Int) {
        guard incoming.isEmpty else { return }
        indices.reserveCapacity(count)
        ids.reserveCapacity(count)
        incoming.reserveCapacity(count)
        arrived.reserveCapacity(count)
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
        requests.append(
            Request { source in
                try await source.fetch(D.self, where: name, isIn: owners)
            } immediately: { source in
                try source.fetchNow(D.self, where: name, isIn: owners)
            })
    }

    func wantEverything() {
        for dto in snapshots { if let dto { _ = want(dto.id) } }
    }

    func requireWanted() throws {
        for id in wanted { _ = try required(id) }
        wanted = []
        requests = []
    }

    @inlinable @inline(__always) func isSame(_ index: Int, _ copy: UnsafePointer<D>) -> Bool {
        withPointer(to: index, of: incoming) { known in
            // Most copies share the storage of their strings and arrays, and then all bytes are the same.
            memcmp(known, copy, MemoryLayout<D>.size) == 0 || mapping.isSame(known, copy)
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
        for request in requests { mapping.passes.offerAll(self, try await request.fetch(source)) }
        try checkLimit()
    }

    func fetchWanted(at source: any ImmediateSource) throws {
        let (ids, requests) = takeWanted()
        if !ids.isEmpty { try receive(try source.fetchNow(D.self, ids: ids), for: ids) }
        for request in requests { mapping.passes.offerAll(self, try request.fetchNow(source)) }
        try checkLimit()
    }

    /// Fetches the DTOs of these ids, whichever are there. One that the session has and the source has not has vanished.
    func fetchIfThere(_ ids: Any, from source: any GraphSource) async throws {
        guard let ids = ids as? ContiguousArray<D.ID> else { return }
        let left = ids.filter { indices[IDKey($0)] == nil }
        guard !left.isEmpty else { return }
        mapping.passes.offerAll(self, try await source.fetch(D.self, ids: Array(left)))
        vanishing += left.filter { indices[IDKey($0)] == nil && identity.slot($0).flatMap(snapshot) != nil }
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
        mapping.passes.offerAll(self, dtos)
        for id in ids where indices[IDKey(id)].flatMap({ incoming[Int($0)] }) == nil {
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
