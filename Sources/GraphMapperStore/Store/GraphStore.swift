import Foundation

/// An embedded object store: one SQLite file, one writer, reads beside it.
public final class GraphStore: Sendable {
    /// Where a store keeps its data.
    public enum Location: Sendable {
        /// In the file at this path. It is a name and no URI; an empty one, `:memory:` and one with a NUL are errors.
        case file(String)
        /// In memory, for as long as the store lives.
        case inMemory
        /// In memory, shared by all stores of the process that are open under this name, for as long as one of them is.
        /// One transaction at a time is open in it, also of those that read.
        case sharedMemory(String)
    }

    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether writing is refused.
        public var isReadOnly = false
        /// Whether nobody changes the file while it is open, as one in an app's bundle: it is read only, nothing is locked,
        /// and no file is made beside it. What a log beside it holds is not seen.
        public var isImmutable = false
        /// The path of a file to begin with: copied if there is no file yet. It may lie in an app's bundle.
        public var seed: String?
        /// Seconds to wait for another process's write; infinity waits as long as SQLite can, some 24 days.
        public var busyTimeout = 5.0
        /// At most so many reads run at once.
        public var readers = 4
        /// Seconds between two looks for what others have written to the file, while something is observed.
        public var watchInterval = 0.2
        /// Whether every program that writes to the file does it through a store, as an app and its extensions may: then
        /// observers are told of what others write by its change records, row by row, and of nothing else. If not, SQLite
        /// says that somebody has written, but not what, and all that is observed is read again.
        public var onlyStoresWrite = false
        /// The steps from the first version of the schema to the newest.
        public var migrations: [Migration] = []
        /// Sees a step's name, and what part of it is done, from 0 to 1. Called now and then while a migration runs.
        public var migrationProgress: (@Sendable (String, Double) -> Void)?
        /// Sees each fresh connection first: for pragmas, keys, and a log of statements. What it is given is good until it
        /// returns.
        public var prepare: (@Sendable (FreshConnection) throws -> Void)?
        /// The usual options.
        public init() {}
    }

    let writer: Connection
    let writing = Turnstile()
    let readers: ReaderPool?
    let options: Options
    let installation: Installation
    let records: Set<ObjectIdentifier>
    /// The columns of each table's unique indexes, its key's not among them, as the file has them.
    let uniques = Locked<[String: [[String]]]>([:])
    /// The names of adopted tables.
    private let adopted: Set<String>
    /// Whether other stores share its memory.
    private let isShared: Bool
    /// The tables of ordered links.
    let lists: [String: ListOwner]
    let suspension = Suspension()
    /// What rules do when rows of each table are deleted.
    let linkEffects: [String: [LinkEffect]]
    private let logged = Locked(false)
    /// Whether the file has change records.
    var isLogged: Bool { logged.withLock { $0 } }
    /// Those who observe the store.
    let hub = Hub()
    private let others: Others?
    @TaskLocal static var held: Held?

    /// Opens or makes the store. Migration steps that the file has not taken are run, tables and indexes that it lacks are
    /// made, and indexes that the records no longer declare are dropped.
    ///
    /// - Throws: ``GraphError`` that lists every mistake of the records' schemas; ``StoreError`` if the file cannot be
    ///   opened, is not a database, has other columns, keys or links than the records, or was written by a newer version.
    public static func open(
        _ location: Location, options: Options = Options(), _ records: any StoredRecord.Type...
    ) async throws -> GraphStore {
        try await make(location, options, records)
    }

    static func make(
        _ location: Location, _ options: Options, _ records: [any StoredRecord.Type]
    ) async throws -> GraphStore {
        var options = options
        options.isReadOnly = options.isReadOnly || options.isImmutable
        if let seed = options.seed, case .file(let path) = location { try await plant(seed, path) }
        let store = try GraphStore(location, options, records)
        if options.isReadOnly { try Migrator(store).check() } else { try await Migrator(store).run() }
        let uniques = try store.writer.uniqueIndexes(of: records.map { Layout($0).tables[0].name })
        store.uniques.withLock { $0 = uniques }
        try store.noteRecords()
        return store
    }

    /// Connects, and changes nothing in the file.

    init(_ location: Location, _ options: Options, _ records: [any StoredRecord.Type]) throws {
        self.options = options
        try Self.validate(records)
        self.records = Set(records.map { ObjectIdentifier($0) })
        let tables = try TableLayout.merged(records.flatMap { Layout($0).tables })
        adopted = Set(tables.lazy.filter(\.isAdopted).map(\.name))
        lists = Dictionary(
            tables.compactMap { table in table.owner.map { (table.name, $0) } }, uniquingKeysWith: { $1 })
        linkEffects = LinkEffect.all(tables)
        let path: String
        let isFile: Bool
        switch location {
        case .file(let file):
            let checked = try FilePath.checked(file)
            (path, isFile) = (options.isImmutable ? FilePath.immutable(checked) : checked, true)
        case .inMemory: (path, isFile) = (FilePath.memory, false)
        case .sharedMemory(let name): (path, isFile) = (FilePath.sharedMemory(name), false)
        }
        isShared = path.hasPrefix("file:/") && !isFile
        let hasText = tables.contains { $0.text != nil }
        let connect: @Sendable (Bool) throws -> Connection = { readOnly in
            let connection = try Connection(path: path, readOnly: readOnly, busyTimeout: options.busyTimeout)
            // Older versions of SQLite do not trust triggers with their own full-text tables.
            if hasText, !readOnly { try connection.execute("PRAGMA trusted_schema = ON") }
            if let hook = options.prepare { try FreshConnection.prepare(connection, hook) }
            return connection
        }
        if isFile, !options.isReadOnly { Self.makePrivate(path) }
        writer = try connect(options.isReadOnly)
        if isFile {
            readers = ReaderPool(beside: writer, limit: options.readers) { try connect(true) }
        } else {
            readers = nil
        }
        installation = Installation(tables: tables, steps: options.migrations.map(\.name), connection: writer)
        if isFile || isShared {
            others = try Others(writer, every: options.watchInterval)
        } else {
            others = nil
        }
    }

    /// Notes which change records the file has: those are no news to observers.
    func noteRecords() throws {
        let isLogged = try StoredTable(ChangeLog.table, writer) != nil
        hub.start(after: isLogged ? try ChangeLog.last(writer) : 0)
        logged.withLock { $0 = isLogged }
        _ = try others?.haveWritten(writer)
    }

    /// Tells the observers if somebody else has written. Whoever calls it holds the writer.
    func lookForOthers() throws {
        guard hub.isNeeded, try others?.haveWritten(writer) == true else { return }
        guard options.onlyStoresWrite, isLogged else { return hub.publishEverything() }
        let records = try ReadTransaction(writer).knownRecords(after: hub.told)
        guard let first = records.first, let last = records.last else { return }
        hub.publish(records.map { Touch($0) }, records: first.sequence...last.sequence)
    }

    /// Looks now and then whether somebody else has written, for as long as anybody observes.
    func watch() {
        others?.watch { [weak self] in
            guard let self, hub.isNeeded else { return false }
            await writing.enter()
            defer { writing.leave() }
            do { try lookForOthers() } catch { hub.fail(error) }
            return true
        }
    }

    private static func validate(_ records: [any StoredRecord.Type]) throws {
        func mistakes<R: StoredRecord>(_ type: R.Type) -> [String] {
            R.schema.mistakes + (R.schema.key == nil ? ["\(R.schema.name): no property is its id"] : [])
                + (R.schema.key?.columns.contains(where: \.isNullable) == true
                    ? ["\(R.schema.name): its id has optional parts, which a key cannot have"] : [])
                + R.schema.properties.compactMap { property in
                    guard let target = property.link?.record, !records.contains(where: { $0 == target }) else {
                        return nil
                    }
                    return "\(R.schema.name).\(property.name): \(target) is not among the records to open with"
                }
                + R.indexes.compactMap(\.mistake) + R.linkRuleMistakes
                + (R.isAdopted && !(R.indexes.isEmpty && R.linkRules.isEmpty)
                    ? ["\(R.schema.name): an adopted table has the indexes and rules that it has; declare none"] : [])
        }
        // A record's own table, then those of its ordered links. Records may share both.
        func tables<R: StoredRecord>(_ type: R.Type) -> [[String]] {
            [[R.schema.name]] + (R.textIndex?.names ?? []).map { [$0, ""] }
                + R.schema.properties.filter(\.isList).map {
                    [Layout.listTable(R.schema.name, $0.name), R.schema.name, $0.name]
                }
        }
        // The engine does not tell capitals from small letters in names.
        let names = Dictionary(
            grouping: Set([[FileHeader.table, ""], [ChangeLog.table, ""]] + records.flatMap { tables($0) }),
            by: { TableLayout.folded($0[0]) })
        let all =
            records.flatMap { mistakes($0) }
            + names.filter { $0.value.count > 1 }.keys.sorted().map {
                "\($0): \(names[$0]?.count ?? 0) tables have this name"
            } + TableLayout.nameMistakes(records.flatMap { Layout($0).tables })
        guard all.isEmpty else { throw GraphError(.invalidSchema, all.joined(separator: "\n")) }
    }

    /// Runs `body` on one snapshot of the store.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside a transaction of the store, whose `body` reads with what it was
    ///   given; `CancellationError` if the task is cancelled while it waits for its turn, or while a statement runs that
    ///   reads a file; what `body` throws.
    public func read<T>(_ body: (ReadTransaction) async throws -> T) async throws -> T {
        guard let readers else {
            return try await exclusively { try await transaction(isWrite: isShared, ReadTransaction(writer), body) }
        }
        guard Self.held?.holds(self) != true else { throw Self.nested }
        let connection = try await readers.take()
        defer { readers.give(connection) }
        return try await holding(Held(self, isReader: true, outer: Self.held), interrupting: connection) {
            try await transaction(isWrite: false, ReadTransaction(connection), body)
        }
    }

    private static var nested: StoreError {
        StoreError(
            .misuse,
            "a transaction of this store is open in this task; use it, or its savepoints, "
                + "or end it before the next")
    }

    /// Runs `body` in one transaction: all of it is written, or, if it throws, nothing.
    ///
    /// - Parameter tokens: observers that know what is written, as a list does whose row the user has deleted. They are
    ///   not told of it. What they are told before this returns is from before the write; what they are told later is as
    ///   seen from the write. So do on the main actor to the list what was written as soon as this has returned.
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while it waits for its turn;
    ///   ``StoreError`` of kind `.misuse`, and nothing is written, inside a transaction that writes to the store or is of a
    ///   store in memory, and if one of these observers runs its query again for what was written, which
    ///   ``explainChanges(of:)`` tells, or observes something else.
    @discardableResult
    public func write<T>(
        withoutNotifying tokens: [ObservationToken] = [], _ body: (WriteTransaction) async throws -> T
    ) async throws -> T {
        guard !tokens.isEmpty else { return try await write(knowing: [], body) }
        return try await ObservationToken.between(tokens) { try await write(knowing: $0, body) }
    }

    private func write<T>(knowing: [Hub.ID], _ body: (WriteTransaction) async throws -> T) async throws -> T {
        try await exclusively {
            let transaction = WriteTransaction(
                writer, lists: lists, effects: linkEffects, adopted: adopted, isLogged: isLogged, hub: hub,
                knowing: knowing)
            return try await self.transaction(isWrite: true, transaction) { transaction in
                // Foreign keys that others have declared may be checked at once.
                if !adopted.isEmpty { try writer.executeUncounted("PRAGMA defer_foreign_keys = ON", []) }
                try lookForOthers()
                return try await body(transaction)
            }
        }
    }

    func exclusively<T>(_ body: () async throws -> T) async throws -> T {
        guard Self.held?.holdsWriter(self) != true else { throw Self.nested }
        try await writing.enterUnlessCancelled()
        defer { writing.leave() }
        return try await holding(Held(self, isReader: false, outer: Self.held), body)
    }

    /// - Parameters:
    ///   - connection: one whose statement ends if the task is cancelled.
    ///   - isolation: where the caller runs. The closures that `withValue` and the cancellation handler take run there only
    ///     if they capture it: else they would leave the actor, and with it whatever `body` does to models.
    private func holding<T>(
        _ held: Held, interrupting connection: Connection? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> T
    ) async throws -> T {
        defer { held.end() }
        return try await Self.$held.withValue(held) {
            _ = isolation
            guard let connection else { return try await body() }
            return try await withTaskCancellationHandler {
                _ = isolation
                return try await body()
            } onCancel: {
                connection.interrupt()
            }
        }
    }

    private func transaction<X: ReadTransaction, T>(
        isWrite: Bool, _ transaction: X, _ body: (X) async throws -> T
    ) async throws -> T {
        defer { transaction.isOpen = false }
        if isWrite {
            try await transaction.connection.beginWriting()
        } else {
            try transaction.connection.execute(Dialect.beginReading)
        }
        do {
            let result = try await body(transaction)
            try transaction.commit()
            return result
        } catch {
            if transaction.connection.isInTransaction { try transaction.connection.execute("ROLLBACK") }
            try transaction.wasUndone()
            throw error
        }
    }
}

extension GraphStore {
    /// The records of a query, in its order, in a read transaction of their own.
    public func fetch<R: StoredRecord>(_ query: Query<R>) async throws -> [R] {
        try await read { try await $0.fetch(query) }
    }
    /// The first record of a query, in a read transaction of its own.
    public func first<R: StoredRecord>(_ query: Query<R>) async throws -> R? {
        try await fetch(query.limit(1)).first
    }
    /// The record with that id, nil if there is none, in a read transaction of its own.
    public func find<R: StoredRecord>(_ type: R.Type, _ id: R.ID) async throws -> R? {
        try await read { try await $0.find(type, id) }
    }
    /// How many records the query has, in a read transaction of its own. Complexity: that of the query; the rows are
    /// counted.
    public func count<R: StoredRecord>(_ query: Query<R>) async throws -> Int {
        try await read { try await $0.count(query) }
    }
}
