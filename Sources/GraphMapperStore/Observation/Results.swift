/// The records of a query at one moment: an immutable random-access collection.
///
/// Copies cost nothing, and two successive results of one observation share what is the same in both.
public struct Results<Element: Sendable>: RandomAccessCollection, Sendable {
    /// A run of neighbouring rows, each with what it is sorted by.
    final class Chunk: Sendable {
        let elements: [Element]
        let sortKeys: [SortKey]
        /// That of the last row; a chunk has rows.
        let last: SortKey

        init(_ elements: [Element], _ sortKeys: [SortKey]) {
            self.elements = elements
            self.sortKeys = sortKeys
            last = sortKeys.last ?? SortKey(values: [])
        }
    }

    let chunks: [Chunk]
    /// For each chunk, how many rows there are up to its end.
    private let ends: [Int]
    /// Rows that are in another place than in the result before: from there, to here.
    var moves: [CollectionMove] = []

    init(_ chunks: [Chunk]) {
        self.chunks = chunks
        var ends: [Int] = []
        ends.reserveCapacity(chunks.count)
        for chunk in chunks { ends.append((ends.last ?? 0) + chunk.elements.count) }
        self.ends = ends
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// The count.
    public var endIndex: Int { ends.last ?? 0 }
    /// How many records there are. Complexity: O(1).
    public var count: Int { ends.last ?? 0 }

    /// The record at a position from 0. Complexity: O(log count).
    public subscript(index: Int) -> Element {
        let (chunk, offset) = locate(index)
        return chunks[chunk].elements[offset]
    }

    /// The chunk of a position, and the offset in it.
    func locate(_ index: Int) -> (chunk: Int, offset: Int) {
        var low = 0
        var high = ends.count
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return (low, index - (low == 0 ? 0 : ends[low - 1]))
    }

    /// How many rows there are before a chunk.
    func start(of chunk: Int) -> Int { chunk == 0 ? 0 : ends[chunk - 1] }

    /// The records, one after the other.
    public func makeIterator() -> Iterator { Iterator(chunks: chunks) }

    /// Walks the records.
    public struct Iterator: IteratorProtocol {
        let chunks: [Chunk]
        private var chunk = 0
        private var offset = 0

        init(chunks: [Chunk]) { self.chunks = chunks }

        /// The next record; nil after the last.
        public mutating func next() -> Element? {
            while chunk < chunks.count {
                let elements = chunks[chunk].elements
                if offset < elements.count {
                    defer { offset += 1 }
                    return elements[offset]
                }
                chunk += 1
                offset = 0
            }
            return nil
        }
    }
}

extension Results: Equatable where Element: Equatable {
    /// Whether the records are the same, in the same order.
    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }
}

extension Results: CustomStringConvertible {
    public var description: String { Array(self).description }
}

/// A row that is in another place than before.
public struct CollectionMove: Sendable, Hashable {
    /// Its position in the collection before.
    public let from: Int
    /// Its position in the new collection.
    public let to: Int
}
