import Foundation
import GraphMapperStore
import Testing

@testable import GraphMapper

/// What a closure that a session runs asks of the session.
private enum Call: CaseIterable, Sendable {
    case findKnown, find, first, models, load, loadLink, refresh, refreshOne, merge, save, savepoint, join, follow
    case map, evict, changes, add
}

/// Which closure it is.
private enum Inside: CaseIterable, Sendable { case load, modelsInSavepoint, savepoint, follow }

/// What a closure that a store runs asks of the store.
private enum StoreCall: CaseIterable, Sendable {
    case write, writeWithoutNotifying, read, fetch, suspend, writeBlocking
}
private enum StoreClosure: CaseIterable, Sendable { case write, writeWithoutNotifying, read, savepoint }

private struct Stop: Error {}

private struct Wrong: Error, CustomStringConvertible {
    let description: String
}

@MainActor private final class Shown {
    var token: ObservationToken?
    let first = Signal()
}

@Suite(.timeLimit(.minutes(5))) @MainActor struct `Calls from inside a call` {
    private func call(_ call: Call, _ festival: Festival<Int>, _ session: GraphSession, _ choir: Choir<Int>)
        async throws
    {
        switch call {
        case .findKnown: #expect(try await session.find(ChoirRow<Int>.self, 1) === choir)
        case .find: #expect(try await session.find(SingerRow<Int>.self, 3)?.id == 3)
        case .first: #expect(try await session.first(SingerRow<Int>.query(3))?.id == 3)
        case .models: #expect(try await session.models(Query(SingerRow<Int>.self)).count == 3)
        case .load:
            #expect(
                try await session.load(SingerRow<Int>.self) { try await $0.fetch(SingerRow<Int>.self, ids: [3]) }.count
                    == 1)
        case .loadLink: try await session.load(choir, \.songs)
        case .refresh: try await session.refresh()
        case .refreshOne: try await session.refresh(choir)
        case .merge: #expect(try await session.merge([SingerPayload(id: 3)]).count == 1)
        case .save: try await session.save()
        case .savepoint: try await session.savepoint { _ = try session.changes() }
        case .join: try await festival.store.write { try await session.join($0) { _ = try session.changes() } }
        case .follow:
            do { try await session.follow(SingerRow<Int>.query(3)) { _ in throw Stop() } } catch is Stop {}
        case .map: #expect(try session.map([SingerPayload(id: 1)])[0] === choir.singers[0])
        case .evict: try session.evict(choir.songs[0])
        case .changes: #expect(try session.changes().isEmpty)
        case .add: try session.add(Song(id: 9))
        }
    }

    private func run(_ inside: Inside, _ session: GraphSession, _ body: @escaping @MainActor () async throws -> Void)
        async throws
    {
        func load() async throws {
            try await session.load(SongRow<Int>.self) { source in
                try await body()
                return try await source.fetch(SongRow<Int>.self, ids: [1, 2])
            }
        }
        switch inside {
        case .load: try await load()
        case .modelsInSavepoint: try await session.savepoint { try await load() }
        case .savepoint: try await session.savepoint { try await body() }
        case .follow:
            do {
                try await session.follow(SongRow<Int>.query(1)) { _ in
                    try await body()
                    throw Stop()
                }
            } catch is Stop {}
        }
    }

    /// A typed error, or it works; afterwards the session goes on.
    @Test(arguments: Inside.allCases, Call.allCases)
    private func `of a session end`(inside: Inside, call: Call) async throws {
        let festival = try await Festival<Int>()
        try await festival.store.write { try await $0.insert(SingerRow(id: 3)) }
        let session = festival.session()
        let choir = try await festival.choir(1, in: session)
        let ending = await Ending.of {
            try await run(inside, session) { try await self.call(call, festival, session, choir) }
        }
        switch ending {
        case .done: break
        case .failed(let error as GraphError): #expect(error.kind == .misuse, "\(error)")
        case .failed(let error as StoreError): #expect(error.kind == .misuse, "\(error)")
        case .failed(let error): Issue.record("\(error) is not typed")
        case .hangs: throw Wrong(description: "it waits for itself for ever")
        }
        // What cannot be done in a load can be done in a savepoint, and where the app follows.
        if case .failed(let error) = ending, inside == .savepoint || inside == .follow {
            #expect(inside == .savepoint && [.follow, .join].contains(call), "\(error)")
        }
        let after = await Ending.of {
            choir.name = "after"
            try await session.save()
            #expect(try await session.find(SingerRow<Int>.self, 3)?.id == 3)
        }
        guard case .done = after else { throw Wrong(description: "afterwards: \(after)") }
        #expect(try await festival.store.find(ChoirRow<Int>.self, 1)?.name == "after")
    }

    @Test func `the error of a load inside a load says what to do`() async throws {
        let festival = try await Festival<Int>()
        let session = festival.session()
        let ending = await Ending.of {
            try await session.load(SongRow<Int>.self) { _ in
                _ = try await session.find(SingerRow<Int>.self, 1)
                return []
            }
        }
        guard case .failed(let error as GraphError) = ending else { throw Wrong(description: "\(ending)") }
        #expect(error.kind == .misuse && error.message.contains("inside"), "\(error)")
    }

    private func inMemory(_ body: (GraphStore) async throws -> Void) async throws {
        try await body(Festival<Int>().store)
    }

    private func onFile(readers: Int = 4, _ body: (GraphStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reentry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = GraphStore.Options()
        options.readers = readers
        let store = try await GraphStore.open(
            .file(folder.appendingPathComponent("songs.sqlite").path), options: options, SongRow<Int>.self)
        try await body(store)
    }

    @Test(arguments: StoreClosure.allCases, StoreCall.allCases)
    private func `of a store end`(closure: StoreClosure, call: StoreCall) async throws {
        for isFile in [false, true] {
            let check: (GraphStore) async throws -> Void = { store in
                let shown = Shown()
                shown.token = store.observe(Query(SongRow<Int>.self)) { _ in shown.first.open() }
                await shown.first.wait()
                let tokens = shown.token.map { [$0] } ?? []
                let ending = await Ending.of {
                    func inner() async throws {
                        switch call {
                        case .write: try await store.write { try await $0.insert(SongRow(id: 8)) }
                        case .writeWithoutNotifying:
                            try await store.write(withoutNotifying: tokens) { try await $0.insert(SongRow(id: 8)) }
                        case .read: _ = try await store.read { try await $0.fetch(Query(SongRow<Int>.self)) }
                        case .fetch: _ = try await store.fetch(Query(SongRow<Int>.self))
                        case .suspend: try await store.suspend()
                        case .writeBlocking: try store.writeBlocking { try await $0.insert(SongRow(id: 8)) }
                        }
                    }
                    switch closure {
                    case .write: try await store.write { _ in try await inner() }
                    case .writeWithoutNotifying:
                        try await store.write(withoutNotifying: tokens) { _ in try await inner() }
                    case .read: try await store.read { _ in try await inner() }
                    case .savepoint: try await store.write { tx in try await tx.savepoint { try await inner() } }
                    }
                }
                switch ending {
                case .done: break
                case .failed(let error as StoreError): #expect(error.kind == .misuse, "file \(isFile): \(error)")
                case .failed(let error): Issue.record("file \(isFile): \(error) is not typed")
                case .hangs: throw Wrong(description: "file \(isFile): it waits for itself for ever")
                }
                let after = await Ending.of {
                    try await store.write { try await $0.insert(SongRow(id: 7)) }
                    #expect(try await store.find(SongRow<Int>.self, 7) != nil)
                }
                guard case .done = after else { throw Wrong(description: "file \(isFile), afterwards: \(after)") }
            }
            if isFile { try await onFile(check) } else { try await inMemory(check) }
        }
    }

    /// The same observer's, and another's.
    @Test(arguments: [false, true], [false, true])
    func `a write that leaves observers out, inside one that does`(isFile: Bool, isSame: Bool) async throws {
        let check: (GraphStore) async throws -> Void = { store in
            let shown = [Shown(), Shown()]
            for one in shown {
                one.token = store.observe(Query(SongRow<Int>.self)) { _ in one.first.open() }
                await one.first.wait()
            }
            let tokens = try shown.map { try #require($0.token) }
            let ending = await Ending.of {
                try await store.write(withoutNotifying: [tokens[0]]) { _ in
                    try await store.write(withoutNotifying: [tokens[isSame ? 0 : 1]]) {
                        try await $0.insert(SongRow(id: 8))
                    }
                }
            }
            guard case .failed(let error as StoreError) = ending else { throw Wrong(description: "\(ending)") }
            #expect(error.kind == .misuse)
            #expect(try await store.find(SongRow<Int>.self, 8) == nil)
        }
        if isFile { try await onFile(check) } else { try await inMemory(check) }
    }
}
