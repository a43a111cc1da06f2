/// Knows who observes a store, and keeps for each what has been written that concerns it.
///
/// Writers hand over what they have committed, in the order of commits, and go on: what it means for an observer is found
/// out by the observer, whenever it comes to it.
final class ChangeBroadcaster: Sendable {
    fileprivate struct Observer {
        var region: ObservedRegion
        let suppressedRows: SuppressedRowsReader?
        var pending = PendingChanges()
        var waiting: CheckedContinuation<Void, Never>?
        var isCancelled = false
        var error: (any Error)?

        /// Whom to wake.
        mutating func woken() -> CheckedContinuation<Void, Never>? {
            defer { waiting = nil }
            return waiting
        }
    }

    fileprivate struct State {
        var observers: [ObserverID: Observer] = [:]
        /// Who looks at all of a table.
        var byTable: [String: Set<ObserverID>] = [:]
        /// Who looks at a single row of it.
        var byRow: [String: [[StoredValue]: Set<ObserverID>]] = [:]
        /// Who looks at rows with one value in a column.
        var byFilter = EqualityFilterIndex()
        var next = 0
        /// How many look at each table.
        var lookers: [String: Int] = [:]
        var tables: Set<String> = []
        /// The number of the last change record that observers have been told of.
        var told: Int64 = 0
    }

    private let state = Locked(State())

    /// - Parameter told: the number of the last change record in the file.
    func start(after told: Int64) { state.withLock { $0.told = told } }

    /// The number of the last change record that observers have been told of.
    var told: Int64 { state.withLock { $0.told } }
    /// The tables that somebody looks at.
    var tables: Set<String> { state.withLock { $0.tables } }
    /// Whether anybody observes.
    var isNeeded: Bool { state.withLock { !$0.observers.isEmpty } }
    /// How many observe.
    var count: Int { state.withLock { $0.observers.count } }
    /// Columns by whose values observers choose their rows, by table.
    var filterColumns: [String: [String]] { state.withLock { $0.byFilter.columns } }
    /// How many have something to look at.
    var pendingCount: Int { state.withLock { $0.observers.values.count { !$0.pending.isEmpty } } }

    // MARK: Observers

    /// From now on, what concerns the observer is kept for it.
    func add(_ region: ObservedRegion, _ suppressedRows: SuppressedRowsReader? = nil) -> ObserverID {
        state.withLock { state in
            let id = ObserverID(number: state.next)
            state.next += 1
            state.observers[id] = Observer(region: region, suppressedRows: suppressedRows)
            state.list(id, region)
            return id
        }
    }

    /// If the observer looks at more than before, it is told of that from now on, and has to look at once: something may
    /// have been written there meanwhile.
    func widen(_ id: ObserverID, _ region: ObservedRegion) {
        state.withLock { state in
            guard let known = state.observers[id]?.region, !region.isWithin(known) else { return }
            state.strike(id, known)
            state.list(id, region)
            state.observers[id]?.region = region
            state.observers[id]?.pending.addEverything()
        }
    }

