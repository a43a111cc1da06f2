import Foundation
import GraphMapperStore
import PackageGraph
import Testing

/// The strongly connected components of more than one package (Tarjan 1972, with a stack of its own).
func cycles(_ packages: [Package]) -> [[String]] {
    var index: [ObjectIdentifier: Int] = [:]
    var low: [ObjectIdentifier: Int] = [:]
    var onStack: Set<ObjectIdentifier> = []
    var stack: [Package] = []
    var found: [[String]] = []
    func targets(_ package: Package) -> [Package] { package.dependencies.flatMap(\.alternatives) + package.providers }
    for root in packages where index[ObjectIdentifier(root)] == nil {
        var work: [(package: Package, targets: [Package], next: Int)] = []
        func enter(_ package: Package) {
            index[ObjectIdentifier(package)] = index.count
            low[ObjectIdentifier(package)] = index.count - 1
            stack.append(package)
            onStack.insert(ObjectIdentifier(package))
            work.append((package, targets(package), 0))
        }
        enter(root)
        while let top = work.last {
            let key = ObjectIdentifier(top.package)
            if top.next < top.targets.count {
                work[work.count - 1].next += 1
                let target = top.targets[top.next]
                if index[ObjectIdentifier(target)] == nil {
                    enter(target)
                } else if onStack.contains(ObjectIdentifier(target)) {
                    low[key] = min(low[key] ?? 0, index[ObjectIdentifier(target)] ?? 0)
                }
                continue
            }
            work.removeLast()
            if let parent = work.last {
                let parent = ObjectIdentifier(parent.package)
                low[parent] = min(low[parent] ?? 0, low[key] ?? 0)
            }
            guard low[key] == index[key] else { continue }
            var component: [String] = []
            while let last = stack.popLast() {
                onStack.remove(ObjectIdentifier(last))
                component.append(last.id)
                if last === top.package { break }
            }
            if component.count > 1 { found.append(component.sorted()) }
        }
    }
    return found.sorted { $0[0] < $1[0] }
}

@Suite struct `A real graph` {
    static let database = "/var/lib/dpkg/status"

    @Test(.enabled(if: FileManager.default.fileExists(atPath: database)))
    func `Debian's installed packages are stored, loaded from one root and saved again`() async throws {
        let text = try String(contentsOfFile: Self.database, encoding: .utf8)
        let packages = packages(in: text, onlyInstalled: true)
        try #require(packages.count > 10)
        let expected = cycles(packages)
        let store = try await GraphStore.open(.inMemory, PackageRecord.self, DependencyRecord.self)
        func session() -> GraphSession { GraphSession(store, PackageRecord.mapping, DependencyRecord.mapping) }

        let first = session()
        for package in packages { try first.add(package) }
        let saved = try await first.save()
        #expect(saved.changes.count >= packages.count)
        #expect(try await first.save().isEmpty)

        let second = session()
        let loaded = try await second.models(Query(PackageRecord.self).sorted(by: \.id))
        #expect(loaded.map(\.id) == packages.map(\.id))
        #expect(cycles(loaded) == expected)
        for (old, new) in zip(packages, loaded) {
            #expect(old.version == new.version && old.summary == new.summary)
            #expect(old.dependencies.map(\.clause) == new.dependencies.map(\.clause))
            #expect(
                old.dependencies.map { $0.alternatives.map(\.id) } == new.dependencies.map { $0.alternatives.map(\.id) }
            )
        }
        #expect(try await second.save().isEmpty)

        // From one root: a query a type and level, however many objects a level has.
        let deepest = try #require(packages.max { $0.dependencies.count < $1.dependencies.count })
        let third = session()
        var statements = 0
        try await store.read { statements = -$0.statementCount }
        let root = try #require(try await third.find(PackageRecord.self, deepest.id))
        try await store.read { statements += $0.statementCount }
        let levels = depth(root)
        // Each record type has its rows, and its ordered links, of which packages have two kinds; BEGIN and COMMIT.
        #expect(statements <= 5 * levels + 4, "\(statements) statements for \(levels) levels")
        root.summary = "changed"
        #expect(try await third.save().changes.count == 1)
        release(packages)
        release(loaded)
        release(reachable(root))
    }

    func reachable(_ root: Package) -> [Package] {
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(root)]
        var found = [root]
        var next = 0
        while next < found.count {
            for target in found[next].dependencies.flatMap(\.alternatives) + found[next].providers
            where seen.insert(ObjectIdentifier(target)).inserted { found.append(target) }
            next += 1
        }
        return found
    }

    /// How many levels of records a walk from the root goes through.
    func depth(_ root: Package) -> Int {
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(root)]
        var level: [Package] = [root]
        var count = 0
        while !level.isEmpty {
            count += 2
            level = level.flatMap { $0.dependencies.flatMap(\.alternatives) + $0.providers }
                .filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
        return count
    }
}
