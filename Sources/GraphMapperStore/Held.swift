import Foundation

/// Says that a task is inside a transaction of a store, so that a nested one is an error and not a deadlock.
///
/// Tasks inherit it when they are started, and may outlive the transaction: then it has ended, and holds nothing.
final class Held: @unchecked Sendable {
    // Sendable because the lock guards the one variable. `Mutex` needs newer systems than the package does.
    private let store: ObjectIdentifier
    private let outer: Held?
    private let lock = NSLock()
    private var isOpen = true

    init(_ store: GraphStore, outer: Held?) {
        self.store = ObjectIdentifier(store)
        self.outer = outer
    }

    func end() { lock.withLock { isOpen = false } }

    /// Whether this or an outer transaction, of another store, is one of `store`'s.
    func holds(_ store: GraphStore) -> Bool {
        lock.withLock { isOpen } && self.store == ObjectIdentifier(store) || outer?.holds(store) ?? false
    }
}
