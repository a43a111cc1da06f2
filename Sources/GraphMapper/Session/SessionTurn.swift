/// Whose turn it is to load, save or merge: one task's at a time, in the order of arrival. A savepoint keeps the turn for all
/// that its body does.
final class SessionTurn {
    enum Holder {
        /// A load, a save or a merge, which nothing else of the session may run inside.
        case operation
        /// A savepoint, whose task takes turns inside it.
        case savepoint
    }

    private var holders: [Holder] = []
    private var task: UnsafeRawPointer?
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Whether the current task may do something that waits for nothing.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save is under way, or another task's savepoint is open.
    func check() throws {
        guard let top = holders.last else { return }
        if top == .savepoint, let task, currentTask() == task { return }
        throw GraphError(
            .misuse,
            top == .savepoint
                ? "a savepoint of this session is open in another task; await it first"
                : "a load or save of this session is under way; await it first")
    }

    /// Waits for the turn. Savepoints of one task may be nested, and operations run inside them.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` inside of an operation: it would wait for itself.
    func take(_ holder: Holder) async throws {
        let current = currentTask()
        if let top = holders.last {
            if current == task, current != nil {
                guard top == .savepoint else {
                    throw GraphError(
                        .misuse,
                        "the session is called inside a load or save of its own, which it would wait for; call it "
                            + "afterwards, or use what the closure is given")
                }
                return holders.append(holder)
            }
            // Whoever gives the turn up hands it on, so that nobody comes between.
            await withCheckedContinuation { waiting.append($0) }
        }
        holders = [holder]
        task = current
    }

    /// Gives the turn up.
    func end() {
        if holders.count == 1, !waiting.isEmpty {
            task = nil
            waiting.removeFirst().resume()
        } else {
            holders.removeLast()
        }
    }
}

/// The address of the running task, which tells tasks apart for as long as they run; nil outside of tasks. It is compared, and
/// never followed.
package func currentTask() -> UnsafeRawPointer? {
    withUnsafeCurrentTask { task in
        // A task's handle is its address and nothing else. Unwrapped it would be counted once more.
        guard MemoryLayout<UnsafeCurrentTask?>.size == MemoryLayout<UnsafeRawPointer?>.size else { return nil }
        return unsafeBitCast(task, to: UnsafeRawPointer?.self)
    }
}
