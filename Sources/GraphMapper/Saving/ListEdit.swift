/// One row's edit of an ordered link.
package enum ListEdit: Hashable {
    case delete(Int64)
    case move(from: Int64, to: Int64)
    /// A target's key, and where it goes.
    case insert(Int64, [StoredValue])

    /// The fewest edits from `base`, whose rows stand at `positions`, to `targets`.
    ///
    /// What stays is a longest increasing run of matched rows (patience sorting); other matched rows move, the rest
    /// is deleted or inserted. Where no position is free between two neighbours the whole list is numbered anew.
    /// Complexity: O(n) for what both ends share, O(m log m) for the m elements between; where these repeat, O(p log p) for
    /// their p pairs of equal ones. With more than a million such pairs it may be a few edits more.
    package static func minimal(
        from base: [[StoredValue]], _ positions: [Int64], to targets: [[StoredValue]], gap: Int64
    ) -> [ListEdit] {
        let (head, tail) = shared(base, targets)
        // Of what stays at either end, the neighbour of what changes is enough.
        let start = max(0, head - 1)
        let end = (base: base.count - max(0, tail - 1), targets: targets.count - max(0, tail - 1))
        let edits = edits(
            from: Array(base[start..<end.base]), Array(positions[start..<end.base]),
            to: Array(targets[start..<end.targets]), gap: gap)
        return edits ?? renumbered(base, positions, targets, gap)
    }

    /// The fewest edits; nil if there is no room between two neighbours.
    ///
    /// - Parameters:
    ///   - base, positions, targets: what differs, between neighbours that stay; the ends of a list need none.
    package static func edits(
        from base: [[StoredValue]], _ positions: [Int64], to targets: [[StoredValue]], gap: Int64
    ) -> [ListEdit]? {
        let matches = match(base, targets)
        let staying = longestRun(matches)
        var new: [Int64?] = targets.indices.map { index in
            staying.contains(index) ? matches[index].map { positions[$0] } : nil
        }
        guard fill(&new, positions, gap) else { return nil }
        let used = Set(matches.compactMap { $0 })
        var edits: [ListEdit] = base.indices.filter { !used.contains($0) }.map { .delete(positions[$0]) }
        for index in targets.indices where !staying.contains(index) {
            guard let position = new[index] else { continue }
            if let old = matches[index] {
                edits.append(.move(from: positions[old], to: position))
            } else {
                edits.append(.insert(position, targets[index]))
            }
        }
        return edits
    }

    /// How many elements both lists have at their beginnings, and behind these at their ends.
    private static func shared(_ base: [[StoredValue]], _ targets: [[StoredValue]]) -> (head: Int, tail: Int) {
        var head = 0
        while head < min(base.count, targets.count), base[head] == targets[head] { head += 1 }
        var tail = 0
        while tail < min(base.count, targets.count) - head,
            base[base.count - 1 - tail] == targets[targets.count - 1 - tail]
        { tail += 1 }
        return (head, tail)
    }

    /// How many edits they are, where positions leave room.
    static func count(from base: [[StoredValue]], to targets: [[StoredValue]]) -> Int {
        let positions = base.indices.map { Int64($0) << 20 }
        return minimal(from: base, positions, to: targets, gap: 1 << 20).count
    }

    /// For each target the row that it takes over. Equal runs at both ends match in place, then, where elements repeat,
    /// what a longest common subsequence has, then the rest in order of occurrence.
    static func match(_ base: [[StoredValue]], _ targets: [[StoredValue]]) -> [Int?] {
        var matches = [Int?](repeating: nil, count: targets.count)
        let (head, tail) = shared(base, targets)
        for index in 0..<head { matches[index] = index }
        for index in 1..<tail + 1 { matches[targets.count - index] = base.count - index }
        var free: [[StoredValue]: [Int]] = [:]
        for index in (head..<base.count - tail).reversed() { free[base[index], default: []].append(index) }
        let middle = head..<targets.count - tail
        let isRepeating = free.contains { $0.value.count > 1 } || Set(targets[middle]).count < middle.count
        if isRepeating {
            for (target, row) in commonSubsequence(middle, targets, free) { matches[target] = row }
            let used = Set(matches[middle].compactMap { $0 })
            free = free.mapValues { $0.filter { !used.contains($0) } }
        }
        for index in middle where matches[index] == nil { matches[index] = free[targets[index]]?.popLast() }
        return matches
    }

    /// The most pairs that are in order on both sides (Hunt and Szymanski): of each target with one of the rows that have
    /// it, which are in descending order. Complexity: O(p log p) for p possible pairs; none are answered if these are too
    /// many.
    private static func commonSubsequence(
        _ places: Range<Int>, _ targets: [[StoredValue]], _ rows: [[StoredValue]: [Int]]
    ) -> [(target: Int, row: Int)] {
        var pairs: [(target: Int, row: Int, previous: Int?)] = []
        // For each length, the pair that ends a common subsequence of it at the first row.
        var ends: [Int] = []
        for target in places {
            for row in rows[targets[target]] ?? [] {
                var (low, high) = (0, ends.count)
                while low < high {
                    let middle = (low + high) / 2
                    if pairs[ends[middle]].row < row { low = middle + 1 } else { high = middle }
                }
                pairs.append((target, row, low > 0 ? ends[low - 1] : nil))
                if low == ends.count { ends.append(pairs.count - 1) } else { ends[low] = pairs.count - 1 }
            }
            guard pairs.count < 1_000_000 else { return [] }
        }
        var found: [(Int, Int)] = []
        var next = ends.last
        while let place = next {
            found.append((pairs[place].target, pairs[place].row))
            next = pairs[place].previous
        }
        return found
    }

    /// Indices of the targets that stay where they are.
    static func longestRun(_ matches: [Int?]) -> Set<Int> {
        var tails: [Int] = []
        var previous = [Int?](repeating: nil, count: matches.count)
        for index in matches.indices {
            guard let value = matches[index] else { continue }
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if (matches[tails[middle]] ?? 0) < value { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? tails[low - 1] : nil
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var staying: Set<Int> = []
        var next = tails.last
        while let index = next {
            staying.insert(index)
            next = previous[index]
        }
        return staying
    }

    /// Gives every target a position between those that stay; false if one gap is too small.
    ///
    /// Never a position that a row has now, since edits run one after the other.
    private static func fill(_ new: inout [Int64?], _ positions: [Int64], _ gap: Int64) -> Bool {
        // A file may hold any number; beyond these, sums could overflow.
        guard positions.allSatisfy({ (-farthest...farthest).contains($0) }) else { return false }
        let taken = Set(positions)
        let first = positions.min() ?? gap
        let last = positions.max() ?? 0
        var index = 0
        var low: Int64?
        while index < new.count {
            if let position = new[index] {
                low = position
                index += 1
                continue
            }
            let end = new[index...].firstIndex { $0 != nil } ?? new.count
            let count = Int64(end - index)
            if end == new.count {
                for offset in 0..<count { new[index + Int(offset)] = last + gap * (offset + 1) }
            } else if let low, let high = new[end] {
                let step = (high - low) / (count + 1)
                var next = low
                for offset in 0..<count {
                    next = max(next + 1, low + step * (offset + 1))
                    while taken.contains(next) { next += 1 }
                    guard next < high else { return false }
                    new[index + Int(offset)] = next
                }
            } else {
                for offset in 0..<count { new[index + Int(offset)] = first - gap * (count - offset) }
            }
            low = new[end - 1]
            index = end
        }
        return true
    }

    private static let farthest: Int64 = 1 << 61

    /// All rows go before any comes, so that the old positions are free.
    private static func renumbered(
        _ base: [[StoredValue]], _ positions: [Int64], _ targets: [[StoredValue]], _ gap: Int64
    ) -> [ListEdit] {
        positions.map { .delete($0) }
            + targets.enumerated().map { .insert(Int64($0.offset + 1) * gap, $0.element) }
    }
}
