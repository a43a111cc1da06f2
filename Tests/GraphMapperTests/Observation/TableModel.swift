import GraphMapperStore
import GraphMapperTesting
import Testing

/// What a table or collection view does with batch updates: throws where UIKit would raise an exception.
///
/// UIKit takes deletions, reloads and the origins of moves by their places before, insertions and the ends of moves by their
/// places afterwards, whatever the order of the calls; refuses a place that is named twice on one side, one that is not
/// there, and numbers that do not add up. A moved cell is not asked for again.
struct TableModel<Row: Equatable & Sendable> {
    private(set) var sections: [[Row]]
    /// Those of the first section.
    var rows: [Row] { sections.first ?? [] }

    init(_ rows: some Sequence<Row>) { self.init(sections: [Array(rows)]) }
    init(sections: [[Row]]) { self.sections = sections }

    struct Inconsistent: Error, CustomStringConvertible {
        let description: String
    }

    struct Batch {
        var deletedSections: [Int] = []
        var insertedSections: [Int] = []
        var deletions: [SectionPath] = []
        var insertions: [SectionPath] = []
        var reloads: [SectionPath] = []
        var moves: [SectionMove] = []
    }

    /// - Parameter source: what the data source has afterwards.
    mutating func performBatchUpdates(_ batch: Batch, source: [[Row]]) throws {
        let old = batch.deletions + batch.reloads + batch.moves.map(\.from)
        let new = batch.insertions + batch.moves.map(\.to)
        try Self.check(old, "before", sections, but: batch.deletedSections)
        try Self.check(new, "afterwards", source, but: batch.insertedSections)
        guard sections.count - batch.deletedSections.count + batch.insertedSections.count == source.count else {
            throw Inconsistent(description: "\(sections.count) sections do not become \(source.count)")
        }
        let leaving = Set(batch.deletions + batch.moves.map(\.from))
        let reloads = Set(batch.reloads)
        let coming = Set(batch.insertions)
        let moved = Dictionary(
            uniqueKeysWithValues: batch.moves.map { ($0.to, sections[$0.from.section][$0.from.item]) })
        var staying = sections.indices.filter { !batch.deletedSections.contains($0) }[...]
        var shown: [[Row]] = []
        for (section, rows) in source.enumerated() {
            guard !batch.insertedSections.contains(section), let before = staying.popFirst() else {
                shown.append(rows)
                continue
            }
            var cells = sections[before].indices.map { SectionPath(section: before, item: $0) }
                .filter { !leaving.contains($0) }[...]
            var now: [Row] = []
            for item in rows.indices {
                let path = SectionPath(section: section, item: item)
                if coming.contains(path) {
                    now.append(rows[item])
                } else if let cell = moved[path] {
                    now.append(cell)
                } else if let cell = cells.popFirst() {
                    now.append(reloads.contains(cell) ? rows[item] : sections[cell.section][cell.item])
                } else {
                    throw Inconsistent(description: "no cell is left for row \(path)")
                }
            }
            guard cells.isEmpty else { throw Inconsistent(description: "section \(section) has no row for \(cells)") }
            shown.append(now)
        }
        sections = shown
    }

    private static func check(
        _ paths: [SectionPath], _ when: String, _ sections: [[Row]], but others: [Int]
    ) throws {
        guard Set(paths).count == paths.count, Set(others).count == others.count else {
            throw Inconsistent(description: "one place \(when) is named twice: \(paths), \(others)")
        }
        guard others.allSatisfy(sections.indices.contains) else {
            throw Inconsistent(description: "no such section \(when): \(others)")
        }
        for path in paths {
            guard sections.indices.contains(path.section), sections[path.section].indices.contains(path.item) else {
                throw Inconsistent(description: "no such row \(when): \(path)")
            }
            guard !others.contains(path.section) else {
                throw Inconsistent(description: "\(path) is in a section that comes or goes as a whole")
            }
        }
    }
}

extension TableModel {
    /// As an app does it that does not animate moves.
    mutating func apply<R>(_ change: CollectionChange<R>, as row: (R) -> Row) throws {
        switch change {
        case .initial(let collection): sections = [collection.map(row)]
        case .update(let collection, let deletions, let insertions, let modifications):
            let batch = Batch(
                deletions: deletions.map(Self.path), insertions: insertions.map(Self.path),
                reloads: modifications.map(Self.path))
            try performBatchUpdates(batch, source: [collection.map(row)])
        }
    }

