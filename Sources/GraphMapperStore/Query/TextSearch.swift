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

    /// The engine's own language: `sea NOT (lake OR "deep water")`, `title : sea`. A diagnostic in it is a ``StoreError``.
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
        let nothing = SQLExpression.value(.integer(0))
        guard let index = R.textIndex else {
            let diagnostic = GraphError(
                .misuse, "the record has no full-text index; add .text(…) to its indexes", type: R.schema.name)
            return filtered(by: Condition(nothing, diagnostic))
        }
        return filtered(by: Condition(text.match.isEmpty ? nothing : .matches(tree.alias, index, text.match), nil))
    }
}
