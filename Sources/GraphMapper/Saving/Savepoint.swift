extension GraphSession {
    /// Runs `body` as one piece of work: if it throws, everything that it did is undone, in the database, in the session and
    /// in the models' mapped properties, as if it had not run. May be nested.
    ///
    /// The outermost one holds one transaction of the backing open: saves in `body` write in it, and loads read from it.
    /// What was edited before, and not saved, stays edited.
    ///
    /// Complexity: O(objects held) at the start, for finding what is edited.
    ///
    /// - Returns: what `body` returns, once everything is stored.
    /// - Throws: what `body` throws, and what ending the transaction throws.
    @discardableResult
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        try validate()
        try notBusy()
        let memento = try Memento(core)
        guard let backing else { return try await undoing(memento, body) }
        let outer = nested
        return try await undoing(memento) {
            var result: T?
            try await backing.transaction { sink in
                nested = Nested(base: backing, sink: sink)
                defer { nested = outer }
                result = try await body()
            }
            guard let result else { throw GraphError(.misuse, "the backing did not run its transaction") }
            return result
        }
    }

    /// Runs `body` inside a transaction that is open already: saves in it write there, and loads read from it. What the
    /// transaction does before and after is the caller's.
    ///
    /// If `body` throws, or the transaction is undone after all, the session and the models' mapped properties are as
    /// before `body`; the transaction itself goes on after an error of `body`, which its own savepoint undoes.
    ///
    /// Complexity: O(objects held) at the start, for finding what is edited.
    ///
    /// - Returns: what `body` returns.
    @discardableResult
    public func join<T>(_ transaction: any JoinableTransaction, _ body: () async throws -> T) async throws -> T {
        try validate()
        try notBusy()
        let memento = try Memento(core)
        let outer = nested
        let result = try await undoing(memento) {
            try await transaction.savepoint {
                nested = Nested(base: try required(backing), sink: transaction)
                defer { nested = outer }
                return try await body()
            }
        }
        transaction.whenUndone { try memento.restore() }
        return result
    }

    /// Runs `body`; if it throws, the session and the models' mapped properties are as they were.
    func undoing<T>(_ memento: Memento, _ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch {
            try memento.restore()
            throw error
        }
    }
}

/// The backing of a session inside a savepoint: the open transaction.
private struct Nested: GraphBacking {
    let base: any GraphBacking
    let sink: any ChangeSink

    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        guard let source = sink as? any GraphSource else {
            throw GraphError(.misuse, "the backing's transactions cannot be read from; load before the savepoint")
        }
        try await body(source)
    }

    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        try await sink.savepoint { try await body(sink) }
    }

    func stores(_ type: any DTO.Type) -> Bool { base.stores(type) }
    func uniqueColumns(of table: String) -> [[String]] { base.uniqueColumns(of: table) }
    var defersForeignKeys: Bool { base.defersForeignKeys }
    func statements(for changes: ChangeSet) async throws -> [[String]] { try await sink.texts(of: changes) }
}

/// What a session knows, and how the edited models are, at one time.
struct Memento {
    private let core: SessionCore
    private let tables: [() -> Void]
    private let models: [() -> Void]
    private let keys: [() -> Void]

    init(_ core: SessionCore) throws {
        self.core = core
        tables = core.order.map { $0.remember() }
        keys = core.order.map { $0.rememberKeys() }
        models = try core.rememberEdits()
    }

    func restore() throws { try core.quietly { try putBack() } }

    private func putBack() throws {
        for takeBack in keys { takeBack() }
        for restore in tables { restore() }
        // What is edited now goes back to what was read, then what was edited then to what it was. Meanwhile nothing is
        // deleted: a link to what is would count as empty, and so as unedited.
        try core.rollBack()
        for restore in models { restore() }
        for restore in tables { restore() }
    }
}

extension SessionCore {
    fileprivate func rememberEdits() throws -> [() -> Void] {
        defer { for table in order { table.endWalk() } }
        try walk()
        return order.flatMap { $0.rememberEdited() }
    }
}

extension EntityTable {
    /// What puts everything that the table knows back.
    func remembered() -> () -> Void {
        let (slots, models, deleted) = (identity.slots, identity.models, identity.deleted)
        let (dropped, replaced, evicted) = (identity.dropped, identity.replaced, identity.evicted)
        let (rows, filled, added, vanished) = (snapshots.copy(), filled, added, vanished)
        let (edited, baselines) = (edited, baselines)
        let elsewhere = elsewhere
        let notes = inverseIndexes.mapValues { ($0.held, $0.named) }
        return { [self] in
            (identity.slots, identity.models, identity.deleted) = (slots, models, deleted)
            (identity.dropped, identity.replaced, identity.evicted) = (dropped, replaced, evicted)
            snapshots.set(to: rows)
            (self.filled, self.added, self.vanished) = (filled, added, vanished)
            (self.edited, self.baselines) = (edited, baselines)
            self.elsewhere = elsewhere
            tracking?.keep(models.lazy.compactMap { $0 })
            for (path, inverseIndex) in inverseIndexes {
                inverseIndex.endWalk()
                (inverseIndex.held, inverseIndex.named) = notes[path] ?? ([:], [])
            }
        }
    }

    /// What puts the mapped properties of the objects that are new, deleted or edited back.
    func editedModels() -> [() -> Void] {
        // A link to what is about to be deleted counts as empty, and so may look unedited.
        let isDeleting = core.order.contains(where: \.hasDeletions)
        let edited = identity.models.indices.compactMap { slot -> D.Model? in
            guard let model = model(at: slot) else { return nil }
            let isEdited =
                isDeleting || snapshot(slot) == nil || identity.deleted.contains(slot) || vanished.contains(slot)
                || mapping.steps.contains { !isUnedited($0.isClean, slot, model) || $0.restoreHeld != nil }
            return isEdited ? model : nil
        }
        let dropped = identity.dropped.values.compactMap { $0 as? D.Model }
        return (edited + dropped).flatMap { model in
            mapping.steps.compactMap { step in
                step.modelPath.flatMap { $0 as? PartialKeyPath<D.Model> }.flatMap { $0.remember(in: model) }
            }
        }
    }
}

extension PartialKeyPath where Root: AnyObject {
    /// What sets the property to what it is now; nil for one that cannot be set.
    func remember(in object: Root) -> (() -> Void)? {
        func remember<Value>(_: Value.Type) -> (() -> Void)? {
            guard let path = self as? ReferenceWritableKeyPath<Root, Value> else { return nil }
            let value = object[keyPath: path]
            return { object[keyPath: path] = value }
        }
        return _openExistential(Self.valueType, do: remember)
    }
}
