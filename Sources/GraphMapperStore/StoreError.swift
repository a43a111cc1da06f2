/// What the database said, and what to do about it.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kinds of error. New ones may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        public static let notADatabase = Kind("not a database")
        public static let readOnly = Kind("read only")
        public static let cannotOpen = Kind("cannot open")
        public static let busy = Kind("busy")
        public static let full = Kind("disk full")
        public static let duplicateKey = Kind("duplicate key")
        public static let foreignKey = Kind("foreign key")
        public static let constraint = Kind("constraint")
        public static let schemaMismatch = Kind("schema mismatch")
        public static let misuse = Kind("misuse")
        public static let database = Kind("database error")
    }

    public var kind: Kind
    public var message: String
    /// SQLite's extended result code; 0 for errors of our own.
    public var code: Int32
    public var sql: String?

    public init(_ kind: Kind, _ message: String, code: Int32 = 0, sql: String? = nil) {
        self.kind = kind
        self.message = message
        self.code = code
        self.sql = sql
    }

    public var description: String {
        "\(kind): \(message)" + (code == 0 ? "" : " (SQLite \(code))") + (sql.map { " in \($0)" } ?? "")
    }
}
