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
    func wantFound(_ load: Load) throws {
        for row in rows.values.lazy.map(\.dto) {
            guard let slot = identity.slot(row.id), snapshot(slot) == nil, isKnownElsewhere(slot) else { continue }
            _ = try load.batch(D.self).want(row.id)
        }
    }

    func findRows(in source: any GraphSource) async throws -> Bool {
        rows = [:]
        let batch = try Load(core).batch(D.self)
        for row in try await source.fetch(D.self, ids: inserting).map(batch.detached) {
            rows[IDKey(row.id)] = FoundRow(dto: row)
        }
        return !rows.isEmpty
    }

    /// Settles what becomes of a row that is there under the id of an object that was to be inserted.
    ///
    /// - Parameter mine: what the row would be updated to.
    private func resolve(
        _ found: FoundRow<D>, _ mine: D, _ model: D.Model, _ slot: Int, _ plan: inout WritePlan
    ) throws -> FoundRow<D> {
        var found = found
        guard !found.isResolved, !added.isUpsert(model), !isKnownElsewhere(slot) else { return found }
        // What it owns by foreign key comes to what is stored, and so the two differ.
        let owns = mapping.steps.contains { $0.inverse != nil && $0.objects?(model).isEmpty == false }
        guard owns || !isSameValue(mine, found.dto) else { return found }
        let conflict = Conflict(
            .exists, type: D.schema.name, id: "\(found.dto.id)", property: "", base: [],
            mine: columnValues(of: mine), theirs: columnValues(of: found.dto))
        guard let resolve = foundPolicy?.resolve else {
            plan.conflicts.append(conflict)
            return found
        }
        found.isResolved = true
        switch try resolve(conflict) {
        case .mine: break
        case .theirs: found.isTaken = true
        case .merged(let values):
            let names = D.schema.properties.filter { !$0.isNested && !$0.isList }.flatMap(\.columnNames)
            guard values.count == names.count else {
                throw GraphError(
                    .misuse, "\(names.count) values are to be merged, not \(values.count)", type: conflict.type,
                    id: conflict.id)
            }
            found.merged = Dictionary(zip(names, values)) { $1 }
        }
        rows[IDKey(found.dto.id)] = found
        return found
    }

    /// Plans the update of an object that the app has made under the id of a stored row. What it leaves nil or empty in
    /// links is not known, and kept.
    func collect(
        _ model: D.Model, _ slot: Int, foundAs found: FoundRow<D>, _ commit: EntityCommit<D>, into plan: inout WritePlan
    ) throws {
        let row = found.dto
        snapshots[slot] = row
        let mask = filled[slot]
        // What it has in its links replaces what is stored.
        filled[slot] = writtenLinks(of: model)
        defer {
            snapshots[slot] = nil
            filled[slot] = mask
        }
        var new = try rebuilt(row, model, slot)
        let found = try resolve(found, new, model, slot, &plan)
        if found.isTaken { return commit.find(.init(slot: slot, model: model, dto: row, written: 0, isTaken: true)) }
        if let merged = found.merged { new = try merging(merged, into: new) }
        let change = D.schema.update(from: row, to: new)
        plan.update(change.row, change.links, false)
        note(row, new, in: &plan)
        commit.find(
            .init(
                slot: slot, model: model, dto: new, written: writtenLinks(of: model), isTaken: found.merged != nil))
        settle(new, model, &plan)
    }

    /// A DTO with other values in some of its columns.
    private func merging(_ columns: [String: StoredValue], into dto: D) throws -> D {
        let properties = D.schema.properties
        return try D.schema.make(answering: { place in
            let property = properties[place]
            guard !property.isNested, !property.isList, let type = property.type as? any Storable.Type else {
                return dto[keyPath: property.path]
            }
            let values = zip(property.columnNames, property.stored(dto)).map { columns[$0] ?? $1 }
            return values.isEmpty ? dto[keyPath: property.path] : try type.decode(values)
        })
    }

    private func isSameValue(_ left: D, _ right: D) -> Bool {
        withUnsafePointer(to: left) { left in withUnsafePointer(to: right) { mapping.isSame(left, $0) } }
    }
}

/// A row that a save has found under the id of an object that was to be inserted.
struct FoundRow<D> {
    let dto: D
    /// Whether a policy has been asked.
    var isResolved = false
    /// Whether what is stored stays, and the model takes it.
    var isTaken = false
    /// What the columns are to have, if a policy has merged them.
    var merged: [String: StoredValue]?
}
