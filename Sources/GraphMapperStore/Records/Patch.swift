/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    /// What is set first: most patches set one property, which takes no array.
    @usableFromInline var path: (any AnyKeyPath & Sendable)?
    /// What is set besides, in order.
    @usableFromInline var others: [any AnyKeyPath & Sendable] = []
    /// The row's key, then the values of all paths' columns, one after the other.
    @usableFromInline var values: [StoredValue] = []
    @usableFromInline let keyCount: Int
    var key: [StoredValue] { Array(values[..<keyCount]) }
    /// What is set, in order.
    var paths: [any AnyKeyPath & Sendable] { (path.map { [$0] } ?? []) + others }
    var isEmpty: Bool { path == nil }

    /// An empty patch of the row with that id.
    @inlinable public init(_ type: R.Type, _ id: R.ID) {
        values.reserveCapacity(4)
        id.encode(into: &values)
        keyCount = values.count
    }

    /// Sets a property, or a part of an embedded one; nil sets NULL. One that has no column is an error when the patch is
    /// applied.
    @inlinable public consuming func set<V: Storable>(_ path: any KeyPath<R, V> & Sendable, _ value: V) -> Self {
        var patch = self
        let count = patch.values.count
        value.encode(into: &patch.values)
        // A lazy value that is unread is no value to set.
        guard patch.values.count > count || !Self.isLazy(V.self) else { return patch }
        if patch.path == nil { patch.path = path } else { patch.others.append(path) }
        return patch
    }

    @usableFromInline static func isLazy(_ type: Any.Type) -> Bool { type is any LazyColumn.Type }

    /// Whether another patch sets the same properties in the same order.
    func hasPaths(of other: Self) -> Bool {
        // A key path that is written in one place is one object.
        guard others.count == other.others.count, path === other.path || path == other.path else { return false }
        for index in others.indices where others[index] !== other.others[index] && others[index] != other.others[index]
        {
            return false
        }
        return true
    }
}

/// What tells a ``Lazy`` of whatever value.
private protocol LazyColumn {}
extension Lazy: LazyColumn {}
