/// Rows of a table that somebody may have written.
package enum WrittenRows: Sendable {
    /// Those with these keys.
    case keys(Set<[StoredValue]>)
    /// Any.
    case all
}

/// How a session keeps up with a database that says what was written.
extension GraphSession {
    /// Where the session reads and writes.
    package var database: (any GraphBacking)? { base }
    /// The tables that it reads.
    package var storedTables: [String] { core.order.filter(\.isStored).map(\.name) }

    /// Reads again what the session holds of some rows; what the app has changed is kept. Where another table's foreign
    /// key decides what a link holds, all owners of such links are read again when a row of that table was written.
    ///
    /// - Parameter rows: the rows, by table.
    package func refresh(rows: [String: WrittenRows]) async throws {
        try await takeTurn()
        defer { release() }
        try await read(.keepingChanges) { load in
            for table in core.order where table.isStored {
                guard let written = rows[table.name] else { continue }
                for owner in core.order where owner.isStored {
                    if owner.isOwner(of: table.recordType) { load.phase(of: owner).wantAll() }
                }
                switch written {
                case .all: load.phase(of: table).wantAll()
                case .keys(let keys): for key in keys { try load.phase(of: table).want(key: key) }
                }
            }
        }
    }
}

extension EntityTable {
    /// Whether a link leads to objects of a type whose foreign keys hold it.
    func isOwnerOf(_ target: ObjectIdentifier) -> Bool {
        mapping.steps.contains { step in
            step.inverse != nil && step.targets.contains { ObjectIdentifier($0) == target }
        }
    }
}
