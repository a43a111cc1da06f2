/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    /// The row's key.
    let key: [StoredValue]
    /// What is set, in order.
    private(set) var paths: [any AnyKeyPath & Sendable] = []
    /// The values of all paths' columns, one after the other.
    private(set) var values: [StoredValue] = []

    /// An empty patch of the row with that id.
    public init(_ type: R.Type, _ id: R.ID) { key = id.storedValues }

    /// The lazy values that a record has.
    init(lazyValuesOf record: R) {
        key = record.id.storedValues
        for property in R.schema.properties where property.isLazy {
            let count = values.count
            property.encode(record, &values)
            if values.count > count { paths.append(property.path) }
        }
    }

    /// Sets a property, or a part of an embedded one; nil sets NULL. One that has no column is an error when the patch is
    /// applied.
    public consuming func set<V: Storable>(_ path: any KeyPath<R, V> & Sendable, _ value: V) -> Self {
        var patch = self
        let count = patch.values.count
        value.encode(into: &patch.values)
        // A lazy value that is unread is no value to set.
        if patch.values.count > count || !(V.self is any LazyColumn.Type) { patch.paths.append(path) }
        return patch
    }
}

/// What tells a ``Lazy`` of whatever value.
private protocol LazyColumn {}
extension Lazy: LazyColumn {}
