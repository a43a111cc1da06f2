extension GraphStore: GraphBacking {
    public func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        try await read { transaction in try await body(transaction) }
    }

    public func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        try await write { transaction in try await body(transaction) }
    }

    public func uniqueColumns(of table: String) -> [[String]] { uniques.withLock { $0[table] ?? [] } }

    public func stores(_ type: any DTO.Type) -> Bool { records.contains(ObjectIdentifier(type)) }

    public func statements(for changes: ChangeSet) async throws -> [[String]] {
        try await read { try $0.statements(for: changes) }
    }
}
