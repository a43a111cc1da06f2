import Testing

@testable import GraphMapperStore

private struct CaseRow: StoredRecord {
    let id: Int
    let small: Int
    let capital: Int
    static let schema = Schema<Self>("case") { row in
        try Self(id: row("id", \.id), small: row("x", \.small), capital: row("X", \.capital))
    }
}

private struct SystemRow: StoredRecord {
    let id: Int
    static let schema = Schema<Self>("SQLite_x") { row in try Self(id: row("id", \.id)) }
}

private struct NulRow: StoredRecord {
    let id: Int
    let peers: [Ref<NulRow>]
    static let schema = Schema<Self>("nul") { row in
        try Self(id: row("i\0d", \.id), peers: row("pe\0ers", \.peers))
    }
}

/// Shares its table with the next one.
private struct LeftRow: StoredRecord {
    let id: Int
    let note: String
    static let schema = Schema<Self>("shared") { row in try Self(id: row("id", \.id), note: row("note", \.note)) }
}
private struct RightRow: StoredRecord {
    let id: Int
    let note: String
    static let schema = Schema<Self>("shared") { row in try Self(id: row("id", \.id), note: row("NOTE", \.note)) }
}

private struct RankRow: StoredRecord {
    let id: Int
    let rank: String
    static let schema = Schema<Self>("ranked") { row in try Self(id: row("id", \.id), rank: row("Rank", \.rank)) }
    static let indexes: [Index<Self>] = [.text(\.rank)]
}

private struct TwiceRow: StoredRecord {
    let id: Int
    let umlauts: Int
    let others: Int
    static let schema = Schema<Self>("twice") { row in
        try Self(id: row("id", \.id), umlauts: row("ä", \.umlauts), others: row("Ä", \.others))
    }
}

@Suite struct `Names that the engine does not take` {
    @Test func `all are told at once, with the other mistakes`() async throws {
        let error = await #expect(throws: GraphError.self) {
            try await GraphStore.open(
                .inMemory, CaseRow.self, SystemRow.self, NulRow.self, LeftRow.self, RightRow.self, RankRow.self,
                TwiceRow.self)
        }
        let text = error?.message ?? ""
        #expect(error?.kind == .invalidSchema)
        for part in [
            "case: X, x differ in case only", "SQLite_x: names of tables that begin with sqlite_",
            #""nul": the name "i\0d" has a NUL"#, #"the name "nul_pe\0ers" has a NUL"#,
            "shared: NOTE, note differ in case only", "ranked.Rank: a full-text index cannot have",
        ] { #expect(text.contains(part), "\(part) is missing in\n\(text)") }
        #expect(!text.contains("twice"))
    }

    /// The engine folds the letters of ASCII alone.
    @Test func `letters with accents differ`() async throws {
        let store = try await GraphStore.open(.inMemory, TwiceRow.self)
        try await store.write { try await $0.insert(TwiceRow(id: 1, umlauts: 2, others: 3)) }
        #expect(try await store.find(TwiceRow.self, 1)?.others == 3)
    }
}
