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

    /// Closes the store's file, and lets go of it: waits until the transactions that are open have ended, ends every observation,
    /// and folds the log into the file, if no other store has it open. A store in memory is gone.
    ///
    /// Without it, a file is closed when the last reference to its store is gone: a session, a query's results and a
    /// task that observes have one each. Closed twice is closed once. Whatever is asked of the store afterwards, and what
    /// still waits for its turn, is an error of kind `misuse`.
    ///
    /// - Throws: ``StoreError`` of kind `misuse` inside a transaction of the store, which would wait for itself.
    public func close() async throws {
        guard Self.openTransaction?.holds(self) != true else {
            throw StoreError(
                .misuse, "a transaction of the store is open in this task; end it before the store is closed")
        }
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        // One that is suspended lets nobody end anything.
        await resume()
        await writing.enter()
        defer { writing.leave() }
        guard isFirst else { return }
        broadcaster.end()
        await readers?.close()
        writer.close()
        file?.end()
    }

    func checkOpen() throws { if isClosed.withLock({ $0 }) { throw StoreError.closed } }
}
