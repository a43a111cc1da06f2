/// One write of a committed transaction.
public struct ChangeRecord: Sendable, Hashable {
    /// What was written.
    public typealias Kind = WriteKind

    /// Its number: one more than that of the record before.
    public let sequence: Int64
    /// The number of the transaction: that of its first record.
    public let transaction: Int64
    /// The record's table.
    public let table: String
    /// What was written.
    public let kind: Kind
    /// The key of the row; nil for many rows, or for rows that are not known by their keys.
    public let key: [StoredValue]?
    /// What was set: columns, and the names of ordered links. Nil for the whole row.
    public let columns: [String]?
}

extension ChangeRecord {
    init?(_ row: [StoredValue]) {
        guard case .integer(let sequence) = row[0], case .integer(let transaction) = row[1],
            case .text(let table) = row[2], case .text(let word) = row[3], let kind = Kind(rawValue: word)
        else { return nil }
        self.sequence = sequence
        self.transaction = transaction
        self.table = table
        self.kind = kind
        switch row[4] {
        case .null: key = nil
        case .text(let text):
            guard let values = Literals.values(text) else { return nil }
            key = values
        default: return nil
        }
        switch row[5] {
        case .null: columns = nil
        case .text(let text):
            guard let names = Literals.names(text) else { return nil }
            columns = names
        default: return nil
        }
    }
}
