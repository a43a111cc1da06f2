/// The words of a table's definition, in capitals, without names and texts in quotes, and without comments.
enum BareWords {
    static func words(of sql: String) -> Set<String> {
        var words: Set<String> = []
        var rest = sql.utf8[...]
        while let byte = rest.first {
            if let end = quotes[byte] {
                rest = rest.dropFirst().drop { $0 != end }.dropFirst()
            } else if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            } else {
                let word = rest.prefix(while: isPart)
                if let text = String(word), !word.isEmpty { words.insert(text.uppercased()) }
                rest = rest.dropFirst(max(1, word.count))
            }
        }
        return words
    }

    /// What ends what a quotation mark begins. Of one that is written twice, two texts are made, which does no harm.
    private static let quotes: [UInt8: UInt8] = [
        UInt8(ascii: "'"): UInt8(ascii: "'"), UInt8(ascii: "\""): UInt8(ascii: "\""),
        UInt8(ascii: "`"): UInt8(ascii: "`"), UInt8(ascii: "["): UInt8(ascii: "]"),
    ]

    private static func isPart(_ byte: UInt8) -> Bool {
        byte >= 128 || byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
    }
}
