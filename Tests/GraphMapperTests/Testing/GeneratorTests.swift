import Foundation
import Testing

@testable import GraphMapperTesting

@Suite("Property-based testing")
struct GeneratorTests {
    /// The failure a property is known to have.
    private func failure<Value>(
        of gen: Gen<Value>, seed: UInt64, replay: String? = nil, _ property: (Value) throws -> Void
    ) throws -> PropertyFailure {
        try #require(throws: PropertyFailure.self) {
            try check(gen, name: "known failure", count: 1000, seed: seed, replay: replay, property: property)
        }
    }

    @Test("SplitMix64 gives its published sequence")
    func referenceSequence() {
        var random = SeededGenerator(seed: 1_234_567)
        #expect(random.next() == 6_457_827_717_110_365_317)
        #expect(random.next() == 3_203_168_211_198_807_973)
    }

    @Test("One seed gives one sequence of values")
    func deterministic() throws {
        func values(_ seed: UInt64) throws -> [String] {
            var all: [String] = []
            try check(Gen<[String]>.array(of: .string), seed: seed) { all.append("\($0)") }
            return all
        }
        #expect(try values(7) == values(7))
        #expect(try values(7) != values(8))
        #expect(try values(7).count >= 100)
    }

    @Test("Replaying the recorded choices gives the same value", arguments: 0..<50 as Range<UInt64>)
    func recording(seed: UInt64) {
        var first = Choices(seed: seed)
        let shape = Gen<GraphShape>.anyShape(maxNodes: 9).generate(&first)
        var second = Choices(replaying: first.recorded)
        #expect(Gen<GraphShape>.anyShape(maxNodes: 9).generate(&second) == shape)
        #expect(second.recorded == first.recorded)
    }

    @Test("A list with too large an element shrinks to that element alone", arguments: 1...20 as ClosedRange<UInt64>)
    func shrinksElement(seed: UInt64) throws {
        let found = try failure(of: .array(of: .int(in: -1000...1000)), seed: seed) { list in
            try ensure(list.allSatisfy { $0 <= 50 }, "element above 50")
        }
        #expect(found.value == "[51]")
        #expect("\(found.underlying)" == "element above 50")
    }

    @Test("A list with too large a sum shrinks to the bound", arguments: 1...20 as ClosedRange<UInt64>)
    func shrinksSum(seed: UInt64) throws {
        let found = try failure(of: .array(of: .int(in: 0...1000)), seed: seed) { try ensure($0.reduce(0, +) < 100) }
        #expect(found.value == "[100]")
    }

    @Test("A cyclic shape shrinks to one node linked to itself", arguments: 1...10 as ClosedRange<UInt64>)
    func shrinksShape(seed: UInt64) throws {
        let found = try failure(of: .random(maxNodes: 10), seed: seed) { try ensure(!$0.hasCycle) }
        #expect(["1 nodes: 0→0 []", "1 nodes: 0→- [0]"].contains(found.value))
    }

    @Test("Mapped generators shrink as well")
    func shrinksMapped() throws {
        let gen = Gen<Int>.int(in: 1...100).flatMap { n in Gen<Int>.int(in: 0...n).map { "\(n)/\($0)" } }
        let found = try failure(of: gen, seed: 3) { try ensure($0.count < 4) }
        #expect(found.value == "\"10/0\"")
    }

    @Test("The replay line runs exactly the shrunk case")
    func replays() throws {
        let gen = Gen<[String]>.array(of: .string)
        let property: ([String]) throws -> Void = { try ensure($0.joined().unicodeScalars.count < 5) }
        let found = try failure(of: gen, seed: 11, property)
        let line = try #require("\(found)".split(separator: "\n").last)
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false)
        #expect(quoted[0] == "replay: GRAPHMAPPER_REPLAY=")
        #expect(quoted[2...] == [" swift test"])
        var runs = 0
        let again = try failure(of: gen, seed: 99, replay: String(quoted[1])) {
            runs += 1
            try property($0)
        }
        #expect(runs == 1)
        #expect(again.value == found.value)
        #expect(again.replay == found.replay)
    }

    @Test("The replay line is the shell's, and only that property's")
    func replayLine() throws {
        func line(_ name: String) throws -> String {
            let found = try #require(throws: PropertyFailure.self) {
                try check(name, .bool, seed: 1) { try ensure(!$0) }
            }
            return String(try #require("\(found)".split(separator: "\n").last).dropFirst("replay: ".count))
        }
        #expect(
            try line("`it's (a) law`()")
                == "GRAPHMAPPER_REPLAY='`it'\\''s (a) law`()=1:1' swift test --filter 'it'\\''s \\(a\\) law'")
        #expect(try line("a=b") == "GRAPHMAPPER_REPLAY='a=b=1:1' swift test")
        let variables = ["GRAPHMAPPER_REPLAY": "a=b=1:1"]
        #expect(Replay.environment(variables, for: "a=b") == "a=b=1:1")
        #expect(Replay.environment(variables, for: "b") == nil)
        #expect(try Replay.parse("a=b=1:1").choices == [1])
    }

    @Test("A malformed replay is refused", arguments: ["x", "1", "1:2:3", "1:?", "1:a*", "1:a*0", "-1:a"])
    func malformedReplay(text: String) {
        #expect(throws: InvalidReplay.self) { try check(.bool, replay: text) { _ in } }
    }

    @Test("Asynchronous properties shrink as well")
    func asynchronous() async throws {
        let found = try await #require(throws: PropertyFailure.self) {
            try await check("async", .int(in: 0...1000), seed: 5) { value in
                await Task.yield()
                try ensure(value < 321)
            }
        }
        #expect(found.value == "321")
    }

    @Test(
        "Integers stay within their range and reach its ends",
        arguments: [
            0...0, -5...5, 3...9, -9...(-3), Int.min...Int.max, Int.min...(-1), 0...Int.max, Int.min...0,
        ])
    func integers(range: ClosedRange<Int>) throws {
        var seen: Set<Int> = []
        try check(.int(in: range), count: 1000, seed: 1) {
            try ensure(range.contains($0))
            seen.insert($0)
        }
        #expect(seen.contains(range.lowerBound) && seen.contains(range.upperBound))
    }

    @Test("The odd values turn up")
    func oddValues() throws {
        var doubles: [Double] = []
        try check(.double, count: 2000, seed: 1) { doubles.append($0) }
        #expect(doubles.contains { $0.isNaN } && doubles.contains(.infinity))
        #expect(doubles.contains { $0 == 0 && $0.sign == .minus })
        var strings: [String] = []
        try check(.string, count: 2000, seed: 1) { strings.append($0) }
        #expect(strings.contains("") && strings.contains { $0.contains("\0") } && strings.contains { $0.count > 1000 })
        var dates: [Date] = []
        try check(.date, count: 500, seed: 1) { dates.append($0) }
        #expect(dates.contains { $0.timeIntervalSince1970 < 0 } && dates.contains(.distantFuture))
        var sizes: Set<Int> = []
        try check(.data, count: 500, seed: 1) { sizes.insert($0.count) }
        #expect(sizes.contains(0) && sizes.contains { $0 > 1000 })
        var optionals: [UUID?] = []
        try check(.optional(.uuid), seed: 1) { optionals.append($0) }
        #expect(optionals.contains(nil) && Set(optionals).count > 20)
    }

    @Test("Shapes are well-formed and of their kind")
    func shapes() throws {
        try check(.anyShape(maxNodes: 10), count: 1000) { try ensure($0.isWellFormed && (1...10).contains($0.nodes)) }
        for size in 1...4 {
            try check(.anyShape(maxNodes: size)) { try ensure($0.isWellFormed && $0.nodes <= size) }
        }
        try check(.tree()) { shape in
            try ensure(shape.reachable(from: [0]).count == shape.nodes && !shape.hasCycle)
            try ensure((0..<shape.nodes).map { shape.targets(of: $0).count }.reduce(0, +) == shape.nodes - 1)
        }
        try check(.forest()) { shape in
            let targets = (0..<shape.nodes).flatMap { shape.targets(of: $0) }
            try ensure(!shape.hasCycle && Set(targets).count == targets.count)
        }
        try check(.chain(5)) { try ensure(!$0.hasCycle && $0.reachable(from: [0]).count == 5) }
        try check(.cycle(5)) { try ensure($0.hasCycle && $0.reachable(from: [3]).count == 5) }
        try check(.diamond()) { try ensure($0.isWellFormed && !$0.hasCycle && $0.reachable(from: [0]).count == 4) }
        try check(.shared()) { try ensure($0.isWellFormed && $0.reachable(from: [0]).contains(1)) }
        try check(.selfLoops()) { shape in
            try ensure((0..<shape.nodes).allSatisfy { Set(shape.targets(of: $0)) == [$0] })
        }
    }

    private final class Node { var next: Node? }

    @Test("Leaks are found, and released objects are not taken for leaks")
    func lifetimes() throws {
        try expectReleased { [Node(), Node()] }
        let tracker = LifetimeTracker()
        let leaked = tracker.track(Node(), "leaked")
        tracker.track(Node(), "released")
        leaked.next = leaked
        #expect(tracker.alive == ["leaked"])
        #expect(throws: LeakFailure.self) { try tracker.expectReleased() }
        leaked.next = nil
    }
}
