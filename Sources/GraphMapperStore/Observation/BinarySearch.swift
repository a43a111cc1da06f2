enum BinarySearch {
    /// The first number of a range that satisfies a condition which all after it satisfy too; the range's end if none.
    static func first(in range: Range<Int>, where isThere: (Int) -> Bool) -> Int {
        var low = range.lowerBound
        var high = range.upperBound
        while low < high {
            let middle = (low + high) / 2
            if isThere(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// As many of the elements as can be kept so that their values increase. Complexity: O(n log n).
    static func increasing(_ elements: [Int], by value: (Int) -> Int) -> Set<Int> {
        // The last elements of the shortest-known runs, by length, and what stands before each.
        var ends: [Int] = []
        var before: [Int: Int] = [:]
        for element in elements {
            let length = first(in: ends.indices) { value(ends[$0]) >= value(element) }
            if length > 0 { before[element] = ends[length - 1] }
            if length < ends.count { ends[length] = element } else { ends.append(element) }
        }
        var kept: Set<Int> = []
        var next = ends.last
        while let element = next {
            kept.insert(element)
            next = before[element]
        }
        return kept
    }
}
