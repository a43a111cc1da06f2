import Foundation

/// An embedded object store: one SQLite file, one writer, reads beside it.
public final class GraphStore: Sendable {
    let writer: Connection
    let writing = AsyncSemaphore()
    let readers: ReaderPool?
    let options: Options
    let installation: Installation
    let records: Set<ObjectIdentifier>
    /// The columns of each table's unique indexes, its key's not among them, as the file has them.
    let uniques = Locked<[String: [[String]]]>([:])
    /// The names of adopted tables.
    let adopted: Set<String>
    /// Whether other stores share its memory.
    let isShared: Bool
    /// The tables of ordered links.
    let lists: [String: ListOwner]
    let suspension = Suspension()
    let isClosed = Locked(false)
    /// The use of the file; nil in memory.
    let file: OpenFiles.Use?
    /// What rules do when rows of each table are deleted.
    let linkEffects: [String: [LinkEffect]]
    private let logged = Locked(false)
    /// Whether the file has change records.
    var isLogged: Bool { logged.withLock { $0 } }
    /// Those who observe the store.
    let broadcaster = ChangeBroadcaster()
    /// Lists that are known to be stored as they were written last.
    let knownLists = KnownLists()
    private let externalMonitor: ExternalChangeMonitor?
    @TaskLocal static var openTransaction: OpenTransaction?

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

    /// What opening the file with these records would do. Does it all, in one transaction that is rolled back: the file
    /// stays as it is.
    ///
    /// - Throws: what opening would throw.
    public static func dryRun(
        _ location: Location, options: Options = Options(), _ records: any StoredRecord.Type...
    ) async throws -> MigrationPlan {
        let store = try GraphStore(location, options, records)
        return try await store.migrator.dryRun()
    }

    static func make(
        _ location: Location, _ options: Options, _ records: [any StoredRecord.Type]
    ) async throws -> GraphStore {
        var options = options
        options.isReadOnly = options.isReadOnly || options.isImmutable
        if let seed = options.seed, case .file(let path) = location { try await copySeed(seed, path) }
        let store = try GraphStore(location, options, records)
        if options.isReadOnly { try store.migrator.check() } else { try await store.migrator.run() }
        let uniques = try store.writer.uniqueIndexes(of: records.map { RecordLayout($0).tables[0].name })
        store.uniques.withLock { $0 = uniques }
        try store.noteRecords()
        return store
    }

    var migrator: Migrator {
        Migrator(installation, options.migrations, progress: options.migrationProgress)
    }

    /// Connects, and changes nothing in the file.
    init(_ location: Location, _ options: Options, _ records: [any StoredRecord.Type]) throws {
        self.options = options
        try Self.validate(records)
        self.records = Set(records.map { ObjectIdentifier($0) })
        let tables = try TableLayout.merged(records.flatMap { RecordLayout($0).tables })
        adopted = Set(tables.lazy.filter(\.isAdopted).map(\.name))
        lists = Dictionary(
            tables.compactMap { table in table.owner.map { (table.name, $0) } }, uniquingKeysWith: { $1 })
        linkEffects = LinkEffect.all(tables)
        let path: String
        let isFile: Bool
        var use: OpenFiles.Use?
        switch location {
        case .file(let file):
            let checked = try FilePath.checked(file)
            (path, isFile) = (options.isImmutable ? FilePath.immutable(checked) : checked, true)
            use = OpenFiles.Use(checked)
        case .inMemory: (path, isFile) = (FilePath.memory, false)
        case .sharedMemory(let name): (path, isFile) = (FilePath.sharedMemory(name), false)
        }
        file = use
        isShared = if case .sharedMemory = location { true } else { false }
        let hasText = tables.contains { $0.text != nil }
        let connect: @Sendable (Bool) throws -> Connection = { readOnly in
            let connection = try Connection(path: path, readOnly: readOnly, busyTimeout: options.busyTimeout)
            if hasText, !readOnly { try connection.trustTriggers() }
            if let hook = options.prepare { try FreshConnection.prepare(connection, hook) }
            return connection
        }
        if isFile, !options.isReadOnly { Self.makePrivate(path) }
        writer = try connect(options.isReadOnly)
        try writer.checkEncoding()
        if isFile {
            readers = ReaderPool(beside: writer, limit: options.readers) { try connect(true) }
        } else {
            readers = nil
        }
        installation = Installation(tables: tables, steps: options.migrations.map(\.name), connection: writer)
        if isFile || isShared {
            externalMonitor = try ExternalChangeMonitor(writer, every: options.watchInterval)
        } else {
            externalMonitor = nil
        }
    }

    /// Notes which change records the file has: those are no news to observers.
    func noteRecords() throws {
        let isLogged = try StoredTable(WriteSet.table, writer) != nil
        broadcaster.start(after: isLogged ? try WriteSet.last(writer) : 0)
        logged.withLock { $0 = isLogged }
        _ = try externalMonitor?.haveWritten(writer)
    }

    /// Tells the observers if somebody else has written. Whoever calls it holds the writer.
    func lookForExternalChanges() throws {
        guard broadcaster.isNeeded, try externalMonitor?.haveWritten(writer) == true else { return }
        guard options.onlyStoresWrite, isLogged else { return broadcaster.publishEverything() }
        let records = try ReadTransaction(writer).knownRecords(after: broadcaster.told)
        guard let first = records.first, let last = records.last else { return }
        broadcaster.publish(records.map { RowChange($0) }, records: first.sequence...last.sequence)
    }

    /// Looks now and then whether somebody else has written, for as long as anybody observes.
    func watch() {
        externalMonitor?.watch { [weak self] in
            guard let self, broadcaster.isNeeded else { return false }
            await writing.enter()
            defer { writing.leave() }
            guard !isClosed.withLock({ $0 }) else { return false }
            do { try lookForExternalChanges() } catch { broadcaster.fail(error) }
            return true
        }
    }
}
