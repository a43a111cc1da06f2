/// What a full-text search looks for.
public struct SearchText: Sendable, Hashable {
    let match: String

    /// Rows that have all the words, in any order: what a person typed, whatever signs are in it.
    public static func words(_ text: String) -> SearchText { SearchText(match: quoted(text).joined(separator: " ")) }

    /// The same, where the last word is only the start of one: for a search while somebody types.
    public static func starting(_ text: String) -> SearchText {
        let words = quoted(text)
        return SearchText(match: words.joined(separator: " ") + (words.isEmpty ? "" : "*"))
    }

    /// The engine's own language: `sea NOT (lake OR "deep water")`, `title : sea`. A mistake in it is a ``StoreError``.
    public static func query(_ text: String) -> SearchText { SearchText(match: text) }

    private static func quoted(_ text: String) -> [String] {
        text.split { !($0.isLetter || $0.isNumber) }.map { "\"\($0)\"" }
    }
}

/// A record that a search has found.
public struct SearchHit<R: StoredRecord>: Sendable {
    /// The record.
    public let record: R
    /// How well it fits: the greater, the better. Comparable within one search only.
    public let score: Double
    /// The words around what was found, with marks about it.
    public let snippet: String
}

extension Query {
    /// Only records in whose full-text index the text is found. The record declares it among its indexes:
    /// `.text(\.title, \.body)`.
    public func matching(_ text: SearchText) -> Self {
        // Nothing to look for is found nowhere.
        let nothing = Formula.value(.integer(0))
        guard let index = R.textIndex else {
            let mistake = GraphError(
                .misuse, "the record has no full-text index; add .text(…) to its indexes", type: R.schema.name)
            return filtered(by: Condition(nothing, mistake))
        }
        return filtered(by: Condition(text.match.isEmpty ? nothing : .matches(rows.scope, index, text.match), nil))
    }
}

extension ReadTransaction {
    /// The records of a query in which a text is found, the best first; of equal ones, those that were added first.
    ///
    /// - Parameters:
    ///   - query: its order does not matter.
    ///   - limit: at most so many.
    ///   - marks: what stands before and after a word that was found.
    /// - Throws: ``GraphError`` if the record has no full-text index; ``StoreError`` for a mistake in a
    ///   ``SearchText/query(_:)``.
    public func search<R: StoredRecord>(
        _ query: Query<R>, for text: SearchText, limit: Int = 100, marks: (String, String) = ("«", "»")
    ) async throws -> [SearchHit<R>] {
        try check()
        let (tail, values) = try query.matching(text).tail()
        guard !text.match.isEmpty, let found = R.textIndex else { return [] }
        let (name, index) = (table(R.self), Dialect.quoted(TextIndex.name(R.schema.name)))
        let key = found.sourceKey
        let sql =
            "SELECT \(key.joined(separator: ", ")), -bm25(\(index)), snippet(\(index), -1, ?, ?, '…', 16) "
            + "FROM \(found.source) WHERE \(found.match) ? AND \(Dialect.row(key)) IN "
            + "(SELECT \(keyColumns(R.self).joined(separator: ", ")) FROM \(name) \(tail)) "
            + "ORDER BY bm25(\(index)), \(index).rowid LIMIT ?"
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

extension GraphStore {
    /// The records of a query in which a text is found, the best first, in a read transaction of their own. See
    /// ``ReadTransaction/search(_:for:limit:marks:)``.
    public func search<R: StoredRecord>(
        _ query: Query<R>, for text: SearchText, limit: Int = 100, marks: (String, String) = ("«", "»")
    ) async throws -> [SearchHit<R>] {
        try await read { try await $0.search(query, for: text, limit: limit, marks: marks) }
    }
}
