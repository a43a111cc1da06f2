import GraphMapperStore
import Testing

@testable import GraphMapper

/// What another task does with the session while a savepoint is open.
private enum Intruder: CaseIterable, Sendable {
    case find, first, models, load, loadLink, refresh, refreshOne, merge, save, saveEdited, savepoint, follow, join
}

private struct Stop: Error {}

@Suite @MainActor struct `A savepoint has the session's turn` {
    /// Runs `other` in another task while a savepoint of this one is open, and says in which order they ended.
    private func run(
        _ session: GraphSession, isFailing: Bool = false, depth: Int = 1,
        _ body: @escaping @MainActor () async throws -> Void = {},
        while other: @escaping @MainActor () async throws -> Void
    ) async throws -> [String] {
        let (isOpen, called) = (Signal(), Signal())
        var log: [String] = []
        let first = Task { @MainActor in
            func nested(_ depth: Int) async throws {
                if depth > 1 { return try await session.savepoint { try await nested(depth - 1) } }
                isOpen.open()
                await called.wait()
                try await body()
                if isFailing { throw Stop() }
            }
            do { try await session.savepoint { try await nested(depth) } } catch is Stop {}
            log.append("savepoint")
        }
        await isOpen.wait()
        let second = Task { @MainActor in
            // It goes on without a pause to where `other` waits.
            called.open()
            try await other()
            log.append("other")
        }
        let ending = await Ending.of {
            let results = (await first.result, await second.result)
            try results.0.get()
            try results.1.get()
        }
        if case .failed(let error) = ending { throw error }
        try #require(!ending.isHanging, "they wait for each other for ever")
        return log
    }

