import Foundation

/// The order of the objects that a foreign key gives to one owner: by what the mapping says, and then by their keys.
@usableFromInline final class ChildOrder<C: DTO & Identifiable> where C.ID: Storable & Hashable {
    /// Negative if the first comes before the second, positive if it comes after it.
    private let comparisons: [(UnsafePointer<C>, UnsafePointer<C>) -> Int]

    @usableFromInline init(_ comparisons: [(UnsafePointer<C>, UnsafePointer<C>) -> Int] = []) {
        self.comparisons = comparisons
    }

    var count: Int { comparisons.count }

    func adding(_ comparison: @escaping (UnsafePointer<C>, UnsafePointer<C>) -> Int) -> ChildOrder {
        ChildOrder(comparisons + [comparison])
    }

    /// Whether the first comes before the second.
    func precedes(_ left: UnsafePointer<C>, _ right: UnsafePointer<C>) -> Bool {
        for compare in comparisons {
            let order = compare(left, right)
            if order != 0 { return order < 0 }
        }
        return Self.precedes(left.pointee.id, right.pointee.id)
    }

    /// Sorts the indices of objects; most often they are in order.
    @usableFromInline func sort(_ indices: inout [Int32], _ dto: (Int32) -> UnsafePointer<C>) {
        let isSorted = zip(indices, indices.dropFirst()).allSatisfy { !precedes(dto($1), dto($0)) }
        if !isSorted { indices.sort { precedes(dto($0), dto($1)) } }
    }

    static func precedes(_ left: C.ID, _ right: C.ID) -> Bool {
        if let left = left as? Int, let right = right as? Int { return left < right }
        let (left, right) = (left.storedValues, right.storedValues)
        for (left, right) in zip(left, right) where left != right { return left.precedes(right) }
        return false
    }
}

extension Many {
    /// Orders the objects that their foreign key gives to an owner by one of their record's properties, after those named
    /// before, and at last by their keys. Without it, they are in the order of their keys.
    ///
    /// A load, a refresh and a merge keep the order. What the app puts into the list stays where it put it until then.
    ///
    /// ```swift
    /// Many(TrackRecord.self, by: \.album, \.tracks).sorted(by: \.number)
    /// ```
    ///
    /// - Parameter descending: whether the greatest comes first.
    public func sorted<V: Comparable>(by path: KeyPath<C, V>, descending: Bool = false) -> Self {
        sorted { left, right in Self.compare(left[keyPath: path], right[keyPath: path], descending) }
    }

    /// The same by a property that may be nil, which comes first, or last if the order is descending.
    public func sorted<V: Comparable>(by path: KeyPath<C, V?>, descending: Bool = false) -> Self {
        sorted { left, right in
            switch (left[keyPath: path], right[keyPath: path]) {
            case (nil, nil): 0
            case (nil, _): descending ? 1 : -1
            case (_, nil): descending ? -1 : 1
            case (let left?, let right?): Self.compare(left, right, descending)
            }
        }
    }

    private static func compare<V: Comparable>(_ left: V, _ right: V, _ descending: Bool) -> Int {
        let isLess: Bool
        let isGreater: Bool
        if let left = left as? String, let right = right as? String {
            // By the bytes, as queries sort.
            isLess = left.utf8.lexicographicallyPrecedes(right.utf8)
            isGreater = right.utf8.lexicographicallyPrecedes(left.utf8)
        } else {
            (isLess, isGreater) = (left < right, left > right)
        }
        return isLess ? (descending ? 1 : -1) : isGreater ? (descending ? -1 : 1) : 0
    }

    private func sorted(_ compare: @escaping (C, C) -> Int) -> Self {
        var copy = self
        var tasks = step.tasks
        guard let order = tasks.childOrder as? ChildOrder<C> else {
            tasks.diagnostic =
                "\(tasks.modelName) is no link by the other side's foreign key; only such a link is sorted, others keep their "
                + "own order"
            copy.step = Step(tasks)
            return copy
        }
        tasks.childOrder = order.adding { compare($0.pointee, $1.pointee) }
        copy.step = Step(tasks)
        return copy
    }
}
