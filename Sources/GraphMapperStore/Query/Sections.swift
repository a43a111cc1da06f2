/// Records that have the same value somewhere, under that value.
public struct RecordSection<Key: Storable, R: StoredRecord>: Sendable {
    /// What they have in common.
    public let key: Key
    /// The records, in the query's order.
    public let records: [R]
}

extension Query {
    /// Sorted by a value before all else, and the value as what rows of a section have in common.
    func sortedFirst<V: Storable>(
        descending: Bool, telling value: (Columns<R>) -> ColumnExpression<V>
    ) -> (query: Self, section: SectionKey) {
        let value = value(columns)
        let keys = V.ordering.keys(value.parts)
        let isPlain = V.ordering == .plain || V.ordering == .number
        let all = keys + (isPlain ? [] : value.parts)
        let query = chosenFirst().putting(all.map { Ordering($0, descending: descending) }, value.diagnostic)
        return (query, SectionKey(V.self, all.count - value.parts.count..<all.count))
    }
}

/// What says to which section a row belongs.
struct SectionKey: Sendable {
    /// Which of the values that it is sorted by.
    var range: Range<Int>
    /// The values in the one way in which the key's type stores them.
    let canonical: @Sendable (ArraySlice<StoredValue>) -> [StoredValue]

    init<Key: Storable>(_ type: Key.Type, _ range: Range<Int>) {
        self.range = range
        canonical = { values in
            // What does not fit the type is an error once its section is made.
            do { return try Key.decode(Array(values)).storedValues.map(\.normalizedKey) } catch { return Array(values) }
        }
    }
}
