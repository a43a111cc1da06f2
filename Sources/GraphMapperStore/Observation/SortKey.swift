/// What a row is sorted by: the values of the query's order, then those of its key.
struct SortKey: Sendable, Hashable {
    let values: [StoredValue]
}

/// How an engine sorts rows: NULL, numbers, text by its bytes, bytes.
struct SortKeyOrder: Sendable {
    /// One of the values that rows are sorted by.
    struct Term: Sendable {
        let isDescending: Bool
        let isNullFirst: Bool
    }

    /// The first values; those of the key follow, and ascend.
    let terms: [Term]
    /// How many values the key has.
    let keyWidth: Int
    /// To which section a row belongs.
    var section: SectionKey?

    func key(_ sortKey: SortKey) -> RowKey {
        if keyWidth == 1, let value = sortKey.values.last { return RowKey(value.normalizedKey) }
        return RowKey(sortKey.values.suffix(keyWidth).map(\.normalizedKey)[...])
    }

    /// What the rows of a section have in common.
    func section(_ sortKey: SortKey) -> [StoredValue] { section.map { $0.canonical(sortKey.values[$0.range]) } ?? [] }

    func isBefore(_ left: SortKey, _ right: SortKey) -> Bool {
        for index in left.values.indices {
            let order = compare(left.values[index], right.values[index], index)
            if order != 0 { return order < 0 }
        }
        return false
    }

    /// The position of the first of some sortKeys, which are in order, that is not before another. Complexity: O(log count).
    func first(notBefore sortKey: SortKey, in sortKeys: [SortKey]) -> Int {
        sortKeys.withUnsafeBufferPointer { sortKeys in
            BinarySearch.first(in: sortKeys.indices) { !isBefore(sortKeys[$0], sortKey) }
        }
    }

    private func compare(_ left: StoredValue, _ right: StoredValue, _ index: Int) -> Int {
        guard index < terms.count else { return Self.compare(left, right) }
        let term = terms[index]
        switch (left, right) {
        case (.null, .null): return 0
        case (.null, _): return term.isNullFirst ? -1 : 1
        case (_, .null): return term.isNullFirst ? 1 : -1
        default: return term.isDescending ? Self.compare(right, left) : Self.compare(left, right)
        }
    }

    /// Negative if `left` is before `right`, positive if after, 0 if they sort alike.
    static func compare(_ left: StoredValue, _ right: StoredValue) -> Int {
        switch (left, right) {
        case (.integer(let a), .integer(let b)): sign(a, b)
        case (.real(let a), .real(let b)): sign(a, b)
        case (.integer(let a), .real(let b)): compare(a, b)
        case (.real(let a), .integer(let b)): -compare(b, a)
        case (.text(let a), .text(let b)): texts(a, b)
        case (.blob(let a), .blob(let b)): bytes(a, b)
        default: rank(left) - rank(right)
        }
    }

    private static func rank(_ value: StoredValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func sign<T: Comparable>(_ left: T, _ right: T) -> Int { left < right ? -1 : left > right ? 1 : 0 }

    /// Exactly: no integer is rounded.
    private static func compare(_ left: Int64, _ right: Double) -> Int {
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let whole = Int64(right.rounded(.towardZero))
        return left != whole ? sign(left, whole) : sign(0, right - right.rounded(.towardZero))
    }

    private static func texts(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in right.withUTF8 { bytes(left, $0) } }
    }

    private static func bytes(_ left: some RandomAccessCollection<UInt8>, _ right: some RandomAccessCollection<UInt8>)
        -> Int
    {
        for (a, b) in zip(left, right) where a != b { return a < b ? -1 : 1 }
        return sign(left.count, right.count)
    }
}
