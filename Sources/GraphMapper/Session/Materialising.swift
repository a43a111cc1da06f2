/// What a load does next: models are made, then their fields are read, then they are linked. An error before
/// that leaves every model as it was.
extension Table {
    func checkLoad() throws {
        if differing {
            throw GraphError(
                .conflict, "the source answered with copies of one object that differ", type: D.schema.name)
        }
        try fillFromEarlier()
        try checkEach()
        try checkFixed()
        slots = ContiguousArray(repeating: -1, count: ids.count)
        unmade = Array(0..<Int32(truncatingIfNeeded: ids.count))
        identity.reserve(unmade.count)
        made.reserveCapacity(unmade.count)
    }

    private func checkEach() throws {
        for step in mapping.steps {
            guard let check = step.check else { continue }
            for index in arrived {
                do { try check(incoming.pointer(Int(index))) } catch { throw located(error, step, index) }
            }
        }
    }

    private func located(_ error: any Error, _ step: StepTasks<D>, _ index: Int32) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        let name = D.schema.properties.first { $0.path == step.property }?.name
        error.type = D.schema.name
        error.id = "\(ids[Int(index)])"
        error.property = name
        error.path = "\(place(of: index)).\(name ?? "?")"
        return error
    }

    /// Makes and registers what is new, as far as what it needs is there; true if any was.
    func makeAll() throws -> Bool {
        guard let noteMade = mapping.noteMade else {
            let isProgress = try mapping.passes.make(self)
            try checkMade()
            return isProgress
        }
        adopt()
        let isProgress = try mapping.passes.make(self)
        try checkMade()
        for id in made { if let model = model(id) { noteMade(model, id) } }
        return isProgress
    }

    /// Registers objects that are there already for DTOs without an id.
    private func adopt() {
        for index in unmade {
            let id = ids[Int(index)]
            guard identity.slot(id) == nil, let model = adoptable[IDKey(id)] else { continue }
            _ = identity.register(id, model)
            made.append(id)
        }
        adoptable = [:]
    }

    func undoMaking() {
        for id in made.reversed() { identity.remove(id) }
        startLoad()
    }

    func describeCycle() -> GraphError {
        guard let first = unmade.first else { return GraphError(.cycle, "", type: D.schema.name) }
        let id = "\(ids[Int(first)])"
        var path = ["\(D.schema.name)(\(id))"]
        var next = need(of: id)
        while let need = next, let table = core.tables[TypeKey(need.type)] {
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

    func unmetNeed(of id: String) -> NotYet? {
        guard let index = unmade.first(where: { "\(ids[Int($0)])" == id }), let dto = incoming[Int(index)] else {
            return nil
        }
        do {
            _ = try withUnsafePointer(to: dto) { try mapping.make($0, core) }
            return nil
        } catch { return error as? NotYet }
    }

    func readEach() throws {
        grow(to: held.models.count)
        let isShared = core.isShared(self) || isPayload
        let (readAll, snapshots, incoming) = (mapping.readAll, snapshotRows, incoming)
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard let model = model(at: slot) else { continue }
            let dto = incoming.pointer(Int(index))
            let isOld = snapshots.isThere[slot]
            if !isOld, !isShared || !isKnownElsewhere(slot) {
                try readAll(dto, model)
            } else if isPayload {
                try take(dto, slot, model)
            } else {
                try readAgain(dto, slot, model, isOld: isOld)
            }
        }
    }

    /// Reads a DTO into a model that has been read before, by this table or by another one.
    private func readAgain(_ dto: UnsafePointer<D>, _ slot: Int, _ model: D.Model, isOld: Bool) throws {
        try mapping.steps.withAddress { steps in
            for step in steps..<steps + mapping.steps.count {
                guard let read = step.pointee.read else { continue }
                if !isOld {
                    if !isHeld(step.pointee, slot, model) { try read(dto, model) }
                } else if isUnedited(step.pointee.isClean, slot, model) || isSaidElsewhere(step.pointee, slot) {
                    try read(dto, model)
                } else {
                    try settle(step.pointee, slot, model, dto, read)
                }
            }
        }
    }

    func linkEach() throws {
        var masks: [Int: UInt64] = [:]
        for (index, step) in mapping.steps.enumerated() {
            let count = followed[index]
            if count < arrived.count {
                try unfillChanged(step, index, from: count)
                try step.linkKnown?(self, count, core)
            }
            guard let link = step.link, count > 0 else { continue }
            let putBack = (step.isOnDemand ? setAside(step) : []) + holdLinks(step)
            try link(self, index, core)
            for put in putBack { put() }
            masks[count, default: 0] |= step.bit
        }
        for (count, mask) in masks { markFilled(mask, count) }
    }

    /// A link that another writer has changed and this load does not follow is unknown again, unless the app has
    /// changed it too.
    private func unfillChanged(_ step: StepTasks<D>, _ index: Int, from start: Int) throws {
        guard let isSame = step.isSame, let drop = step.drop else { return }
        let bit = step.bit
        for place in arrived[start...] {
            let slot = Int(slots[Int(place)])
            guard filled[slot] & bit != 0, incoming.has(Int(place)), snapshots.has(slot),
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

    private func markFilled(_ mask: UInt64, _ count: Int) {
        for index in arrived.prefix(count) { filled[Int(slots[Int(index)])] |= mask }
    }

    func finishEach() {
        let (snapshots, incoming) = (snapshotRows, incomingRows)
        for index in arrived { incoming.move(Int(index), to: snapshots, at: Int(slots[Int(index)])) }
        resetLoad()
    }

    /// The model of an edge: one of this load, or one that the session had.
    @inlinable @inline(__always) func linked(_ edge: Int32) throws -> D.Model {
        unsafeDowncast(try linkedObject(edge), to: D.Model.self)
    }

    /// Calls `body` for each DTO of the load whose link, that of `step`, the app has not changed since it was filled.
    ///
    /// - Parameter count: how many edges the DTO has; `body` gets where they stand.
    @inlinable @inline(__always)
    func forEachToLink(
        _ step: Int, _ isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool,
        count: (UnsafePointer<D>) -> Int, body: (D.Model, Range<Int>) throws -> Void
    ) throws {
        var start = 0
        let isPayload = isPayload
        for index in arrived.prefix(followed[step]) {
            let slot = Int(slots[Int(index)])
            let range = start..<start + withPointer(to: Int(index), of: incoming, count)
            start = range.upperBound
            guard let model = model(at: slot) else { continue }
            if snapshots.has(slot) || isPayload, try isPayload || !self.isClean(isClean, slot, model),
                keeps(step, slot, model)
            {
                continue
            }
            try body(model, range)
        }
    }

    /// Calls `append` with the link of each DTO that came as `range`, and the step's edges to append to.
    @inlinable @inline(__always)
    func withEdges<Link>(
        _ step: Int, _ range: Range<Int>, of get: (UnsafePointer<D>) -> Link,
        append: (Link, inout ContiguousArray<Int32>) throws -> Void
    ) rethrows {
        var list: ContiguousArray<Int32> = []
        swap(&list, &edges[step])
        defer { swap(&list, &edges[step]) }
        // The link is read before it is followed: a type that links to itself grows `incoming` by its targets.
        for place in range { try append(withPointer(to: Int(arrived[place]), of: incoming, get), &list) }
    }

    /// Whether the app has left the property alone. A value that does not encode is an edit: a load keeps it, and a
    /// save says what is wrong with it.
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
}
