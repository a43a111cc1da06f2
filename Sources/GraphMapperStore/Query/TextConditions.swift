import Foundation

/// What text conditions work on: `String` and `String?`. NULL never matches.
public protocol TextColumn: Storable {}
extension String: TextColumn {}
extension Optional: TextColumn where Wrapped == String {}

extension ColumnExpression where V: TextColumn {
    /// Whether the text is the same, by its bytes or by the options.
    public func equals(_ text: String, _ options: TextOptions = []) -> Condition {
        condition(.binary(folded(options), .equal, .value(.text(options.folded(text)))))
    }

    /// Whether the text occurs, by its bytes or by the options.
    public func contains(_ text: String, _ options: TextOptions = []) -> Condition {
        condition(.call(.contains, [folded(options), .value(.text(options.folded(text)))]))
    }

    /// Whether the text starts so, by its bytes or by the options. By its bytes an index on the column serves.
    public func hasPrefix(_ text: String, _ options: TextOptions = []) -> Condition {
        let prefix = options.folded(text)
        let column = folded(options)
        let isAtLeast = SQLExpression.binary(column, .greaterOrEqual, .value(.text(prefix)))
        guard let end = prefix.endOfPrefix else { return condition(isAtLeast) }
        return condition(.binary(isAtLeast, .and, .binary(column, .less, .value(.text(end)))))
    }

    /// Whether the text ends so, by its bytes or by the options.
    public func hasSuffix(_ text: String, _ options: TextOptions = []) -> Condition {
        let suffix = options.folded(text)
        // The engine counts from the end, where 0 means the start.
        guard !suffix.isEmpty else { return condition(.not(.isNull(expression))) }
        let start = SQLExpression.value(.integer(-Int64(suffix.utf8.count)))
        return condition(.call(.endsWith, [folded(options), start, .value(.text(suffix))]))
    }

    /// Whether the whole text fits a pattern: `%` for any text, `_` for one Unicode scalar, `\` before one of these for
    /// itself. By its scalars, or by the options.
    public func like(_ pattern: String, _ options: TextOptions = []) -> Condition {
        condition(.call(.like, [folded(options), .value(.text(options.folded(pattern)))]))
    }

    private func folded(_ options: TextOptions) -> SQLExpression {
        options.isEmpty ? expression : .call(.fold, [expression, .value(.integer(Int64(options.rawValue)))])
    }

    /// How many Unicode scalars the text has.
    public var scalarCount: ColumnExpression<Int> {
        ColumnExpression<Int>([.call(.scalarCount, [expression, expression, expression])], diagnostic)
    }
    /// The first so many Unicode scalars of the text.
    public func prefix(_ count: Int) -> ColumnExpression<V> {
        let count = SQLExpression.value(.integer(Int64(Swift.max(0, count))))
        return ColumnExpression([.call(.start, [expression, expression, count, expression, count])], diagnostic)
    }
}

extension String {
    /// The least text, by its bytes, that is more than all that start with this one; nil if there is none.
    var endOfPrefix: String? {
        var scalars = Array(unicodeScalars)
        while let last = scalars.popLast() {
            // Surrogates are no scalars, and come before the last ones by their bytes.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
        return nil
    }
}
