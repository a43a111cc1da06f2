import Foundation
import Testing

@testable import GraphMapperStore

/// A database that the suites of behavior run over: those that are ``PerEngine`` say what a store does, whatever keeps its
/// rows. What is one engine's alone (its files, its pragmas, its plans) has suites of its own.
struct Engine: Sendable {
    let name: String
    /// Opens an empty database. It may leave files in the folder, which is its own.
    let open: @Sendable (_ folder: String, GraphStore.Options, [any StoredRecord.Type]) async throws -> GraphStore

    static let inMemory = Engine(name: "SQLite in memory") { _, options, records in
        try await GraphStore.make(.inMemory, options, records)
    }
    static let onFile = Engine(name: "SQLite on file") { folder, options, records in
        try await GraphStore.make(.file("\(folder)/\(UUID()).sqlite"), options, records)
    }
    /// PostgreSQL joins here.
    static let all = [inMemory, onFile]

    fileprivate struct Run: Sendable {
        let engine: Engine
        let folder: String
    }
    @TaskLocal fileprivate static var run: Run?

    /// An empty database of the engine that the test runs over.
    static func open(
        options: GraphStore.Options = .init(), _ records: any StoredRecord.Type...
    ) async throws -> GraphStore {
        let run = try #require(run, "the suite is not .perEngine")
        return try await run.engine.open(run.folder, options, records)
    }
}

/// Runs each test of a suite once over each engine.
struct PerEngine: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for engine in Engine.all {
            let folder = try Scratch.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let naming = IssueHandlingTrait.compactMapIssues { issue in
                var issue = issue
                issue.comments.append("over \(engine.name)")
                return issue
            }
            try await Engine.$run.withValue(.init(engine: engine, folder: folder.path)) {
                try await naming.provideScope(for: test, testCase: testCase, performing: function)
            }
        }
    }
}

extension Trait where Self == PerEngine {
    static var perEngine: Self { Self() }
}

@Suite struct `The suite per engine` {
    @Test func `runs once over each engine, which is empty`() async throws {
        let seen = Locked<[String]>([])
        let (test, testCase) = (try #require(Test.current), try #require(Test.Case.current))
        try await PerEngine().provideScope(for: test, testCase: testCase) {
            let store = try await Engine.open(SquadRow.self)
            let name = try #require(Engine.run).engine.name
            #expect((store.readers == nil) == (name == Engine.inMemory.name))
            try await store.write { try await $0.insert(SquadRow(id: 1, name: "a", city: nil)) }
            #expect(try await store.count(Query(SquadRow.self)) == 1)
            seen.withLock { $0.append(name) }
        }
        #expect(seen.withLock { $0 } == Engine.all.map(\.name))
    }
}
