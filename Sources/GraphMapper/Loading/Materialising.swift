/// What a load does next: models are made, then their fields are read, then they are linked. An error before
/// that leaves every model as it was.
extension LoadBatch {
    func checkGathered() throws {
        if differing {
            throw GraphError(
                .conflict, "the source answered with copies of one object that differ", type: D.schema.name)
        }
        try fillFromEarlier()
        try checkEach()
        try checkFixedProperties()
        slots = ContiguousArray(repeating: -1, count: ids.count)
        if levels.last?.end ?? 0 < ids.count { levels.append((load.level, ids.count)) }
        identity.reserve(ids.count)
        made.reserveCapacity(ids.count)
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
        error.path = "\(path(of: index)).\(name ?? "?")"
        return error
    }

    var hasUnmade: Bool { nextToMake < ids.count || !waiting.isEmpty }
    var lastLevel: Int { levels.last?.level ?? 0 }

    func makeModels(through level: Int) throws -> Bool {
        var end = nextToMake
        while nextLevel < levels.count, levels[nextLevel].level <= level {
            end = levels[nextLevel].end
            nextLevel += 1
        }
        guard end > nextToMake || !waiting.isEmpty else { return false }
        adopt()
        let isProgress = try mapping.passes.make(self, end)
        try checkMade()
        if let noteMade = mapping.noteMade {
            for id in made { if let model = entities.model(id) { noteMade(model, id) } }
        }
        return isProgress
    }

    /// Registers models that are there already for DTOs without an id.
    private func adopt() {
        guard !provenance.adoptable.isEmpty else { return }
        for id in ids {
            guard identity.slot(id) == nil, let model = provenance.adoptable[IDKey(id)] else { continue }
            _ = identity.register(id, model)
            made.append(id)
        }
        provenance.adoptable = [:]
    }

    func unmake() { for id in made.reversed() { identity.remove(id) } }

    func needsCycle() -> GraphError {
        guard let first = waiting.first else { return GraphError(.cycle, "", type: D.schema.name) }
        let id = "\(ids[Int(first)])"
        var path = ["\(D.schema.name)(\(id))"]
        var next = need(of: id)
        while let need = next, let table = core.erasedTable(need.type) {
            let step = "\(table.name)(\(need.id))"
            let isSeen = path.contains(step)
            path.append(step)
            if isSeen { break }
            next = load.known(table)?.need(of: need.id)
        }
        return GraphError(
            .cycle,
            "its initializer needs an object that is missing or needs this one: "
                + path.joined(separator: " needs "), type: D.schema.name, id: id)
    }

    func need(of id: String) -> NotYet? {
        guard let index = waiting.first(where: { "\(ids[Int($0)])" == id }), let dto = incoming[Int(index)] else {
            return nil
        }
        do {
            _ = try withUnsafePointer(to: dto) { try mapping.make($0, core) }
            return nil
        } catch { return error as? NotYet }
    }

