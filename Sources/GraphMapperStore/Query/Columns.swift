/// A record's columns, by its properties' names.
@dynamicMemberLookup
public struct Columns<R: StoredRecord>: Sendable {
    let alias: TableAlias
    /// The record's key.
    var key: [SQLExpression] { R.keyColumnNames.map { .column(alias, $0) } }

    /// The column of a property.
    public subscript<V>(dynamicMember path: any KeyPath<R, V> & Sendable) -> ColumnExpression<V> { column(path) }

    /// The records of a list of links.
    public subscript<S: StoredRecord>(
        dynamicMember path: any KeyPath<R, [Ref<S>]> & Sendable
    ) -> LinkedRecords<S> { LinkedRecords(of: R.self, path, owner: key, nil) }

    /// The records of a set of links.
    public subscript<S: StoredRecord>(
        dynamicMember path: any KeyPath<R, Set<Ref<S>>> & Sendable
    ) -> LinkedRecords<S> { LinkedRecords(of: R.self, path, owner: key, nil) }

    func column<V>(_ path: AnyKeyPath) -> ColumnExpression<V> {
        ColumnExpression(R.self, path, nil) { .column(alias, $0) }
    }

    /// The records of another type that point to this one: `$0.many(CommentRecord.self, by: \.place).count`.
    public func many<S: StoredRecord>(_ type: S.Type, by path: any KeyPath<S, Ref<R>> & Sendable) -> LinkedRecords<S> {
        LinkedRecords(pointing: S.self, path, to: key)
    }

    /// The same by an optional link.
    public func many<S: StoredRecord>(_ type: S.Type, by path: any KeyPath<S, Ref<R>?> & Sendable) -> LinkedRecords<S> {
        LinkedRecords(pointing: S.self, path, to: key)
    }
}
