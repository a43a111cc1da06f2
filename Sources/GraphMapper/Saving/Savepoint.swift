extension GraphSession {
    /// Runs `body` as one piece of work: if it throws, everything that it did is undone, in the database, in the session and
    /// in the models' mapped properties, as if it had not run. May be nested.
    ///
    /// The outermost one holds one transaction of the backing open: saves in `body` write in it, and loads read from it.
    /// What was edited before, and not saved, stays edited.
    ///
    /// It has the session's turn: loads and saves of other tasks wait until it has ended. What the app edits while the savepoint
    /// waits for its turn and for the transaction is no part of it; what it edits between, of objects of the session, is.
    ///
    /// Complexity: O(objects held) at the start, for finding what is edited.
    ///
    /// - Returns: what `body` returns, once everything is stored.
    /// - Throws: what `body` throws, and what ending the transaction throws.
    @discardableResult
    public func savepoint<T>(_ body: () async throws -> T) async throws -> T {
        try await takeTurn(.savepoint)
        defer { turn.end() }
        guard let backing else { return try await undoing(SessionImage(core), body) }
        let outer = nested
        var image: SessionImage?
        var result: T?
        do {
            try await backing.transaction { sink in
                nested = Nested(base: backing, sink: sink)
                defer { nested = outer }
                // What was done while it waited for the transaction is not the savepoint's.
                result = try await undoing(SessionImage(core)) { image in
                    let value = try await body()
                    image.endWork()
                    return value
                } keeping: {
                    image = $0
                }
            }
        } catch {
            // The end of the transaction has failed.
            if result != nil { try image?.restore() }
            throw error
        }
        guard let result else { throw GraphError(.misuse, "the backing did not run its transaction") }
        return result
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
        try await takeTurn(.savepoint)
        defer { turn.end() }
        let outer = nested
        return try await transaction.savepoint {
            nested = Nested(base: try required(backing), sink: transaction)
            defer { nested = outer }
            return try await undoing(SessionImage(core)) { image in
                let value = try await body()
                image.endWork()
                return value
            } keeping: { image in
                transaction.whenUndone { try image.restore() }
            }
        }
    }

    /// Runs `body`; if it throws, the session and the models' mapped properties are as they were.
    func undoing<T>(_ image: SessionImage, _ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch {
            try image.restore()
            throw error
        }
    }

    /// The same for a body whose work may be undone later: `keeping` is given what does that, once the body has ended well.
    private func undoing<T>(
        _ image: SessionImage, _ body: (inout SessionImage) async throws -> T, keeping: (SessionImage) -> Void
    ) async throws -> T {
        var image = image
        do {
            let value = try await body(&image)
            keeping(image)
            return value
        } catch {
            try image.restore()
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

extension EntityTable {
    /// What puts everything that the table knows back.
    func remembered() -> () -> Void {
        let (slots, models, deleted) = (identity.slots, identity.models, identity.deleted)
        let (dropped, replaced, evicted) = (identity.dropped, identity.replaced, identity.evicted)
        let (rows, filled, added, vanished) = (snapshots.copy(), filled, added, vanished)
        markTracked()
        let (edited, baselines, bases) = (edited, baselines, bases)
        let elsewhere = elsewhere
        let notes = inverseIndexes.mapValues(\.notes)
        return { [self] in
            (identity.slots, identity.models, identity.deleted) = (slots, models, deleted)
            (identity.dropped, identity.replaced, identity.evicted) = (dropped, replaced, evicted)
            snapshots.set(to: rows)
            (self.filled, self.added, self.vanished) = (filled, added, vanished)
            (self.edited, self.baselines, self.bases) = (edited, baselines, bases)
            self.elsewhere = elsewhere
            tracking?.keep(models.lazy.compactMap { $0 })
            for (path, inverseIndex) in inverseIndexes {
                inverseIndex.restore(notes[path])
            }
        }
    }

    /// The objects that the next save deletes.
    var pendingDeletions: [AnyObject] { identity.deleted.compactMap { model(at: $0) } + identity.dropped.values }

    /// What adds and deletes again, once the session is what it was, what is added and deleted now, but for some.
    func pendingChanges(besides known: Set<ObjectIdentifier>) -> () throws -> Void {
        let added = added.filter { !known.contains(ObjectIdentifier($0)) }
        let deleted = pendingDeletions.filter { !known.contains(ObjectIdentifier($0)) }
        return { [self] in
            for object in added { try add(object) }
            for object in deleted { try delete(object) }
        }
    }

    /// What puts the mapped properties of the objects that are new, deleted or edited back.
    func rememberEdited() -> [() -> Void] {
        // A link to what is about to be deleted counts as empty, and so may look unedited.
        let isDeleting = core.order.contains(where: \.hasDeleted)
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
