/// What text conditions work on: `String` and `String?`. NULL never matches.
public protocol TextColumn: Storable {}
extension String: TextColumn {}
extension Optional: TextColumn where Wrapped == String {}

extension ColumnExpression where V: TextColumn {
    /// Whether the text occurs, by its bytes.
    public func contains(_ text: String) -> Condition {
        condition(Dialect.contains(sql), [.text(text)])
    }

    /// Whether the text starts so, by its bytes.
    public func hasPrefix(_ text: String) -> Condition { edge(1, text) }

    /// Whether the text ends so, by its bytes.
    public func hasSuffix(_ text: String) -> Condition {
        // SQLite counts from the end, where 0 means the start.
        text.isEmpty ? condition("\(sql) IS NOT NULL", []) : edge(-text.utf8.count, text)
    }

    /// SQLite's LIKE: `%` for any text, `_` for one character, ASCII letters alike in both cases.
    public func like(_ pattern: String) -> Condition {
        condition(Dialect.like(sql), [.text(pattern)])
    }

    private func edge(_ start: Int, _ text: String) -> Condition {
        condition(Dialect.bytes(sql, from: start, count: text.utf8.count), [.text(text)])
    }
}
