/// Searches for the shortest, then smallest, sequence of choices that still fails.
///
/// It proposes edits of the best sequence so far and is told which of them failed too. A pass goes over all positions
/// with some kind of edit; the search ends after a round of passes without success, or when the budget is used up.
struct Shrinker {
    private(set) var best: [UInt64]
    private(set) var shrinks = 0
    private var budget: Int
    /// Bounds the candidates that need no run of the property, too.
    private var proposals: Int
    private var tried: Set<[UInt64]> = []
    private var pass = 0
    private var position = 0
    private var variant = 0
    private var improved = false

    init(_ choices: [UInt64], budget: Int) {
        best = choices
        self.budget = budget
        proposals = budget * 20
    }

    /// The next candidate, or nil at the end of the search.
    mutating func next() -> [UInt64]? {
        while budget > 0, proposals > 0 {
            if position >= best.count {
                position = 0
                variant = 0
                pass += 1
                if pass == 5 {
                    guard improved else { return nil }
                    improved = false
                    pass = 0
                }
                if best.isEmpty { return nil }
            }
            guard let candidate = edit() else {
                position += 1
                variant = 0
                continue
            }
            variant += 1
            if let candidate, candidate != best {
                proposals -= 1
                return candidate
            }
        }
        return nil
    }

    /// Whether what the candidate came to is simpler than the best and new.
    mutating func isWorthTrying(_ recorded: [UInt64]) -> Bool {
        guard recorded.count < best.count || (recorded.count == best.count && recorded.lexicographicallyPrecedes(best))
        else { return false }
        guard tried.insert(recorded).inserted else { return false }
        budget -= 1
        return true
    }

    mutating func accepted(_ recorded: [UInt64]) {
        best = recorded
        shrinks += 1
        improved = true
        variant = 0
    }

    /// The edit at this position and variant: nil after the last variant, some(nil) where one does not apply.
    private func edit() -> [UInt64]?? {
        switch pass {
        case 0:  // Delete a block, starting from the end.
            let sizes = [best.count, best.count / 2, best.count / 4, 16, 8, 7, 6, 5, 4, 3, 2, 1]
            guard variant < sizes.count else { return nil }
            let start = best.count - 1 - position
            let size = sizes[variant]
            guard size > 0, start + size <= best.count else { return .some(nil) }
            return Array(best[..<start] + best[(start + size)...])
        case 1:  // Set a block to zero.
            let sizes = [16, 8, 4, 2]
            guard variant < sizes.count else { return nil }
            var copy = best
            for index in position..<min(best.count, position + sizes[variant]) { copy[index] = 0 }
            return copy
        case 2:  // Lower one value: to zero, by a half, by a quarter… by one.
            let value = best[position]
            let step = value >> UInt64(variant)
            guard step > 0 else { return nil }
            var copy = best
            copy[position] = value - step
            return copy
        case 3:  // Move something from one value to a later one.
            guard variant < 18 else { return nil }
            let other = position + 1 + variant / 3
            let value = best[position]
            let amount = [value, value / 2, min(value, 1)][variant % 3]
            guard other < best.count, amount > 0 else { return .some(nil) }
            let (sum, overflow) = best[other].addingReportingOverflow(amount)
            guard !overflow else { return .some(nil) }
            var copy = best
            copy[position] -= amount
            copy[other] = sum
            return copy
        default:  // Lower a value and delete the block after it, for lengths drawn in advance.
            guard variant < 8 else { return nil }
            let size = variant / 2 + 1
            guard best[position] > 0, position + size < best.count else { return .some(nil) }
            var copy = best
            copy[position] = variant % 2 == 0 ? copy[position] - 1 : 0
            copy.removeSubrange((position + 1)...(position + size))
            return copy
        }
    }
}
