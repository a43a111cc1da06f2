import GraphMapperStore

/// A list as a table view shows it: its cells change by batches alone, and whatever UIKit would raise an exception for is
/// noted.
@MainActor final class TerminalTable {
    private(set) var cells: [PersonRecord] = []
    private(set) var violations: [String] = []

    func reloadData(_ people: Results<PersonRecord>) { cells = Array(people) }

    /// Takes out, puts in and asks again for cells, as `performBatchUpdates` does.
    ///
    /// - Parameters:
    ///   - deletions, reloads: rows before.
    ///   - insertions: rows afterwards.
    ///   - source: what there is afterwards.
    func performBatchUpdates(
        deletions: [Int], insertions: [Int], reloads: [Int], source: Results<PersonRecord>
    ) {
        let count = cells.count - deletions.count + insertions.count
        let named = Set(deletions).union(reloads)
        guard count == source.count else {
            return violations.append("\(cells.count) rows do not become \(source.count)")
        }
        guard named.count == deletions.count + reloads.count, Set(insertions).count == insertions.count else {
            return violations.append("a row is named twice")
        }
        guard named.allSatisfy(cells.indices.contains), insertions.allSatisfy(source.indices.contains) else {
            return violations.append("a row is not there")
        }
        show(deletions, insertions, reloads, source)
    }

    /// Builds the list anew of runs of cells that stay, so that the main actor is not held up by long lists.
    private func show(_ deletions: [Int], _ insertions: [Int], _ reloads: [Int], _ source: Results<PersonRecord>) {
        var shown: [PersonRecord] = []
        shown.reserveCapacity(source.count)
        var next = 0
        var going = deletions[...]
        var reloading = reloads[...]
        func keep(_ count: Int) {
            var left = count
            while left > 0 {
                while going.first == next {
                    going.removeFirst()
                    next += 1
                }
                let end = min(next + left, going.first ?? cells.count)
                let shift = shown.count - next
                shown += cells[next..<end]
                while let row = reloading.first, row < end {
                    reloading.removeFirst()
                    shown[row + shift] = source[row + shift]
                }
                left -= end - next
                next = end
            }
        }
        for row in insertions {
            keep(row - shown.count)
            shown.append(source[row])
        }
        keep(source.count - shown.count)
        cells = shown
    }
}

/// A screen with the list: it shows what there is, and then what happens to it, until it is closed.
@MainActor final class ListScreen {
    let table = TerminalTable()
    private(set) var changeSets = 0
    private var token: ObservationToken?

    /// - Parameter called: called with each event, also when the screen is gone.
    init(_ store: GraphStore, _ query: Query<PersonRecord>, called: @escaping @MainActor () -> Void) {
        token = store.observe(query) { [weak self] change in
            called()
            self?.apply(change)
        }
    }

    private func apply(_ change: CollectionChange<PersonRecord>) {
        switch change {
        case .initial(let people):
            table.reloadData(people)
            print("  \(people.count) rows, from \(people.first.map(line) ?? "-") to \(people.last.map(line) ?? "-")")
        case .update(let people, let deletions, let insertions, let modifications):
            table.performBatchUpdates(
                deletions: deletions, insertions: insertions, reloads: modifications, source: people)
            changeSets += 1
            guard changeSets <= 5 else { return }
            print(
                "  \(people.count) rows: \(deletions.count) deleted, \(insertions.count) inserted, "
                    + "\(modifications.count) modified")
        }
    }
}