    /// As one does that does: moved cells are shown anew afterwards.
    mutating func applyMoving<R>(_ change: CollectionChange<R>, as row: (R) -> Row) throws {
        guard case .update(let collection, let deletions, let insertions, let modifications) = change else {
            return try apply(change, as: row)
        }
        let moves = change.moves
        let from = Set(moves.map(\.from))
        let to = Set(moves.map(\.to))
        let batch = Batch(
            deletions: deletions.filter { !from.contains($0) }.map(Self.path),
            insertions: insertions.filter { !to.contains($0) }.map(Self.path),
            reloads: modifications.map(Self.path),
            moves: moves.map { SectionMove(from: Self.path($0.from), to: Self.path($0.to)) })
        let source = [collection.map(row)]
        try performBatchUpdates(batch, source: source)
        try performBatchUpdates(Batch(reloads: batch.moves.map(\.to)), source: source)
    }

    private static func path(_ item: Int) -> SectionPath { SectionPath(section: 0, item: item) }

    /// The same for sections.
    mutating func apply<Key, R>(_ change: SectionListChange<Key, R>, moving: Bool, as row: (R) -> Row) throws {
        let source = change.sections.map { $0.map(row) }
        guard case .update(_, let gone, let come, let deletions, let insertions, let modifications) = change else {
            sections = source
            return
        }
        let moves = moving ? change.moves : []
        let from = Set(moves.map(\.from))
        let to = Set(moves.map(\.to))
        let batch = Batch(
            deletedSections: gone, insertedSections: come, deletions: deletions.filter { !from.contains($0) },
            insertions: insertions.filter { !to.contains($0) }, reloads: modifications, moves: moves)
        try performBatchUpdates(batch, source: source)
        try performBatchUpdates(Batch(reloads: moves.map(\.to)), source: source)
    }
}

@Suite struct `The model of a table view` {
    private typealias Table = TableModel<String>

    private func path(_ section: Int, _ item: Int) -> SectionPath { SectionPath(section: section, item: item) }

    private func shown(_ batch: Table.Batch, _ source: [[String]]) throws -> [[String]] {
        var table = Table(sections: [["a", "b", "c"], ["d"]])
        try table.performBatchUpdates(batch, source: source)
        return table.sections
    }

    @Test func `takes what UIKit takes`() throws {
        let batch = Table.Batch(
            deletions: [path(0, 0)], insertions: [path(0, 1)], reloads: [path(0, 1)],
            moves: [SectionMove(from: path(0, 2), to: path(1, 0))])
        // The moved cell keeps what it has shown.
        #expect(try shown(batch, [["B", "x"], ["C", "d"]]) == [["B", "x"], ["c", "d"]])
        let whole = Table.Batch(deletedSections: [0], insertedSections: [1], insertions: [path(0, 1)])
        #expect(try shown(whole, [["d", "e"], ["f"]]) == [["d", "e"], ["f"]])
        // A row that nobody names is not asked for again.
        #expect(try shown(Table.Batch(), [["A", "b", "c"], ["d"]]) == [["a", "b", "c"], ["d"]])
    }

    @Test func `refuses what UIKit refuses`() throws {
        func refuses(_ batch: Table.Batch, _ source: [[String]]) {
            #expect(throws: Table.Inconsistent.self) { try shown(batch, source) }
        }
        let less = [["b", "c"], ["d"]]
        let same = [["a", "b", "c"], ["d"]]
        refuses(Table.Batch(), less)
        refuses(Table.Batch(deletions: [path(0, 0)]), same)
        refuses(Table.Batch(deletions: [path(1, 0)], insertions: [path(1, 0)]), less)
        refuses(Table.Batch(deletions: [path(0, 3)]), less)
        refuses(Table.Batch(deletions: [path(2, 0)]), less)
        refuses(Table.Batch(deletions: [path(0, 0), path(0, 0)]), [["c"], ["d"]])
        refuses(Table.Batch(deletions: [path(0, 0)], reloads: [path(0, 0)]), less)
        let move = SectionMove(from: path(0, 0), to: path(0, 1))
        refuses(Table.Batch(deletions: [path(0, 0)], moves: [move]), less)
        refuses(Table.Batch(reloads: [path(0, 0)], moves: [move]), same)
        refuses(Table.Batch(insertions: [path(0, 1)], moves: [move]), [["b", "x", "a", "c"], ["d"]])
        refuses(Table.Batch(insertions: [path(0, 4)]), [["a", "b", "c", "e"], ["d"]])
        refuses(Table.Batch(moves: [SectionMove(from: path(0, 0), to: path(1, 0))]), same)
        refuses(Table.Batch(deletedSections: [1]), same)
        refuses(Table.Batch(deletedSections: [1], deletions: [path(1, 0)]), [["a", "b", "c"]])
        refuses(Table.Batch(insertedSections: [2], insertions: [path(2, 0)]), same + [["e"]])
        refuses(Table.Batch(deletedSections: [2]), [["a", "b", "c"]])
        refuses(Table.Batch(insertedSections: [3]), same + [["e"]])
        refuses(Table.Batch(deletedSections: [0, 0]), [])
        refuses(
            Table.Batch(deletedSections: [0], moves: [SectionMove(from: path(0, 0), to: path(0, 0))]), [["a", "d"]])
    }
}
