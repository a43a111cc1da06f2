import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

@Suite struct `Ten versions of one app` {
    private let library = Library(7)

    private func file(_ version: Int) async throws -> String {
        let path = try Scratch.file()
        try await TenVersions.fill(TenVersions.open(path, version), version, library)
        return path
    }

    private func version(_ path: String) throws -> Int {
        try FileHeader(Connection(path: path, readOnly: true, busyTimeout: .seconds(1)), newest: 99).version + 1
    }

    private func expectSame(_ path: String, _ store: GraphStore, from version: Int) async throws {
        #expect(try await TenVersions.library(store) == TenVersions.expected(library, from: version))
        #expect(try await store.checkIntegrity().isSound)
        #expect(try self.version(path) == 10)
        // The file is as a new one.
        let new = try await TenVersions.open(try Scratch.file(), 10)
        func schema(_ store: GraphStore) throws -> [[StoredValue]] {
            try store.writer.rows(
                "SELECT type, name, tbl_name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 2")
        }
        #expect(try schema(store) == schema(new))
        #expect(try store.writer.rows("PRAGMA foreign_keys") == [[.integer(1)]])
    }

    @Test(arguments: 1...10) func `every version comes to the newest`(from: Int) async throws {
        let path = try await file(from)
        #expect(try version(path) == from)
        try await expectSame(path, TenVersions.open(path, 10), from: from)
    }

    @Test func `whatever versions were installed in between`() async throws {
        let chains = Gen.array(of: .int(in: 1...9), count: 1...5)
        try await check(chains, count: times(20, soak: 500)) { (versions: [Int]) in
            let versions = Set(versions).sorted()
            let path = try await file(versions[0])
            for version in versions.dropFirst() {
                _ = try await TenVersions.open(path, version)
                try ensure(try self.version(path) == version)
            }
            try await expectSame(path, TenVersions.open(path, 10), from: versions[0])
        }
    }

    @Test(arguments: 1...9)
    func `a step that throws, early or late, leaves the version before it`(position: Int) async throws {
        struct Stop: Error {}
        for from in 1...position {
            for isLate in [false, true] {
                let path = try await file(from)
                var broken = TenVersions.steps
                let step = broken[position - 1]
                broken[position - 1] = Migration(step.name) { transaction in
                    if isLate { try await step.body(transaction) }
                    throw Stop()
                }
                await #expect(throws: Stop.self) { _ = try await TenVersions.open(path, 10, steps: broken) }
                #expect(try version(path) == position)
                // An app of that version opens it, and the newest one too.
                _ = try await TenVersions.open(path, position)
                try await expectSame(path, TenVersions.open(path, 10), from: from)
            }
        }
    }

    @Test(arguments: 1...10) func `a dry run shows every step, and changes nothing`(from: Int) async throws {
        let path = try await file(from)
        func contents() throws -> [[StoredValue]] {
            let connection = try Connection(path: path, readOnly: true, busyTimeout: .seconds(1))
            let tables = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
            return try connection.rows("SELECT * FROM sqlite_schema")
                + tables.flatMap { try connection.rows("SELECT * FROM \(Dialect.quoted($0[0].word))") }
        }
        let before = try contents()
        var options = GraphStore.Options()
        options.migrations = TenVersions.steps
        let plan = try await GraphStore.dryRun(
            .file(path), options: options, Reader.self, Home<String>.self, LoanG.self, Work.self)
        #expect(plan.version == from - 1)
        #expect(plan.steps.map(\.name).filter { $0 != "" } == TenVersions.steps.dropFirst(from - 1).map(\.name))
        #expect(plan.steps.allSatisfy { !$0.statements.isEmpty })
        #expect(try contents() == before)
    }

    /// What a power cut leaves: the file and its log as they are in the middle of a step.
    @Test(arguments: 1...9) func `a crash in the middle of a step leaves the version before it`(position: Int)
        async throws
    {
        let path = try await file(1)
        let copy = try Scratch.file()
        var broken = TenVersions.steps
        let step = broken[position - 1]
        broken[position - 1] = Migration(step.name) { transaction in
            try await step.body(transaction)
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: copy + end) }
        }
        var options = GraphStore.Options()
        // So small that pages go to the log before the step is done.
        options.prepare = { try $0.execute("PRAGMA cache_size = 1") }
        _ = try await TenVersions.open(path, 10, options, steps: broken)
        try await expectSame(copy, TenVersions.open(copy, 10), from: 1)
        try await expectSame(path, TenVersions.open(path, 10), from: 1)
    }

    @Test func `whoever reads change records is told that anything may be other`() async throws {
        let path = try await file(4)
        let old = try await TenVersions.open(path, 4)
        let known = try await old.changeRecords().last?.sequence ?? 0
        let store = try await TenVersions.open(path, 10)
        let records = try await old.changeRecords(after: known)
        #expect(records.first?.sequence == known + 1)
        #expect(Set(records.map(\.table)) == ["reader", "home", "loan", "work"])
        #expect(records.allSatisfy { $0.key == nil } && Set(records.map(\.kind)) == [.delete, .insert])
        #expect(try await store.changeRecords(after: known) == records)
        // An opening that takes no step leaves none.
        _ = try await TenVersions.open(path, 10)
        #expect(try await store.changeRecords(after: known) == records)
    }
}

