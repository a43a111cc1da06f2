/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    /// What is set, in order.
    private(set) var paths: [any AnyKeyPath & Sendable] = []
    /// The row's key, then the values of all paths' columns, one after the other.
    private(set) var values: [StoredValue] = []
    let keyCount: Int
    var key: [StoredValue] { Array(values[..<keyCount]) }

    /// An empty patch of the row with that id.
    public init(_ type: R.Type, _ id: R.ID) {
        values.reserveCapacity(4)
        id.encode(into: &values)
        keyCount = values.count
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
