/// Watches objects without keeping them alive, to find out which were not released.
///
/// ```swift
/// let tracker = LifetimeTracker()
/// do {
///     let session = tracker.track(Session())
///     …
/// }
/// try tracker.expectReleased()
/// ```
public final class LifetimeTracker {
    private struct Entry {
        weak var object: AnyObject?
        let label: String
    }

    private var entries: [Entry] = []

    /// Creates a tracker that watches nothing yet.
    public init() {}

    /// Watches an object and returns it. The label, by default its type and number, names it in reports.
    @discardableResult
    public func track<Object: AnyObject>(_ object: Object, _ label: String? = nil) -> Object {
        entries.append(Entry(object: object, label: label ?? "\(type(of: object as AnyObject)) #\(entries.count)"))
        return object
    }

    /// How many objects have been tracked, released or not.
    public var count: Int { entries.count }

    /// The labels of the objects that are still alive.
    public var alive: [String] { entries.filter { $0.object != nil }.map(\.label) }

    /// Throws ``LeakFailure`` if any tracked object is still alive.
    public func expectReleased() throws {
        let alive = alive
        if !alive.isEmpty { throw LeakFailure(alive: alive, tracked: count) }
    }
}

/// Some objects outlived what should have been their end.
public struct LeakFailure: Error, CustomStringConvertible {
    /// The labels of the objects still alive.
    public let alive: [String]
    /// How many objects were watched.
    public let tracked: Int

    /// The objects still alive, on one line.
    public var description: String {
        "\(alive.count) of \(tracked) objects still alive: \(alive.joined(separator: ", "))"
    }
}

/// Runs `body` and throws ``LeakFailure`` if any of the objects it returns is still alive afterwards.
public func expectReleased(_ body: () throws -> [AnyObject]) throws {
    let tracker = LifetimeTracker()
    func run() throws { for object in try body() { tracker.track(object) } }
    try run()
    try tracker.expectReleased()
}

/// Runs `body` and throws ``LeakFailure`` if any of the objects it returns is still alive afterwards.
public func expectReleasedAfterwards(_ body: () async throws -> [AnyObject]) async throws {
    let tracker = LifetimeTracker()
    func run() async throws { for object in try await body() { tracker.track(object) } }
    try await run()
    try tracker.expectReleased()
}
