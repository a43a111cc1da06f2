import GraphMapperStore
import GraphMapperTesting
import Testing

@testable import GraphMapper

/// A folder has folders in it, by their foreign key, and pages, by an ordered list; a page has one cover.
final class Binder {
    let id: Int
    var folders: [Binder] = []
    weak var parent: Binder?
    var pages: [Page] = []
    init(id: Int) { self.id = id }
}
final class Page {
    let id: Int
    var cover: Page?
    init(id: Int) { self.id = id }
}
struct BinderRow: StoredRecord {
    typealias Model = Binder
    let id: Int
    let parent: Ref<BinderRow>?
    let pages: [Ref<PageRow>]
    static let schema = Schema<Self>("folder") { row in
        try Self(id: row("id", \.id), parent: row("parent", \.parent), pages: row("pages", \.pages))
    }
    static func mapping(_ folders: DeleteRule, _ pages: DeleteRule) -> Mapping<Self> {
        Mapping {
            Binder(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.parent, \.parent)
            Many(BinderRow.self, by: \.parent, \.folders).onDelete(folders)
            Many(\.pages, \.pages).onDelete(pages)
        }
    }
}
struct PageRow: StoredRecord {
    typealias Model = Page
    let id: Int
    let cover: Ref<PageRow>?
    static let schema = Schema<Self>("page") { row in try Self(id: row("id", \.id), cover: row("cover", \.cover)) }
    static func mapping(_ rule: DeleteRule) -> Mapping<Self> {
        Mapping {
            Page(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.cover, \.cover).onDelete(rule)
        }
    }
}

@Suite struct `What is deleted with an object` {
    /// Folders 0 ▹ 1 ▹ 2 and 3; pages 10 and 11 in 1, 11 and 12 in 2; 13 is the cover of 11.
    private struct World {
        let store: GraphStore
        let session: GraphSession
        var folders: [Binder]
        var pages: [Page]

        init(_ folderRule: DeleteRule, _ pageRule: DeleteRule, _ cover: DeleteRule = .nullify) async throws {
            store = try await GraphStore.open(.inMemory, BinderRow.self, PageRow.self)
            try await store.write { tx in
                for id in 10...13 { try await tx.insert(PageRow(id: id, cover: id == 11 ? Ref(13) : nil)) }
                for (id, parent, pages) in [(0, nil, []), (1, 0, [10, 11]), (2, 1, [11, 12]), (3, nil, [])]
                    as [(Int, Int?, [Int])]
                {
                    try await tx.insert(
                        BinderRow(id: id, parent: parent.map { Ref($0) }, pages: pages.map { Ref($0) }))
                }
            }
            session = GraphSession(store, BinderRow.mapping(folderRule, pageRule), PageRow.mapping(cover))
            folders = try await session.models(Query(BinderRow.self).sorted(by: \.id))
            pages = try await session.models(Query(PageRow.self).sorted(by: \.id))
        }

        func stored() async throws -> [Int] {
            let folders = try await store.fetch(Query(BinderRow.self)).map(\.id)
            return (folders + (try await store.fetch(Query(PageRow.self)).map(\.id))).sorted()
        }

        /// Saves; nothing is left to do, and reading again changes nothing.
        func save() async throws -> [Int] {
            let planned = try session.changes()
            #expect(try session.changes() == planned)
            #expect(try await session.save() == planned)
            #expect(try await session.save().isEmpty)
            try await session.refresh()
            #expect(try session.changes().isEmpty)
            return try await stored()
        }
    }

    @Test func `nothing: links to it are emptied`() async throws {
        let world = try await World(.nullify, .nullify)
        try world.session.delete(world.folders[1])
        #expect(try await world.save() == [0, 2, 3, 10, 11, 12, 13])
        #expect(world.folders[2].parent == nil && world.folders[0].folders.isEmpty)
        // What another writer puts there afterwards is seen.
        try await world.store.write { try await $0.insert(BinderRow(id: 7, parent: Ref(0), pages: [])) }
        try await world.session.refresh()
        #expect(world.folders[0].folders.map(\.id) == [7])
    }

    @Test func `a child that another owner has taken stays, also where the old one's link still has it`() async throws {
        for rule in [DeleteRule.nullify, .cascade, .deleteOrphans] {
            let world = try await World(rule, .nullify)
            world.folders[3].folders.append(world.folders[2])
            try world.session.delete(world.folders[1])
            #expect(try await world.save().prefix(3) == [0, 2, 3])
            #expect(world.folders[2].parent === world.folders[3])
        }
    }

