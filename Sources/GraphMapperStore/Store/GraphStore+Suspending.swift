extension GraphStore {
    /// Waits until no transaction is open, and lets none begin before ``resume()``: they wait. For an app that shares its
    /// file with others and is about to be suspended: the system ends it if it holds a lock then.
    ///
    /// Reads that do not wait, those of a ``ToMany``, are errors of kind `busy` meanwhile. Suspended twice is suspended
    /// once.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside a transaction of the store, which would wait for itself.
    public func suspend() async throws {
        guard Self.openTransaction?.holds(self) != true else {
            throw StoreError(.misuse, "a transaction of the store is open in this task; end it before it is suspended")
        }
        await suspension.become(true) {
            await writing.enter()
            await readers?.pause()
        }
    }

    /// Lets transactions begin again, those first that have waited longest. Does nothing if the store is not suspended.
    public func resume() async {
        await suspension.become(false) {
            readers?.resume()
            writing.leave()
        }
    }
}
