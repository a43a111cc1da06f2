/// Two that are kept up to date in the same transactions.
struct LivePair<A: LiveQuery, B: LiveQuery>: LiveQuery {
    private var first: A
    private var second: B

    init(_ first: A, _ second: B) {
        self.first = first
        self.second = second
    }

    var region: ObservedRegion {
        var both = ObservedRegion()
        both.add(first.region)
        both.add(second.region)
        return both
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws {
        try await first.prepare(tx, lists)
        try await second.prepare(tx, lists)
    }

    mutating func start(_ tx: ReadTransaction) async throws -> (A.Event?, B.Event?)? {
        (try await first.start(tx), try await second.start(tx))
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) async throws -> (A.Event?, B.Event?)? {
        let events = (try await first.advance(tx, pending), try await second.advance(tx, pending))
        return events.0 == nil && events.1 == nil ? nil : events
    }
}