    /// Forgets the observer; if it waits, it goes on.
    func remove(_ id: ObserverID) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard var observer = state.observers.removeValue(forKey: id) else { return nil }
            state.strike(id, observer.region)
            return observer.woken()
        }
        waiting?.resume()
    }

    /// Waits until something concerns the observer; false if its task is cancelled first, or nothing more will be written.
    ///
    /// - Throws: what kept the store from finding out.
    func wait(_ id: ObserverID) async throws -> Bool {
        while !Task.isCancelled {
            let isDue = try state.withLock { state -> Bool? in
                guard let observer = state.observers[id] else { throw CancellationError() }
                if let error = observer.error { throw error }
                if observer.isCancelled { return nil }
                return !observer.pending.isEmpty
            }
            guard let isDue else { return false }
            if isDue { return true }
            await sleep(id)
        }
        return false
    }

    /// What has been written since the observer last asked, and the number of the last change record that this takes into
    /// account.
    func take(_ id: ObserverID) -> (pending: PendingChanges, told: Int64) {
        state.withLock { state in
            defer { state.observers[id]?.pending = PendingChanges() }
            return (state.observers[id]?.pending ?? PendingChanges(), state.told)
        }
    }

    private func sleep(_ id: ObserverID) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    guard let observer = state.observers[id], !observer.isCancelled, observer.pending.isEmpty,
                        observer.error == nil
                    else { return true }
                    state.observers[id]?.waiting = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                state.observers[id]?.isCancelled = true
                return state.observers[id]?.woken()
            }
            waiting?.resume()
        }
    }

    // MARK: Writers

    /// What an observer that knows of a write looks at, and how it takes it in; nil if it is not there.
    func observer(_ id: ObserverID) -> (region: ObservedRegion, suppressedRows: SuppressedRowsReader?)? {
        state.withLock { state in state.observers[id].map { ($0.region, $0.suppressedRows) } }
    }

    /// Tells of a committed transaction.
    ///
    /// - Parameters:
    ///   - changes: what it has written; nil if nobody observed before it was committed.
    ///   - records: the numbers of its change records.
    ///   - suppressed: what it has made of the rows of observers that know of it.
    func publish(_ changes: [RowChange]?, records: ClosedRange<Int64>, suppressed: [ObserverID: any Sendable] = [:]) {
        let woken = state.withLock { state in
            defer { state.told = max(state.told, records.upperBound) }
            for (id, rows) in suppressed { state.observers[id]?.pending.add(suppressed: rows) }
            // Records that nobody here wrote: another process did.
            guard let changes, records.lowerBound == state.told + 1 else {
                return state.tellAll { $0.pending.addEverything() }
            }
            return state.tell(changes, except: suppressed)
        }
        for continuation in woken { continuation.resume() }
    }

    /// The number for a transaction in a file that has no change records.
    func nextNumber() -> ClosedRange<Int64> { state.withLock { $0.told + 1...$0.told + 1 } }

    /// Tells that anything may have changed: somebody else has written.
    func publishEverything() {
        for continuation in state.withLock({ $0.tellAll { $0.pending.addEverything() } }) { continuation.resume() }
    }

    /// Ends every observation: nothing more will be written.
    func end() {
        for continuation in state.withLock({ $0.tellAll { $0.isCancelled = true } }) { continuation.resume() }
    }

    /// Ends every observation with an error.
    func fail(_ error: any Error) {
        for continuation in state.withLock({ $0.tellAll { $0.error = error } }) { continuation.resume() }
    }
}

extension ChangeBroadcaster.State {
    /// Lists an observer with what it looks at.
    fileprivate mutating func list(_ id: ObserverID, _ region: ObservedRegion) {
        for table in region.tables.keys {
            lookers[table, default: 0] += 1
            tables.insert(table)
            if let row = region.row, row.table == table {
                byRow[table, default: [:]][row.key, default: []].insert(id)
            } else if let filter = region.equalityFilter, filter.table == table {
                byFilter.add(filter, id)
            } else {
                byTable[table, default: []].insert(id)
            }
        }
    }

    /// Takes it from the lists.
    fileprivate mutating func strike(_ id: ObserverID, _ region: ObservedRegion) {
        for table in region.tables.keys {
            lookers[table, default: 1] -= 1
            if lookers[table] == 0 {
                lookers[table] = nil
                tables.remove(table)
            }
            byTable[table]?.remove(id)
            if byTable[table]?.isEmpty == true { byTable[table] = nil }
            if let filter = region.equalityFilter, filter.table == table { byFilter.remove(filter, id) }
            guard let row = region.row, row.table == table else { continue }
            byRow[table]?[row.key]?.remove(id)
            if byRow[table]?[row.key]?.isEmpty == true { byRow[table]?[row.key] = nil }
            if byRow[table]?.isEmpty == true { byRow[table] = nil }
        }
    }

    fileprivate mutating func tell(
        _ changes: [RowChange], except suppressed: [ObserverID: any Sendable]
    ) -> [CheckedContinuation<Void, Never>] {
        var woken: [CheckedContinuation<Void, Never>] = []
        for change in changes {
            func tell(_ ids: some Sequence<ObserverID>) {
                for id in ids where suppressed[id] == nil { self.tell(id, change, &woken) }
            }
            tell(byTable[change.table] ?? [])
            tell(byFilter.concerned(change))
            guard let rows = byRow[change.table] else { continue }
            if let keys = change.knownKeys {
                for key in keys { tell(rows[key] ?? []) }
            } else {
                tell(rows.values.joined())
            }
        }
        return woken
    }

    private mutating func tell(_ id: ObserverID, _ change: RowChange, _ woken: inout [CheckedContinuation<Void, Never>])
    {
        guard observers[id]?.region.looksAt(change) == true else { return }
        observers[id]?.pending.add(change)
        if let continuation = observers[id]?.woken() { woken.append(continuation) }
    }

    fileprivate mutating func tellAll(_ what: (inout ChangeBroadcaster.Observer) -> Void) -> [CheckedContinuation<
        Void, Never
    >] {
        var woken: [CheckedContinuation<Void, Never>] = []
        for id in observers.keys {
            guard var observer = observers[id] else { continue }
            what(&observer)
            if let continuation = observer.woken() { woken.append(continuation) }
            observers[id] = observer
        }
        return woken
    }
}
