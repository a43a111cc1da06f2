/// One step from a version of the schema to the next: named, and run in a transaction of its own.
///
/// ```swift
/// options.migrations = [
///     Migration("people have an age") { try await $0.add("age", Int.self, to: "person", default: 0) },
///     Migration("one name becomes two") { try await $0.transform(OldPerson.self, to: PersonRecord.self) { … } },
/// ]
/// ```
///
/// A file's version is the number of steps that it has taken; a new file is made as the records are, and has taken all.
/// So steps are only ever added, at the end. A step that throws is rolled back, and the file stays at the version before.
public struct Migration: Sendable {
    /// What the file remembers the step by.
    public let name: String
    let body: @Sendable (MigrationStep) async throws -> Void

    /// A step.
    ///
    /// - Parameters:
    ///   - name: unlike those of other steps. It must not change once files have taken the step.
    ///   - body: what makes the tables of the version before into those of the next. Tables and indexes that the records
    ///     add need no mention: opening makes them.
    public init(_ name: String, _ body: @escaping @Sendable (MigrationStep) async throws -> Void) {
        self.name = name
        self.body = body
    }
}

/// What a migration would do.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// One step, and the statements it ran.
    public struct Step: Sendable {
        /// The step's name; that of the last, which makes new tables and indexes, is empty.
        public let name: String
        /// The statements in their order, with `?` for each value. One that runs many times in a row is here once.
        public let statements: [String]
    }

    /// The version that the file has.
    public let version: Int
    /// The steps that it has yet to take.
    public let steps: [Step]
    /// The steps and their statements, one a line.
    public var description: String {
        steps.flatMap { step in
            [step.name.isEmpty ? "tables and indexes" : step.name] + step.statements.map { "    \($0)" }
        }.joined(separator: "\n")
    }
}

extension GraphStore {
    /// What opening the file with these records would do. Does it all, in one transaction that is rolled back: the file
    /// stays as it is.
    ///
    /// - Throws: what opening would throw.
    public static func dryRun(
        _ location: Location, options: Options = Options(), _ records: any StoredRecord.Type...
    ) async throws -> MigrationPlan {
        let store = try GraphStore(location, options, records)
        return try await Migrator(store).dryRun()
    }
}

/// Brings a file to the newest version.
struct Migrator {
    private let connection: Connection
    private let migrations: [Migration]
    private let progress: (@Sendable (String, Double) -> Void)?
    private let installation: Installation

    init(_ store: GraphStore) {
        connection = store.writer
        migrations = store.options.migrations
        progress = store.options.migrationProgress
        installation = store.installation
    }

    /// Checks a file that is not to be written.
    func check() throws {
        let header = try self.header()
        let version = try takenSteps(header)
        guard !header.isThere || version == migrations.count else {
            throw StoreError(
                .schemaMismatch,
                "the file has taken \(version) of \(migrations.count) migration steps; "
                    + "open it for writing once, which takes the others")
        }
        try installation.check()
    }

    func run() async throws {
        let version = try takenSteps(header())
        if try version == migrations.count || isNew() { return try installation.run() }
        try await withoutLinkChecks { while try await takeNext() {} }
        // Who else took the last step may have other records.
        try installation.run()
    }

