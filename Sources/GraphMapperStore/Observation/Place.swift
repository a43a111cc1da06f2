/// What a row is sorted by: the values of the query's order, then those of its key.
struct Place: Sendable, Hashable {
    let values: [StoredValue]
}

/// How an engine sorts rows: NULL, numbers, text by its bytes, bytes.
struct PlaceOrder: Sendable {
    /// Which of the values sort the other way round; those of the key follow and do not.
    let isDescending: [Bool]
    /// How many values the key has.
    let keyWidth: Int

    func key(_ place: Place) -> RowKey {
        if keyWidth == 1, let value = place.values.last { return RowKey(Touch.plain(value)) }
        return RowKey(place.values.suffix(keyWidth).map(Touch.plain)[...])
    }

    func isBefore(_ left: Place, _ right: Place) -> Bool {
        for index in left.values.indices {
            let order = Self.compare(left.values[index], right.values[index])
            if order != 0 { return (order < 0) != (index < isDescending.count && isDescending[index]) }
        }
        return false
    }

    /// Negative if `left` is before `right`, positive if after, 0 if they sort alike.
    static func compare(_ left: StoredValue, _ right: StoredValue) -> Int {
        switch (left, right) {
        case (.integer(let a), .integer(let b)): sign(a, b)
        case (.real(let a), .real(let b)): sign(a, b)
        case (.integer(let a), .real(let b)): compare(a, b)
        case (.real(let a), .integer(let b)): -compare(b, a)
        case (.text(let a), .text(let b)): bytes(a.utf8, b.utf8)
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

    private static func bytes(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        var others = right.makeIterator()
        for byte in left {
            guard let other = others.next() else { return 1 }
            if byte != other { return byte < other ? -1 : 1 }
        }
        return others.next() == nil ? 0 : -1
    }
}
