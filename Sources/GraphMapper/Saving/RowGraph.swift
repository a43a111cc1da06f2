/// What must come before what, as numbers: the graph algorithms that an order of writing takes.
///
/// Everything is iterative, since a chain of rows can be a million long, and follows the order of the numbers where
/// nothing else decides.
struct RowGraph {
    private(set) var next: [[Int]]

    init(_ count: Int) { next = Array(repeating: [], count: count) }

    mutating func add(_ before: Int, _ after: Int) { next[before].append(after) }

    /// The groups of more than one node that all reach each other, each ascending (Tarjan's algorithm).
    /// Complexity: O(nodes + edges).
    func cycles() -> [[Int]] {
        var index = [Int](repeating: -1, count: next.count)
        var low = index
        var isOpen = [Bool](repeating: false, count: next.count)
        var place = [Int](repeating: 0, count: next.count)
        var open: [Int] = []
        var path: [Int] = []
        var count = 0
        var groups: [[Int]] = []
        func enter(_ node: Int) {
            index[node] = count
            low[node] = count
            count += 1
            open.append(node)
            isOpen[node] = true
            path.append(node)
        }
        for start in next.indices where index[start] < 0 && !next[start].isEmpty {
            enter(start)
            while let node = path.last {
                if place[node] < next[node].count {
                    let target = next[node][place[node]]
                    place[node] += 1
                    if index[target] < 0 {
                        enter(target)
                    } else if isOpen[target] {
                        low[node] = min(low[node], index[target])
                    }
                    continue
                }
                path.removeLast()
                if let parent = path.last { low[parent] = min(low[parent], low[node]) }
                guard low[node] == index[node] else { continue }
                var group: [Int] = []
                while let member = open.popLast() {
                    isOpen[member] = false
                    group.append(member)
                    if member == node { break }
                }
                if group.count > 1 { groups.append(group.sorted()) }
            }
        }
        return groups.sorted { $0[0] < $1[0] }
    }

    /// An order that has every edge forwards, the node with the least priority first where there is a choice; shorter
    /// than the graph if there is a cycle. Complexity: O((nodes + edges) log nodes).
    func sorted(by priority: (Int) -> Int) -> [Int] {
        var waiting = [Int](repeating: 0, count: next.count)
        for targets in next { for target in targets { waiting[target] += 1 } }
        var ready = Heap()
        for node in next.indices where waiting[node] == 0 { ready.push(priority(node), node) }
        var order: [Int] = []
        order.reserveCapacity(next.count)
        while let node = ready.pop() {
            order.append(node)
            for target in next[node] {
                waiting[target] -= 1
                if waiting[target] == 0 { ready.push(priority(target), target) }
            }
        }
        return order
    }

    /// A way from a node back to itself, the node first and last.
    func cycle(within nodes: [Int]) -> [Int] {
        // A node that a search can only leave to its own group comes back by the pigeonhole.
        let members = Set(nodes)
        guard var node = nodes.first(where: { start in next[start].contains(where: members.contains) }) else {
            return []
        }
        var path = [node]
        var seen: [Int: Int] = [node: 0]
        while let target = next[node].first(where: members.contains) {
            path.append(target)
            if let start = seen[target] { return Array(path[start...]) }
            seen[target] = path.count - 1
            node = target
        }
        return []
    }
}

/// The least first.
private struct Heap {
    private var items: [(key: Int, node: Int)] = []

    mutating func push(_ key: Int, _ node: Int) {
        items.append((key, node))
        var child = items.count - 1
        while child > 0, items[child].key < items[(child - 1) / 2].key {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func pop() -> Int? {
        guard let first = items.first else { return nil }
        items[0] = items[items.count - 1]
        items.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2]
            where child < items.count && items[child].key < items[least].key { least = child }
            if least == parent { return first.node }
            items.swapAt(parent, least)
            parent = least
        }
    }
}
