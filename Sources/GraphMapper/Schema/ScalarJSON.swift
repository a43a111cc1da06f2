/// The JSON of lists and dictionaries of scalars: reads back to the bit what it wrote, and reads what a person may have
/// written in its place.
package enum ScalarJSON {
    case array([StoredValue])
    case object([(String, StoredValue)])

    /// Nil if the text is not an array or an object of scalars.
    package init?(_ text: String) {
        var reader = Reader(rest: Array(text.utf8)[...])
        reader.skipSpace()
        guard let json = reader.collection() else { return nil }
        reader.skipSpace()
        guard reader.rest.isEmpty else { return nil }
        self = json
    }

    static func mismatch(_ text: String, _ type: Any.Type) -> GraphError {
        GraphError(.conversion, "\"\(text.prefix(80))\" is not the JSON of a \(type)")
    }

    // MARK: Writing

    static func stored(_ list: [some ListElement]) -> StoredValue {
        stored("[", list.map(text), "]")
    }

    static func stored(_ pairs: [(key: String, value: some ListElement)]) -> StoredValue {
        stored("{", pairs.map { pair in text(pair.value).map { "\(quoted(pair.key)):\($0)" } }, "}")
    }

    /// NaN, which no engine takes, if an item is none that can be stored.
    private static func stored(_ start: String, _ items: [String?], _ end: String) -> StoredValue {
        let known = items.compactMap { $0 }
        return known.count == items.count ? .text(start + known.joined(separator: ",") + end) : .real(.nan)
    }

    /// What one element is in the JSON; nil for a date that is not a number. Only types of one column can be elements.
    private static func text(_ element: some ListElement) -> String? {
        switch element.stored {
        case .null: "null"
        case .integer(let number): "\(number)"
        case .real(let number) where number.isNaN: nil
        case .real(let number): number.isFinite ? "\(number)" : "\"\(number)\""
        case .text(let text): quoted(text)
        case .blob(let bytes): "\"\(Hex.text(bytes))\""
        }
    }

    private static func quoted(_ text: String) -> String {
        var result: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case 0..<32: result += Array("\\u00\(Hex.text([byte]))".utf8)
            default: result.append(byte)
            }
        }
        result.append(UInt8(ascii: "\""))
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: Reading

    /// The elements as what they are.
    static func elements<Element: ListElement>(_ items: [StoredValue]) throws -> [Element] {
        let columns = Element.columns
        guard columns.count == 1 else {
            throw GraphError(
                .invalidSchema, "\(Element.self) takes \(columns.count) columns; an element of a list takes one")
        }
        let cells = LinkRows()
        for item in items { cells.append(fit(item, columns[0].storage)) }
        return try cells.withCursor { cursor in
            var position = RowPosition()
            return try items.map { _ in
                do { return try Element.read(cursor, at: &position) } catch is ColumnMismatch {
                    throw GraphError(.conversion, "an element of the list is no \(Element.self)")
                }
            }
        }
    }

    /// One element, with its key if it is of an object.
    package struct Item {
        package let key: String?
        package let value: StoredValue
    }

    /// The elements as they are stored by themselves, for conditions on them; nil if one is of another storage class. Of a
    /// key that stands twice the last value counts.
    package func items(_ storage: StorageClass) -> [Item]? {
        var items: [Item]
        switch self {
        case .array(let values): items = values.map { Item(key: nil, value: Self.fit($0, storage)) }
        case .object(let pairs):
            items = pairs.map { Item(key: $0.0, value: Self.fit($0.1, storage)) }
            var seen: Set<[UInt8]> = []
            items = items.reversed().filter { seen.insert(Array(($0.key ?? "").utf8)).inserted }.reversed()
        }
        return items.allSatisfy { Self.fits($0.value, storage) } ? items : nil
    }

    private static func fits(_ value: StoredValue, _ storage: StorageClass) -> Bool {
        switch (value, storage) {
        case (_, .null), (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob), (.text("nan"), .real):
            true
        default: false
        }
    }

    /// JSON has no bytes and no infinities: those were written as texts.
    private static func fit(_ value: StoredValue, _ storage: StorageClass) -> StoredValue {
        switch (value, storage) {
        case (.text(let text), .blob): Hex.bytes(text).map { .blob($0) } ?? value
        case (.text("inf"), .real): .real(.infinity)
        case (.text("-inf"), .real): .real(-.infinity)
        case (.integer(let number), .real): .real(Double(number))
        default: value
        }
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func skipSpace() {
            rest = rest.drop { $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13 }
        }

        mutating func takes(_ byte: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: byte) else { return false }
            rest.removeFirst()
            skipSpace()
            return true
        }

        mutating func collection() -> ScalarJSON? {
            if takes("[") { return items("]") { $0.scalar() }.map { .array($0) } }
            guard takes("{") else { return nil }
            return items("}") { reader in
                guard let key = reader.string() else { return nil }
                reader.skipSpace()
                guard reader.takes(":"), let value = reader.scalar() else { return nil }
                return (key, value)
            }.map { .object($0) }
        }

        private mutating func items<T>(_ end: Unicode.Scalar, _ next: (inout Reader) -> T?) -> [T]? {
            var items: [T] = []
            if takes(end) { return items }
            while let item = next(&self) {
                items.append(item)
                skipSpace()
                if takes(end) { return items }
                guard takes(",") else { return nil }
            }
            return nil
        }

        mutating func scalar() -> StoredValue? {
            if rest.first == UInt8(ascii: "\"") { return string().map { .text($0) } }
            let end = rest.firstIndex { ",]} \n\t\r".utf8.contains($0) } ?? rest.endIndex
            let word = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[end...]
            switch word {
            case "null": return .null
            case "true": return .integer(1)
            case "false": return .integer(0)
            default:
                guard let first = word.utf8.first, first == 45 || (48...57).contains(first), !word.utf8.contains(120)
                else { return nil }
                return Int64(word).map { .integer($0) } ?? Double(word).map { .real($0) }
            }
        }

        mutating func string() -> String? {
            guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = escape() else { return nil }
                    bytes += escaped
                default: bytes.append(byte)
                }
            }
            return nil
        }

        private mutating func escape() -> [UInt8]? {
            switch rest.popFirst() {
            case UInt8(ascii: "n"): return [10]
            case UInt8(ascii: "t"): return [9]
            case UInt8(ascii: "r"): return [13]
            case UInt8(ascii: "b"): return [8]
            case UInt8(ascii: "f"): return [12]
            case UInt8(ascii: "u"): return unicode()
            case let byte? where "\"\\/".utf8.contains(byte): return [byte]
            default: return nil
            }
        }

        private mutating func unicode() -> [UInt8]? {
            guard let unit = codeUnit() else { return nil }
            var units = [unit]
            if (0xD800..<0xDC00).contains(unit), rest.starts(with: "\\u".utf8) {
                rest = rest.dropFirst(2)
                guard let low = codeUnit() else { return nil }
                units.append(low)
            }
            return Array(String(decoding: units, as: UTF16.self).utf8)
        }

        private mutating func codeUnit() -> UInt16? {
            guard let bytes = Hex.bytes(String(decoding: rest.prefix(4), as: UTF8.self)), bytes.count == 2 else {
                return nil
            }
            rest = rest.dropFirst(4)
            return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        }
    }
}
