/// Which rows of a circle are written in two steps.
extension WriteOrder {
    /// The fewest rows of a circle to write in two steps.
    func cycleBreakers(of group: [Int]) throws -> Set<Int> {
        let members = Dictionary(uniqueKeysWithValues: group.enumerated().map { ($1, $0) })
        let inner = edges.filter { members[$0.from] != nil && members[$0.to] != nil }
        var local = Part(count: group.count)
        for edge in inner {
            guard let from = members[edge.from], let to = members[edge.to] else { continue }
            local.edges.append((from, to, edge.isFromFirst, edge.isToSecond))
        }
        // The links of a list are rows of their own: taking some out first costs no more.
        var free: Set<Int> = []
        var candidates: [Int] = []
        for (place, node) in group.enumerated() where local.canSplit(place) {
            if case .relink = changes[node] { free.insert(place) } else { candidates.append(place) }
        }
        guard let chosen = local.fewest(candidates, free) else { throw impossible(group, free.union(candidates)) }
        return Set(chosen.map { group[$0] })
    }

    private func impossible(_ group: [Int], _ split: Set<Int>) -> GraphError {
        let members = Set(group)
        let inner = edges.filter { members.contains($0.from) && members.contains($0.to) }
        let rest = graph(inner, Set(split.map { group[$0] }))
        let count = changes.count
        let path = rest.cycles().first.map { rest.cycle(within: $0) } ?? []
        var words: [String] = []
        for (from, to) in zip(path, path.dropFirst()) {
            let (from, to) = (from % count, to % count)
            guard from != to else { continue }
            let reason = inner.first { $0.from == from && $0.to == to }?.reason
            words.append("\(changes[from].row) before \(changes[to].row)\(reason.map { " (\($0))" } ?? "")")
        }
        let rows = path.map { changes[$0 % count].row.description }
        let row = changes[path.first.map { $0 % count } ?? group[0]].row
        return GraphError(
            .cycle,
            "its rows cannot be written in any order: \(words.joined(separator: ", ")). Make one of these "
                + "links optional, or let the database check them at commit", type: row.table,
            id: row.key.map(\.description).joined(separator: ", "),
            path: rows.enumerated().filter { $0.offset == 0 || rows[$0.offset - 1] != $0.element }.map(\.element)
                .joined(separator: " → "))
    }
}

/// A circle of rows by itself, small enough to try things out.
private struct Part {
    let count: Int
    var edges: [(from: Int, to: Int, isFromFirst: Bool, isToSecond: Bool)] = []

    /// Whether two steps let something in between.
    func canSplit(_ node: Int) -> Bool {
        edges.contains { $0.from == node && $0.isFromFirst } && edges.contains { $0.to == node && $0.isToSecond }
    }

    private func isOrdered(_ split: Set<Int>) -> Bool { graph(split).cycles().isEmpty }

    private func graph(_ split: Set<Int>) -> RowGraph {
        var graph = RowGraph(count * 2)
        for node in split { graph.add(node, node + count) }
        for edge in edges {
            graph.add(
                split.contains(edge.from) && !edge.isFromFirst ? edge.from + count : edge.from,
                split.contains(edge.to) && edge.isToSecond ? edge.to + count : edge.to)
        }
        return graph
    }

    /// The first of the smallest sets of candidates whose splitting leaves no circle; nil if there is none.
    ///
    /// Up to twelve candidates every set is tried. Beyond that, those with most edges are taken one after the other.
    func fewest(_ candidates: [Int], _ free: Set<Int>) -> Set<Int>? {
        guard isOrdered(free.union(candidates)) else { return nil }
        if isOrdered(free) { return free }
        if candidates.count <= 12 {
            let sets = (1..<(1 << candidates.count)).sorted { ($0.nonzeroBitCount, $0) < ($1.nonzeroBitCount, $1) }
            for bits in sets {
                let chosen = candidates.indices.filter { bits & 1 << $0 != 0 }.map { candidates[$0] }
                if isOrdered(free.union(chosen)) { return free.union(chosen) }
            }
            return nil
        }
        var chosen = free
        var left = Set(candidates)
        while true {
            let groups = graph(chosen).cycles()
            guard !groups.isEmpty else { return chosen }
            for group in groups {
                let members = Set(group.map { $0 % count })
                var weight: [Int: (in: Int, out: Int)] = [:]
                for edge in edges where members.contains(edge.from) && members.contains(edge.to) {
                    if edge.isFromFirst { weight[edge.from, default: (0, 0)].out += 1 }
                    if edge.isToSecond { weight[edge.to, default: (0, 0)].in += 1 }
                }
                let best = members.intersection(left).max { one, other in
                    let (a, b) = (weight[one] ?? (0, 0), weight[other] ?? (0, 0))
                    return (a.in * a.out, other) < (b.in * b.out, one)
                }
                guard let best else { return nil }
                chosen.insert(best)
                left.remove(best)
            }
        }
    }
}
