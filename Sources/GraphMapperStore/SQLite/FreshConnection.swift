/// A connection that has just been opened, for ``GraphStore/Options/prepare``: pragmas, keys, a log of statements.
///
/// It is there for the hook alone. Afterwards the connection belongs to whoever has its turn in the store, and using this
/// is an error.
public final class FreshConnection {
    private var connection: Connection?

    init(_ connection: Connection) { self.connection = connection }

    /// Hands a connection to the hook, and takes it back.
    static func prepare(_ connection: Connection, _ hook: (FreshConnection) throws -> Void) throws {
        let fresh = FreshConnection(connection)
        defer { fresh.connection = nil }
        try hook(fresh)
        guard !connection.isInTransaction else {
            throw StoreError(.misuse, "the hook has left a transaction open; end it before it returns")
        }
    }

    private func open() throws -> Connection {
        guard let connection else {
            throw StoreError(.misuse, "the connection has been prepared; use a transaction of the store")
        }
        return connection
    }

    /// Runs one statement to its end.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse` once the hook has returned.
    public func execute(_ sql: String, _ values: [StoredValue] = []) throws { try open().execute(sql, values) }

    /// The rows of a statement, each as its values.
    ///
    /// - Throws: ``StoreError`` with what SQLite says; of kind `misuse` once the hook has returned.
    public func rows(_ sql: String, _ values: [StoredValue] = []) throws -> [[StoredValue]] {
        try open().rows(sql, values)
    }

    /// Has `body` see each statement of the connection as it starts to run, for as long as the store lives. It is called
    /// by whoever uses the connection, one call at a time. If it throws, the statement fails with that error, unrun.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` once the hook has returned.
    public func onStatement(_ body: @escaping @Sendable (String) throws -> Void) throws {
        try open().onStatement = body
    }
}