    @Test func `an object that another one of its key replaces: its rules, not the new one's`() async throws {
        for (rule, left) in [(DeleteRule.nullify, [0, 1, 2, 3]), (.deleteOrphans, [0, 1, 3])] {
            for isKept in [false, true] {
                let world = try await World(rule, .nullify)
                try world.session.delete(world.folders[1])
                let new = Binder(id: 1)
                if isKept { new.folders = [world.folders[2]] }
                try world.session.add(new)
                #expect(try await world.save().filter { $0 < 10 } == (isKept ? [0, 1, 2, 3] : left))
                #expect(world.folders[2].parent === (isKept ? new : nil) || !isKept && rule == .deleteOrphans)
                #expect(try await world.session.find(BinderRow.self, 1) === new)
            }
        }
    }

    @Test func `objects under the keys of those that a rule deletes take their rows over`() async throws {
        let world = try await World(.cascade, .nullify)
        try world.session.delete(world.folders[0])
        // 0 ▹ 1 ▹ 2 are replaced by 0 ▹ 1 and 9.
        let (new, child) = (Binder(id: 0), Binder(id: 1))
        child.pages = [world.pages[0]]
        new.folders = [child, Binder(id: 9)]
        try world.session.add(new)
        let planned = try world.session.changes()
        #expect(try world.session.changes() == planned && world.session.state(of: world.folders[1]) != .deleted)
        #expect(try await world.save() == [0, 1, 3, 9, 10, 11, 12, 13])
        #expect(try await world.session.find(BinderRow.self, 1) === child && child.parent === new)
        #expect(try await world.store.find(BinderRow.self, 1)?.pages == [Ref(10)])
    }

    @Test func `a conflict with what a rule deletes ends, whatever the policy`() async throws {
        for policy in [ConflictPolicy.fail, .mine, .theirs] {
            let world = try await World(.cascade, .nullify)
            try await world.store.write { tx in
                try await tx.execute("UPDATE folder SET parent = 3 WHERE id = 2")
            }
            try world.session.delete(world.folders[1])
            do {
                try await world.session.save(onConflict: policy)
                let rows = try await world.store.fetch(Query(BinderRow.self).sorted(by: \.id)).map(\.id)
                #expect(rows == (policy.resolve == nil ? [0, 1, 2, 3] : rows.contains(2) ? [0, 2, 3] : [0, 3]))
                #expect(try world.session.changes().isEmpty)
            } catch let error as GraphError where policy.resolve == nil {
                #expect(error.conflicts.map(\.kind) == [.deletedByMe])
                #expect(world.session.state(of: world.folders[2]) != .deleted)
            }
        }
    }

    @Test func `all below it`() async throws {
        let world = try await World(.cascade, .cascade, .cascade)
        try world.session.delete(world.folders[0])
        #expect(world.session.state(of: world.folders[1]) != .deleted)
        #expect(try await world.save() == [3])
        #expect(world.session.state(of: world.pages[0]) == nil)
    }

    @Test func `what was moved away before stays, by either side of the link`() async throws {
        for rule in [DeleteRule.cascade, .deleteOrphans] {
            for byBack in [false, true] {
                let world = try await World(rule, .nullify)
                if byBack {
                    world.folders[2].parent = world.folders[3]
                } else {
                    world.folders[1].folders = []
                    world.folders[3].folders = [world.folders[2]]
                }
                try world.session.delete(world.folders[1])
                #expect(try await world.save() == [0, 2, 3, 10, 11, 12, 13])
                #expect(world.folders[2].parent === world.folders[3])
                #expect(world.folders[3].folders.map(\.id) == [2])
            }
        }
    }

    @Test func `a link that denies`() async throws {
        let world = try await World(.deny, .deny)
        try world.session.delete(world.folders[1])
        for _ in 0..<2 {
            let error = await #expect(throws: GraphError.self) { try await world.session.save() }
            #expect(error?.kind == .denied && error?.message.contains("folder(2)") == true)
        }
        try world.session.delete(world.folders[2])
        let error = await #expect(throws: GraphError.self) { try await world.session.save() }
        #expect(error?.path?.hasSuffix(".pages") == true)
        world.folders[1].pages = []
        world.folders[2].pages = []
        #expect(try await world.save() == [0, 3, 10, 11, 12, 13])
    }

