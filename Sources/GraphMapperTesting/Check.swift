import Foundation

/// Checks that `property` holds, which is to say does not throw, for generated values.
///
/// On the first error the value is shrunk and ``PropertyFailure`` thrown. `#expect` does not throw, so a property
/// should use `try #require`, or ``ensure(_:_:)``.
///
/// - Parameters:
///   - gen: What to try.
///   - name: What to call the property in the failure; by default the calling function.
///   - count: How many values to try. The environment variable `GRAPHMAPPER_COUNT` multiplies it.
///   - seed: Where to start from; by default different in every run.
///   - replay: The replay text of an earlier failure: only that case is run. By default the environment variable
///     `GRAPHMAPPER_REPLAY`, if it names this property.
///   - property: Throws if the value does not have the property.
public func check<Value>(
    _ gen: Gen<Value>, name: String = #function, count: Int = 100, seed: UInt64? = nil, replay: String? = nil,
    property: (Value) throws -> Void
) throws {
    var run = try CheckRun(name: name, gen: gen, count: count, seed: seed, replay: replay)
    while let value = run.next() {
        do {
            try property(value)
            run.passed()
        } catch {
            run.failed(error)
        }
    }
    if let failure = run.failure() { throw failure }
}

/// Checks that an asynchronous `property` holds for generated values, one after the other.
///
/// See ``check(_:name:count:seed:replay:property:)`` for the parameters.
public func check<Value>(
    _ gen: Gen<Value>, name: String = #function, count: Int = 100, seed: UInt64? = nil, replay: String? = nil,
    property: (Value) async throws -> Void
) async throws {
    var run = try CheckRun(name: name, gen: gen, count: count, seed: seed, replay: replay)
    while let value = run.next() {
        do {
            try await property(value)
            run.passed()
        } catch {
            run.failed(error)
        }
    }
    if let failure = run.failure() { throw failure }
}

/// Checks a named property; see ``check(_:name:count:seed:replay:property:)``.
public func check<Value>(
    _ name: String, _ gen: Gen<Value>, count: Int = 100, seed: UInt64? = nil, replay: String? = nil,
    property: (Value) throws -> Void
) throws {
    try check(gen, name: name, count: count, seed: seed, replay: replay, property: property)
}

/// Checks a named asynchronous property; see ``check(_:name:count:seed:replay:property:)``.
public func check<Value>(
    _ name: String, _ gen: Gen<Value>, count: Int = 100, seed: UInt64? = nil, replay: String? = nil,
    property: (Value) async throws -> Void
) async throws {
    try await check(gen, name: name, count: count, seed: seed, replay: replay, property: property)
}

/// Throws ``Violation`` unless the condition holds.
public func ensure(_ condition: Bool, _ message: @autoclosure () -> String = "condition does not hold") throws {
    if !condition { throw Violation(description: message()) }
}

/// What ``ensure(_:_:)`` throws.
public struct Violation: Error, CustomStringConvertible {
    /// What was expected.
    public let description: String

    /// What is violated, in a sentence.
    public init(description: String) { self.description = description }
}

/// A property that does not hold, with the smallest counterexample found.
public struct PropertyFailure: Error, CustomStringConvertible {
    /// The name of the property.
    public let name: String
    /// The shrunk value, as text.
    public let value: String
    /// What the property threw for the shrunk value.
    public let underlying: any Error
    /// The number of values that passed before the first failure.
    public let passed: Int
    /// How often shrinking succeeded.
    public let shrinks: Int
    /// What `GRAPHMAPPER_REPLAY`, or the `replay` parameter, has to be to run exactly the shrunk case.
    public let replay: String

    /// The value, the error and a line for the shell that runs exactly this case again.
    public var description: String {
        """
        \(name) does not hold (after \(passed) passed, \(shrinks) shrinks)
        value: \(value)
        error: \(underlying)
        replay: GRAPHMAPPER_REPLAY=\(Self.quoted(replay)) swift test\(filter)
        """
    }

