extension ReadTransaction {
    /// The records of a query in which a text is found, the best first; of equal ones, those that were added first.
    ///
    /// - Parameters:
    ///   - query: its order does not matter.
    ///   - limit: at most so many.
    ///   - marks: what stands before and after a word that was found.
    /// - Throws: ``GraphError`` if the record has no full-text index; ``StoreError`` for a diagnostic in a
    ///   ``SearchText/query(_:)``.
    public func search<R: StoredRecord>(
        _ query: Query<R>, for text: SearchText, limit: Int = 100, marks: (String, String) = ("«", "»")
    ) async throws -> [SearchHit<R>] {
        try check()
        let (tail, values) = try query.matching(text).tail()
        guard !text.match.isEmpty, let found = R.textIndex else { return [] }
        let keys = "SELECT \(keyColumns(R.self).joined(separator: ", ")) FROM \(table(R.self)) \(tail)"
        let sql = found.search(among: keys)
        let bound = [.text(marks.0), .text(marks.1), .text(text.match)] + values + [.integer(Int64(max(0, limit)))]
        var hits: [(id: R.ID, score: Double, snippet: String)] = []
        try connection.withStatement(sql, bound, isCached: true) { statement in
            let cursor = statement.cursor(nil)
            while try statement.step() {
                var position = RowPosition()
                hits.append(
                    (
                        try cursor.read(R.ID.self, at: &position), try cursor.read(Double.self, at: &position),
                        try cursor.read(String.self, at: &position)
                    ))
            }
        }
        let records = try await fetch(R.self, ids: hits.map(\.id))
        // Ids that only look alike are others.
        let byKey = Dictionary(records.map { ($0.id.storedValues, $0) }, uniquingKeysWith: { $1 })
        return hits.compactMap { hit in
            byKey[hit.id.storedValues].map { SearchHit(record: $0, score: hit.score, snippet: hit.snippet) }
        }
    }
}
