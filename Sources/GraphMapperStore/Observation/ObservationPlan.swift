/// How the changes of a query are found.
public struct ObservationPlan: Sendable, Hashable, CustomStringConvertible {
    /// Why each change of a row that may be in the result makes the query run again; nil if only the rows that were
    /// written are looked at.
    public let needsQuery: String?
    /// Whether the query also runs again when a full window loses a row.
    public let isWindow: Bool
    /// What is looked at: columns and ordered links, by table. Writes elsewhere cost nothing.
    public let tables: [String: [String]]
    /// The tables whose changes make the query run again, since it looks into them through links.
    public let others: [String]

    init(_ region: ObservedRegion, needsQuery: String?, isWindow: Bool = false, others: [String] = []) {
        self.needsQuery = needsQuery
        self.isWindow = isWindow
        tables = region.tables.mapValues { $0?.sorted() ?? [] }
        self.others = others
    }

    public var description: String {
        let how = needsQuery.map { "runs the query again: \($0)" } ?? "looks at the rows that were written"
        let columns = tables.sorted { $0.key < $1.key }.map { "\($0.key)(\($0.value.joined(separator: ", ")))" }
        let refills = isWindow && needsQuery == nil ? "; runs the query again when a full window loses a row" : ""
        return "\(how); watches \(columns.joined(separator: ", "))\(refills)"
            + (others.isEmpty ? "" : "; runs the query again when \(others.joined(separator: ", ")) changes")
    }
}