extension StoredValue {
    fileprivate var word: String { if case .text(let text) = self { text } else { "" } }
}

#if !os(iOS)
    @Suite struct `Processes that are killed` {
        /// One file for both processes: that of the parent is named by its own number.
        private static func path(_ name: String, _ process: Int32) -> String {
            FileManager.default.temporaryDirectory.appendingPathComponent("gm-killed-\(name)-\(process).sqlite").path
        }

        private func fresh(_ name: String) throws -> String {
            let path = Self.path(name, getpid())
            try GraphStore.deleteFile(at: path)
            return path
        }

        @Test func `in a migration`() async throws {
            let path = try fresh("migration")
            let library = Library(500)
            try await TenVersions.fill(TenVersions.open(path, 3), 3, library)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                var options = GraphStore.Options()
                options.prepare = { try $0.execute("PRAGMA cache_size = 1") }
                // In the middle of the rows of the sixth step.
                options.migrationProgress = { name, part in
                    if name == TenVersions.steps[5].name, part > 0.5, part < 1 { kill(getpid(), SIGKILL) }
                }
                let file = Self.path("migration", getppid())
                _ = try await TenVersions.open(file, 10, options)
            }
            let version = try FileHeader(Connection(path: path, readOnly: true, busyTimeout: .seconds(1)), newest: 99)
                .version
            #expect(version == 5)
            let store = try await TenVersions.open(path, 10)
            #expect(try await TenVersions.library(store) == library)
            #expect(try await store.checkIntegrity().isSound)
        }

        @Test func `in a write`() async throws {
            let path = try fresh("write")
            let store = try await TenVersions.open(path, 10)
            try await TenVersions.fill(store, 10, Library(5))
            await #expect(processExitsWith: .signal(SIGKILL)) {
                var options = GraphStore.Options()
                options.prepare = { try $0.execute("PRAGMA cache_size = 1") }
                let store = try await TenVersions.open(Self.path("write", getppid()), 10, options)
                try await store.write { tx in
                    try await tx.delete(LoanG.self) { $0.id >= 0 }
                    try await tx.insert(
                        contentsOf: (100..<5000).map {
                            Reader(id: "r\($0)", first: String(repeating: "x", count: 50), last: "")
                        })
                    kill(getpid(), SIGKILL)
                }
            }
            // The other process is gone, and what it had not committed too; its lock does not outlive it.
            #expect(try await TenVersions.library(store) == Library(5))
            try await store.write { try await $0.delete(LoanG.self, 0) }
            #expect(try await store.checkIntegrity().isSound)
        }
    }
#endif

@Suite struct `Large migrations` {
    private func options(_ progress: @escaping @Sendable (String, Double) -> Void) -> GraphStore.Options {
        var options = GraphStore.Options()
        options.migrationProgress = progress
        return options
    }

    @Test func `progress goes up to 1 in each step, and a migration can be cancelled in the middle`() async throws {
        let path = try Scratch.file()
        let count = times(4000, soak: 1_000_000)
        let store = try await TenVersions.open(path, 7)
        try await store.write { tx in
            try await tx.insert(Reader(id: "r0", first: "", last: ""))
            try await tx.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                    + "INSERT INTO loan (id, reader, work, days) SELECT i, 'r0', 'title ' || (i % 5), i % 30 FROM n",
                [.integer(Int64(count - 1))])
        }
        for (step, name) in TenVersions.steps.enumerated().map({ ($0, $1.name) }).suffix(3) {
            let task = Locked<Task<GraphStore, any Error>?>(nil)
            let cancelling = options { current, part in
                if current == name, part > 0.4 { task.withLock { $0?.cancel() } }
            }
            task.withLock { task in task = Task { try await TenVersions.open(path, 10, cancelling) } }
            await #expect(throws: CancellationError.self) { try await task.withLock { $0 }?.value }
            #expect(
                try FileHeader(Connection(path: path, readOnly: true, busyTimeout: .seconds(1)), newest: 99).version
                    == step)
        }
        let seen = Locked<[String: [Double]]>([:])
        let last = try await TenVersions.open(
            path, 10,
            options { name, part in
                seen.withLock { $0[name, default: []].append(part) }
            })
        let parts = try #require(seen.withLock { $0[TenVersions.steps[8].name] })
        #expect(parts == parts.sorted() && parts.last == 1 && parts.count >= count / 1000, "\(parts.count)")
        #expect(try await last.count(Query(LoanG.self)) == count)
        #expect(
            try await last.fetch(Query(Work.self).sorted(by: \.title)).map(\.title) == (0..<5).map { "title \($0)" })
        #expect(try await last.count(Query(LoanG.self).where { $0.work.title == "title 3" }) == count / 5)
    }
}