    /// A property that is called as its test function picks that test out; any other name says nothing of its test.
    private var filter: String {
        guard name.hasSuffix(")"), let parameters = name.lastIndex(of: "(") else { return "" }
        let test = name[..<parameters].filter { $0 != "`" }
        return " --filter " + Self.quoted(NSRegularExpression.escapedPattern(for: test))
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

/// `GRAPHMAPPER_REPLAY`, or the `replay` parameter, could not be read.
public struct InvalidReplay: Error, CustomStringConvertible {
    /// The text given.
    public let text: String

    /// The text given and what it should look like.
    public var description: String {
        "invalid replay \"\(text)\": expected <property>=<seed>:<choices>, as printed with a failure"
    }
}

/// The text form of a case: the property's name, the seed of the run and the choices in base 36, `*` before the length
/// of a run of equals.
enum Replay {
    static func text(name: String, seed: UInt64, choices: [UInt64]) -> String {
        var parts: [String] = []
        var index = 0
        while index < choices.count {
            var end = index + 1
            while end < choices.count, choices[end] == choices[index] { end += 1 }
            parts.append(String(choices[index], radix: 36) + (end - index > 1 ? "*\(end - index)" : ""))
            index = end
        }
        return "\(name)=\(seed):" + parts.joined(separator: ".")
    }

    /// What `GRAPHMAPPER_REPLAY` says about the property of that name.
    static func environment(_ variables: [String: String], for name: String) -> String? {
        variables["GRAPHMAPPER_REPLAY"].flatMap { $0.hasPrefix("\(name)=") ? $0 : nil }
    }

    static func parse(_ text: String) throws -> (seed: UInt64, choices: [UInt64]) {
        let numbers = text.lastIndex(of: "=").map { text[text.index(after: $0)...] } ?? text[...]
        let halves = numbers.split(separator: ":", omittingEmptySubsequences: false)
        guard halves.count == 2, let seed = UInt64(halves[0]) else { throw InvalidReplay(text: text) }
        var choices: [UInt64] = []
        for part in halves[1].split(separator: ".") {
            let pair = part.split(separator: "*", omittingEmptySubsequences: false)
            guard pair.count <= 2, let value = UInt64(pair[0], radix: 36),
                let length = pair.count == 2 ? Int(pair[1]) : 1, (1...1_000_000).contains(length)
            else { throw InvalidReplay(text: text) }
            choices += Array(repeating: value, count: length)
        }
        return (seed, choices)
    }
}

/// The course of one check, driven from outside so that it serves both kinds of properties.
struct CheckRun<Value> {
    private let name: String
    private let gen: Gen<Value>
    private let seed: UInt64
    private var seeds: SeededGenerator
    private var remaining: Int
    private var replayed: [UInt64]?
    private var passes = 0
    private var current: [UInt64] = []
    private var shrinker: Shrinker?
    private var lastError: (any Error)?
    private var finished = false

    init(name: String, gen: Gen<Value>, count: Int, seed: UInt64?, replay: String?) throws {
        let environment = ProcessInfo.processInfo.environment
        self.name = name
        self.gen = gen
        let factor = environment["GRAPHMAPPER_COUNT"].flatMap { Int($0) } ?? 1
        remaining = count * max(1, factor)
        if let text = replay ?? Replay.environment(environment, for: name) {
            let (seed, choices) = try Replay.parse(text)
            self.seed = seed
            replayed = choices
            remaining = 1
        } else {
            self.seed = seed ?? UInt64.random(in: 0...UInt64(UInt32.max))
        }
        seeds = SeededGenerator(seed: self.seed)
    }

    /// The next value to try, or nil when the check is over.
    mutating func next() -> Value? {
        if shrinker != nil {
            while let candidate = shrinker!.next() {
                var choices = Choices(replaying: candidate)
                let value = gen.generate(&choices)
                if shrinker!.isWorthTrying(choices.recorded) {
                    current = choices.recorded
                    return value
                }
            }
            return nil
        }
        guard remaining > 0, !finished else { return nil }
        remaining -= 1
        var choices = replayed.map { Choices(replaying: $0) } ?? Choices(seed: seeds.next())
        let value = gen.generate(&choices)
        current = choices.recorded
        return value
    }

    mutating func passed() {
        if shrinker == nil { passes += 1 }
    }

    mutating func failed(_ error: any Error) {
        lastError = error
        if shrinker == nil {
            shrinker = Shrinker(current, budget: replayed == nil ? 3000 : 0)
        } else {
            shrinker!.accepted(current)
        }
    }

    func failure() -> PropertyFailure? {
        guard let shrinker, let lastError else { return nil }
        var choices = Choices(replaying: shrinker.best)
        let value = gen.generate(&choices)
        var text = ""
        debugPrint(value, terminator: "", to: &text)
        return PropertyFailure(
            name: name, value: text, underlying: lastError, passed: passes, shrinks: shrinker.shrinks,
            replay: Replay.text(name: name, seed: seed, choices: shrinker.best))
    }
}
