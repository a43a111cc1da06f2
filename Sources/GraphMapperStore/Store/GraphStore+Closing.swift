extension GraphStore {
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
