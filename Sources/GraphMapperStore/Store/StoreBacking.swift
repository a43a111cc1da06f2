/// A store as a session has it: what a session reads and writes, in the store's transactions.
package struct StoreBacking: GraphBacking {
    package let store: GraphStore

    package func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        try await store.read { transaction in try await body(transaction) }
    }

    package func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        try await store.write { transaction in try await body(transaction) }
    }

    package func uniqueColumns(of table: String) -> [[String]] { store.uniques.withLock { $0[table] ?? [] } }

    package func stores(_ type: any DTO.Type) -> Bool { store.records.contains(ObjectIdentifier(type)) }

    package func statements(for changes: ChangeSet) async throws -> [[String]] {
        try await store.read { try $0.statements(for: changes) }
    }
}

extension GraphStore {
    /// The store as the backing of a session, for what wraps one or checks its laws. A session over a store is made of the
    /// store itself.
    public var backing: any GraphBacking { StoreBacking(store: self) }
}
