/// What becomes of the objects that a stored owner has, when a save finds its row under the id of a new one: what the new
/// owner's links let go of is left to the rules, as if the stored owner had been loaded and edited.
extension GraphSession {
    /// Reads what the new owners' links may let go of, once it is known whose values win.
    func readReplacedTargets() async throws {
        guard core.order.contains(where: \.hasReplacedTargets) else { return }
        try await read(.keepingChanges) { load in for table in core.order { try table.wantReplacedTargets(load) } }
    }
}

extension StepTasks {
    /// Whether the objects that the link led to, and no longer leads to, are written: a rule deletes them, or they hold the
    /// place in a link to one.
    fileprivate var releasesTargets: Bool { inverse == nil ? rule == .deleteOrphans : !isMany }
}

extension EntityTable {
    /// The rows that a save replaces by the values of new objects.
    private var replacedRows: [D] { rows.values.filter { !$0.isTaken }.map(\.dto) }

    var hasReplacedTargets: Bool { !rows.isEmpty && mapping.steps.contains(where: \.releasesTargets) }

    func wantReplacedTargets(_ load: Load) throws {
        let rows = replacedRows
        guard !rows.isEmpty else { return }
        for step in mapping.steps where step.releasesTargets {
            guard let targets = target(step) else { continue }
            if let inverse = step.inverse {
                try load.phase(of: targets).wantHeld(by: inverse, rows.map(\.id))
            } else if let place = place(of: step) {
                let property = D.schema.properties[place]
                let width = max(1, targets.rules?.key.count ?? 1)
                for values in rows.map({ property.stored($0) }) {
                    for start in stride(from: 0, to: values.count, by: width) {
                        let key = Array(values[start..<min(start + width, values.count)])
                        if !key.contains(.null) { try load.phase(of: targets).want(storedKey: key) }
                    }
                }
            }
        }
    }

    /// Calls `body` while rows that are replaced count as what was read of the new objects.
    func withReplacedRows<T>(_ body: () throws -> T) rethrows -> T {
        var slots: [(slot: Int, filled: UInt64)] = []
        for row in replacedRows {
            guard let slot = identity.slot(row.id), !snapshots.has(slot) else { continue }
            grow(to: slot + 1)
            slots.append((slot, filled[slot]))
            snapshots[slot] = row
            filled[slot] = .max
        }
        defer {
            for (slot, mask) in slots {
                snapshots[slot] = nil
                filled[slot] = mask
            }
        }
        return try body()
    }

    /// Notes what the stored owner has in a link to one that a foreign key holds, if a new object takes its row.
    @usableFromInline func fillReplaced<C: Mappable>(_ owner: Int, _ children: EntityTable<C>, _ foreignKey: AnyKeyPath)
    where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        let index = children.inverseIndex(foreignKey)
        guard let model = model(at: owner), let row = rows[IDKey(mapping.idOf(model))], !row.isTaken,
            !index.isFilled(owner)
        else { return }
        let held = children.snapshots.indices.filter {
            children.snapshots.has($0) && index.link?.owner(children.snapshots.address($0)) == owner
        }
        guard !held.isEmpty else { return }
        index.fill(owner, held.map { Int32(truncatingIfNeeded: $0) })
        filledLinks.append((index, owner))
    }

    /// Forgets what was noted of owners that are not stored after all.
    func forgetReplaced() {
        for (index, owner) in filledLinks where !snapshots.has(owner) { index.forget(owner) }
        filledLinks = []
    }
}
