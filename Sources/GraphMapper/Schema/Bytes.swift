/// Bytes as a store keeps them. Sixteen, as a UUID has, lie in the value itself: such keys cost no memory of their own.
public struct Bytes: Sendable, Hashable {
    @usableFromInline enum Storage: Sendable, Hashable {
        case sixteen(UInt64, UInt64)
        /// Any other number of them.
        case array([UInt8])
    }

    @usableFromInline let storage: Storage

    /// A copy of what lies there.
    @inlinable public init(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count == 16 {
            let words = bytes.loadUnaligned(as: (UInt64, UInt64).self)
            storage = .sixteen(words.0, words.1)
        } else {
            storage = .array([UInt8](bytes))
        }
    }

    /// The same bytes. Complexity: O(1), but for sixteen.
    public init(_ bytes: [UInt8]) {
        if bytes.count == 16 {
            self = bytes.withUnsafeBytes { Self($0) }
        } else {
            storage = .array(bytes)
        }
    }

    /// Calls `body` with the address of the bytes.
    @inlinable public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        switch storage {
        case .sixteen(let first, let second): try Swift.withUnsafeBytes(of: (first, second), body)
        case .array(let bytes): try bytes.withUnsafeBytes(body)
        }
    }
}

extension Bytes: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int {
        switch storage {
        case .sixteen: 16
        case .array(let bytes): bytes.count
        }
    }
    public subscript(place: Int) -> UInt8 { withUnsafeBytes { $0[place] } }

    public func withContiguousStorageIfAvailable<R>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> R
    ) rethrows -> R? {
        try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
    }
}

extension Bytes: ExpressibleByArrayLiteral {
    public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
}
