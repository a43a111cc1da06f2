/// Something that is kept up to date with the store.
protocol Live: Sendable {
    associatedtype Event: Sendable
    /// Finds out what it looks at. Called once, first.
    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws -> Interest
    /// Reads everything. Called once, second; nil says nothing.
    mutating func start(_ tx: ReadTransaction) throws -> Event?
    /// Takes what has been written into account; nil if that changes nothing.
    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) throws -> Event?
}

/// One observer: waits for what concerns it, looks at it, and says what has changed.
///
/// It is an actor so that the work is done off the actor of whoever observes.
actor Feed<L: Live> {
    private let store: GraphStore
    private var live: L?
    private var id: Hub.ID?
    private var interest = Interest()

    init(_ store: GraphStore, _ live: L) {
        self.store = store
        self.live = live
    }

    deinit { if let id { store.hub.remove(id) } }

    /// The next event; nil when the task is cancelled. After an error there are no more.
    func next() async throws -> L.Event? {
        do {
            guard live != nil else { return nil }
            if id == nil, let event = try await start() { return event }
            while let id, let (pending, told) = try await store.hub.wait(id) {
                if let event = try await store.read({ tx in try advance(tx, pending, told) }) { return event }
            }
            end()
            return nil
        } catch {
            let isCancelled = Task.isCancelled
            end()
            if error is CancellationError, isCancelled { return nil }
            throw error
        }
    }

    private func end() {
        if let id { store.hub.remove(id) }
        id = nil
        live = nil
    }

    private func start() async throws -> L.Event? {
        interest = try await store.read { tx in try live?.prepare(tx, store.lists) } ?? Interest()
        // From here on everything is kept for it, so that nothing is missed between the first reading and the next.
        id = store.hub.add(interest)
        store.watch()
        return try await store.read { tx in try live?.start(tx) }
    }

    private func advance(_ tx: ReadTransaction, _ pending: Pending, _ told: Int64) throws -> L.Event? {
        var pending = pending
        // The snapshot may have more than the observer was told of: all of it counts, so that each event is of one
        // moment.
        if store.isLogged {
            let last = try ChangeLog.last(tx.connection)
            let records = last > told ? try tx.knownRecords(after: told) : []
            if last < told || records.first.map({ $0.sequence != told + 1 }) == true {
                pending.addEverything()
            } else {
                for touch in records.lazy.map({ Touch($0) }) where interest.concerns(touch) { pending.add(touch) }
            }
        }
        return try live?.advance(tx, pending)
    }
}
