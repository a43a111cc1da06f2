import Foundation

/// Texts in a predicate are compared as Swift compares them, so that the store chooses what the predicate does: different
/// spellings of a letter are one, and what is searched for is whole characters. Where a text has few spellings, as those of
/// ASCII do, an index finds it.
@available(macOS 14, iOS 17, *)
extension PredicateTranslation {
    static func isText(_ type: Any.Type) -> Bool { type == String.self || type == String?.self }

    /// Whether two texts are equal.
    func textsAreEqual(_ left: SQLExpression, _ right: SQLExpression) -> SQLExpression {
        switch (left, right) {
        case (.value(.null), _), (_, .value(.null)): .binary(left, .isSame, right)
        case (.value(.text(let text)), let other), (let other, .value(.text(let text))): isEqual(other, text)
        default: .binary(Self.canonical(left), .isSame, Self.canonical(right))
        }
    }

    private func isEqual(_ expression: SQLExpression, _ text: String) -> SQLExpression {
        if text.hasOneSpelling { return .binary(expression, .isSame, .value(.text(text))) }
        if let spellings = text.spellings {
            let choice = SQLExpression.isOneOf(expression, spellings.map { .text($0) }, width: 1)
            // NULL is another value, not an unknown one.
            return .binary(choice, .and, .not(.isNull(expression)))
        }
        return .binary(Self.canonical(expression), .isSame, .value(.text(text.canonical)))
    }

    /// Whether a text is one of some; nil is a value like any other.
    func isAny(_ text: SQLExpression, of choice: [[StoredValue]]) -> SQLExpression {
        let texts = choice.flatMap(\.self)
        let spelled = texts.map { value in if case .text(let text) = value { text.spellings } else { [] as [String]? } }
        if spelled.allSatisfy({ $0 != nil }), spelled.reduce(0, { $0 + ($1?.count ?? 0) }) <= 2 * texts.count {
            let all = spelled.flatMap { $0 ?? [] }.map { [StoredValue.text($0)] }
            return .isAny([text], of: all + texts.filter { $0 == .null }.map { [$0] })
        }
        let canonical = texts.map { value -> [StoredValue] in
            if case .text(let text) = value { [.text(text.canonical)] } else { [value] }
        }
        return .isAny([Self.canonical(text)], of: canonical)
    }

    static func canonical(_ expression: SQLExpression) -> SQLExpression {
        switch expression {
        case .value(.text(let text)): .value(.text(text.canonical))
        case .value: expression
        default: .call(.canonical, [expression])
        }
    }

    /// Whether a text starts with the characters of another.
    func starts(_ text: SQLExpression, with start: String) -> SQLExpression {
        let starts = SQLExpression.call(.startsWithCharacters, [text, .value(.text(start))])
        guard start.hasOneSpelling else { return starts }
        // Its bytes are there, too, which an index finds.
        return .binary(ColumnExpression<String>([text]).hasPrefix(start).expression, .and, starts)
    }
}
