/// The merge of an ordered list that two have edited.
struct ListMerge {
    /// What both edits make together.
    let merged: [[StoredValue]]
    /// Whether both have put elements that they share into another order: then `merged` has the order of `mine`.
    let isClash: Bool

    /// Element by element: what either has added is there, what either has taken out is not; the same done by both is
    /// done once. The order is that of the one who has changed it. Added elements stand behind the element that they
    /// stood behind.
    ///
    /// Complexity: O(n), but for added elements, which cost O(n) each.
    init(base: [[StoredValue]], mine: [[StoredValue]], theirs: [[StoredValue]]) {
        let (mine, theirs) = (Self.aligned(mine, base), Self.aligned(theirs, base))
        let base = Self.numbered(base)
        let known = Set(base)
        let (isMine, isTheirs) = (Self.isReordered(mine, base, known), Self.isReordered(theirs, base, known))
        let common = { (list: [Element], other: Set<Element>) in
            list.filter { known.contains($0) && other.contains($0) }
        }
        isClash = isMine && isTheirs && common(mine, Set(theirs)) != common(theirs, Set(mine))
        merged = (isTheirs && !isMine ? Self.merge(theirs, mine, known) : Self.merge(mine, theirs, known)).map(\.key)
    }

    /// An element that may repeat: the first of a key, the second, and so on.
    struct Element: Hashable {
        var key: [StoredValue]
        var number: Int
    }

    private static func numbered(_ keys: [[StoredValue]]) -> [Element] {
        var counts: [[StoredValue]: Int] = [:]
        return keys.map { key in
            counts[key, default: 0] += 1
            return Element(key: key, number: counts[key] ?? 0)
        }
    }

    /// The elements of an edited list: those that it shares with the list before the edit, as they stand there, and added
    /// ones, whose numbers go on from there.
    private static func aligned(_ keys: [[StoredValue]], _ base: [[StoredValue]]) -> [Element] {
        let old = numbered(base)
        var counts: [[StoredValue]: Int] = [:]
        for key in base { counts[key, default: 0] += 1 }
        return zip(keys, ListEdit.match(base, keys)).map { key, match in
            if let match { return old[match] }
            counts[key, default: 0] += 1
            return Element(key: key, number: counts[key] ?? 0)
        }
    }

    private static func isReordered(_ list: [Element], _ base: [Element], _ known: Set<Element>) -> Bool {
        let here = Set(list)
        return list.filter(known.contains) != base.filter(here.contains)
    }

    /// The order of `first`, without what the other has taken out, and with what it has added.
    private static func merge(_ first: [Element], _ second: [Element], _ base: Set<Element>) -> [Element] {
        let there = Set(second)
        var here = Set(first)
        var merged = first.filter { !base.contains($0) || there.contains($0) }
        for (place, element) in second.enumerated() where !base.contains(element) && here.insert(element).inserted {
            // Behind the nearest element before it that is there.
            let before = second[..<place].last { merged.contains($0) }
            let start = before.flatMap(merged.firstIndex).map { $0 + 1 } ?? 0
            merged.insert(element, at: start)
        }
        return merged
    }
}
