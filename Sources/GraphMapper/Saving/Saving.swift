extension GraphSession {
    /// Writes what changed, in one transaction.
    ///
    /// New objects are inserted. If that fails and rows turn out to be there under their ids, these are looked up in the same
    /// transaction: what a payload has said of a model, or was added with `ifStored: .update`, is written as an update, and
    /// what it leaves nil or empty in links is kept; of the others, `policy` decides. A save of objects that are new pays
    /// nothing for it.
    ///
    /// What another writer has changed since the session read it is never overwritten unasked: changes to different
    /// properties of a row merge, as do edits of an ordered list element by element; of the others `policy` decides.
    /// Models take what the policy or a merge of lists has made of their properties.
    ///
    /// - Parameters:
    ///   - scope: whether it looks at everything that the session holds, or at what was named by ``edit(_:)``.
    ///   - policy: what to do about a ``Conflict``.
    /// - Returns: what was written. Edits made while it waited are left for the next save.
    /// - Throws: a ``GraphError`` of kind `.conflict` with all ``GraphError/conflicts``, of kind `.cycle` if rows cannot be
    ///   written in any order, and whatever else goes wrong; the session and the backing are then as before, and the same
    ///   save can be tried again.
    @discardableResult
    public func save(only scope: SaveScope = .all, onConflict policy: ConflictPolicy = .fail) async throws -> ChangeSet
    {
        try await takeTurn()
        defer { release() }
        defer { for table in core.order { table.endSparing() } }
        // Objects whose conflict makes them deleted, or not deleted any more.
        var marks: [SaveRetry] = []
        // What undoes that if the save fails.
        var undo: [() -> Void] = []
        do {
            while true {
                let kept = marks.filter { $0.fate == .kept }.map { (core.order[$0.table], $0.slot) }
                do { return try await write(scope, policy, reading: kept) } catch let again as SaveRetry {
                    guard !marks.contains(where: again.isSame) else { throw GraphError([again.conflict]) }
                    marks.append(again)
                    undo.append(core.order[again.table].settle(again.slot, as: again.fate))
                }
            }
        } catch {
            for step in undo.reversed() { step() }
            throw error
        }
    }

    /// - Parameter kept: objects that another writer has changed, and that the models take as they are stored.
    private func write(
        _ scope: SaveScope, _ policy: ConflictPolicy, reading kept: [(table: any ErasedTable, slot: Int)]
    ) async throws -> ChangeSet {
        let plan = try confinement.enter { try core.plan(scope) }
        guard !plan.order.changes.isEmpty || !kept.isEmpty else {
            core.commit(plan)
            return ChangeSet()
        }
        do {
            return try await write(plan.unkeyed.isEmpty ? plan : nil, scope, policy, reading: kept)
        } catch let again as SaveRetry {
            throw again
        } catch {
            defer { for table in core.order { table.endLookUp() } }
            guard try await findRows() else { throw error }
            for table in core.order { table.setFoundPolicy(policy) }
            // Whose values win is settled first: only what the stored owner loses is let go of.
            _ = try confinement.enter { try core.plan(scope) }
            try await readReplacedTargets()
            return try await write(nil, scope, policy, reading: kept)
        }
    }

    /// - Parameter plan: what is to be written; nil to plan it in the transaction.
    private func write(
        _ plan: WritePlan?, _ scope: SaveScope, _ policy: ConflictPolicy,
        reading kept: [(table: any ErasedTable, slot: Int)]
    ) async throws -> ChangeSet {
        var committed = WritePlan()
        var merged: Load?
        var resolver = ConflictResolver(committed, policy, core, merged: kept)
        do {
            try await required(backing).transaction { sink in
                if let plan { committed = plan } else { committed = try await core.plan(scope, in: sink) }
                resolver = ConflictResolver(committed, policy, core, merged: kept)
                try await resolver.apply(to: sink)
                merged = try await read(resolver.merged, from: sink, without: committed.ruledOut)
            }
        } catch {
            core.takeKeysBack()
            throw error
        }
        core.keyed = []
        core.commit(committed)
        try merged?.materialise()
        return ChangeSet(resolver.applied)
    }

    /// Reads what a merge has written, in its own transaction: the models take it when the save has succeeded.
    private func read(
        _ rows: [(table: any ErasedTable, slot: Int)], from sink: any ChangeSink, without ruledOut: [RuledOut]
    ) async throws -> Load? {
        guard !rows.isEmpty, let source = sink as? any GraphSource else { return nil }
        let load = Load(core)
        load.ruledOut = Set(ruledOut.map { ObjectIdentifier($0.object) })
        for row in rows { load.phase(of: row.table).want(slot: row.slot) }
        load.noteRoots()
        try await load.gather(from: source)
        // Once all is stored it would be too late.
        for batch in load.all { try batch.checkFixedProperties() }
        return load
    }
}
