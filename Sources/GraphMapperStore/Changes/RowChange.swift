/// One write of a committed transaction, as far as observers care: where, and which columns.
struct RowChange: Sendable {
    /// So many rows of a table are told apart.
    static let most = 16_384

    let kind: WriteKind
    let table: String
    /// The row's key; nil for many rows, or for rows that are not known.
    let key: [StoredValue]?
    /// What an update set: columns, and the names of ordered links. Nil for the whole row.
    let columns: [String]?
    /// The keys of many rows, as far as known.
    let keys: [[StoredValue]]?
    /// What columns that observers filter by hold now, as far as known.
    var values: [String: StoredValue] = [:]
    /// What they held before.
    var before: [String: StoredValue] = [:]

    init(
        _ kind: WriteKind, table: String, key: [StoredValue]?, columns: [String]?, keys: [[StoredValue]]? = nil
    ) {
        self.kind = kind
        self.table = table
        self.key = key.map(\.normalizedKey)
        self.columns = columns
        self.keys = key == nil ? keys.map { $0.map(\.normalizedKey) } : nil
    }

    init(_ record: ChangeRecord) {
        self.init(record.kind, table: record.table, key: record.key, columns: record.columns)
    }

    /// The keys of its rows; nil if they are not known.
    var knownKeys: [[StoredValue]]? { key.map { [$0] } ?? keys }

    /// What a column holds now, and held before if that may differ; nil if it is not known.
    func values(of column: String) -> [StoredValue]? {
        guard key != nil else { return nil }
        let (old, new) = (before[column], values[column])
        switch kind {
        case .insert: return new.map { [$0] }
        case .update where columns?.contains(column) == false: return new.map { [$0] }
        case .update: return old.flatMap { old in new.map { [old, $0] } }
        case .delete: return old.map { [$0] }
        }
    }
}
