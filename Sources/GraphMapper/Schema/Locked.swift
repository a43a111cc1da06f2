import Foundation

/// A value behind a lock. Held for a few instructions only: never while anything waits.
package final class Locked<Value>: @unchecked Sendable {
    // Sendable because the value is reached only through `withLock`, one thread at a time.
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
