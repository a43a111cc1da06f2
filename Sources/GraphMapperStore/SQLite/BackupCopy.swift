internal import CSQLite

/// A copy of a database in the making. Belongs to the read transaction that it is made in.
final class BackupCopy {
    private let source: Connection
    private let target: Connection
    private let handle: OpaquePointer

    init(of source: Connection, to path: String) throws {
        self.source = source
        target = try Connection(path: path, readOnly: false, busyTimeout: .zero)
        guard let handle = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw StoreError(
                code: sqlite3_extended_errcode(target.handle), String(cString: sqlite3_errmsg(target.handle)), in: path)
        }
        self.handle = handle
    }

    deinit { sqlite3_backup_finish(handle) }

    /// Copies some megabytes.
    ///
    /// - Returns: whether there is more.
    func step() throws -> Bool {
        switch sqlite3_backup_step(handle, 1024) {
        case SQLITE_OK: return true
        case SQLITE_DONE: return false
        case let code: throw StoreError(code: code, String(cString: sqlite3_errstr(code)), in: "backup")
        }
    }

    /// What part is copied.
    var progress: Double {
        let all = Double(sqlite3_backup_pagecount(handle))
        return all > 0 ? 1 - Double(sqlite3_backup_remaining(handle)) / all : 1
    }
}