    private func intrude(
        _ intruder: Intruder, _ festival: Festival<Int>, _ session: GraphSession, _ choir: Choir<Int>,
        _ other: Choir<Int>
    ) async throws {
        switch intruder {
        case .find: #expect(try await session.find(SingerRow<Int>.self, 3)?.name == "stored")
        case .first: #expect(try await session.first(SingerRow<Int>.query(3))?.name == "stored")
        case .models: #expect(try await session.models(Query(SingerRow<Int>.self)).count == 3)
        case .load:
            #expect(
                try await session.load(SingerRow<Int>.self) {
                    try await $0.fetch(SingerRow<Int>.self, ids: [3])
                }.count == 1)
        case .loadLink:
            try await session.load(other, \.songs)
            #expect(other.songs.isEmpty)
        case .refresh: try await session.refresh()
        case .refreshOne: try await session.refresh(choir)
        case .merge: #expect(try await session.merge([SingerPayload(id: 3)])[0].name == "stored")
        case .save: try await session.save()
        case .saveEdited: try await session.save(only: .edited)
        case .savepoint: try await session.savepoint { choir.name = "theirs" }
        case .follow:
            do {
                try await session.follow(SingerRow<Int>.query(3)) { change in
                    #expect(change.models.map(\.name) == ["stored"])
                    throw Stop()
                }
            } catch is Stop {}
        case .join:
            let other = festival.session()
            #expect(try await other.find(SingerRow<Int>.self, 3)?.name == "stored")
            try await festival.store.write { tx in
                try await session.join(tx) { choir.name = "joined" }
            }
        }
    }

    @Test(arguments: Intruder.allCases, [false, true])
    private func `what other tasks ask of it waits`(intruder: Intruder, isFailing: Bool) async throws {
        let festival = try await Festival<Int>()
        try await festival.store.write { try await $0.insert(SingerRow(id: 3, name: "stored")) }
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let other = try await festival.choir(2, in: session, loading: .none)
        let log = try await run(session, isFailing: isFailing) {
            choir.name = "mine"
            try await session.save()
        } while: {
            try await intrude(intruder, festival, session, choir, other)
        }
        #expect(log == ["savepoint", "other"])
        try await session.save()
        let row = try #require(try await festival.store.find(ChoirRow<Int>.self, 1))
        #expect(row.name == choir.name)
        if ![.savepoint, .join].contains(intruder) { #expect(row.name == (isFailing ? "" : "mine")) }
    }

    @Test(arguments: [Intruder.find, .models, .save, .merge, .savepoint])
    private func `so it is while savepoints are nested`(intruder: Intruder) async throws {
        let festival = try await Festival<Int>()
        try await festival.store.write { try await $0.insert(SingerRow(id: 3, name: "stored")) }
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let other = try await festival.choir(2, in: session, loading: .none)
        let log = try await run(session, depth: 3) {
            try await intrude(intruder, festival, session, choir, other)
        }
        #expect(log == ["savepoint", "other"])
    }

    @Test func `what the session has is found at once`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let found = Signal()
        let log = try await run(session) {
            await found.wait()
        } while: {
            let model = try await session.find(ChoirRow<Int>.self, 1)
            #expect(model === choir)
            found.open()
        }
        #expect(Set(log) == ["savepoint", "other"])
    }

    @Test func `its own loads and saves do not wait, and nothing comes between them`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        var order: [String] = []
        let log = try await run(session) {
            choir.name = "one"
            try await session.save()
            #expect(try await session.models(Query(SingerRow<Int>.self)).count == 2)
            try await session.savepoint {
                choir.name = "two"
                try await session.save()
            }
            try await session.refresh()
            order.append("savepoint")
        } while: {
            let changes = try await session.save()
            #expect(changes.isEmpty)
            order.append("save")
        }
        #expect(order == ["savepoint", "save"] && log == ["savepoint", "other"])
        #expect(try await festival.store.find(ChoirRow<Int>.self, 1)?.name == "two")
    }

    @Test func `many tasks have their turns in the order of asking`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let (isOpen, isReleased) = (Signal(), Signal())
        var order: [Int] = []
        let first = Task { @MainActor in
            try await session.savepoint {
                isOpen.open()
                await isReleased.wait()
                order.append(0)
            }
        }
        await isOpen.wait()
        var tasks: [Task<Void, any Error>] = []
        for number in 1...8 {
            let asked = Signal()
            tasks.append(
                Task { @MainActor in
                    asked.open()
                    if number.isMultiple(of: 2) {
                        try await session.savepoint { order.append(number) }
                    } else {
                        _ = try await session.models(Query(SingerRow<Int>.self))
                        order.append(number)
                    }
                })
            await asked.wait()
        }
        isReleased.open()
        let all = [first] + tasks
        let ending = await Ending.of { for task in all { try await task.value } }
        if case .failed(let error) = ending { throw error }
        try #require(!ending.isHanging)
        #expect(order.first == 0 && Set(order) == Set(0...8))
        #expect(order.filter { $0.isMultiple(of: 2) } == [0, 2, 4, 6, 8])
    }

    /// What cannot wait is refused, and the savepoint goes on.
    @Test func `what another task asks without waiting is misuse`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let log = try await run(session) {
            choir.name = "mine"
            try await session.save()
        } while: {
            let mapped = #expect(throws: GraphError.self) { try session.map([SingerPayload(id: 1)]) }
            #expect(mapped?.kind == .misuse)
            let evicted = #expect(throws: GraphError.self) { try session.evict(choir) }
            #expect(evicted?.kind == .misuse)
        }
        #expect(Set(log) == ["savepoint", "other"])
        #expect(try await festival.store.find(ChoirRow<Int>.self, 1)?.name == "mine")
        #expect(try session.map([SingerPayload(id: 1)])[0] === choir.singers[0])
    }

    @Test(arguments: [false, true], [false, true])
    func `a session that follows the store goes on after it`(isFailing: Bool, isPending: Bool) async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let singer = choir.singers[0]
        let (isCurrent, isOver, ended) = (Signal(), Signal(), Signal())
        singer.onName = { name in
            if name == "before" { isCurrent.open() }
            if name == "after" { isOver.open() }
        }
        let following = Task { @MainActor in
            defer { for signal in [isCurrent, isOver, ended] { signal.open() } }
            try await session.follow()
        }
        try await festival.store.write { tx in
            _ = try await tx.apply(Patch(SingerRow<Int>.self, 1).set(\.name, "before"))
        }
        // It may have to take that in while the savepoint is open.
        if !isPending { await isCurrent.wait() }
        do {
            try await session.savepoint {
                choir.name = "mine"
                try await session.save()
                for _ in 0..<100 { await Task.yield() }
                if isFailing { throw Stop() }
            }
        } catch is Stop {}
        try await festival.store.write { tx in
            _ = try await tx.apply(Patch(SingerRow<Int>.self, 1).set(\.name, "after"))
        }
        let ending = await Ending.of { await isOver.wait() }
        #expect(!ending.isHanging)
        #expect(singer.name == "after")
        #expect(choir.name == (isFailing ? "" : "mine"))
        following.cancel()
        try await following.value
        await ended.wait()
    }
}
