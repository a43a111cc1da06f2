/// A value that is not read with its row: a picture, a long text.
///
/// A record that was fetched has it unread; the store fetches the values of many records at once when asked for. It is
/// written when it is set: by an insert, an upsert or a patch. An unread one is never written. The optional form is
/// `Lazy<V?>`.
///
/// A mapping has it as a ``Field`` whose model's property is optional, and nil until the session reads the value; or it
/// leaves it `Unmapped`, and the app asks the store.
public struct Lazy<V: Storable>: Storable {
    /// The value; nil if it is unread.
    public let value: V?

    /// A value to be written.
    public init(_ value: V) { self.value = value }

    private init(unread: Void) { value = nil }

    /// What a fetched record has.
    public static var unread: Self { Self(unread: ()) }

    public static var columns: [Column] { V.columns }
    public static var schemaMistakes: [String] {
        V.schemaMistakes
            + (V.link != nil || V.columns.isEmpty
                ? ["\(V.self) is a link, which cannot be lazy; load its target later"] : [])
    }
    public static func probe(_ n: Int) throws -> Self { Self(try V.probe(n)) }
    /// Reads nothing: the columns are not in the row.
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self { .unread }
    /// Appends nothing if it is unread.
    public func encode(into values: inout [StoredValue]) { value?.encode(into: &values) }
    /// What is unread may be anything.
    public static func isSame(_ left: Self, _ right: Self) -> Bool {
        guard let a = left.value, let b = right.value else { return true }
        return V.isSame(a, b)
    }
}

/// What tells a ``Lazy`` whatever its value. It is the one conformer; a generic type cannot be asked for otherwise.
package protocol LazyValue {
    /// One that has the value which these stored values are.
    static func inverseIndex(_ values: [StoredValue]) throws -> any LazyValue
}
extension Lazy: LazyValue {
    package static func inverseIndex(_ values: [StoredValue]) throws -> any LazyValue { Lazy(try V.decode(values)) }
}
