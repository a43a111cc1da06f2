extension GraphStore {
    /// Runs `body` on one snapshot of the store.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside a transaction of the store, whose `body` reads with what it was
    ///   given; `CancellationError` if the task is cancelled while it waits for its turn, or while a statement runs that
    ///   reads a file; what `body` throws.
    public func read<T>(_ body: (ReadTransaction) async throws -> T) async throws -> T {
        guard let readers else {
            return try await exclusively { try await transaction(isWrite: isShared, ReadTransaction(writer), body) }
        }
        guard Self.openTransaction?.holds(self) != true else { throw Self.nested }
        let connection = try await readers.take()
        defer { readers.give(connection) }
        return try await holding(
            OpenTransaction(self, isReader: true, outer: Self.openTransaction), interrupting: connection
        ) {
            try await transaction(isWrite: false, ReadTransaction(connection), body)
        }
    }

    private static var nested: StoreError {
        StoreError(
            .misuse,
            "a transaction of this store is open in this task; use it, or its savepoints, "
                + "or end it before the next")
    }

    /// Runs `body` in one transaction: all of it is written, or, if it throws, nothing.
    ///
    /// - Parameter tokens: observers that know what is written, as a list does whose row the user has deleted. They are
    ///   not told of it. What they are told before this returns is from before the write; what they are told later is as
    ///   seen from the write. So do on the main actor to the list what was written as soon as this has returned.
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while it waits for its turn;
    ///   ``StoreError`` of kind `.misuse`, and nothing is written, inside a transaction that writes to the store or is of a
    ///   store in memory, and if one of these observers runs its query again for what was written, which
    ///   ``explainChanges(of:)`` tells, or observes something else.
    @discardableResult
    public func write<T>(
        withoutNotifying tokens: [ObservationToken] = [], _ body: (WriteTransaction) async throws -> T
    ) async throws -> T {
        guard !tokens.isEmpty else { return try await write(suppressing: [], body) }
        // Observers that wait for the transaction around this one would never let it begin.
        guard Self.openTransaction?.holdsWriter(self) != true else { throw Self.nested }
        return try await ObservationToken.between(tokens) { try await write(suppressing: $0, body) }
    }

    private func write<T>(
        suppressing observers: [ObserverID], _ body: (WriteTransaction) async throws -> T
    ) async throws -> T {
        try await exclusively {
            let context = WriteTransaction.Context(
                lists: lists, effects: linkEffects, adopted: adopted, isLogged: isLogged, knownLists: knownLists,
                observedTables: broadcaster.tables, filterColumns: broadcaster.filterColumns)
            return try await self.transaction(isWrite: true, WriteTransaction(writer, context)) { transaction in
                // Foreign keys that others have declared may be checked at once.
                if !adopted.isEmpty { try writer.deferForeignKeys() }
                try lookForExternalChanges()
                return try await body(transaction)
            } commit: {
                try commit($0, suppressing: observers)
            }
        }
    }

    /// Commits a transaction that writes, and tells those who observe.
    private func commit(_ transaction: WriteTransaction, suppressing observers: [ObserverID]) throws {
        let records = try transaction.finishWriteSet { broadcaster.nextNumber() }
        let changes =
            try records != nil && broadcaster.isNeeded
            ? transaction.rowChanges(filteredBy: broadcaster.filterColumns) : nil
        let suppressed = try broadcaster.suppressedRows(changes ?? [], of: observers, in: transaction)
        try transaction.commit()
        if let records { broadcaster.publish(changes, records: records, suppressed: suppressed) }
    }

    func exclusively<T>(_ body: () async throws -> T) async throws -> T {
        guard Self.openTransaction?.holdsWriter(self) != true else { throw Self.nested }
        try await writing.enterUnlessCancelled()
        defer { writing.leave() }
        try checkOpen()
        return try await holding(OpenTransaction(self, isReader: false, outer: Self.openTransaction), body)
    }

    /// - Parameters:
    ///   - connection: one whose statement ends if the task is cancelled.
    ///   - isolation: where the caller runs. The closures that `withValue` and the cancellation handler take run there only
    ///     if they capture it: else they would leave the actor, and with it whatever `body` does to models.
    private func holding<T>(
        _ open: OpenTransaction, interrupting connection: Connection? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> T
    ) async throws -> T {
        defer { open.end() }
        return try await Self.$openTransaction.withValue(open) {
            _ = isolation
            guard let connection else { return try await body() }
            return try await withTaskCancellationHandler {
                _ = isolation
                return try await body()
            } onCancel: {
                connection.interrupt()
            }
        }
    }

    private func transaction<X: ReadTransaction, T>(
        isWrite: Bool, _ transaction: X, _ body: (X) async throws -> T,
        commit: (X) throws -> Void = { try $0.commit() }
    ) async throws -> T {
        defer { transaction.isOpen = false }
        if isWrite {
            try await transaction.connection.beginWriting()
        } else {
            try transaction.connection.execute(Dialect.beginReading)
        }
        do {
            let result = try await body(transaction)
            try commit(transaction)
            return result
        } catch {
            if transaction.connection.isInTransaction { try transaction.connection.execute("ROLLBACK") }
            try transaction.wasUndone()
            throw error
        }
    }
}
