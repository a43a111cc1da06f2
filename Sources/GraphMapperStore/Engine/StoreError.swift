/// What the database said, and what to do about it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kinds of error. New ones may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// A kind of that description; kinds are the same if their descriptions are.
        public init(_ description: String) { self.description = description }

        /// The file is something else, or damaged.
        public static let notADatabase = Kind("not a database")
        /// Something was written to what may only be read.
        public static let readOnly = Kind("read only")
        /// The file cannot be opened or made.
        public static let cannotOpen = Kind("cannot open")
        /// Somebody else wrote for longer than the busy timeout.
        public static let busy = Kind("busy")
        /// There is no room left.
        public static let full = Kind("disk full")
        /// A row with this key, or with these unique values, is there.
        public static let duplicateKey = Kind("duplicate key")
        /// A link would point to nothing.
        public static let foreignKey = Kind("foreign key")
        /// Another constraint of the table is violated.
        public static let constraint = Kind("constraint")
        /// The file's tables are not those of the records.
        public static let schemaMismatch = Kind("schema mismatch")
        /// A newer version of the library, or of the app, has written the file.
        public static let newerFile = Kind("newer file")
        /// Something was called that may not be called now.
        public static let misuse = Kind("misuse")
        /// Any other error of SQLite.
        public static let database = Kind("database error")
    }

    /// What kind of error it is.
    public var kind: Kind
    /// What happened, in a sentence.
    public var message: String
    /// SQLite's extended result code; 0 for errors of our own.
    public var code: Int32
    /// The statement that failed, if it was one.
    public var sql: String?
    /// The table concerned, as far as known.
    public var table: String?
    /// The key of the row concerned, as text.
    public var key: String?
    /// The column concerned; several are separated by commas.
    public var column: String?

    /// An error of a kind, with what is known of where it happened.
    public init(
        _ kind: Kind, _ message: String, code: Int32 = 0, sql: String? = nil, table: String? = nil, key: String? = nil,
        column: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.code = code
        self.sql = sql
        self.table = table
        self.key = key
        self.column = column
    }

    public var description: String {
        "\(kind): \(message)" + (code == 0 ? "" : " (SQLite \(code))") + (sql.map { " in \($0)" } ?? "")
    }
}

extension StoreError {
    /// The error, with the key of the row that was to be written, as far as it is not known.
    func ofRow(_ table: String, _ key: [StoredValue]) -> StoreError {
        guard kind == .duplicateKey || kind == .constraint else { return self }
        var error = self
        if error.table == nil { error.table = table }
        if error.key == nil, error.table == table { error.key = key.map(\.description).joined(separator: ", ") }
        return error
    }

    static var closed: StoreError { StoreError(.misuse, "the store is closed; open it again") }
}
