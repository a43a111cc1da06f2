/// What a load does first: it takes DTOs in, and follows their links, until everything is here.
extension LoadBatch: LoadPhase {
    var table: any ErasedTable { entities }
    var recordType: ObjectIdentifier { ObjectIdentifier(D.self) }
    var hasUnexpanded: Bool { expanded < arrived.count || !copies.isEmpty }
    var hasRequests: Bool { !wanted.isEmpty || !requests.isEmpty }
    var hasConflict: Bool { differing }
    var hasArrived: Bool { !arrived.isEmpty }
    var namedIDs: Any { ids }
    var arrivedIDs: Any { ContiguousArray(arrived.map { ids[Int($0)] }) }

    // MARK: Taking in

    /// Takes DTOs into the load.
    func offerAll(_ dtos: [D]) {
        if let objects = mapping.objects { return objects.offerAll(self, dtos) }
        if let offer = mapping.offerPlaced { return offer(self, dtos) }
        dtos.withUnsafeBufferPointer { dtos in
            if let first = dtos.baseAddress { mapping.passes.offer(self, first, dtos.count) }
        }
    }

    func prefer(_ dto: Any) {
        guard let dto = dto as? D else { return }
        offerAll([dto])
        pool?.roots = nil
    }

    func ignoreCopies() { differing = false }

    /// The models of the DTOs that the load began with.
    func models(of dtos: [D]) throws -> [D.Model] {
        // Of objects and of DTOs without an id, the ids were noted when they came.
        if let pool { return try (pool.roots ?? []).map(required) }
        if let roots = mapping.placedRoots { return try roots().map(required) }
        return try dtos.withUnsafeBufferPointer { dtos in
            guard let first = dtos.baseAddress else { return [] }
            // Arrays of objects are laid out alike, whatever the class.
            return unsafeBitCast(try mapping.passes.objects(self, first, dtos.count), to: [D.Model].self)
        }
    }

    // MARK: Asking

    func wantHeld<Owner: Storable & Hashable>(by foreignKey: AnyKeyPath, _ owners: [Owner]) throws {
        try wantHeld(by: foreignKey, owners, before: [])
    }

    /// Asks for the DTOs whose foreign key is one of `owners`.
    ///
    /// - Parameter before: the slots of objects that the owners had; those that come no more are asked for by themselves, since
    ///   they have others by now.
    @usableFromInline func wantHeld<Owner: Storable & Hashable>(
        by foreignKey: AnyKeyPath, _ owners: [Owner], before: [Int32]
    ) throws {
        guard let name = D.schema.property(at: foreignKey)?.name else {
            throw GraphError(.invalidSchema, "the schema does not read \(foreignKey)", type: D.schema.name)
        }
        requests.append(
            Request(before: before) { source in
                try await source.fetch(D.self, where: name, isIn: owners)
            } immediately: { source in
                try source.fetchNow(D.self, where: name, isIn: owners)
            })
    }

    func wantAll() {
        for slot in snapshots.indices { if let dto = snapshots[slot] { want(dto.id) } }
    }

    func want(_ model: AnyObject) throws {
        guard let model = model as? D.Model, let slot = entities.knownSlot(of: model),
            entities.snapshot(slot) != nil
        else {
            throw GraphError(.misuse, "the session has not loaded it; load or save it first", type: D.schema.name)
        }
        _ = want(mapping.idOf(model))
    }

    func want(slot: Int) { if let id = entities.snapshot(slot)?.id { _ = want(id) } }

    /// Asks for a row again if the session holds its object.
    func want(key: [StoredValue]) throws {
        let id = try id(ofKey: key)
        if let slot = identity.slot(id), entities.snapshot(slot) != nil { _ = want(id) }
    }

    func want(storedKey key: [StoredValue]) throws { _ = want(try id(ofKey: key)) }

    private func id(ofKey key: [StoredValue]) throws -> D.ID {
        let rows = LinkRows()
        for value in key { rows.append(value) }
        return try rows.withCursor { cells in
            var position = RowPosition()
            return try D.ID.read(cells, at: &position)
        }
    }

    func requireLoaded() throws {
        for id in wanted where entities.model(id) == nil {
            var error = dangling(id)
            error.message =
                "it is referred to, and neither the graph nor the session has it; merge looks up what is stored"
            throw error
        }
        wanted = []
        requests = []
    }

    // MARK: Following

    func endLevel(_ level: Int) {
        levelEnd = arrived.count
        if levels.last?.end ?? 0 < ids.count { levels.append((level, ids.count)) }
    }

    private func isFollowed(_ link: Mapping<D>.Followed) -> Bool {
        if link.isNeeded { return true }
        let scope = load.scope
        guard load.level < scope.depth else { return false }
        let isNamed = !scope.links.isEmpty && link.modelPath.map(scope.links.contains) ?? false
        return isNamed || !scope.isOnly && !link.isOnDemand
    }

