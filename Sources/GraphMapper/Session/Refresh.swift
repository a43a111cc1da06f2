/// What a refresh does with the app's unsaved changes.
public struct RefreshMode {
    let isDiscarding: Bool
    let merge: ((Conflict) throws -> Conflict.Resolution)?

    /// Properties that the app has changed keep the app's value.
    public static var keepingChanges: Self { Self(isDiscarding: false, merge: nil) }
    /// What is read takes what is stored, and is not deleted any more. A refresh of everything also forgets new objects that
    /// were not saved, and other deletions.
    public static var discardingChanges: Self { Self(isDiscarding: true, merge: nil) }
    /// Asks about each value that both have changed. Links that the app has changed keep the app's. What is merged is a
    /// change of the app's, which the next save writes. If the closure throws, the refresh does, and no model is
    /// touched.
    public static func merging(_ winner: @escaping (Conflict) throws -> Conflict.Resolution) -> Self {
        Self(isDiscarding: false, merge: winner)
    }
}

extension GraphSession {
    /// Reads everything that the session holds again.
    ///
    /// An object whose row has vanished leaves the links of the others and counts as deleted: see ``state(of:)``.
    public func refresh(_ mode: RefreshMode = .keepingChanges) async throws {
        try await reload(mode) { [core] load in
            for table in core.order where table.isStored { load.phase(of: table).wantAll() }
        }
    }

    /// Reads one object again, and what loads reach from it.
    public func refresh(_ model: AnyObject, _ mode: RefreshMode = .keepingChanges) async throws {
        try await reload(mode, isWhole: false) { [core] load in
            try core.wantAll(of: model, in: load)
        }
    }

    /// Follows a link of a model, which need not be loaded so far: what an on-demand link holds. What the app has put
    /// into the link before is kept beside it. Objects of the same class that this load reaches have theirs loaded, too.
    public func load<M: AnyObject>(_ model: M, _ path: PartialKeyPath<M>) async throws {
        try await load([model], path)
    }

    /// The same for many models, with one query a level.
    public func load<M: AnyObject>(_ models: [M], _ path: PartialKeyPath<M>) async throws {
        try await reload(.keepingChanges, following: [path]) { [core] load in
            for model in models {
                let table = try core.storedTable(for: model)
                try table.requireLink(path)
                try load.phase(of: table).want(model)
            }
        }
    }

    private func reload(
        _ mode: RefreshMode, following: [AnyKeyPath] = [], isWhole: Bool = true, _ want: (Load) throws -> Void
    ) async throws {
        try await takeTurn()
        defer { release() }
        try await read(mode, following: following, isWhole: isWhole, want)
    }

    /// The same while the session is held already.
    ///
    /// - Parameter isWhole: whether changes of what is not read are discarded, too.
    func read(
        _ mode: RefreshMode, following: [AnyKeyPath] = [], isWhole: Bool = true, _ want: (Load) throws -> Void
    ) async throws {
        try await required(backing).snapshot { source in
            let load = Load(core, .following(following), merge: mode.merge)
            if mode.isDiscarding {
                load.beforeTouching = { [core, unowned load] in
                    try isWhole ? core.rollBack(during: load) : core.rollBackArrived(load)
                }
            }
            try want(load)
            load.noteRoots()
            try await load.gather(from: source)
            try load.materialise()
        }
    }
}

extension SessionCore {
    /// Asks for every row of an object: two record types may each read some of its columns.
    func wantAll(of model: AnyObject, in load: Load) throws {
        let table = try storedTable(for: model)
        try load.phase(of: table).want(model)
        for other in sharing(table) where other !== table && other.isStored {
            if let slot = other.slot(holding: model), other.hasSnapshot(slot) { try load.phase(of: other).want(model) }
        }
    }

    /// The table that an object is read and written through.
    func storedTable(for model: AnyObject) throws -> any ErasedTable {
        let tables = tables(holding: model).filter(\.isStored)
        let known = tables.first { $0.state(of: model).map { $0 != .new } ?? false }
        guard let table = known ?? tables.first else { return try anyTable(for: model) }
        return table
    }
}

extension EntityTable {
    func place(of step: StepTasks<D>) -> Int? { D.schema.properties.firstIndex { $0.path == step.property } }

    /// What the model's property would be stored as.
    func storedValues(_ step: StepTasks<D>, _ place: Int, _ model: D.Model, _ old: D) throws -> [StoredValue] {
        guard let mine = try step.value(of: model, old, core) else { return [] }
        let copy = try D.schema.make(answering: { $0 == place ? mine : old[keyPath: D.schema.properties[$0].path] })
        return D.schema.properties[place].stored(copy)
    }

    /// Sets the model's property to the value that a conflict was resolved to.
    func set(
        _ values: [StoredValue], of conflict: Conflict, _ place: Int, _ model: D.Model, _ row: D,
        _ read: (UnsafePointer<D>, D.Model) throws -> Void
    ) throws {
        guard values.count == conflict.mine.count,
            let type = D.schema.properties[place].type as? any Storable.Type
        else {
            throw GraphError(
                .misuse, "\(conflict.mine.count) values are to be merged, not \(values.count)", type: conflict.type,
                id: conflict.id, property: conflict.property)
        }
        let merged = try type.decode(values)
        let dto = try D.schema.make(answering: {
            $0 == place ? merged : row[keyPath: D.schema.properties[$0].path]
        })
        try withUnsafePointer(to: dto) { try read($0, model) }
    }

    // MARK: Rows that have vanished

    /// Forgets that a row was there, so that its object is new again.
    func forgetVanished(_ slot: Int) {
        guard vanished.remove(slot) != nil else { return }
        snapshots[slot] = nil
    }

    /// Whether the app has changed anything of an object but whom its back-references name.
    func isEditedBesidesLinks(_ slot: Int, _ model: D.Model) -> Bool {
        mapping.steps.enumerated().contains { index, step in
            step.settle == nil && !isUnedited(step, slot, model) && isKnown(step, index, model, slot)
        }
    }
}
