import GraphMapper

/// A key as a row has it, to look up in a table of keys. Integers and up to sixteen bytes need no allocation.
enum RowKey: Hashable {
    case short(UInt64, UInt64, kind: Int32)
    case long(StoredValue)
    /// A key of several columns.
    indirect case several([RowKey])

    init(_ values: ArraySlice<StoredValue>) {
        self = values.count == 1 ? Self(values[values.startIndex]) : .several(values.map { Self($0) })
    }

    init(_ value: StoredValue) {
        switch value {
        case .integer(let value): self = .short(UInt64(bitPattern: value), 0, kind: -1)
        case .blob(let bytes) where bytes.count <= 16: self = bytes.withUnsafeBytes { Self($0, isText: false) }
        case .text(var text) where text.utf8.count <= 16:
            self = text.withUTF8 { Self(UnsafeRawBufferPointer($0), isText: true) }
        default: self = .long(value)
        }
    }

    /// - Parameter bytes: at most sixteen.
    init(_ bytes: UnsafeRawBufferPointer, isText: Bool) {
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
        self = .short(words.0, words.1, kind: Int32(bytes.count) | (isText ? 32 : 64))
    }

    /// The one place where a hash table asks for a hash: short keys are mixed by one multiplication.
    func _rawHashValue(seed: Int) -> Int {
        if case .short(let a, let b, _) = self { return HashKeys.mixed(a, b, seed: seed) }
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .short(let a, let b, _): hasher.combine(a ^ b &* 0x9e37_79b9_7f4a_7c15)
        case .long(let value): hasher.combine(value)
        case .several(let parts): hasher.combine(parts)
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.short(let a, let b, let kind), .short(let c, let d, let other)): a == c && b == d && kind == other
        case (.long(let left), .long(let right)): left == right
        case (.several(let left), .several(let right)): left == right
        default: false
        }
    }
}

extension StoredValue {
    /// The value as it stands in a key that rows are told apart by: the two zeros are one key.
    var normalizedKey: StoredValue { if case .real(let number) = self, number == 0 { .real(0) } else { self } }
}

extension [StoredValue] {
    /// The key with one zero for both.
    var normalizedKey: [StoredValue] {
        let hasNumbers = contains { if case .real = $0 { true } else { false } }
        return hasNumbers ? map(\.normalizedKey) : self
    }
}
