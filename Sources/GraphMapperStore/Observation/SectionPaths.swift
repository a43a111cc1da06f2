/// Which sections have come and gone, and where rows are in the others.
struct SectionPaths {
    private(set) var deleted: [Int] = []
    private(set) var inserted: [Int] = []
    private let before: [Int]
    private let after: [Int]

    init(old: [(values: [StoredValue], count: Int)], new: [(values: [StoredValue], count: Int)]) {
        let were = Set(old.map(\.values))
        let are = Set(new.map(\.values))
        deleted = old.indices.filter { !are.contains(old[$0].values) }
        inserted = new.indices.filter { !were.contains(new[$0].values) }
        before = Self.ends(old.map(\.count))
        after = Self.ends(new.map(\.count))
    }

    private static func ends(_ counts: [Int]) -> [Int] {
        var sum = 0
        return counts.map { count in
            sum += count
            return sum
        }
    }

    /// The path of a row in the list before; nil if its section is gone.
    func pathBefore(_ position: Int) -> SectionPath? { Self.path(position, before, but: deleted) }
    /// The path of a row in the new list; nil if its section is new.
    func path(_ position: Int) -> SectionPath? { Self.path(position, after, but: inserted) }

    private static func path(_ position: Int, _ ends: [Int], but others: [Int]) -> SectionPath? {
        let section = BinarySearch.first(in: ends.indices) { ends[$0] > position }
        let other = BinarySearch.first(in: others.indices) { others[$0] >= section }
        if other < others.count, others[other] == section { return nil }
        return SectionPath(section: section, item: position - (section == 0 ? 0 : ends[section - 1]))
    }
}
