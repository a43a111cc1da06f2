import Foundation
import GraphMapperStore

/// The statements that a store's connections have run, `BEGIN` and the like left out.
final class StatementLog: @unchecked Sendable {
    // Sendable because the lock guards the one variable.
    private let lock = NSLock()
    private var statements: [String] = []

    /// Has every connection of a store that is opened with these options report here.
    var options: GraphStore.Options {
        var options = GraphStore.Options()
        options.prepare = { connection in try connection.onStatement { self.add($0) } }
        return options
    }

    private func add(_ sql: String) {
        guard !["BEGIN", "COMMIT", "ROLLBACK", "CREATE", "PRAGMA"].contains(where: sql.hasPrefix) else { return }
        lock.withLock { statements.append(sql) }
    }

    /// The statements since the last call.
    func take() -> [String] {
        lock.withLock {
            defer { statements.removeAll() }
            return statements
        }
    }
}

/// One a line; long lists of parameters are cut.
func shortened(_ statements: [String]) -> String {
    statements.map { sql in
        let marks = sql.components(separatedBy: "?,").count - 1
        guard marks > 8 else { return "  " + sql }
        return "  " + sql.replacingOccurrences(of: String(repeating: "?,", count: marks), with: "?, … ")
    }.joined(separator: "\n")
}
