/// Something that is kept up to date with the store.
protocol LiveQuery: Sendable {
    associatedtype Event: Sendable
    /// What it looks at. May grow while it reads.
    var region: ObservedRegion { get }
    /// How it takes in writes of whoever observes; nil if it cannot. Asked for after `prepare`.
    var suppressedRowsReader: SuppressedRowsReader? { get }
    /// Finds out what it looks at. Called once, first.
    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws
    /// Reads everything. Called once, second; nil says nothing.
    mutating func start(_ tx: ReadTransaction) async throws -> Event?
    /// Takes what has been written into account; nil if that changes nothing.
    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) async throws -> Event?
}

extension LiveQuery {
    var suppressedRowsReader: SuppressedRowsReader? { nil }
}
