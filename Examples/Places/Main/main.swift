import Foundation
import GraphMapperStore
import PlacesApp

/// The statements that the store ran.
final class StatementCount: @unchecked Sendable {
    // Sendable because the lock guards the one variable.
    private let lock = NSLock()
    private var count = 0
    func note() { lock.withLock { count += 1 } }
    func taken() -> Int {
        lock.withLock {
            defer { count = 0 }
            return count
        }
    }
}

/// The same app over three repositories, then what the lazy collection costs.
func run() async throws {
    let statements = StatementCount()
    let stored = try await StoredPlaces { sql in
        if !sql.hasPrefix("BEGIN") && sql != "COMMIT" { statements.note() }
    }
    _ = statements.taken()
    guard let minster = try await stored.places(startingWith: "Ulm").first else { return }

    print("What the store is asked for 10 000 comments")
    let comments = minster.comments
    for (what, read) in [
        ("count", { "\(comments.count)" }), ("[0]", { comments[0].text }), ("[9_999]", { comments[9_999].text }),
        ("[9_998]", { comments[9_998].text }),
    ] {
        _ = statements.taken()
        let clock = ContinuousClock.now
        let text = read()
        let time = (ContinuousClock.now - clock).formatted(
            .units(allowed: [.microseconds], width: .narrow))
        print("  \(what): \(text), \(statements.taken()) statements, \(time)")
    }
    func measure<T>(_ what: String, _ body: () -> T) -> T {
        _ = statements.taken()
        let (memory, clock) = (residentBytes(), ContinuousClock.now)
        let result = body()
        let time = (ContinuousClock.now - clock).formatted(.units(allowed: [.microseconds], width: .narrow))
        let more = max(0, residentBytes() - memory) / 1024
        print("  \(what): \(statements.taken()) statements, \(time), \(more) KB more memory")
        return result
    }
    _ = measure("walked to the end") { comments.reduce(0) { $0 + $1.text.count } }
    _ = measure("all copied to an array") { Array(comments) }.count

    let transcripts = [
        ("the store", try await tour(stored)), ("arrays", try await tour(PlainPlaces())),
        ("an object database", try await tour(ObjectPlaces())),
    ]
    print("\nThe tour")
    for line in transcripts[0].1 { print("  \(line)") }
    print("")
    for (name, lines) in transcripts {
        print(
            "\(name): \(lines == transcripts[0].1 ? "the same lines" : "OTHER LINES\n\(lines.joined(separator: "\n"))")"
        )
    }
    guard transcripts.allSatisfy({ $0.1 == transcripts[0].1 }) else { exit(1) }
}

do {
    try await run()
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