    func expand() throws {
        let range = expanded..<levelEnd
        expanded = range.upperBound
        if !range.isEmpty {
            for link in mapping.followed where isFollowed(link) {
                try link.gather(self, range, link.index, load)
                followed[link.index] = range.upperBound
            }
        }
        let copies = copies
        self.copies = []
        guard !copies.isEmpty else { return }
        for link in mapping.followed where isFollowed(link) { try link.offerNested?(copies, load) }
    }

    func links(to target: ObjectIdentifier) -> [(name: String, count: Int?)] {
        mapping.steps.enumerated().compactMap { index, step in
            guard let path = step.modelPath, step.targets.contains(where: { ObjectIdentifier($0) == target }) else {
                return nil
            }
            return ("\(path)", step.property == nil ? nil : edges[index].count)
        }
    }

    /// Calls `append` with the link of each DTO that came as `range`, and the entry's edges to append to.
    @inlinable @inline(__always)
    func withEdges<Link>(
        _ entry: Int, _ range: Range<Int>, of get: (UnsafePointer<D>) -> Link,
        append: (Link, inout ContiguousArray<Int32>) throws -> Void
    ) rethrows {
        var list: ContiguousArray<Int32> = []
        swap(&list, &edges[entry])
        defer { swap(&list, &edges[entry]) }
        // The link is read before it is followed: a type that links to itself grows `incoming` by its targets.
        for place in range { try append(withDTO(arrived[place], get), &list) }
    }

    // MARK: Fetching

    func fetch(from source: any GraphSource) async throws {
        let (ids, requests) = takeWanted()
        if !ids.isEmpty { try receive(try await source.fetch(D.self, ids: ids), for: ids) }
        for request in requests {
            offerAll(try await request.fetch(source))
            wantLeft(request.before)
        }
        try checkLimit()
    }

    func fetch(from source: any ImmediateSource) throws {
        let (ids, requests) = takeWanted()
        if !ids.isEmpty { try receive(try source.fetchNow(D.self, ids: ids), for: ids) }
        for request in requests {
            offerAll(try request.fetchNow(source))
            wantLeft(request.before)
        }
        try checkLimit()
    }

    /// Fetches the DTOs of these ids, whichever are there. One that the session has and the source has not has vanished.
    func fetch(_ ids: Any, from source: any GraphSource) async throws {
        guard let ids = ids as? ContiguousArray<D.ID> else { return }
        let left = ids.filter { indices[$0] == nil }
        guard !left.isEmpty else { return }
        offerAll(try await source.fetch(D.self, ids: Array(left)))
        vanishing += left.filter { indices[$0] == nil && identity.slot($0).flatMap(entities.snapshot) != nil }
        try checkLimit()
    }

    private func takeWanted() -> ([D.ID], [Request<D>]) {
        defer {
            wanted = []
            requests = []
        }
        return (wanted, requests)
    }

    /// Asks for the objects of these slots that have not come. What the app deletes may be gone already, in the save that
    /// reads this.
    private func wantLeft(_ before: [Int32]) {
        for slot in before where !identity.deleted.contains(Int(slot)) {
            if let model = model(at: Int(slot)), load.ruledOut.contains(ObjectIdentifier(model)) { continue }
            guard let id = entities.snapshot(Int(slot))?.id, indices[id] == nil else { continue }
            _ = want(id)
        }
    }

    /// Takes what a source has answered to a request for these ids.
    private func receive(_ dtos: [D], for ids: [D.ID]) throws {
        offerAll(dtos)
        for id in ids where indices[id].flatMap({ incoming[Int($0)] }) == nil {
            _ = try required(id)
            if identity.slot(id).flatMap(entities.snapshot) != nil { vanishing.append(id) }
        }
    }

    func checkLimit() throws {
        guard arrived.count > core.limit else { return }
        let link = load.heaviestLink(to: ObjectIdentifier(D.self), of: arrived.count)
        let advice = link.map { "mark \($0) as onDemand, load less of the graph (loading:)" } ?? "ask for fewer objects"
        throw GraphError(
            .tooLarge,
            "the load reached \(arrived.count) objects, more than the limit of \(core.limit); \(advice) or raise "
                + "the limit", type: D.schema.name)
    }
}

/// A request for the DTOs that a foreign key gives to some owners.
struct Request<D> {
    /// The slots of objects that the owners had.
    let before: [Int32]
    let fetch: (any GraphSource) async throws -> [D]
    let fetchNow: (any ImmediateSource) throws -> [D]

    init(
        before: [Int32], _ fetch: @escaping (any GraphSource) async throws -> [D],
        immediately fetchNow: @escaping (any ImmediateSource) throws -> [D]
    ) {
        self.before = before
        self.fetch = fetch
        self.fetchNow = fetchNow
    }
}
