/// One observer: waits for what concerns it, looks at it, and says what has changed.
///
/// It is an actor so that the work is done off the actor of whoever observes.
actor Subscription<L: LiveQuery> {
    private let store: GraphStore
    private var live: L?
    private var id: ObserverID?

    private let handle: ObserverHandle?

    /// - Parameter handle: its gate is entered for each event; whoever gets the event leaves it.
    init(_ store: GraphStore, _ live: L, handle: ObserverHandle?) {
        self.store = store
        self.live = live
        self.handle = handle
    }

    deinit { if let id { store.broadcaster.remove(id) } }

    /// The next event; nil when the task is cancelled. After an error there are no more. One call at a time.
    func next() async throws -> L.Event? {
        do {
            // It is taken out, so that it is changed where it is and not copied.
            guard var live else { return nil }
            self.live = nil
            let event = try await next(&live)
            if event != nil { self.live = live } else { end() }
            return event
        } catch {
            let isCancelled = Task.isCancelled
            end()
            if error is CancellationError, isCancelled { return nil }
            throw error
        }
    }

    private func end() {
        if let id { store.broadcaster.remove(id) }
        id = nil
    }

    private func next(_ live: inout L) async throws -> L.Event? {
        if id == nil, let event = try await gated(&live, { try await self.start(&$0) }) { return event }
        while let id, try await store.broadcaster.wait(id) {
            let event = try await gated(&live) { try await self.advance(&$0, id) }
            store.broadcaster.widen(id, live.region)
            if let event { return event }
        }
        return nil
    }

    private func gated(
        _ live: inout L, _ step: (inout L) async throws -> L.Event?
    ) async throws -> L.Event? {
        await handle?.gate.enter()
        do {
            let event = try await step(&live)
            if event == nil { handle?.gate.leave() }
            return event
        } catch {
            handle?.gate.leave()
            throw error
        }
    }

    private func start(_ live: inout L) async throws -> L.Event? {
        try await store.read { tx in try await live.prepare(tx, store.lists) }
        // From here on everything is kept for it, so that nothing is missed between the first reading and the next.
        let id = store.broadcaster.add(live.region, live.suppressedRowsReader)
        self.id = id
        handle?.id.withLock { $0 = id }
        store.watch()
        let event = try await store.read { tx in try await live.start(tx) }
        store.broadcaster.widen(id, live.region)
        return event
    }

    private func advance(_ live: inout L, _ id: ObserverID) async throws -> L.Event? {
        let store = store
        let (taken, told) = store.broadcaster.take(id)
        return try await store.read { tx in
            let pending = try store.pending(taken, told, live.region, tx)
            return try await live.advance(tx, pending)
        }
    }
}

extension GraphStore {
    /// What an observer has to look at in a snapshot, which may have more than it was told of: all of it counts, so that
    /// each event is of one moment.
    ///
    /// - Parameters:
    ///   - taken: what it was told, before the snapshot was made.
    ///   - told: the last change record that this takes into account.
    func pending(
        _ taken: PendingChanges, _ told: Int64, _ region: ObservedRegion, _ tx: ReadTransaction
    ) throws -> PendingChanges {
        var pending = taken
        guard isLogged else { return pending }
        let last = try WriteSet.last(tx.connection)
        let records = last > told ? try tx.knownRecords(after: told) : []
        if last < told || records.first.map({ $0.sequence != told + 1 }) == true {
            pending.addEverything()
        } else {
            for touch in records.lazy.map({ RowChange($0) }) where region.concerns(touch) { pending.add(touch) }
        }
        return pending
    }
}
