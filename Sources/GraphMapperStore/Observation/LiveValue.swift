/// A value, read again when what it depends on is written.
struct LiveValue<T: Sendable>: LiveQuery {
    private let isSame: @Sendable (T, T) -> Bool
    private let narrow: @Sendable (inout ObservedRegion, Connection) -> Void
    private let read: @Sendable (ReadTransaction) async throws -> T
    private var lists: [String: ListOwner] = [:]
    private var old: T?
    private(set) var region = ObservedRegion()

    /// - Parameter narrowed: leaves out rows that do not matter.
    init(
        isSame: @escaping @Sendable (T, T) -> Bool,
        narrowed: @escaping @Sendable (inout ObservedRegion, Connection) -> Void = { _, _ in },
        _ read: @escaping @Sendable (ReadTransaction) async throws -> T
    ) {
        self.isSame = isSame
        narrow = narrowed
        self.read = read
    }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) async throws {
        self.lists = lists
        _ = try await current(tx)
        narrow(&region, tx.connection)
    }

    mutating func start(_ tx: ReadTransaction) async throws -> T? {
        let value = try await current(tx)
        old = value
        return value
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: PendingChanges) async throws -> T? {
        let value = try await current(tx)
        if let old, isSame(old, value) { return nil }
        old = value
        return value
    }

    private mutating func current(_ tx: ReadTransaction) async throws -> T {
        tx.connection.startNotingStatements()
        let value: T
        do { value = try await read(tx) } catch {
            _ = tx.connection.endNotingStatements()
            throw error
        }
        for sql in tx.connection.endNotingStatements() {
            for (table, columns) in try tx.connection.reads(of: sql) {
                if let list = lists[table] {
                    region.add(list.table, [list.property])
                } else {
                    region.add(table, columns)
                }
            }
        }
        return value
    }
}

extension LiveValue {
    /// A column of a query's first record, or an aggregate of all.
    init<R: StoredRecord, V: Storable>(of query: Query<R>, _ column: ColumnExpression<V>) where T == V? {
        self.init(
            isSame: { left, right in
                if let left, let right { V.isSame(left, right) } else { (left == nil) == (right == nil) }
            },
            narrowed: { $0.narrow(query, besides: column.parts, $1) },
            { try $0.selected(query, distinct: false, isFirst: true) { _ in column }.first })
    }
}
