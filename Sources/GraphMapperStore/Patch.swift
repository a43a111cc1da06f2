/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    let id: R.ID
    private(set) var columns: [String] = []
    private(set) var values: [StoredValue] = []

    public init(_ type: R.Type, _ id: R.ID) { self.id = id }

    /// Sets a property; nil sets NULL.
    public func set<V: Storable>(_ path: any KeyPath<R, V> & Sendable, _ value: V) -> Self {
        var copy = self
        guard let property = R.schema.property(at: path), !property.isList else { return self }
        copy.columns += property.columnNames
        value.encode(into: &copy.values)
        return copy
    }
}
