extension GraphStore {
    /// Whatever can be read in one transaction, and then each value that differs from the one before.
    ///
    /// It is read again when something that it has read may have been written; the store notes which tables and columns
    /// that is. For counts, sums, and results of several queries that belong together.
    ///
    /// - Parameter read: reads the value. Called again after commits; should depend on nothing but the store.
    /// - Returns: the values. Iterating throws what `read` throws.
    public func values<T: Sendable & Equatable>(
        _ read: @escaping @Sendable (ReadTransaction) async throws -> T
    ) -> Changes<T> {
        Changes(self, LiveValue(read: read))
    }

    /// How many records a query has, and then each count that differs from the one before.
    ///
    /// - Complexity: that of counting, for each commit that may change the count.
    public func counts<R: StoredRecord>(of query: Query<R>) -> Changes<Int> {
        values { try await $0.count(query) }
    }
}

/// A value, read again when what it depends on is written.
private struct LiveValue<T: Sendable & Equatable>: Live {
    let read: @Sendable (ReadTransaction) async throws -> T
    private var lists: [String: ListOwner] = [:]
    private var old: T?
    private(set) var interest = Interest()

    init(read: @escaping @Sendable (ReadTransaction) async throws -> T) { self.read = read }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws {
        self.lists = lists
        _ = try await current(tx)
    }

    mutating func start(_ tx: ReadTransaction) async throws -> T? {
        let value = try await current(tx)
        old = value
        return value
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) async throws -> T? {
        let value = try await current(tx)
        guard value != old else { return nil }
        old = value
        return value
    }

    private mutating func current(_ tx: ReadTransaction) async throws -> T {
        tx.connection.startNotingStatements()
        let value: T
        do { value = try await read(tx) } catch {
            _ = tx.connection.endNotingStatements()
            throw error
        }
        for sql in tx.connection.endNotingStatements() {
            for (table, columns) in try tx.connection.reads(of: sql) {
                if let list = lists[table] {
                    interest.add(list.table, [list.property])
                } else {
                    interest.add(table, columns)
                }
            }
        }
        return value
    }
}
