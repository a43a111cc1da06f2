internal import CSQLite
import Foundation

extension StoreError {
    /// What SQLite said, as an error of the store.
    ///
    /// - Parameters:
    ///   - code: its extended result code.
    ///   - sql: the statement, or what was done.
    init(code: Int32, _ text: String, in sql: String) {
        let kind: StoreError.Kind
        let advice: String
        switch (code & 0xff, code) {
        case (SQLITE_NOTADB, _), (SQLITE_CORRUPT, _): (kind, advice) = (.notADatabase, "choose another file")
        case (SQLITE_READONLY, _): (kind, advice) = (.readOnly, "make the file and its folder writable")
        case (SQLITE_CANTOPEN, _): (kind, advice) = (.cannotOpen, "check that the folder exists and is writable")
        case (SQLITE_BUSY, _), (SQLITE_LOCKED, _): (kind, advice) = (.busy, "another writer holds the file; try again")
        case (SQLITE_FULL, _): (kind, advice) = (.full, "free disk space; nothing was written")
        case (_, Extended.primaryKey), (_, Extended.unique), (_, Extended.rowID):
            (kind, advice) = (.duplicateKey, "a row with these values exists; update it instead")
        case (_, Extended.foreignKey):
            (kind, advice) = (.foreignKey, "a link points to a row that is not there")
        case (SQLITE_CONSTRAINT, _): (kind, advice) = (.constraint, "the value breaks a rule of its table")
        case (SQLITE_ERROR, _) where text.hasSuffix("because it is a view"):
            (kind, advice) = (.readOnly, "write to the tables that it shows")
        case (SQLITE_MISUSE, _): (kind, advice) = (.misuse, "the statement cannot be used here")
        default: (kind, advice) = (.database, "nothing was written")
        }
        self.init(kind, "\(text); \(advice)", code: code, sql: sql)
        if kind == .duplicateKey || code == Extended.notNull { (table, column) = Self.place(in: text) }
    }

    /// What SQLite names in `UNIQUE constraint failed: item.shelf, item.number`. Of an index on expressions it says the name
    /// alone.
    private static func place(in text: String) -> (table: String?, column: String?) {
        guard let colon = text.range(of: " constraint failed: ") else { return (nil, nil) }
        let names = text[colon.upperBound...].components(separatedBy: ", ").map {
            $0.split(separator: ".", maxSplits: 1)
        }
        guard let table = names.first?.first, names.allSatisfy({ $0.count == 2 && $0[0] == table }) else {
            return (nil, nil)
        }
        return (String(table), names.map { String($0[1]) }.joined(separator: ", "))
    }
}

/// SQLite's extended result codes, whose macros Swift does not import (https://sqlite.org/rescode.html).
private enum Extended {
    static let foreignKey: Int32 = 787
    static let notNull: Int32 = 1299
    static let primaryKey: Int32 = 1555
    static let unique: Int32 = 2067
    static let rowID: Int32 = 2579
}
