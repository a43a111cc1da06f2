import Dispatch
import Foundation

/// Keeps a session where it belongs: on the actor that made it, or used it first.
///
/// In Swift 6 the compiler does; code in Swift 5 mode, and on queues, can take a session anywhere. Functions that wait know
/// the caller's actor. Those that do not wait can tell the main actor from elsewhere, and two threads at once; on another
/// actor's session, a call from elsewhere that meets no other goes unnoticed.
@usableFromInline final class Confinement {
    /// The address of the actor; nil as long as none is known. It is compared, and never followed.
    @usableFromInline private(set) var owner: ObjectIdentifier?
    private var isMain = false
    // A recursive lock: one thread enters as often as it likes, and another one is refused at once.
    private let lock = NSRecursiveLock()

    init(_ owner: (any Actor)?) { owner.map(belong) }

    private func belong(to actor: any Actor) {
        owner = ObjectIdentifier(actor)
        isMain = actor === MainActor.shared
        if isMain { MainQueue.mark() }
    }

    /// Runs what touches the session and waits for nothing.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` off the main actor, if the session belongs there, and while another thread
    ///   is in the session; what `body` throws.
    @inline(__always) func enter<T>(_ body: () throws -> T) throws -> T {
        if isMain, !MainQueue.isCurrent { throw elsewhere() }
        guard lock.try() else {
            throw GraphError(
                .misuse,
                "another thread is using this session; use it, and its models, on one actor or one serial queue")
        }
        defer { lock.unlock() }
        return try body()
    }

    /// Whether an actor, or code on none, may use the session. One that belongs to none yet belongs to the first.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` if it belongs elsewhere.
    @inlinable @inline(__always) func check(_ caller: (any Actor)?) throws {
        if caller.map({ ObjectIdentifier($0) }) == owner { return }
        try adopt(caller)
    }

    @usableFromInline func adopt(_ caller: (any Actor)?) throws {
        guard owner == nil else { throw elsewhere() }
        try enter { caller.map(belong) }
    }

    private func elsewhere() -> GraphError {
        GraphError(
            .misuse,
            "the session belongs to \(isMain ? "the main actor" : "another actor"), which made it or used it first; use it, "
                + "and its models, there, or make another session here")
    }
}

/// The main actor's queue. On Linux it may leave the first thread.
private enum MainQueue {
    private static let key: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    static func mark() { _ = key }
    static var isCurrent: Bool { Thread.isMainThread || DispatchQueue.getSpecific(key: key) != nil }
}
