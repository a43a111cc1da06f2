internal import CSQLite

/// One connection to a SQLite file.
///
/// It is opened without SQLite's own mutexes: whoever uses it holds the store's lock for it.
final class Connection: @unchecked Sendable {
    // Sendable because one task at a time calls it, and each sees what the one before did. The store makes it before
    // anybody else has it. Then the writing one is used inside the store's ``AsyncSemaphore``, a reading one between `take`
    // and `give` of the ``ReaderPool``, which hand it over under a lock; a transaction, which is not Sendable, refuses to
    // use it once its closure has returned, and ``FreshConnection`` once the hook has.
    let handle: OpaquePointer
    /// What raw statements write to, by their text, and whether there are triggers, as long as the schema stays the same.
    var effects: (schema: [StoredValue?], bySQL: [String: [TableWrite]], hasTriggers: Bool?) = ([], [:], nil)
    private var statements: [String: Statement] = [:]
    /// What users of the connection keep with it for each type of row, and what was asked for last.
    private var companions: [ObjectIdentifier: AnyObject] = [:]
    @exclusivity(unchecked) private var lastCompanion: (type: ObjectIdentifier, companion: AnyObject)?
    /// The statements that were run since somebody asked for them; nil if nobody has.
    @exclusivity(unchecked) private var noted: Set<String>?
    /// Sees each statement before it runs: for logs and tests. If it throws, the statement fails with that error.
    var onStatement: (@Sendable (String) throws -> Void)?
    /// How many statements have run.
    @exclusivity(unchecked) private(set) var statementCount = 0
    let variableLimit: Int
    private var isClosed = false
    /// Milliseconds that SQLite waits for others, with the thread.
    private let busyTimeout: Int32

    /// - Parameter path: a name that ``FilePath`` has made: no other is a URI.
    init(path: String, readOnly: Bool, busyTimeout: Duration) throws {
        HashKeys.randomize()
        var opened: OpaquePointer?
        let access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &opened, path.hasPrefix("file:") ? flags | SQLITE_OPEN_URI : flags, nil)
        guard let opened, code == SQLITE_OK else {
            defer { sqlite3_close_v2(opened) }
            throw StoreError(code: code, opened.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory", in: path)
        }
        handle = opened
        variableLimit = Int(sqlite3_limit(opened, SQLITE_LIMIT_VARIABLE_NUMBER, -1))
        self.busyTimeout = Self.milliseconds(busyTimeout)
        sqlite3_busy_timeout(handle, self.busyTimeout)
        try harden()
        for setting in Dialect.settings(readOnly: readOnly) { try execute(setting) }
        try EngineFunctions.install(in: handle)
    }