@Suite struct `Values of new columns` {
    private struct Bare: StoredRecord {
        let id: Int
        static let schema = Schema<Self>("valued") { row in try Self(id: row("id", \.id)) }
    }
    private struct Valued: StoredRecord, Equatable {
        let id: Int
        var text: String
        var number: Double
        var data: Data
        static let schema = Schema<Self>("valued") { row in
            try Self(
                id: row("id", \.id), text: row("text", \.text), number: row("number", \.number),
                data: row("data", \.data))
        }
    }

    @Test func `whatever the value, old rows have it to the bit`() async throws {
        let value = Gen<Valued> { choices in
            var number = Gen<Double>.double.generate(&choices)
            if choices.index(below: 4) == 0 { number = [.infinity, -.infinity, .nan, -0.0][choices.index(below: 4)] }
            let text = Gen<String>.string.generate(&choices) + (choices.index(below: 4) == 0 ? "'\u{0}\"" : "")
            return Valued(id: 1, text: text, number: number, data: Gen<Data>.data.generate(&choices))
        }
        try await check(value, count: times(40, soak: 1000)) { (value: Valued) in try await oldRowsHave(value) }
    }

    @Test(arguments: [
        Double(bitPattern: 0x0007_3863_f3b1_4bc7), 0.1, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        9.007199254740993e15,
    ])
    func `a number whose last bit SQLite reads otherwise is given to old rows as it is`(number: Double) async throws {
        try await oldRowsHave(Valued(id: 1, text: "", number: number, data: Data()))
    }

    /// Checks that a column whose default is the value has it in rows that were there before.
    private func oldRowsHave(_ value: Valued) async throws {
        let path = try Scratch.file()
        do { try await GraphStore.open(.file(path), Bare.self).write { try await $0.insert(Bare(id: 1)) } }
        var options = GraphStore.Options()
        options.migrations = [
            Migration("values") { step in
                try await step.add("text", String.self, to: "valued", default: value.text)
                try await step.add("number", Double.self, to: "valued", default: value.number)
                try await step.add("data", Data.self, to: "valued", default: value.data)
            }
        ]
        let store = try await GraphStore.open(.file(path), options: options, Valued.self)
        let found = try #require(try await store.find(Valued.self, 1))
        for property in Valued.schema.properties {
            try ensure(property.isSame(found, value), "\(property.name): \(found)")
        }
    }
}

/// What Realm's tests ask of migrations: cases 38 and 40.
@Suite struct `Migrations that Realm's users know` {
    private struct Loose: StoredRecord {
        let id: Int
        var code: String?
        static let schema = Schema<Self>("coded") { row in try Self(id: row("id", \.id), code: row("code", \.code)) }
    }
    private struct Coded: StoredRecord {
        let id: String
        static let schema = Schema<Self>("coded") { row in try Self(id: row("code", \.id)) }
    }

    private func file(_ codes: [String?]) async throws -> String {
        let path = try Scratch.file()
        let store = try await GraphStore.open(.file(path), Loose.self)
        try await store.write { tx in
            try await tx.insert(contentsOf: codes.enumerated().map { Loose(id: $0.offset, code: $0.element) })
        }
        return path
    }

    private func open(_ path: String, _ convert: @escaping @Sendable (Loose) throws -> Coded?) async throws
        -> GraphStore
    {
        var options = GraphStore.Options()
        options.migrations = [Migration("codes") { try await $0.transform(Loose.self, to: Coded.self, convert) }]
        return try await GraphStore.open(.file(path), options: options, Coded.self)
    }

    @Test func `keys that are there twice are an error that names the property, and nothing is lost`() async throws {
        let path = try await file(["a", "b", "a"])
        let error = await #expect(throws: StoreError.self) {
            _ = try await open(path) { $0.code.map { Coded(id: $0) } }
        }
        #expect(error?.kind == .duplicateKey && error?.message.contains("code") == true, "\(String(describing: error))")
        #expect(error?.message.contains("\"codes\"") == true)
        #expect(try await GraphStore.open(.file(path), Loose.self).count(Query(Loose.self)) == 3)
    }

    @Test func `the rows of NULLs are kept, changed or dropped, as the step says`() async throws {
        let kept = try await open(try await file(["a", nil])) { Coded(id: $0.code ?? "none \($0.id)") }
        #expect(try await kept.fetch(Query(Coded.self).sorted(by: \.id)).map(\.id) == ["a", "none 1"])
        let dropped = try await open(try await file(["a", nil])) { $0.code.map { Coded(id: $0) } }
        #expect(try await dropped.fetch(Query(Coded.self)).map(\.id) == ["a"])
    }

    @Test func `a version cannot go down`() async throws {
        let path = try await file(["a"])
        _ = try await open(path) { $0.code.map { Coded(id: $0) } }
        let error = await #expect(throws: StoreError.self) { _ = try await GraphStore.open(.file(path), Loose.self) }
        #expect(error?.kind == .newerFile)
    }
}
