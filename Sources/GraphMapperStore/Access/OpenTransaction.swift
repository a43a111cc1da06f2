/// Says that a task is inside a transaction of a store, so that a nested one is an error and not a deadlock.
///
/// Tasks inherit it when they are started, and may outlive the transaction: then it has ended, and holds nothing.
final class OpenTransaction: Sendable {
    private let store: ObjectIdentifier
    private let isReader: Bool
    private let outer: OpenTransaction?
    private let isOpen = Locked(true)

    /// - Parameter isReader: whether it holds a reader, beside which the task may still write.
    init(_ store: AnyObject, isReader: Bool, outer: OpenTransaction?) {
        self.store = ObjectIdentifier(store)
        self.isReader = isReader
        self.outer = outer
    }

    func end() { isOpen.withLock { $0 = false } }

    /// Whether the task is in a transaction of `store`, this one or one further out.
    func holds(_ store: AnyObject) -> Bool { isOpen(in: store) || outer?.holds(store) ?? false }

    /// Whether it holds the store's writer.
    func holdsWriter(_ store: AnyObject) -> Bool {
        !isReader && isOpen(in: store) || outer?.holdsWriter(store) ?? false
    }

    private func isOpen(in store: AnyObject) -> Bool {
        self.store == ObjectIdentifier(store) && isOpen.withLock { $0 }
    }
}