    func readFields() throws {
        entities.grow(to: held.models.count)
        findUntouched()
        let isShared = core.isShared(entities) || isPayload
        let (readAll, snapshots, incoming) = (mapping.readAll, snapshotRows, incoming)
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard let model = model(at: slot), untouched.isEmpty || !untouched.contains(slot) else { continue }
            let dto = incoming.pointer(Int(index))
            let isOld = snapshots.isThere[slot]
            if !isOld, !isShared || !entities.isKnownElsewhere(slot) {
                try readAll(dto, model)
            } else if isPayload {
                try take(dto, slot, model)
            } else {
                try readAgain(dto, slot, model, isOld: isOld)
            }
        }
    }

    /// Finds the objects that the app has added, and whose rows are there all the same: that is for a save to settle.
    private func findUntouched() {
        guard !isPayload, !entities.added.isEmpty else { return }
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard !snapshots.has(slot), let model = model(at: slot), entities.added.contains(model),
                !entities.isKnownElsewhere(slot)
            else { continue }
            untouched.insert(slot)
        }
    }

    /// Reads a DTO into a model that has been read before, by this table or by another one.
    private func readAgain(_ dto: UnsafePointer<D>, _ slot: Int, _ model: D.Model, isOld: Bool) throws {
        try mapping.steps.withAddress { steps in
            for step in steps..<steps + mapping.steps.count {
                guard let read = step.pointee.read else { continue }
                if !isOld {
                    if !entities.isHeld(step.pointee, slot, model) { try read(dto, model) }
                } else if entities.isUnedited(step.pointee.isClean, slot, model)
                    || !entities.bases.isEmpty && entities.isUnedited(step.pointee, slot, model)
                    || entities.isSaidElsewhere(step.pointee, slot)
                {
                    try read(dto, model)
                } else {
                    try applyResolution(step - steps, slot, model, dto, read)
                }
            }
        }
    }

    func linkModels() throws {
        var masks: [Int: UInt64] = [:]
        for (index, step) in mapping.steps.enumerated() {
            let count = followed[index]
            if count < arrived.count {
                try unfillChanged(step, index, from: count)
                try step.linkKnown?(self, count, load)
            }
            guard let link = step.link, count > 0 else { continue }
            let putBack = setAside(step) + holdLinks(step)
            try link(self, index, load)
            for put in putBack { put() }
            masks[count, default: 0] |= step.bit
        }
        for (count, mask) in masks { markFilled(mask, count) }
        for (path, slots) in unloaded {
            guard let step = mapping.steps.first(where: { $0.modelPath == path }) else { continue }
            for slot in slots {
                entities.filled[slot] &= ~step.bit
                if let inverse = step.inverse { entities.target(step)?.forgetHeld(by: slot, inverse) }
            }
        }
    }

    /// Takes what the app has put into links that it had not loaded out of the way of a load.
    func setAside(_ step: StepTasks<D>) -> [() -> Void] {
        guard let setAside = step.setAside else { return [] }
        var putBack: [() -> Void] = []
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard snapshots.has(slot), entities.filled[slot] & step.bit == 0, let model = model(at: slot) else {
                continue
            }
            putBack.append(setAside(model, slot, core))
        }
        return putBack
    }

    /// A link that another writer has changed and this load does not follow is unknown again, unless the app has
    /// changed it too.
    private func unfillChanged(_ step: StepTasks<D>, _ index: Int, from start: Int) throws {
        guard let isSame = step.isSame, let drop = step.drop else { return }
        let bit = step.bit
        for place in arrived[start...] {
            let slot = Int(slots[Int(place)])
            guard entities.filled[slot] & bit != 0, incoming.has(Int(place)), snapshots.has(slot),
                let model = model(at: slot)
            else { continue }
            let isKept = withDTO(place) { isSame(snapshots.pointer(slot), $0) }
            guard !isKept, try entities.isClean(step.isClean, slot, model) else { continue }
            drop(model, core, true)
            entities.filled[slot] &= ~bit
        }
    }

    private func markFilled(_ mask: UInt64, _ count: Int) {
        for index in arrived.prefix(count) where untouched.isEmpty || !untouched.contains(Int(slots[Int(index)])) {
            entities.filled[Int(slots[Int(index)])] |= mask
        }
    }

    func finish() throws {
        noteVanished()
        noteReached()
        takeGapless()
        try takeRefused()
        noteGaps()
        noteElsewhere()
        trackArrived()
        if !isPayload, core.hasBacking { try keepBases() }
        let (snapshots, incoming) = (snapshotRows, incomingRows)
        for index in arrived where untouched.isEmpty || !untouched.contains(Int(slots[Int(index)])) {
            incoming.move(Int(index), to: snapshots, at: Int(slots[Int(index)]))
        }
    }

    var hasVanishing: Bool { !vanishing.isEmpty }

    private func noteVanished() {
        if !entities.vanished.isEmpty { for index in arrived { entities.vanished.remove(Int(slots[Int(index)])) } }
        for id in vanishing { if let slot = identity.slot(id) { entities.vanished.insert(slot) } }
    }

    private func trackArrived() {
        guard entities.tracking != nil else { return }
        for index in arrived { if let model = model(at: Int(slots[Int(index)])) { entities.track(model) } }
    }

    var models: [AnyObject] { slots.compactMap { $0 < 0 ? nil : model(at: Int($0)) } }

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
            let range = start..<start + withDTO(index, count)
            start = range.upperBound
            guard let model = model(at: slot), untouched.isEmpty || !untouched.contains(slot) else { continue }
            if snapshots.has(slot) || isPayload, try isPayload || !isClean(snapshots.pointer(slot), model, core),
                keeps(step, slot, model)
            {
                continue
            }
            try body(model, range)
        }
    }
}
