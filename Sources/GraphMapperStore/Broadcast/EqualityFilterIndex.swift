/// The observers that look at rows with one value in a column.
struct EqualityFilterIndex: Sendable {
    /// By table, column and value.
    private var ids: [String: [String: [StoredValue: Set<ObserverID>]]] = [:]

    var columns: [String: [String]] { ids.mapValues { $0.keys.sorted() } }

    mutating func add(_ filter: EqualityFilter, _ id: ObserverID) {
        ids[filter.table, default: [:]][filter.column, default: [:]][filter.value, default: []].insert(id)
    }

    mutating func remove(_ filter: EqualityFilter, _ id: ObserverID) {
        ids[filter.table]?[filter.column]?[filter.value]?.remove(id)
        if ids[filter.table]?[filter.column]?[filter.value]?.isEmpty == true {
            ids[filter.table]?[filter.column]?[filter.value] = nil
        }
        if ids[filter.table]?[filter.column]?.isEmpty == true { ids[filter.table]?[filter.column] = nil }
        if ids[filter.table]?.isEmpty == true { ids[filter.table] = nil }
    }

    /// Whom a write may concern.
    func concerned(_ change: RowChange) -> [ObserverID] {
        guard let columns = ids[change.table] else { return [] }
        return columns.flatMap { column, byValue -> [ObserverID] in
            guard let values = change.values(of: column) else { return byValue.values.flatMap { Array($0) } }
            return values.flatMap { Array(byValue[$0] ?? []) }
        }
    }
}
