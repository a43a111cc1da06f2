/// A small, fast, reproducible random number generator (SplitMix64).
///
/// The same seed gives the same numbers on every platform and in every release.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator whose whole sequence is determined by `seed`.
    public init(seed: UInt64) {
        state = seed
    }

    /// Returns the next number of the sequence.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The sequence of integers a value is generated from.
///
/// A ``Gen`` draws every decision from here and each draw is recorded. Running the generator again over an edited
/// recording gives a similar, smaller value, so every generator shrinks without any code of its own. The convention
/// is that `0` stands for the simplest decision; a recording that runs out goes on with zeros.
public struct Choices: Sendable {
    private var random: SeededGenerator?
    private let script: [UInt64]
    private var position = 0

    /// What has been drawn so far, after clamping to the bounds asked for.
    public private(set) var recorded: [UInt64] = []

    /// Starts a new random sequence.
    public init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        script = []
    }

    /// Replays a recorded (and perhaps edited) sequence.
    public init(replaying recorded: [UInt64]) {
        random = nil
        script = recorded
    }

    /// Draws a number in `0...bound`, with the two ends and small numbers made more frequent than chance would.
    public mutating func draw(upTo bound: UInt64) -> UInt64 {
        draw(upTo: bound) { random in
            switch random.next() % 16 {
            case 0: 0
            case 1: bound
            case 2, 3: UInt64.random(in: 0...min(bound, 16), using: &random)
            default: UInt64.random(in: 0...bound, using: &random)
            }
        }
    }

    /// Draws a number in `0...bound`, choosing new numbers with `fresh` and replayed ones from the recording.
    ///
    /// `fresh` is not called during a replay; whatever it decides has to show in the number it returns.
    public mutating func draw(upTo bound: UInt64, fresh: (inout SeededGenerator) -> UInt64) -> UInt64 {
        let value: UInt64
        if random != nil {
            value = fresh(&random!)
        } else if position < script.count {
            value = script[position]
            position += 1
        } else {
            value = 0
        }
        let clamped = min(value, bound)
        recorded.append(clamped)
        return clamped
    }

    /// Draws an index in `0..<count`, all equally likely. `count` has to be positive.
    public mutating func index(below count: Int) -> Int {
        precondition(count > 0, "an index needs at least one element to point to")
        let last = UInt64(count - 1)
        return Int(draw(upTo: last) { UInt64.random(in: 0...last, using: &$0) })
    }

    /// Draws a truth value; `false` is the simpler one.
    public mutating func bool() -> Bool {
        index(below: 2) == 1
    }

    /// Calls `body` with 0, 1, 2… a drawn number of times within `range`.
    ///
    /// Whether to go on is a choice of its own before each optional round, so that shrinking can cut any round out.
    public mutating func rounds(_ range: ClosedRange<Int>, _ body: (inout Choices, Int) -> Void) {
        precondition(range.lowerBound >= 0, "a number of rounds is not negative")
        var target = 0
        if random != nil {
            let small = min(range.upperBound, range.lowerBound.addingReportingOverflow(4).partialValue)
            target =
                random!.next() % 4 == 0
                ? Int.random(in: range.lowerBound...small, using: &random!) : Int.random(in: range, using: &random!)
        }
        var round = 0
        while round < range.upperBound {
            if round >= range.lowerBound {
                let more: UInt64 = round < target ? 1 : 0
                guard draw(upTo: 1, fresh: { _ in more }) == 1 else { return }
            }
            body(&self, round)
            round += 1
        }
    }
}