    @Test func `orphans of a list go with their last owner, and what they own with them`() async throws {
        let world = try await World(.deleteOrphans, .deleteOrphans, .cascade)
        world.folders[1].pages.removeAll { $0.id == 10 }
        #expect(try await world.save() == [0, 1, 2, 3, 11, 12, 13])
        // 11 is in another folder, too.
        world.folders[1].pages = []
        #expect(try await world.save() == [0, 1, 2, 3, 11, 12, 13])
        world.folders[3].pages = [world.folders[2].pages[0]]
        world.folders[1].folders = []
        #expect(try await world.save() == [0, 1, 3, 11, 13])
        try world.session.delete(world.folders[3])
        #expect(try await world.save() == [0, 1])
    }

    @Test func `a failed save, and a roll-back, leave what rules would delete`() async throws {
        let world = try await World(.cascade, .cascade)
        try world.session.delete(world.folders[0])
        try await world.store.write { try await $0.insert(BinderRow(id: 8, parent: Ref(2), pages: [])) }
        // Somebody else has put a folder into what would go.
        await #expect(throws: StoreError.self) { try await world.session.save() }
        #expect(world.session.state(of: world.folders[1]) != .deleted)
        try world.session.rollback()
        #expect(try world.session.changes().isEmpty)
        try await world.session.refresh()
        try world.session.delete(world.folders[0])
        #expect(try await world.save() == [3, 13])
    }

    @Test func `new objects that only a deleted one leads to are not stored`() async throws {
        let world = try await World(.cascade, .cascade)
        let new = Binder(id: 20)
        new.pages = [Page(id: 21)]
        world.folders[1].folders.append(new)
        try world.session.add(new)
        try world.session.delete(world.folders[0])
        #expect(try await world.save() == [3, 13])
    }

    @Test func `a link that was not loaded says so`() async throws {
        let world = try await World(.cascade, .cascade)
        let session = GraphSession(world.store, BinderRow.mapping(.cascade, .nullify), PageRow.mapping(.nullify))
        let root = try #require(try await session.find(BinderRow.self, 0, loading: .none))
        try session.delete(root)
        let error = await #expect(throws: GraphError.self) { try await session.save() }
        #expect(error?.kind == .misuse && error?.message.contains("session.load") == true)
        try await session.load(root, \.folders)
        try await session.save()
        #expect(try await world.stored() == [3, 10, 11, 12, 13])
    }

    /// Whoever is left is owned, or was never owned: checked with a naive walk.
    @Test func `any tree: what hangs on the deleted ones goes, and nothing else`() async throws {
        let moves = Gen<[(Int, Int)]>.array(of: Gen<Int>.int(in: 0...7).zip(.int(in: 0...7)), count: 0...4)
        try await check(Gen.forest(maxNodes: 8).zip(moves).zip(.bool), count: 100) { input, isOrphans in
            let (shape, moves) = input
            let store = try await GraphStore.open(.inMemory, BinderRow.self, PageRow.self)
            let records = branchRecords(shape)
            try await StoredGraph(
                records.map { row in BinderRow(id: row.id, parent: row.parent.map { Ref($0.id) }, pages: []) }
            )
            .write(to: store.backing)
            let rule: DeleteRule = isOrphans ? .deleteOrphans : .cascade
            let session = GraphSession(store, BinderRow.mapping(rule, .nullify), PageRow.mapping(.nullify))
            let all = try await session.models(Query(BinderRow.self).sorted(by: \.id))
            guard !all.isEmpty else { return }
            var parents: [Int: Int] = [:]
            for row in records { parents[row.id] = row.parent?.id }
            let wasOwned = Set(parents.keys.filter { parents[$0] != nil })
            var deleted: Set<Int> = []
            for (number, (one, two)) in moves.enumerated() {
                let (child, parent) = (all[one % all.count], all[two % all.count])
                var above: Int? = parent.id
                while let id = above, id != child.id { above = parents[id] }
                if above != nil || number % 3 == 2 {
                    deleted.insert(child.id)
                    try session.delete(child)
                    continue
                }
                if let old = parents[child.id] { all[old].folders.removeAll { $0 === child } }
                parent.folders.append(child)
                parents[child.id] = parent.id
            }
            func isGone(_ id: Int) -> Bool {
                var next: Int? = id
                while let here = next {
                    if deleted.contains(here) { return true }
                    next = parents[here]
                }
                return false
            }
            try await session.save()
            let left = try await store.fetch(Query(BinderRow.self)).map(\.id).sorted()
            let expected = all.map(\.id).filter { !isGone($0) }
            try ensure(left == expected, "\(left), not \(expected); owned \(wasOwned), deleted \(deleted)")
            let again = try session.changes()
            try ensure(again.isEmpty, "\(again)")
        }
    }
}
