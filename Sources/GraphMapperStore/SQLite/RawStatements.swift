/// Raw SQL of an app, which must leave alone the transaction that it runs in.
extension Connection {
    /// Runs a raw statement to its end.
    func executeRaw(_ sql: String, _ values: [StoredValue]) throws {
        try Self.checkLeavesTransaction(sql)
        try execute(sql, values)
    }

    /// The rows of a raw statement.
    func rowsRaw(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try Self.checkLeavesTransaction(sql)
        return try rows(sql, values)
    }

    /// The rows of a raw statement that writes nothing.
    func rowsRead(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try withStatement(sql, [], isCached: true) { statement in
            guard statement.isReading else {
                throw StoreError(.misuse, "the statement writes, in a transaction that reads; use write", sql: sql)
            }
        }
        return try rowsRaw(sql, values)
    }

    private static func checkLeavesTransaction(_ sql: String) throws {
        let words = SQLWords(sql).prefix(3).map { $0.uppercased() }
        switch words.first {
        case "BEGIN", "COMMIT", "END": break
        // `ROLLBACK TO` and `ROLLBACK TRANSACTION TO` undo a part only.
        case "ROLLBACK" where !words.dropFirst().contains("TO"): break
        default: return
        }
        throw StoreError(
            .misuse,
            "the store begins and ends its transactions itself; nothing was run. Return to commit, throw to undo, "
                + "and use savepoint for a part", sql: sql)
    }
}

/// The words that a statement begins with, as SQLite finds them: white space, comments and empty statements before them
/// do not count (https://sqlite.org/lang_comment.html).
private struct SQLWords: Sequence, IteratorProtocol {
    private var rest: Substring.UTF8View

    init(_ sql: String) { rest = sql[...].utf8 }

    mutating func next() -> String? {
        skip()
        let word = rest.prefix { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
        }
        rest = rest.dropFirst(word.count)
        return word.isEmpty ? nil : String(Substring(word))
    }

    private mutating func skip() {
        while let byte = rest.first {
            if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                skipComment()
            } else if rest.starts(with: [0xEF, 0xBB, 0xBF]) {
                // A byte order mark is white space, too.
                rest = rest.dropFirst(3)
            } else if " \t\n\u{c}\r;".utf8.contains(byte) {
                rest = rest.dropFirst()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() {
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
    }
}
