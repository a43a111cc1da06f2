/// What others know of an observer that is called.
final class ObserverHandle: Sendable {
    /// Itself, once it is there.
    let id = Locked<Hub.ID?>(nil)
    /// Held while an event is made and delivered, and while something is written that the observer knows of: so it has
    /// every event from before the write before that, and every other one after it.
    let gate = Turnstile()
}

extension ObservationToken {
    /// Runs `body` while no event of these observers is under way.
    static func between<T>(
        _ tokens: [ObservationToken], _ body: ([Hub.ID]) async throws -> T
    ) async throws -> T {
        var handles: [ObserverHandle] = []
        for token in tokens where !handles.contains(where: { $0 === token.handle }) { handles.append(token.handle) }
        // Everybody enters in one order.
        handles.sort { ObjectIdentifier($0) < ObjectIdentifier($1) }
        for handle in handles { await handle.gate.enter() }
        defer { for handle in handles { handle.gate.leave() } }
        return try await body(handles.compactMap { handle in handle.id.withLock { $0 } })
    }
}

extension WriteTransaction {
    /// What the transaction has made of the rows of observers that know of it.
    func absorbed(_ touches: [Touch]) throws -> [Hub.ID: any Sendable] {
        var absorbed: [Hub.ID: any Sendable] = [:]
        for id in knowing {
            guard let (interest, absorber) = hub.absorber(id) else { continue }
            let concerned = touches.filter(interest.concerns)
            guard !concerned.isEmpty else { continue }
            let keys = Set(concerned.flatMap { $0.knownKeys ?? [] })
            guard let absorber, concerned.allSatisfy({ $0.knownKeys != nil }), Set(concerned.map(\.table)).count == 1
            else {
                throw StoreError(
                    .misuse,
                    "an observer cannot be left out of this write, for which it runs its query again; "
                        + "see explainChanges(of:), or let it be told", table: concerned[0].table)
            }
            absorbed[id] = try absorber(self, Array(keys))
        }
        return absorbed
    }
}
