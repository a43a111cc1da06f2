/// Brings a file to the newest version.
struct Migrator {
    private let connection: Connection
    private let migrations: [Migration]
    private let progress: (@Sendable (String, Double) -> Void)?
    private let installation: Installation

    init(
        _ installation: Installation, _ migrations: [Migration], progress: (@Sendable (String, Double) -> Void)?
    ) {
        connection = installation.connection
        self.migrations = migrations
        self.progress = progress
        self.installation = installation
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
        // A step takes tables apart and puts them together: links are checked at its end.
        try await connection.withoutForeignKeys { while try await takeNext() {} }
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

    /// For who reads change records: any row of the records' tables may be another one.
    private func noteChanges() throws {
        guard try StoredTable(WriteSet.table, connection) != nil else { return }
        var writeSet = WriteSet(observed: [])
        for table in installation.tables where table.owner == nil && !table.isAdopted {
            writeSet.note(rowsOf: table.name, .delete, nil)
            writeSet.note(rowsOf: table.name, .insert, nil)
        }
        _ = try writeSet.write(connection)
    }

    func dryRun() async throws -> MigrationPlan {
        let version = try takenSteps(header())
        let first = try isNew() ? migrations.count : version
        let log = StatementLog()
        connection.onStatement = { log.note($0) }
        // Nobody uses the connection afterwards: if it cannot be rolled back, closing it does so.
        return try await connection.withoutForeignKeys {
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
        guard try !header().isThere, !installation.isAttachedFile else { return false }
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
        let step = "in migration step \(number + 1), \"\(migrations[number].name)\": "
        switch error {
        case var error as StoreError:
            error.message = step + error.message
            return error
        case var error as GraphError:
            error.message = step + error.message
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
            return all.filter { !Dialect.changesNothing($0) }
        }
    }
}
