/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    let id: R.ID
    private(set) var columns: [String] = []
    private(set) var values: [StoredValue] = []
    /// What is wrong with the patch; applying it throws this.
    private(set) var mistake: GraphError?

    /// An empty patch of the row with that id.
    public init(_ type: R.Type, _ id: R.ID) { self.id = id }

    /// The lazy values that a record has.
    init(lazyValuesOf record: R) {
        id = record.id
        for property in R.schema.properties where property.isLazy {
            property.encode(record, &values)
            if columns.count < values.count { columns += property.columnNames }
        }
    }

    /// Sets a property, or a part of an embedded one; nil sets NULL.
    public func set<V: Storable>(_ path: any KeyPath<R, V> & Sendable, _ value: V) -> Self {
        var copy = self
        do {
            copy.columns += try R.columnNames(at: path).get()
        } catch {
            copy.mistake = copy.mistake ?? error
            return copy
        }
        value.encode(into: &copy.values)
        // A lazy value that is unread is no value to set.
        return copy.values.count == copy.columns.count ? copy : self
    }
}
