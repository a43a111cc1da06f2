/// Says that a task is inside a transaction of a store, so that a nested one is an error and not a deadlock.
///
/// Tasks inherit it when they are started, and may outlive the transaction: then it has ended, and holds nothing.
final class Held: Sendable {
    private let store: ObjectIdentifier
    private let outer: Held?
    private let isOpen = Locked(true)

    init(_ store: GraphStore, outer: Held?) {
        self.store = ObjectIdentifier(store)
        self.outer = outer
    }

    func end() { isOpen.withLock { $0 = false } }

    /// Whether this or an outer transaction, of another store, is one of `store`'s.
    func holds(_ store: GraphStore) -> Bool {
        isOpen.withLock { $0 } && self.store == ObjectIdentifier(store) || outer?.holds(store) ?? false
    }
}
