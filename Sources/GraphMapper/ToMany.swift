/// A lazy random-access collection: a count, and a way to the element at a position.
///
/// An app takes `ToMany<any Comment>` and does not learn whether an array, a query or another database's list
/// stands behind it. Elements are fetched when they are asked for, each time anew; nothing is copied or kept.
///
/// **The count is asked for once**, when it is first needed, and kept: copies of a `ToMany` and what is
/// ``mapped(_:)`` from it share it. So the positions stay put while an app walks them, also when rows vanish
/// meanwhile; ``reloaded()`` asks again.
///
/// **When fetching can fail**, a `ToMany` is made with `otherwise`, which answers the subscript in place of the
/// element that could not be had: what a cell shows for a row that has vanished. ``element(at:)`` and ``tryCount``
/// throw instead.
///
/// Like the models in it, a `ToMany` belongs to one actor or task: it is not `Sendable`.
public struct ToMany<Element>: RandomAccessCollection {
    private let counted: KeptCount
    private let fetch: (Int) throws -> Element
    private let plain: (Int) -> Element

    private init(_ counted: KeptCount, _ fetch: @escaping (Int) throws -> Element, _ plain: @escaping (Int) -> Element)
    {
        self.counted = counted
        self.fetch = fetch
        self.plain = plain
    }

    /// A collection over two closures that cannot fail.
    ///
    /// - Parameters:
    ///   - count: how many elements there are. Called at most once; a negative count is 0.
    ///   - at: the element at a position from 0.
    public init(count: @escaping () -> Int, at: @escaping (Int) -> Element) {
        self.init(KeptCount(count), at, at)
    }

    /// A collection over two closures that may throw.
    ///
    /// - Parameters:
    ///   - count: how many elements there are. Called until it first succeeds; a negative count is 0.
    ///   - at: the element at a position from 0.
    ///   - otherwise: what the subscript answers where `at` threw, by position and error.
    public init(
        count: @escaping () throws -> Int, at: @escaping (Int) throws -> Element,
        otherwise: @escaping (Int, any Error) -> Element
    ) {
        self.init(KeptCount(count), at) { index in
            do { return try at(index) } catch { return otherwise(index, error) }
        }
    }

    /// A view of a collection, which is kept as it is now: later changes of a variable are not seen.
    ///
    /// Complexity: O(1).
    public init<Base: RandomAccessCollection>(_ base: Base) where Base.Element == Element {
        self.init(count: { base.count }, at: { base[base.index(base.startIndex, offsetBy: $0)] })
    }

    /// 0. Complexity: O(1).
    public var startIndex: Int { 0 }
    /// The count. Complexity: O(1) after the first time, which asks `count`.
    public var endIndex: Int { counted.known }

    /// How many elements there are: 0 while `count` throws, which ``tryCount`` tells apart. Fetches no element.
    ///
    /// Complexity: O(1) after the first time, which asks `count`.
    public var count: Int { counted.known }

    /// How many elements there are; throws what `count` throws, and asks it again after it threw.
    ///
    /// Complexity: O(1) after the first success.
    public var tryCount: Int { get throws { try counted.ask() } }

    /// The element at `index`, fetched now by one call of `at`.
    ///
    /// Where `at` throws, this is what `otherwise` answers: it does not trap. An index out of bounds is handed to `at`
    /// unchecked, as a check would cost a count: a `ToMany` over an array stops there as the array does, and closures
    /// do what they do. Use ``element(at:)`` for an index that may be stale.
    ///
    /// Complexity: that of `at`; O(1) over a collection.
    public subscript(index: Int) -> Element { plain(index) }

    /// The element at `index`, fetched now by one call of `at`.
    ///
    /// - Throws: a ``GraphError`` if the index is out of bounds; what `count` or `at` throws.
    ///
    /// Complexity: that of `at`; O(1) over a collection.
    public func element(at index: Int) throws -> Element {
        let count = try tryCount
        guard index >= 0, index < count else {
            throw GraphError(.misuse, "there is no element \(index): the collection has \(count)")
        }
        return try fetch(index)
    }

    /// The same elements as another type, such as a protocol: `comments.mapped { $0 as any Comment }`.
    ///
    /// Nothing is copied: `transform` runs when an element is asked for, each time.
    ///
    /// Complexity: O(1).
    public func mapped<T>(_ transform: @escaping (Element) -> T) -> ToMany<T> {
        let (fetch, plain) = (fetch, plain)
        return ToMany<T>(counted, { transform(try fetch($0)) }, { transform(plain($0)) })
    }

    /// The same closures, asked for their count again.
    public func reloaded() -> Self { Self(KeptCount(counted.source), fetch, plain) }

    /// Walks the elements in order, fetching each once.
    public struct Iterator: IteratorProtocol {
        fileprivate let plain: (Int) -> Element
        fileprivate var index = 0
        fileprivate let end: Int

        /// The next element, fetched now; nil after the last.
        public mutating func next() -> Element? {
            guard index < end else { return nil }
            defer { index += 1 }
            return plain(index)
        }
    }

    /// An iterator over the elements; asks for the count once.
    public func makeIterator() -> Iterator { Iterator(plain: plain, end: count) }
}

/// A count that is asked for once.
private final class KeptCount {
    let source: () throws -> Int
    private var kept: Int?
    private var hasFailed = false

    init(_ source: @escaping () throws -> Int) { self.source = source }

    /// The count, as far as it is known.
    var known: Int {
        if let kept { return kept }
        if hasFailed { return 0 }
        return (try? ask()) ?? 0
    }

    func ask() throws -> Int {
        if let kept { return kept }
        do {
            let count = max(0, try source())
            kept = count
            return count
        } catch {
            hasFailed = true
            throw error
        }
    }
}
