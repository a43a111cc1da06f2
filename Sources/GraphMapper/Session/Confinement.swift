import Foundation

/// What notices that two threads use one session at once, which the compiler keeps from happening in Swift 6 alone: code in
/// Swift 5 mode, and on queues, can. Entry points that wait for nothing enter it, and so does the planning of a save; what a
/// load awaits is guarded by the session's turn.
final class Confinement {
    // A recursive lock: one thread enters as often as it likes, and another one is refused at once.
    private let lock = NSRecursiveLock()

    /// Runs what touches the session and waits for nothing.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while another thread is in the session; what `body` throws.
    @inline(__always) func enter<T>(_ body: () throws -> T) throws -> T {
        guard lock.try() else {
            throw GraphError(
                .misuse,
                "another thread is using this session; use it, and its models, on one actor or one serial queue")
        }
        defer { lock.unlock() }
        return try body()
    }
}