    /// Takes the step after the version that the file has now: somebody else may have taken others since it was opened.
    ///
    /// - Returns: whether there was one.
    private func takeNext() async throws -> Bool {
        try connection.execute(Dialect.beginWriting)
        do {
            let number = try takenSteps(header())
            guard number < migrations.count else {
                try connection.execute("ROLLBACK")
                return false
            }
            do {
                try await take(number)
                if number == migrations.count - 1 {
                    try installation.install()
                    try noteChanges()
                }
            } catch {
                throw located(error, number)
            }
            try connection.execute("COMMIT")
            return true
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// A step takes tables apart and puts them together: links are checked at its end.
    private func withoutLinkChecks<T>(_ body: () async throws -> T) async throws -> T {
        let before = try connection.peek("PRAGMA foreign_keys")
        try connection.execute("PRAGMA foreign_keys = OFF")
        let result = try await body()
        // Where a step throws, nobody uses the connection any more.
        if before == .integer(1) { try connection.execute("PRAGMA foreign_keys = ON") }
        return result
    }

    /// For who reads change records: any row of the records' tables may be another one.
    private func noteChanges() throws {
        guard try StoredTable(ChangeLog.table, connection) != nil else { return }
        var log = ChangeLog(observed: [])
        for table in installation.tables where table.owner == nil && !table.isAdopted {
            log.note(rowsOf: table.name, .delete, nil)
            log.note(rowsOf: table.name, .insert, nil)
        }
        _ = try log.write(connection)
    }

    func dryRun() async throws -> MigrationPlan {
        let version = try takenSteps(header())
        let first = try isNew() ? migrations.count : version
        let log = StatementLog()
        connection.onStatement = { log.note($0) }
        // Nobody uses the connection afterwards: if it cannot be rolled back, closing it does so.
        return try await withoutLinkChecks {
            try connection.execute(Dialect.beginWriting)
            var steps: [MigrationPlan.Step] = []
            _ = log.taken()
            for number in first..<max(first, migrations.count) {
                do { try await take(number) } catch { throw located(error, number) }
                steps.append(.init(name: migrations[number].name, statements: log.taken()))
            }
            try installation.install()
            let rest = log.taken()
            if !rest.isEmpty { steps.append(.init(name: "", statements: rest)) }
            try connection.execute("ROLLBACK")
            return MigrationPlan(version: version, steps: steps)
        }
    }

    private func header() throws -> FileHeader { try FileHeader(connection, newest: migrations.count) }

    /// Whether none of the store's own tables is in the file, nor a header.
    private func isNew() throws -> Bool {
        guard try !header().isThere, !installation.isGuest else { return false }
        return try installation.tables.allSatisfy { try $0.isAdopted || StoredTable($0.name, connection) == nil }
    }

    /// How many steps the file has taken. Its steps must be those of the program.
    private func takenSteps(_ header: FileHeader) throws -> Int {
        let names = migrations.map(\.name)
        if let twice = names.first(where: { name in names.filter { $0 == name }.count > 1 }) {
            throw GraphError(.invalidSchema, "two migration steps are called \"\(twice)\"; give each a name of its own")
        }
        for number in 0..<header.version {
            guard let taken = header.step(number), taken != names[number] else { continue }
            throw StoreError(
                .schemaMismatch,
                "step \(number + 1) of the file is \"\(taken)\", of the program \"\(names[number])\"; "
                    + "steps keep their order and names, and new ones come last")
        }
        return header.version
    }

    private func take(_ number: Int) async throws {
        let migration = migrations[number]
        let step = MigrationStep(connection) { [progress] part in progress?(migration.name, part) }
        defer { step.isOpen = false }
        let links = try LinkFaults(connection)
        try await migration.body(step)
        try LinkFaults(connection).check(since: links)
        try FileHeader.write(connection, version: number + 1, steps: migrations.map(\.name))
        progress?(migration.name, 1)
    }

    private func located(_ error: any Error, _ number: Int) -> any Error {
        let place = "in migration step \(number + 1), \"\(migrations[number].name)\": "
        switch error {
        case var error as StoreError:
            error.message = place + error.message
            return error
        case var error as GraphError:
            error.message = place + error.message
            return error
        default: return error
        }
    }
}

/// The statements of one step, each once in a row.
private final class StatementLog: Sendable {
    private let statements = Locked<[String]>([])
    func note(_ sql: String) {
        statements.withLock { if $0.last != sql, !$0.contains(sql) || !sql.hasPrefix("INSERT") { $0.append(sql) } }
    }
    func taken() -> [String] {
        statements.withLock { all in
            defer { all = [] }
            return all.filter { sql in
                !["SELECT", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK TO"].contains { sql.hasPrefix($0) }
            }
        }
    }
}
