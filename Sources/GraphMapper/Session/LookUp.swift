extension GraphSession {
    /// Whether a save failed because rows are there under the ids of objects that it took for new. Then it is done again
    /// with updates of those, which are looked up again in the transaction that writes.
    func findRows() async throws -> Bool {
        var isFound = false
        // An error of this look is not the one to report.
        try? await required(backing).snapshot { source in
            for table in core.order where table.hasInsertions {
                if try await table.lookUp(in: source) { isFound = true }
            }
        }
        guard isFound else { return false }
        // What came by another DTO type says only so much of a row: the rest is loaded.
        try await read(.keepingChanges) { load in for table in core.order { try table.wantFound(load) } }
        return true
    }
}

extension EntityTable {
    /// Asks for the found rows of objects that came by another DTO type.
    func wantFoundRows(_ load: Load) throws {
        for row in rows.values {
            guard let slot = identity.slot(row.id), snapshot(slot) == nil, isKnownElsewhere(slot) else { continue }
            _ = try load.batch(D.self).want(row.id)
        }
    }

    func findRows(in source: any GraphSource) async throws -> Bool {
        rows = [:]
        let batch = try Load(core).batch(D.self)
        for row in try await source.fetch(D.self, ids: inserting).map(batch.detached) { rows[IDKey(row.id)] = row }
        return !rows.isEmpty
    }

    /// Plans the update of an object that the app has made under the id of a stored row. What it leaves nil or empty in
    /// links is not known, and kept.
    func collect(_ model: D.Model, _ slot: Int, foundAs row: D, into plan: inout WritePlan) throws {
        snapshots[slot] = row
        let mask = filled[slot]
        filled[slot] = 0
        defer {
            snapshots[slot] = nil
            filled[slot] = mask
        }
        try checkWhole(slot, model)
        let new = try rebuilt(row, model, slot)
        let change = D.schema.update(from: row, to: new)
        plan.update(change.row, change.links, false)
        note(row, new, in: &plan)
        let written = writtenLinks(of: model)
        plan.commit.append { [self] in
            let slot = stored(new, model, slot)
            filled[slot] = written
        }
        settle(new, model, &plan)
    }
}
