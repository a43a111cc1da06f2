/// Some properties of one row: each is unset, NULL or a value. Unset is never written.
public struct Patch<R: StoredRecord>: Sendable {
    let id: R.ID
    private(set) var columns: [String] = []
    private(set) var values: [StoredValue] = []
    /// What is wrong with the patch; applying it throws this.
    private(set) var mistake: GraphError?

    /// An empty patch of the row with that id.
    public init(_ type: R.Type, _ id: R.ID) { self.id = id }

    /// Sets a property, or a part of an embedded one; nil sets NULL.
    public func set<V: Storable>(_ path: any KeyPath<R, V> & Sendable, _ value: V) -> Self {
        var copy = self
        guard let columns = R.schema.columnNames(at: path), !columns.isEmpty else {
            let what =
                R.schema.property(at: path).map { "\($0.name) is not a column" } ?? "\(path) is not in the schema"
            copy.mistake = copy.mistake ?? GraphError(.misuse, "\(what); a patch sets columns", type: R.schema.name)
            return copy
        }
        copy.columns += columns
        value.encode(into: &copy.values)
        return copy
    }
}