    /// A file may come from anybody: what it can make SQLite do is limited (https://sqlite.org/security.html).
    private func harden() throws {
        // What makes a file inconsistent is refused, such as writing to the tables that full-text indexes keep.
        let code = graphmapper_configure(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        guard code == SQLITE_OK else {
            throw StoreError(code: code, String(cString: sqlite3_errstr(code)), in: "defensive mode")
        }
        // A column that is not there is an error. By default SQLite takes its name in quotation marks for a text, so that
        // rows of a table which another program has changed would be read with the name in the place of each value.
        let names = graphmapper_configure(handle, SQLITE_DBCONFIG_DQS_DML, 0)
        guard names == SQLITE_OK else {
            throw StoreError(code: names, String(cString: sqlite3_errstr(names)), in: "names")
        }
    }

    /// Begins to write as soon as nobody else does, and waits without the thread. Who is cancelled does not begin.
    func beginWriting() async throws {
        // SQLite would keep the thread.
        sqlite3_busy_timeout(handle, 0)
        defer { sqlite3_busy_timeout(handle, busyTimeout) }
        var end: ContinuousClock.Instant?
        var pause = 1
        while true {
            do { return try execute(Dialect.beginWriting) } catch let error as StoreError where error.kind == .busy {
                let now = ContinuousClock.now
                let last = end ?? now + .milliseconds(Int64(busyTimeout))
                guard now < last else { throw error }
                end = last
            }
            try await Task.sleep(for: .milliseconds(pause))
            pause = min(pause * 2, 16)
        }
    }

    /// Ends what is running, which throws a `CancellationError`. May be called by anybody for as long as the connection
    /// is there.
    func interrupt() { sqlite3_interrupt(handle) }

    /// A time as SQLite counts it: at most some 24 days; less than nothing is nothing.
    static func milliseconds(_ duration: Duration) -> Int32 {
        let rounded = (duration / .milliseconds(1)).rounded()
        return rounded > 0 ? Int32(exactly: rounded) ?? .max : 0
    }

    /// What is kept with the connection for a type of row, made when it is first asked for.
    ///
    /// - Parameter make: always makes an object of one type for one type of row.
    @inline(__always)
    func companion<T: AnyObject>(of row: Any.Type, _ make: () -> T) -> T {
        let id = ObjectIdentifier(row)
        // Each is kept under its own type.
        if let last = lastCompanion, last.type == id { return unsafeDowncast(last.companion, to: T.self) }
        let companion = companions[id].map { unsafeDowncast($0, to: T.self) } ?? make()
        companions[id] = companion
        lastCompanion = (id, companion)
        return companion
    }

    deinit { close() }

    /// Lets go of the file. Nothing may be asked of the connection afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        lastCompanion = nil
        companions.removeAll()
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Runs one statement to its end.
    func execute(_ sql: String, _ values: [StoredValue] = []) throws {
        try run(sql, values) { _ in }
    }

    /// Runs a statement that somebody keeps once for each number. What `bind` leaves alone stays bound.
    func executeEach(_ statement: Statement, _ numbers: Range<Int>, bind: (Int) throws -> Void) throws {
        defer { statement.reset() }
        for number in numbers {
            try willRun(statement.sql)
            try bind(number)
            while try statement.step() {}
            statement.rewind()
        }
    }

    /// Runs a statement that somebody keeps to its end.
    func execute(_ statement: Statement, _ values: [StoredValue], from first: Int = 0) throws {
        try start(statement, values, from: first)
        try statement.finish()
    }

    /// Readies a statement that somebody keeps to be stepped through, and then reset.
    func start(_ statement: Statement, _ values: [StoredValue], from first: Int = 0) throws {
        try willRun(statement.sql)
        try statement.bind(values, from: first)
    }

    /// Called before a statement runs that somebody keeps and binds.
    func willRun(_ statement: Statement) throws { try willRun(statement.sql) }

    private func willRun(_ sql: String) throws {
        statementCount += 1
        try onStatement?(sql)
        noted?.insert(sql)
    }

    /// Runs one statement and hands over each row.
    func run(_ sql: String, _ values: [StoredValue], row: (Statement) throws -> Void) throws {
        try withStatement(sql, values, isCached: true) { statement in
            while try statement.step() { try row(statement) }
        }
    }

    /// Readies one statement for `body` to step through.
    func withStatement<T>(
        _ sql: String, _ values: [StoredValue], isCached: Bool, _ body: (Statement) throws -> T
    ) throws -> T {
        try willRun(sql)
        return try withUncounted(sql, values, isCached, body)
    }

    /// Notes the statements that run from now on.
    func startNotingStatements() { noted = [] }

    /// The statements that have run since then.
    func endNotingStatements() -> Set<String> {
        defer { noted = nil }
        return noted ?? []
    }

    /// The first value of a statement that the store asks for itself: not counted, not shown.
    func peek(_ sql: String) throws -> StoredValue? {
        try withUncounted(sql, [], true) { try $0.step() ? $0.value(0) : nil }
    }

    /// The rows of such a statement.
    func peekAll(_ sql: String, _ values: [StoredValue]) throws -> [[StoredValue]] {
        try withUncounted(sql, values, true) { statement in
            var rows: [[StoredValue]] = []
            while try statement.step() { rows.append(statement.values) }
            return rows
        }
    }

    /// Runs such a statement to its end.
    func executeUncounted(_ sql: String, _ values: [StoredValue]) throws {
        try withUncounted(sql, values, true) { while try $0.step() {} }
    }

    private func withUncounted<T>(
        _ sql: String, _ values: [StoredValue], _ isCached: Bool, _ body: (Statement) throws -> T
    ) throws -> T {
        let statement = try prepare(sql, isCached: isCached)
        defer { statement.reset() }
        try statement.bind(values)
        return try body(statement)
    }

    /// The rows of a statement, each as its values.
    func rows(_ sql: String, _ values: [StoredValue] = []) throws -> [[StoredValue]] {
        var rows: [[StoredValue]] = []
        try run(sql, values) { rows.append($0.values) }
        return rows
    }

    /// Rows that the last insert, update or delete touched.
    var changeCount: Int { Int(sqlite3_changes(handle)) }
    /// Rows that the connection has touched so far, by foreign keys and triggers too.
    var totalChangeCount: Int { Int(sqlite3_total_changes(handle)) }
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// A statement that is kept here, too.
    func prepare(_ sql: String) throws -> Statement { try prepare(sql, isCached: true) }

    private func prepare(_ sql: String, isCached: Bool) throws -> Statement {
        if let known = statements[sql] { return known }
        let statement = try Statement(handle, sql)
        guard isCached else { return statement }
        if statements.count >= 256 { statements.removeAll() }
        statements[sql] = statement
        return statement
    }

}
