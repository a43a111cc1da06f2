/// The records of a query at one moment, in sections: an immutable random-access collection of these.
///
/// Copies cost nothing. ``records`` are the same rows one after the other.
public struct SectionList<Key: Storable, R: StoredRecord>: RandomAccessCollection, Sendable {
    /// The records of all sections.
    public let records: Results<R>
    private let keys: [Key]
    /// For each section, how many records there are up to its end.
    private let ends: [Int]
    /// What else is to be known of the way here from the list before.
    var moves: [SectionMove] = []
    var modificationsInNew: [SectionPath] = []

    /// - Parameter sections: their keys, and how many records each has.
    init(_ records: Results<R>, _ sections: [(key: Key, count: Int)]) {
        self.records = records
        keys = sections.map(\.key)
        var count = 0
        ends = sections.map { section in
            count += section.count
            return count
        }
    }

    /// Records that have the same value somewhere: a collection with indices from 0.
    public struct Section: RandomAccessCollection, Sendable {
        /// What they have in common.
        public let key: Key
        fileprivate let all: Results<R>
        fileprivate let range: Range<Int>

        /// 0.
        public var startIndex: Int { 0 }
        /// The count.
        public var endIndex: Int { range.count }
        /// The record at a position from 0. Complexity: O(log count of all records).
        public subscript(index: Int) -> R { all[range.lowerBound + index] }
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// How many sections there are.
    public var endIndex: Int { ends.count }
    /// The section at a position from 0. Complexity: O(1).
    public subscript(index: Int) -> Section {
        Section(key: keys[index], all: records, range: (index == 0 ? 0 : ends[index - 1])..<ends[index])
    }

    /// The record at a path. Complexity: O(log count).
    public subscript(path: SectionPath) -> R { self[path.section][path.item] }
}

/// The path of a row in a list with sections, as an `IndexPath` has it: `IndexPath(item: path.item, section: path.section)`.
public struct SectionPath: Sendable, Hashable, Comparable {
    /// The section's position, from 0.
    public let section: Int
    /// The row's position in the section, from 0.
    public let item: Int

    /// The path of a row in a section.
    public init(section: Int, item: Int) {
        self.section = section
        self.item = item
    }

    /// By section, then by item.
    public static func < (left: Self, right: Self) -> Bool {
        (left.section, left.item) < (right.section, right.item)
    }
}

extension SectionPath: CustomStringConvertible {
    public var description: String { "\(section).\(item)" }
}

/// A row that is in another place than before.
public struct SectionMove: Sendable, Hashable {
    /// Its path in the list before.
    public let from: SectionPath
    /// Its path in the new list.
    public let to: SectionPath

    /// A move from one path to another.
    public init(from: SectionPath, to: SectionPath) {
        self.from = from
        self.to = to
    }
}

/// What an observer of a query in sections gets: the list as it is now, and how it came from the one before.
///
/// What is deleted and modified is told by its path in the list before, what is inserted by its path in the new one, each
/// ascending: as `performBatchUpdates` has it. Rows of a section that is deleted or inserted go and come with it, and are not
/// told of one by one. Sections do not change sortKeys.
public enum SectionListChange<Key: Storable, R: StoredRecord>: Sendable {
    /// The first list. Comes once, and first.
    case initial(SectionList<Key, R>)
    /// The list, and what is other than in the one before; never nothing.
    case update(
        SectionList<Key, R>, deletedSections: [Int], insertedSections: [Int], deletions: [SectionPath],
        insertions: [SectionPath], modifications: [SectionPath])

    /// The list as it is now.
    public var sections: SectionList<Key, R> {
        switch self {
        case .initial(let sections), .update(let sections, _, _, _, _, _): sections
        }
    }

    /// Rows that are in another place than before, of sections that were and are there, by ascending `to`. Each is among the
    /// deletions and the insertions too: who animates moves leaves it out there, and shows its new content afterwards.
    public var moves: [SectionMove] { sections.moves }

    /// The modifications as paths in the new list.
    public var modificationsInNew: [SectionPath] { sections.modificationsInNew }
}

extension SectionListChange: CustomStringConvertible {
    public var description: String {
        switch self {
        case .initial(let sections): "initial \(sections.map(\.count))"
        case .update(let sections, let gone, let come, let deletions, let insertions, let modifications):
            "\(sections.map(\.count)): sections deleted \(gone), inserted \(come), "
                + "deletions \(deletions), insertions \(insertions), modifications \(modifications)"
        }
    }
}
